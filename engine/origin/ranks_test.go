package origin_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/testcase"
	"github.com/memspec/memspec/engine/origin"
	"github.com/memspec/memspec/engine/spec"
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
		{strings.Repeat("{", 1<<20), missing.Path + ": got 1048576 objects in 1048576 bytes, want at most 147456"},
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

// The ranks that ran are those of the list, with their recordings; one of them alone is itself.
func TestRanksThatRan(t *testing.T) {
	_, cases := testcase.Project(t, "version: 1\nmodels:\n  train:\n    program: zoo.py\n    device: t4\n    budget: "+
		"{allocated: 1GiB}\n    ranks: {world_size: 4}\n", "run()\n")
	c := &cases[0]
	assert.Equal(t, []string{c.Captured()}, origin.Files(c), "nothing is recorded yet")
	first, third := c.OfRank(1), c.OfRank(3)
	testcase.Write(t, first.Captured(), []byte("one"))
	testcase.Write(t, third.Captured(), []byte("three"))
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	list := fmt.Sprintf(`{"world_size": 4, "ranks": [{"rank": 1, "place": "stage 1", "sha256": %q}, `+
		`{"rank": 3, "sha256": %q}], "not_run": [{"why": "stage", "ranks": [2]}]}`, sum("one"), sum("three"))
	testcase.Write(t, c.Captured(), []byte(list))
	want := &origin.Ranks{WorldSize: 4, Ranks: []origin.Rank{{Rank: 1, Place: "stage 1", SHA256: sum("one")},
		{Rank: 3, SHA256: sum("three")}}, NotRun: []origin.Unlike{{Why: "stage", Ranks: []int{2}}}}
	got, ranks, err := origin.ReadRanks(c)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, []int{1, 3}, ranks)
	got, ranks, err = origin.ReadRanks(&third)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, []int{3}, ranks)
	none := c.OfRank(2)
	_, _, err = origin.ReadRanks(&none)
	assert.EqualError(t, err, "train: got rank 2, want one that ran: [1 3]")
	assert.Equal(t, []string{c.Captured(), first.Captured(), third.Captured()}, origin.Files(c))
	assert.Equal(t, []string{third.Captured()}, origin.Files(&third))
	assert.Empty(t, origin.Files(&spec.Case{Artifact: "m.pt"}))

	testcase.Write(t, third.Captured(), []byte("another"))
	var other *origin.Uncaptured
	_, _, err = origin.ReadRanks(c)
	require.ErrorAs(t, err, &other)
	assert.Equal(t, []any{third.Captured(), true}, []any{other.Path, other.Other})
	require.NoError(t, os.Remove(third.Captured()))
	require.NoError(t, os.Mkdir(third.Captured(), 0o700))
	_, _, err = origin.ReadRanks(c)
	assert.EqualError(t, err, third.Captured()+": got a folder, want a regular file")
	require.NoError(t, os.Remove(c.Captured()))
	require.NoError(t, os.Mkdir(c.Captured(), 0o700))
	_, _, err = origin.ReadRanks(c)
	assert.EqualError(t, err, c.Captured()+": got a folder, want a regular file")
}
