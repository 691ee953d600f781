package origin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/origin"
)

// ranksOf is a list of so many ranks.
func ranksOf(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"world_size": %d, "ranks": [{"rank": 0, "sha256": ""}`, n)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, `, {"rank": %d, "sha256": ""}`, i)
	}
	return b.String() + "]}"
}

// The list of ranks is wanted, readable, and of as many ranks as the case has.
func TestListsOfRanks(t *testing.T) {
	_, cases := testcase.Project(t, "version: 1\nmodels:\n  train:\n    program: zoo.py\n    device: t4\n    budget: "+
		"{allocated: 1GiB}\n"+
		"    ranks: {world_size: 2, nproc_per_node: 2}\n", "run()\n")
	c := &cases[0]
	_, _, err := origin.ReadRanks(c)
	var missing *origin.Uncaptured
	require.ErrorAs(t, err, &missing)
	const place, unnamed = `{"rank": 0, "place": "a\u0007", "sha256": ""}`, `{"why": "a\u0007", "ranks": [1]}`
	two := func(ranks string) string { return `{"world_size": 2, "ranks": [` + ranks + "]" }
	rank := func(n int) string { return fmt.Sprintf(`{"rank": %d, "sha256": ""}`, n) }
	pair := func(a, b int) string { return two(rank(a)+", "+rank(b)) + "}" }
	notRun := func(reasons string) string { return two(rank(0)) + `, "not_run": [` + reasons + "]}" }
	for _, tt := range []struct{ text, want string }{
		{`{"world_size": 4, "ranks": [` + rank(0) + "]}", "got world_size 4, want 2"},
		{ranksOf(4096), "got world_size 4096, want 2"},
		{two("") + "}", "got 0 ranks, want 1 to 4096"},
		{ranksOf(4097), "got 4097 ranks, want 1 to 4096"},
		{two(rank(2)) + "}", "got rank 2 of 2"},
		{two(rank(-1)) + "}", "got rank -1 of 2"},
		{pair(5, 6), "got rank 5 of 2"},
		{pair(1, 1), "got rank 1 after rank 1, want them in order"},
		{pair(1, 0), "got rank 0 after rank 1, want them in order"},
		{two(place) + "}", `got the place "a\a", want it printable`},
		{notRun(`{"why": "x", "ranks": []}`), `not_run: got "x" of 0 ranks, want a printable reason and ranks`},
		{notRun(unnamed), `not_run: got "a\a" of 1 ranks`},
		{notRun(`{"why": "x", "ranks": [1]}, {"why": "y", "ranks": []}, {"why": "z", "ranks": []}`),
			`not_run: got "y" of 0 ranks`},
		{`{"world_size": 2`, missing.Path + ": "},
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(missing.Path), 0o755))
		require.NoError(t, os.WriteFile(missing.Path, []byte(tt.text), 0o600))
		_, _, err := origin.ReadRanks(c)
		assert.ErrorContains(t, err, tt.want, tt.text)
	}
	require.NoError(t, os.WriteFile(missing.Path, []byte(pair(0, 1)), 0o600))
	_, _, err = origin.ReadRanks(c)
	require.ErrorAs(t, err, &missing, "the recording of a rank that ran")
}
