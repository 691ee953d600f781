package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/report"
)

// The list of notes in doc.go and the IDs that the code writes are the same.
func TestNotesAreListed(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(doc), "// # Notes\n")
	require.True(t, ok)
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z-]+)  `).FindAllStringSubmatch(list, -1) {
		listed = append(listed, m[1])
	}
	require.True(t, slices.IsSorted(listed), "the list is sorted")
	require.Equal(t, listed, report.NoteIDs, "allow: takes them")

	files := map[string]*ast.File{}
	constants := map[string]string{} // by folder and name
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		files[path] = file
		for name, value := range stringConstants(file) {
			constants[filepath.Dir(path)+" "+name] = value
		}
		return nil
	}))
	found := map[string]string{}
	for path, file := range files {
		for _, id := range noteIDs(file, func(name string) string { return constants[filepath.Dir(path)+" "+name] }) {
			found[id] = path
		}
	}
	for id, path := range found {
		assert.Contains(t, listed, id, "written in %s, not listed in doc.go", path)
	}
	for _, id := range listed {
		assert.Contains(t, found, id, "listed in doc.go, but nothing writes it")
	}
}

// stringConstants are the constants of a file that are string literals.
func stringConstants(file *ast.File) map[string]string {
	out := map[string]string{}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			for i, name := range v.Names {
				if i < len(v.Values) {
					if lit, ok := v.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						out[name.Name], _ = strconv.Unquote(lit.Value)
					}
				}
			}
		}
	}
	return out
}

// noteIDs are the literals and constants that a file gives as a note's ID: Note("id", …), Note{ID: "id"} and Scratch{Note: "id"}.
func noteIDs(file *ast.File, constant func(string) string) []string {
	var ids []string
	add := func(e ast.Expr) {
		if name, ok := e.(*ast.Ident); ok && constant(name.Name) != "" {
			ids = append(ids, constant(name.Name))
		}
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if id, err := strconv.Unquote(lit.Value); err == nil && id != "" {
				ids = append(ids, id)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if ok && (sel.Sel.Name == "Note" || sel.Sel.Name == "note") && len(n.Args) == 2 {
				add(n.Args[0])
			}
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				kv, ok := e.(*ast.KeyValueExpr)
				if !ok {
					continue
				}
				key, _ := kv.Key.(*ast.Ident)
				if key != nil && (key.Name == "Note" || key.Name == "ID" && typeName(n.Type) == "Note") {
					add(kv.Value)
				}
			}
		}
		return true
	})
	return ids
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
