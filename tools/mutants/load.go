package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A source is a package as it stands, parsed and typed.
type source struct {
	path  string // import path
	dir   string // absolute
	name  string // of the package
	rel   string // dir from the root of the repository, with slashes
	files []sourceFile
	fset  *token.FileSet
	info  *types.Info
	conf  types.Config
	help  *ast.File // helpText
	tests bool      // it has tests

	others    map[string]*source       // by path, of those that were loaded with it
	functions map[string]*ast.FuncDecl // see declared
	asking    map[*ast.FuncDecl]bool   // of functions that were looked at: whether they change nothing
}

type sourceFile struct {
	path string // absolute
	rel  string // from the root of the repository
	text []byte
	tree *ast.File
}

// helpFile is added to a package while its mutants are tested: what goes through a slice from its
// end, and which mutant is on.
const helpFile = "zz_mutant.go"

func helpText(name string) string {
	return "package " + name + `

func mutantBackward[S ~[]E, E any](s S) func(func(int, E) bool) {
	return func(yield func(int, E) bool) {
		for i := len(s) - 1; i >= 0; i-- {
			if !yield(i, s[i]) {
				return
			}
		}
	}
}
`
}

// listed is what `go list -json` says of a package.
type listed struct {
	Dir, ImportPath, Name, Export string
	GoFiles                       []string
	TestGoFiles, XTestGoFiles     []string
	Imports                       []string
	DepOnly                       bool
}

// load reads the packages that patterns name, in the order of their paths.
func load(root string, patterns []string) ([]*source, error) {
	cmd := exec.Command("go",
		append([]string{"list", "-export", "-deps",
			"-json=Dir,ImportPath,Name,Export,GoFiles,TestGoFiles,XTestGoFiles,Imports,DepOnly", "os"}, patterns...)...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = root, &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	exports := map[string]string{}
	var wanted []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		exports[p.ImportPath] = p.Export
		ofTests := slices.Contains(p.Imports, "testing")
		if !p.DepOnly && len(p.GoFiles) > 0 && p.ImportPath != "os" && !ofTests {
			wanted = append(wanted, p)
		}
	}
	var sources []*source
	all := map[string]*source{}
	for _, p := range wanted {
		s, err := read(root, p, exports)
		if err != nil {
			return nil, err
		}
		s.others, all[s.path] = all, s
		sources = append(sources, s)
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("got no package for %s", strings.Join(patterns, " "))
	}
	return sources, nil
}

func read(root string, p listed, exports map[string]string) (*source, error) {
	rel, err := filepath.Rel(root, p.Dir)
	if err != nil {
		return nil, err
	}
	s := &source{path: p.ImportPath, dir: p.Dir, name: p.Name, rel: filepath.ToSlash(rel), fset: token.NewFileSet(),
		tests: len(p.TestGoFiles)+len(p.XTestGoFiles) > 0}
	s.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}}
	lookup := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("got no export data of %s", path)
		}
		return os.Open(exports[path])
	}
	s.conf = types.Config{Importer: importer.ForCompiler(s.fset, "gc", lookup)}
	for _, name := range p.GoFiles {
		f := sourceFile{path: filepath.Join(p.Dir, name), rel: s.rel + "/" + name}
		if f.text, err = os.ReadFile(f.path); err != nil {
			return nil, err
		}
		if f.tree, err = parser.ParseFile(s.fset, f.path, f.text,
			parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
	}
	if s.help, err = parser.ParseFile(s.fset, helpFile, helpText(p.Name), parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	if _, err := s.conf.Check(s.path, s.fset, s.trees(-1, nil), s.info); err != nil {
		return nil, err
	}
	return s, nil
}

// trees are the package's files, one of them replaced; -1 replaces none.
func (s *source) trees(file int, by *ast.File) []*ast.File {
	out := []*ast.File{s.help}
	for i := range s.files {
		if i == file {
			out = append(out, by)
		} else {
			out = append(out, s.files[i].tree)
		}
	}
	return out
}

// compiles says whether a mutation leaves a program.
func (m *mutation) compiles() bool {
	s := m.pkg
	tree, err := parser.ParseFile(s.fset, s.files[m.file].path, m.mutated(), parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	_, err = s.conf.Check(s.path, s.fset, s.trees(m.file, tree), nil)
	return err == nil
}
