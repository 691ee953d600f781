package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/verdict"
)

// TestUpdateWritesNothing: a budget that does not stand where it was read, and a file that cannot
// be written, are errors, and the file stays as it is.
func TestUpdateWritesNothing(t *testing.T) {
	for _, c := range []struct {
		text string
		pos  verdict.Pos
		want string
	}{
		{"a: 1KiB\n", verdict.Pos{Line: 3, Col: 4}, "got a file that has changed meanwhile"},
		{"a: 1KiB\n", verdict.Pos{Line: 2, Col: 4}, `got another text than "1KiB" there`},
		{"a: 2KiB\n", verdict.Pos{Line: 1, Col: 4}, `got another text than "1KiB" there`},
		{"a: \"1KiB'\n", verdict.Pos{Line: 1, Col: 4}, `got another text than "1KiB" there`},
		{"a: 1KiB\n", verdict.Pos{Line: 1, Col: 99}, `got another text than "1KiB" there`},
		{"a: 1KiB\n", verdict.Pos{Line: 1, Col: 4}, "file exists"},
	} {
		file := filepath.Join(t.TempDir(), "memspec.yaml")
		require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
		if c.want == "file exists" { // where the new file is begun
			require.NoError(t, os.WriteFile(fmt.Sprintf("%s.%d.tmp", file, os.Getpid()), nil, 0o600))
		}
		b := verdict.Budget{Path: "m.budget.reserved", Text: "1KiB", Limit: units.KiB, Pos: c.pos}
		u := &update{budgets: []*updated{{Budget: b, fixed: true, most: units.MiB, needs: 2 * units.MiB}}}
		cmd := &cobra.Command{}
		cmd.SetOut(&strings.Builder{})
		assert.ErrorContains(t, u.end(cmd, file, false), c.want)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, c.text, string(data), c.want)
	}
	assert.Error(t, (&update{}).end(&cobra.Command{}, filepath.Join(t.TempDir(), "none"), false))
}
