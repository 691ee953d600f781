package engine_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// notRaced are functions of tests that start goroutines and that make race leaves out, with the
// reason.
var notRaced = map[string]string{
	"inParallel":       "runs models that share no more than those of TestInvariants do, for minutes with the detector",
	"within":           "waits for a call that shares nothing, to see that it does not wait for ever",
	"startBrowser":     "reads what a browser prints, where one is asked for",
	"TestHostileFiles": "runs commands in processes, which share nothing",
}

// What starts goroutines is tested with the race detector: make race names packages, and of the two
// big ones tests. This compares those lists with the code.
func TestWhatIsConcurrentIsRaced(t *testing.T) {
	raced := racedBy(t)
	for pkg, code := range readFuncs(t, "..") {
		where := raced(pkg)
		for name, f := range code {
			switch _, out := notRaced[name]; {
			case out || !code.concurrent(name, nil):
			case !f.test && where == nil:
				t.Errorf("%s: %s starts goroutines; got no line of make race for its package, want one (RACE in the Makefile)", pkg,
					name)
			case f.test && strings.HasPrefix(name, "Test") && (where == nil || !where(name)):
				t.Errorf("%s: %s runs goroutines; got it left out by make race, want it named there (RACE_ENGINE, RACE_COMMAND) "+
					"or in notRaced with a reason", pkg, name)
			}
		}
	}
}

// The check sees a goroutine however deep a test has it, and knows what stands in the Makefile.
func TestConcurrentCode(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x_test.go", `package x
func TestDirect(t *testing.T) { go func() {}() }
func TestGroup(t *testing.T) { var g sync.WaitGroup; g.Go(run) }
func TestSide(t *testing.T) { t.Run("", func(t *testing.T) { t.Parallel() }) }
func TestThrough(t *testing.T) { helps() }
func TestAll(t *testing.T) { models.JudgeAll(ctx, cases, nil, each) }
func TestLeft(t *testing.T) { inParallel() }
func TestAlone(t *testing.T) { alone(); TestAlone(t) }
func helps() { deeper() }
func deeper() { go alone() }
func alone() {}
func inParallel() { go alone() }
`, 0)
	require.NoError(t, err)
	code := funcs{}
	code.add(file, true)
	var got []string
	for name := range code {
		if code.concurrent(name, nil) {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	assert.Equal(t, []string{"TestAll", "TestDirect", "TestGroup", "TestSide", "TestThrough", "deeper", "helps",
		"inParallel"}, got)

	raced := racedBy(t)
	assert.Nil(t, raced("engine/units"))
	assert.True(t, raced("cudameasure/verify")("TestAnything"))
	assert.True(t, raced("engine")("TestJudgeAll"))
	assert.False(t, raced("engine")("TestConformance"))
}

// racedBy reads the Makefile: which tests of a package run with the race detector; nil for a
// package of which none does.
func racedBy(t *testing.T) func(pkg string) func(test string) bool {
	data, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	value := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + ` := (.*)$`).FindSubmatch(data)
		require.NotNil(t, m, "Makefile: got no %s, want one", name)
		return strings.ReplaceAll(string(m[1]), "$$", "$")
	}
	named := func(pattern string) func(string) bool {
		first, _, _ := strings.Cut(pattern, "/") // what follows are subtests
		return regexp.MustCompile(strings.TrimSuffix(first, "$")).MatchString
	}
	whole := strings.Fields(value("RACE"))
	engine := named(value("RACE_ENGINE"))
	some := map[string]func(string) bool{"engine": engine, "engine/suite": engine,
		"cmd/memspec": named(strings.Join(commandTests(value("RACE_COMMAND")), "|"))}
	return func(pkg string) func(string) bool {
		for _, p := range whole {
			p = strings.TrimPrefix(p, "./")
			if under, all := strings.CutSuffix(p, "/..."); p == pkg || all &&
				(pkg == under || strings.HasPrefix(pkg, under+"/")) {
				return func(string) bool { return true }
			}
		}
		return some[pkg]
	}
}

// commandTests are the tests that an expression of -run names, without those of subtests.
func commandTests(pattern string) []string {
	var out []string
	for part := range strings.SplitSeq(pattern, "|") {
		if strings.HasPrefix(part, "^Test") {
			first, _, _ := strings.Cut(part, "/")
			out = append(out, first)
		}
	}
	return out
}

// funcs are a package's functions by name, methods among them.
type funcs map[string]*funcCode

type funcCode struct {
	test  bool // of a file of tests
	goes  bool // starts a goroutine itself
	calls []string
}

// starts are calls that run something on other goroutines.
var starts = []string{"Go", "Parallel", "RunParallel", "JudgeAll"}

func (fs funcs) add(file *ast.File, test bool) {
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		f := fs[fn.Name.Name]
		if f == nil {
			f = &funcCode{test: test}
			fs[fn.Name.Name] = f
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				f.goes = true
			case *ast.CallExpr:
				switch called := n.Fun.(type) {
				case *ast.Ident:
					f.calls = append(f.calls, called.Name)
				case *ast.SelectorExpr:
					f.goes = f.goes || slices.Contains(starts, called.Sel.Name)
				}
			}
			return true
		})
	}
}

// concurrent says whether a function starts goroutines, itself or by functions that it calls by
// name, except those of notRaced. A test is asked for what tests do: of what a product's function
// starts, one raced test is enough.
func (fs funcs) concurrent(name string, from []string) bool {
	f := fs[name]
	if f == nil || slices.Contains(from, name) {
		return false
	}
	return f.goes || slices.ContainsFunc(f.calls, func(called string) bool {
		_, out := notRaced[called]
		to := fs[called]
		return !out && to != nil && to.test == f.test && fs.concurrent(called, append(from, name))
	})
}

// starting is how a text reads in which something is started; most files have none of it and need
// not be parsed.
var starting = []string{"\tgo ", ".Go(", "Parallel(", "JudgeAll("}

func startsSome(text []byte) bool {
	return slices.ContainsFunc(starting, func(s string) bool { return bytes.Contains(text, []byte(s)) })
}

// readFuncs reads the functions of every package beneath root that start goroutines, and of tests
// those that call such.
func readFuncs(t *testing.T, root string) map[string]funcs {
	out := map[string]funcs{}
	others := map[string][][]byte{} // tests' files without their own concurrency
	add := func(pkg string, text []byte, test bool) {
		file, err := parser.ParseFile(token.NewFileSet(), pkg, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		if out[pkg] == nil {
			out[pkg] = funcs{}
		}
		out[pkg].add(file, test)
	}
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name := d.Name(); file != root && (name == "testdata" || name == "pyshim" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(file, ".go"):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		pkg, test := path.Dir(filepath.ToSlash(rel)), strings.HasSuffix(file, "_test.go")
		switch {
		case startsSome(text):
			add(pkg, text, test)
		case test:
			others[pkg] = append(others[pkg], text)
		}
		return nil
	}))
	for pkg, code := range out {
		for more := true; more; {
			more = false
			for _, name := range code.helpers() {
				others[pkg] = slices.DeleteFunc(others[pkg], func(text []byte) bool {
					calls := bytes.Contains(text, []byte(name+"("))
					if calls {
						add(pkg, text, true)
						more = true
					}
					return calls
				})
			}
		}
	}
	return out
}

// helpers are the concurrent functions of tests that are no tests.
func (fs funcs) helpers() []string {
	var out []string
	for name, f := range fs {
		if _, left := notRaced[name]; !left && f.test && !strings.HasPrefix(name, "Test") && fs.concurrent(name, nil) {
			out = append(out, name)
		}
	}
	return out
}
