package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// verbOf is the command that a file is of: check of check.go, diff of diff_checks.go.
func verbOf(file string) string {
	verb, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".go"), "_")
	return verb
}

// A command uses what other commands use from internal/cli, and nothing of another command's files.
// main.go makes them all.
func TestNoCommandUsesAnother(t *testing.T) {
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	files, from := map[string]*ast.File{}, map[string]string{} // by name; the verb of each declaration
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		files[name] = file
		for declared := range file.Scope.Objects {
			from[declared] = verbOf(name)
		}
	}
	require.Equal(t, "check", from["newCheck"])
	for name, file := range files {
		for _, used := range file.Unresolved { // in no scope of the file: of another file, or Go's
			if verb, ok := from[used.Name]; ok && verbOf(name) != "main" {
				assert.Equal(t, verbOf(name), verb, "%s uses %s", name, used.Name)
			}
		}
	}
}
