package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// module writes a module with a package whose tests see some bugs, two without tests, and one that
// serves tests and has no mutants. The tests of u go through s; v has some that fail with no regard
// to the mutant.
func module(t *testing.T) string {
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example\n\ngo 1.26\n",
		"p/p.go": `package p

var offset = 7

func Twice(n int) int { return n * 2 }

func Unseen(n int) int { return n * 3 }

func Uncalled(n int) int { return n * 5 }

func Ends(n int) int {
	for n > 0 {
		n--
	}
	return n
}

type stack[T any] []T

func (s *stack[T]) push(more ...T) { *s = append(*s, more...) }

func first[T ~int](list []T) T { return list[0] }

func unnamed(int) int { return 5 }
`,
		"p/p_test.go": `package p

import "testing"

func TestAll(t *testing.T) {
	Unseen(unnamed(1))
	var s stack[int]
	s.push(1, 2)
	if Ends(3) != 0 || offset != 7 || len(s) != 2 || first([]int{3}) != 3 {
		t.Error()
	}
}
`,
		"p/twice_test.go": "package p\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) {\n\tif Twice(2) != 4 {\n" +
			"\t\tt.Error()\n\t}\n}\n",
		"r/r.go": "package r\n\nimport \"testing\"\n\nfunc Log(t *testing.T, n int) { t.Log(n + 1) }\n",
		"q/q.go": "package q\n\nvar Limit = 7.5\n",
		"s/s.go": "package s\n\nvar Whole = 1\n\nfunc Half(n int) int { return n / 2 }\n\nfunc Third(n int) int { return n " +
			"/ 3 }\n\n" +
			"func Fourth(n int) int { return n / 4 }\n\nfunc Fifth(n int) int { return n / 5 }\n\nfunc Sixth(n int) int { " +
			"return n / 6 }\n",
		"u/u_test.go": "package u\n\nimport (\n\t\"testing\"\n\n\t\"example/s\"\n)\n\n" +
			"var half int\n\nfunc TestHalf(t *testing.T) {\n\tif half = s.Half(4); half != 2*s.Whole {\n\t\tt.Error()\n\t}\n" +
			"}\n\n" +
			"func TestMore(t *testing.T) {\n\tif half+s.Fourth(4) != 3 {\n\t\tt.Error()\n\t}\n}\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds tests")
	}
	for name, oneByOne := range map[string]time.Duration{"all tests of a package": time.Hour,
		"tests that call the function": 0} {
		t.Run(name, func(t *testing.T) { runModule(t, oneByOne) })
	}
}

func runModule(t *testing.T, oneByOne time.Duration) {
	root := module(t)
	sources, err := load(root, []string{"./..."})
	require.NoError(t, err)
	require.Len(t, sources, 3)
	var all []*mutation
	for _, s := range sources {
		all = append(all, s.mutations()...)
	}
	r, err := newRunner(root)
	require.NoError(t, err)
	defer r.close()
	// ulimit counts whole seconds, and the tests of these take hundredths: one for the mutant that
	// hangs
	r.least = 900 * time.Millisecond
	r.oneByOne = oneByOne
	want := map[string]status{
		"p/p.go Twice: n * 2 => n / 2":                 killed,
		"p/p.go Unseen: n * 3 => n / 3":                survived,
		"p/p.go Uncalled: n * 5 => n / 5":              survived, // and no test is run
		"p/p.go Ends: n-- => (removed)":                hung,
		"p/p.go offset: 7 => 8":                        killed, // a variable's value: compiled alone
		"p/p.go stack.push: append(*s, more...) => *s": killed, // a method of a generic type, with more arguments than one
		"p/p.go first: list[0] => list[1]":             killed,
		"p/p.go unnamed: return 5 => return 6":         survived, // it does not name its parameter: compiled alone
		"q/q.go Limit: 7.5 => (7.5 + 1)":               survived, // there are no tests
		"s/s.go Half: n / 2 => n * 2":                  survived, // there are no tests
		"s/s.go Half: n / 2 => n / 3":                  survived,
		"s/s.go Whole: 1 => 2":                         survived,
		"s/s.go Fourth: n / 4 => n * 4":                survived,
		"s/s.go Third: n / 3 => n * 3":                 survived,
		"s/s.go Fifth: n / 5 => n * 5":                 survived,
		"s/s.go Sixth: n / 6 => n * 6":                 survived,
	}
	got, by := map[string]status{}, map[string]string{}
	var living []*outcome
	for _, s := range sources {
		var ms []*mutation
		for _, m := range all {
			if _, ok := want[m.id()]; ok && m.pkg == s {
				ms = append(ms, m)
			}
		}
		require.NoError(t, r.run(t.Context(), s, ms, func(o outcome) {
			got[o.id()], by[o.id()] = o.status, o.by
			if o.status == survived {
				living = append(living, &o)
			}
		}))
	}
	assert.Equal(t, want, got)
	assert.Equal(t, "TestTwice", by["p/p.go Twice: n * 2 => n / 2"])
	tree, err := os.ReadFile(filepath.Join(root, "p/p.go"))
	require.NoError(t, err)
	assert.Contains(t, string(tree), "n * 2", "the tree stays as it is")

	unbuilt := *all[0]
	unbuilt.text = "nonsense("
	require.NoError(t, r.run(t.Context(), sources[0], []*mutation{&unbuilt}, func(o outcome) {
		assert.Equal(t, broken, o.status)
	}))

	require.NoError(t, os.WriteFile(filepath.Join(root, "p/p_test.go"),
		[]byte("package p\n\nimport \"testing\"\n\nfunc TestFails(t *testing.T) { t.Error() }\n"), 0o644))
	require.ErrorContains(t, r.run(t.Context(), sources[0], all[:1], nil), "p: its tests fail without a mutant")

	where := map[string]string{}
	for _, id := range slices.Collect(maps.Keys(want)) {
		if want[id] != survived {
			delete(want, id)
		}
	}
	for _, id := range []string{"Half: n / 2 => n * 2", "Half: n / 2 => n / 3", "Whole: 1 => 2",
		"Fourth: n / 4 => n * 4"} {
		// the last by a test that needs what another left
		want["s/s.go "+id], where["s/s.go "+id] = killed, "example/u"
	}
	got = map[string]status{}
	require.NoError(t, r.elsewhere(t.Context(), living, func(o *outcome) {
		got[o.id()] = o.status
		assert.Equal(t, where[o.id()], o.where, o.id())
		assert.False(t, o.partly, o.id())
	}, func(err error) { t.Error(err) }))
	assert.Equal(t, want, got)
}

// Once a mutant has taken its time, the tests of further packages are left out.
func TestElsewhereIsBounded(t *testing.T) {
	m := parsed(t, "package p\nfunc f(n int) int { return n * 3 }\n").mutations()[0]
	m.number = 1
	r := runner{most: -1}
	o := &outcome{mutation: m, status: survived}
	b := &bench{path: "q", deps: map[string]bool{m.pkg.path: true}, calls: calls{called: map[int]bool{1: true}}}
	r.byOthers(t.Context(), []*bench{b}, o)
	assert.Equal(t, survived, o.status)
	assert.True(t, o.partly)
	assert.False(t, (&bench{path: m.pkg.path, deps: b.deps}).tries(o), "its own package has tried it")
	assert.False(t, (&bench{path: "r"}).tries(o), "it is not in the binary")
}

// A bench whose tests fail without a mutant kills none, and is named.
func TestElsewhereLeavesOutWhatFails(t *testing.T) {
	if testing.Short() {
		t.Skip("builds tests")
	}
	root := module(t)
	require.NoError(t, os.WriteFile(filepath.Join(root, "u/u_test.go"),
		[]byte("package u\n\nimport (\n\t\"testing\"\n\n\t\"example/s\"\n)\n\n"+
			"func TestFails(t *testing.T) { t.Error(s.Half(2)) }\n"), 0o644))
	sources, err := load(root, []string{"./s"})
	require.NoError(t, err)
	r, err := newRunner(root)
	require.NoError(t, err)
	defer r.close()
	o := &outcome{mutation: sources[0].mutations()[0], status: survived}
	var failed []string
	require.NoError(t, r.elsewhere(t.Context(), []*outcome{o}, func(*outcome) {}, func(err error) {
		failed = append(failed, err.Error())
	}))
	require.Len(t, failed, 1)
	assert.Contains(t, failed[0], "example/u: ")
	assert.Equal(t, survived, o.status)
}

func TestHowLongTestsTake(t *testing.T) {
	c := &calls{whole: time.Minute, tests: map[int][]string{1: {"TestA", "TestB"}},
		each: map[string]time.Duration{"TestA": 1, "TestB": 2, "TestC": 4}}
	assert.EqualValues(t, 3, c.long(&mutation{number: 1}))
	c.tests = nil
	assert.Equal(t, time.Minute, c.long(&mutation{number: 1}))
}

func TestTestsOfAMutant(t *testing.T) {
	whole := &calls{called: map[int]bool{1: true}}
	alone := &calls{called: map[int]bool{1: true}, tests: map[int][]string{1: {"TestA", "TestB"}}}
	for _, c := range []struct {
		name    string
		calls   *calls
		mutant  int
		pattern string
		some    bool
	}{
		{"all tests, where they were not run one by one", whole, 1, "", true},
		{"those that call its function", alone, 1, "^(TestA|TestB)$", true},
		{"none, where none calls it", whole, 2, "", false},
		{"none, where no single one calls it", alone, 2, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			pattern, some := c.calls.pattern(&mutation{number: c.mutant})
			assert.Equal(t, c.pattern, pattern)
			assert.Equal(t, c.some, some)
		})
	}
}

func TestFirstFailure(t *testing.T) {
	assert.Equal(t, "TestA/b_c", firstFailure("--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b_c (0.00s)\nFAIL\n"))
	assert.Equal(t, "panic", firstFailure("panic: oh\n"))
}

func TestReport(t *testing.T) {
	ms := parsed(t, "package p\nfunc f(n int) int { return n * 3 }\n").mutations()
	results := []outcome{
		{mutation: ms[1], status: survived}, {mutation: ms[0], status: killed}, {mutation: ms[0], status: killed},
		{mutation: ms[0], status: hung},
		{mutation: ms[0], status: broken}, {mutation: ms[0], status: survived, listed: true, partly: true},
		{mutation: ms[0], status: killed, where: "q"},
	}
	var b bytes.Buffer
	total := write(&b, results)
	assert.Equal(t, tally{killed: 2, hung: 1, elsewhere: 1, survived: 1, equivalent: 1, broken: 1, partly: 1}, total)
	assert.InDelta(t, 100*4/6.0, total.share(), 1e-9)
	assert.Equal(t, `  killed  timed out  elsewhere  survived  equivalent  did not compile    died    package
       2          1          1         1           1                1  66.7 %          p
       2          1          1         1           1                1  66.7 %        all
3 of 6 live after their own package's tests, 2 after all; 1 of them would have taken more time

survived p/p.go:2 (arithmetic)
	-func f(n int) int { return n * 3 }
	+func f(n int) int { return n / 3 }
	p/p.go f: n * 3 => n / 3
`, b.String())
	assert.InDelta(t, 100, (&tally{}).share(), 1e-9)
}

func list(t *testing.T, text string) (*equivalents, error) {
	path := filepath.Join(t.TempDir(), "list")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	e, err := readEquivalents(path)
	if err != nil {
		text = strings.ReplaceAll(err.Error(), path, "list")
		return e, &textError{text}
	}
	return e, nil
}

type textError struct{ text string }

func (e *textError) Error() string { return e.text }

func TestEquivalents(t *testing.T) {
	s := parsed(t, "package p\nfunc f(n int) int { return n * 3 }\n")
	all := s.mutations()
	e, err := list(t, "# comment\n\np/p.go f: n * 3 => n / 3  -- a reason\nother/o.go g: a => b  -- of a package that "+
		"is not looked at\n")
	require.NoError(t, err)
	assert.Equal(t, 3, e.line["p/p.go f: n * 3 => n / 3"])
	require.NoError(t, e.stale([]*source{s}, all))
	require.NoError(t, e.refuted([]outcome{{mutation: all[1], status: survived, listed: true}}))
	err = e.refuted([]outcome{{mutation: all[1], status: killed, by: "TestF", listed: true}})
	require.ErrorContains(t, err, ":3: got a mutant that is killed (TestF): p/p.go f: n * 3 => n / 3")

	e, err = list(t, "p/p.go f: n * 4 => n / 4  -- a reason\n")
	require.NoError(t, err)
	require.ErrorContains(t, e.stale([]*source{s}, all), ":1: got p/p.go f: n * 4 => n / 4, want a mutant that there is")

	_, err = list(t, "p/p.go f: a => b\np/p.go f: a => b  --  \np/p.go f: a => b  -- x\np/p.go f: a => b  -- y\n")
	require.EqualError(t, err, `list:1: got no reason, want one after "--"
list:2: got no reason, want one after "--"
list:4: got a mutant a second time, first in line 3`)
}

func TestTheListIsWellFormed(t *testing.T) {
	_, err := readEquivalents("equivalent.txt")
	require.NoError(t, err)
}

func TestFlags(t *testing.T) {
	o, err := parse([]string{"-n", "5", "-pkg", "./a,./b", "-match", "x+"}, os.Stderr)
	require.NoError(t, err)
	assert.Equal(t, 5, o.n)
	assert.Equal(t, []string{"./a", "./b"}, o.packages)
	assert.Equal(t, regexp.MustCompile("x+").String(), o.match.String())
	_, err = parse([]string{"more"}, &bytes.Buffer{})
	require.ErrorContains(t, err, `got ["more"], want flags only`)
}
