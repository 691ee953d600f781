package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parsed is a package of one file, without imports.
func parsed(t *testing.T, text string) *source {
	t.Helper()
	s := &source{path: "p", name: "p", rel: "p", fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
	tree, err := parser.ParseFile(s.fset, "p.go", text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	s.files = []sourceFile{{path: "p.go", rel: "p/p.go", text: []byte(text), tree: tree}}
	s.help, err = parser.ParseFile(s.fset, helpFile, helpText("p"), 0)
	require.NoError(t, err)
	_, err = s.conf.Check("p", s.fset, s.trees(-1, nil), s.info)
	require.NoError(t, err)
	return s
}

// changes are the mutations of a package in words, those that do not compile marked.
func changes(s *source) []string {
	var out []string
	for _, m := range s.mutations() {
		text := m.operator + ": " + strings.TrimPrefix(m.id(), "p/p.go ")
		if !m.compiles() {
			text += " (does not compile)"
		}
		out = append(out, text)
	}
	return out
}

func TestMutations(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       []string
	}{
		{"comparisons move by one and turn round", `func f(a, b int) bool { return a < b || a == b }`, []string{
			"condition: f: a < b || a == b => a < b && a == b",
			"condition: f: a < b || a == b => a < b",
			"condition: f: a < b || a == b => a == b",
			"comparison: f: a < b => a <= b",
			"comparison: f: a < b => a >= b",
			"comparison: f: a == b => a != b",
		}},
		{"conditions are negated, with and without a sign", `func f(a, b bool) int {
			if a && !b {
				return 5
			}
			switch {
			case b:
				return 0
			}
			return 1
		}`, []string{
			"condition: f: a && !b => a || !b",
			"condition: f: a && !b => a",
			"condition: f: a && !b => !b",
			"condition: f: a => !a",
			"condition: f: !b => b",
			"constant: f: return 5 => return 6",
			"constant: f: return 5 => return 4",
			"condition: f: b => !b",
			"constant: f: return 0 => return 1",
			"constant: f: return 1 => return 2",
			"constant: f: return 1 => return 0",
		}},
		{"arithmetic", `func f(a, b int, s string) (int, string) { a += b; a--; return -min(a, b)<<a, s + s }`, []string{
			"arithmetic: f: a += b => a -= b",
			"statement: f: a += b => (removed)",
			"arithmetic: f: a-- => a++",
			"statement: f: a-- => (removed)",
			"return: f: return -min(a, b)<<a, s + s => return (-min(a, b)<<a) + 1, s + s",
			`return: f: return -min(a, b)<<a, s + s => return -min(a, b)<<a, ""`,
			"arithmetic: f: -min(a, b)<<a => -min(a, b)>>a",
			"arithmetic: f: -min(a, b) => min(a, b)",
			"arithmetic: f: min(a, b) => max(a, b)",
		}},
		{"statements, arguments and appends", `func f(a, b []int, n int) []int {
			if n == 1 { return nil }
			g(a, b, n)
			a = append(a, b...)
			return a
		}
		func g(a, b []int, n int) { panic("internal error: never") }`, []string{
			"comparison: f: n == 1 => n != 1",
			"constant: f: n == 1 => n == 2",
			"constant: f: n == 1 => n == 0",
			"statement: f: g(a, b, n) => (removed)",
			"arguments: f: g(a, b, n) => g(b, a, n)",
			"append: f: append(a, b...) => a",
			"return: f: return a => return nil",
		}},
		{"arguments where the order does not matter, or go vet sees it", `type t struct{}
		func (t) EqualFold(a, b string) bool { return true }
		var strings t
		func printf(a, b string) {}
		func f(a, b string) bool { printf("%s", a); printf("s", b); return strings.EqualFold(a, b) }`, []string{
			"constant: t.EqualFold: return true => return false",
			`statement: f: printf("%s", a) => (removed)`,
			`statement: f: printf("s", b) => (removed)`,
			`arguments: f: printf("s", b) => printf(b, "s")`,
			"condition: f: strings.EqualFold(a, b) => !strings.EqualFold(a, b)",
		}},
		{"dimensions that change places", `func Transposed(t, a, b int) int { return t }
		func Do(op string, args ...int) int { return len(op) }
		func f(t, a, b int) { Transposed(t, a, b); Do("aten::transpose.int", t, a, b) }`, []string{
			"return: Transposed: return t => return (t) + 1",
			"return: Do: return len(op) => return (len(op)) + 1",
			"statement: f: Transposed(t, a, b) => (removed)",
			"arguments: f: Transposed(t, a, b) => Transposed(a, t, b)",
			`statement: f: Do("aten::transpose.int", t, a, b) => (removed)`,
			`arguments: f: Do("aten::transpose.int", t, a, b) => Do("aten::transpose.int", a, t, b)`,
		}},
		{"numbers of which one more is the same", `var math struct{ Inf, NaN func() float64 }
		func f() (float64, float64, float64, float64) { return 1e300 * 2, 1.5 + 0, math.Inf(), math.NaN() }`, []string{
			"return: f: return 1e300 * 2, 1.5 + 0, math.Inf(), math.NaN() => " +
				"return 1e300 * 2, (1.5 + 0) + 1, math.Inf(), math.NaN()",
			"arithmetic: f: 1e300 * 2 => 1e300 / 2",
			"constant: f: 1e300 * 2 => 1e300 * 3",
			"constant: f: 1e300 * 2 => 1e300 * 1",
			"arithmetic: f: 1.5 + 0 => 1.5 - 0",
			"constant: f: 1.5 + 0 => (1.5 + 1) + 0",
			"constant: f: 1.5 + 0 => 1.5 + 1",
		}},
		{"loops", `func f(a []int, n int) (s int) {
			for i := range n { s += i; if s > 3.0 { break } }
			for _, x := range a { s = x; switch { case x == s: break; default: continue } }
			return
		}`, []string{
			"constant: f: for i := range n => for i := range n - 1",
			"arithmetic: f: s += i => s -= i",
			"statement: f: s += i => (removed) (does not compile)",
			"comparison: f: s > 3.0 => s >= 3.0",
			"comparison: f: s > 3.0 => s <= 3.0",
			"constant: f: s > 3.0 => s > (3.0 + 1)",
			"branch: f: break => continue",
			"order: f: for _, x := range a => for _, x := range mutantBackward(a)",
			"statement: f: s = x => (removed)",
			"comparison: f: x == s => x != s",
			"branch: f: continue => break",
			"statement: f: return => (removed) (does not compile)",
		}},
		{"what stands beside an error or a false means nothing", `func f(err error) (int, string, error) {
			if err != nil { return 0, "x", err }
			return 0, "x", nil
		}
		func g(a int) (int, bool) { if a > 1 { return a, false }; return a, true }`, []string{
			"comparison: f: err != nil => err == nil",
			`return: f: return 0, "x", err => return 0, "x", nil`,
			`return: f: return 0, "x", nil => return 0, "", nil`,
			`constant: f: return 0, "x", nil => return 1, "x", nil`,
			"comparison: g: a > 1 => a >= 1",
			"comparison: g: a > 1 => a <= 1",
			"constant: g: a > 1 => a > 2",
			"constant: g: a > 1 => a > 0",
			"constant: g: return a, false => return a, true",
			"return: g: return a, true => return (a) + 1, true",
			"constant: g: return a, true => return a, false",
		}},
		{"capacities, lengths of arrays and numbers that count are left alone", `const (
			first = iota + 1
			second
		)
		var room = [4]int{}
		func f(n int) ([]int, map[int]int) { return make([]int, n, n+2), make(map[int]int, n+1) }`, []string{
			"return: f: return make([]int, n, n+2), make(map[int]int, n+1) => return nil, make(map[int]int, n+1)",
			"return: f: return make([]int, n, n+2), make(map[int]int, n+1) => return make([]int, n, n+2), nil",
		}},
		{"the bits of a float and the sign of an infinity are left alone, and what is the same turned round", `var strconv struct{ ParseFloat func(string, int) float64 }
		var math struct{ Inf func(int) float64 }
		var strings struct{ ContainsAny func(a, b string) bool }
		var (
			a = strconv.ParseFloat("", 64)
			b = strconv.ParseFloat("", 32)
			c = math.Inf(1)
			d = math.Inf(-1)
			e = strings.ContainsAny("a", "b")
		)`, []string{
			`constant: b: strconv.ParseFloat("", 32) => strconv.ParseFloat("", 33)`,
			`constant: b: strconv.ParseFloat("", 32) => strconv.ParseFloat("", 31)`,
			"constant: d: 1 => 2",
			"constant: d: 1 => 0",
		}},
		{"variables of the package, methods, the same text twice", `type T struct{ on bool }
		var limit = 2
		func (t *T) set(x, y *T) { x.on, y.on = true, true; t.on = true }`, []string{
			"constant: limit: 2 => 3",
			"constant: limit: 2 => 1",
			"statement: T.set: x.on, y.on = true, true => (removed)",
			"constant: T.set: x.on, y.on = true, true => x.on, y.on = false, true",
			"constant: T.set: x.on, y.on = true, true => x.on, y.on = true, false",
			"statement: T.set: t.on = true => (removed)",
			"constant: T.set: t.on = true => t.on = false",
		}},
		{"a removal that leaves a variable unused does not compile", `func f(x int) { n := x; g(n) }
		func g(int) {}`, []string{
			"statement: f: g(n) => (removed) (does not compile)",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, changes(parsed(t, "package p\n"+c.code+"\n")))
		})
	}
}

func TestGeneratedFilesHaveNone(t *testing.T) {
	assert.Empty(t, changes(parsed(t, "// Code generated by hand. DO NOT EDIT.\n\npackage p\n\nvar n = 1\n")))
}

func TestSameTextTwice(t *testing.T) {
	ms := parsed(t, "package p\nfunc f(a int) bool { if a == 7 { return true }; return a == 7 }\n").mutations()
	assert.Equal(t, "p/p.go f: a == 7 => a != 7", ms[0].id())
	assert.Equal(t, "p/p.go f: a == 7 => a != 7 #2", ms[4].id())
	assert.Equal(t, 2, ms[0].line)
	const before = "func f(a int) bool { if a == 7 { return true }; return a == 7 }\n"
	const after = "func f(a int) bool { if a == 7 { return true }; return a != 7 }\n"
	assert.Equal(t, "package p\n"+after, string(ms[4].mutated()))
	assert.Equal(t, "\t-"+before+"\t+"+after, ms[4].diff())
}

func TestOneLine(t *testing.T) {
	long := strings.Repeat("x", 60)
	assert.Equal(t, "f(a, b)", oneLine("f(", "a,\n\t\tb", ")"))
	assert.Equal(t, "…"+long[10:]+"+"+long[10:]+"…", oneLine(long, "+", long))
	assert.Equal(t, "a b", oneLine("a ", "", " b")[:1]+" b")
}

const two = "package p\nfunc f(a, b int) int { if a < b { return a }; return b }\n" +
	"func g(a int) int { a++; return a + 3 }\n"

func ids(ms []*mutation) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.id())
	}
	return out
}

func TestDraw(t *testing.T) {
	all := parsed(t, two).mutations()
	first, _ := draw(all, 3, 1, nil)
	again, _ := draw(parsed(t, two).mutations(), 3, 1, nil)
	assert.Len(t, first, 3)
	assert.Equal(t, ids(first), ids(again), "the same seed draws the same")
	differs := false
	for seed := range int64(10) {
		other, _ := draw(all, 3, seed+2, nil)
		differs = differs || strings.Join(ids(other), "\n") != strings.Join(ids(first), "\n")
	}
	assert.True(t, differs, "another seed draws others")

	sites := map[string]bool{}
	for _, m := range first {
		assert.False(t, sites[m.site()], "one mutant an expression")
		sites[m.site()] = true
	}
	every, broken := draw(all, 0, 1, nil)
	assert.Len(t, every, len(all)-broken, "0 takes all that compile")
	only, _ := draw(all, 0, 1, regexp.MustCompile(`p\.go g: a\+\+`))
	assert.Len(t, only, 2)
}

func TestDrawStaysWhereOtherCodeChanges(t *testing.T) {
	before, _ := draw(parsed(t, two).mutations(), 4, 1, nil)
	moved := strings.Replace(two, "package p\n", "package p\n\n// A comment.\nfunc h() {}\n\n", 1)
	after, _ := draw(parsed(t, moved).mutations(), 4, 1, nil)
	assert.Equal(t, ids(before), ids(after))
}

func TestDrawPassesOverWhatDoesNotCompile(t *testing.T) {
	all := parsed(t, "package p\nfunc f(x int) { n := x; g(n) }\nfunc g(int) {}\n").mutations()
	got, broken := draw(all, 5, 1, nil)
	assert.Empty(t, got)
	assert.Equal(t, 1, broken)
}
