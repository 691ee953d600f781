package ops_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/ops"
)

// TestRefused runs every call that PyTorch refuses (testdata/aten/<torch>/refused.jsonl) and wants an error. Subtests are named by operator and line
// of the operator, from 1. Calls in testdata/accepted.txt are accepted, for the reason given there.
func TestRefused(t *testing.T) {
	const path = "../../testdata/aten/2.15/refused.jsonl"
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	plat := nonePlatform(t)
	known := exceptions(t, "testdata/accepted.txt")
	number := map[string]int{}
	scan := bufio.NewScanner(f)
	for line := 1; scan.Scan(); line++ {
		dec := json.NewDecoder(strings.NewReader(scan.Text()))
		dec.UseNumber()
		var s sample
		require.NoError(t, dec.Decode(&s), "%s:%d", path, line)
		require.True(t, s.Error, "%s:%d", path, line)
		number[s.Op]++
		name := fmt.Sprintf("%s/%d", s.Op, number[s.Op])
		t.Run(name, func(t *testing.T) {
			if _, ok := ops.Builtin().Lookup(s.key()); !ok {
				t.Skip("no rule: a run that meets it is incomplete, and nothing is accepted")
			}
			defer func() {
				if bug := recover(); bug != nil {
					t.Errorf("%s:%d: %s\npanic: %v", path, line, scan.Text(), bug)
				}
			}()
			got := newRun(plat).differences(t, &s)
			if why := known[name]; why != "" {
				assert.NotEmpty(t, got, "it is refused: take it off testdata/accepted.txt (%s)", why)
				return
			}
			if len(got) > 0 {
				t.Errorf("%s:%d: %s\n%s", path, line, scan.Text(), strings.Join(got, "\n"))
			}
		})
		delete(known, name)
	}
	require.NoError(t, scan.Err())
	assert.Empty(t, known, "in testdata/accepted.txt, and no call")
}
