package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memspec/memspec/internal/cli"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Interrupted, a command says how far it came, and leaves neither results nor halves of files.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	artifact, err := filepath.Abs("../../testdata/artifacts/small/module_list.script.pt")
	require.NoError(t, err)
	file := filepath.Join(dir, "memspec.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(verifySpec, "ARTIFACT", artifact)), 0o644))
	for _, command := range []string{"check", "verify", "update"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out strings.Builder
		root := newRoot()
		root.SetOut(&out)
		root.SetErr(&out)
		args := []string{command, file, "-o", filepath.Join(dir, "junit.xml")}
		if command == "update" {
			args = []string{command, "-n", file}
		}
		root.SetArgs(args)
		err := root.ExecuteContext(ctx)
		require.EqualError(t, err, "interrupted: 0 of 2 cases done")
		var end *cli.Exit
		require.ErrorAs(t, err, &end)
		assert.Equal(t, 130, end.Code)
		assert.Empty(t, out.String())
		left, err := filepath.Glob(filepath.Join(dir, "junit*"))
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}
