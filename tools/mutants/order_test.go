package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Loops whose rounds may come in any order are not gone through from the end; all others are.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		why, body string
		any       bool
	}{
		{"a sum", `n := 0; for _, x := range xs { if x == 3 { continue }; n += x * 2; n-- }; return n`, true},
		{"a product and a sum apart", `n, m := 1, 0; for _, x := range xs { n *= x; m++ }; return n + m`, true},
		{"a product and a sum in one", `n := 1; for _, x := range xs { n *= x; n++ }; return n`, false},
		{"a sum that decides", `n := 0; for _, x := range xs { if n < 5 { n += x } }; return n`, false},
		{"a remainder", `n := 100; for _, x := range xs { n /= x }; return n`, false},
		{"the largest", `n := 0; for _, x := range xs { n = max(n, x) }; return n`, true},
		{"the largest of others", `n := 0; for _, x := range xs { n = max(x, 3) }; return n`, false},
		{"the last", `n := 0; for _, x := range xs { n = x }; return n`, false},
		{"a mark", `n := 0; for _, x := range xs { if x > 2 { n = 1; break } }; return n`, true},
		{"two marks in one", `n := 0; for _, x := range xs { if x > 2 { n = 1 } else { n = 2 } }; return n`, false},
		{"a mark that is read", `n := 0; for _, x := range xs { if n == 0 && x > 2 { n = 1 } }; return n`, false},
		{"a set", `m := map[int]bool{}; for _, x := range xs { m[x] = true }; return len(m)`, true},
		{"a set that is read", `m, n := map[int]bool{}, 0; for _, x := range xs { if m[x] { n++ }; m[x] = true }; return n`,
			false},
		{"an index", `m := map[int]int{}; for i, x := range xs { m[x] = i }; return len(m)`, false},
		{"whether any is", `for _, x := range xs { if x > 2 { return 1 } }; return 0`, true},
		{"which is first", `for i, x := range xs { if x > 2 { return i } }; return 0`, false},
		{"either of two answers", `for _, x := range xs { if x > 2 { return 1 }; if x < 0 { return 2 } }; return 0`, false},
		{"an answer after a sum", `n := 0; for _, x := range xs { n += x; if x > 2 { return 1 } }; return n`, false},
		{"a sum that ends", `n := 0; for _, x := range xs { if x > 2 { break }; n += x }; return n`, false},
		{"its own member", `for i, x := range xs { ys[i] = x + 1 }; return 0`, true},
		{"its own member of itself", `for i := range xs { xs[i] = xs[i] * 2 }; return 0`, true},
		{"another's member", `for i := range xs { if i > 0 { xs[i] = xs[i-1] } }; return 0`, false},
		{"another is written", `for i, x := range xs { ys[i+1] = x }; return 0`, false},
		{"a member of a whole that is read", `for i := range xs { xs[i] = len(xs) }; return 0`, false},
		{"whether any is, and goes on",
			`ok := false; for _, x := range xs { ok = ok || x > 2 }; if ok { return 1 }; return 0`,
			true},
		{"whether all are", `ok := true; for _, x := range xs { ok = ok && x > 2 }; if ok { return 1 }; return 0`, true},
		{"whether any and all in one", `ok := true; for _, x := range xs { ok = ok && x > 2; ok = ok || x < 0 }
			if ok { return 1 }; return 0`, false},
		{"whether the last is",
			`ok := true; for _, x := range xs { ok = x > 2 || ok && x > 1 }; if ok { return 1 }; return 0`,
			false},
		{"a mark of what is the same in each round",
			`n, m := 0, len(ys); for _, x := range xs { if x > 2 { n = m } }; return n`,
			true},
		{"a mark of what rounds count", `n, m := 0, 0; for _, x := range xs { if x > 2 { n = m }; m++ }; return n`, false},
		{"a largest that goes elsewhere", `n, m := 0, 0; for _, x := range xs { n++; m = max(n, x) }; return m`, false},
		{"a truth that goes elsewhere", `a, b := false, false
			for _, x := range xs { a = a || x > 2; b = a || x > 3 }; if b { return 1 }; return 0`, false},
		{"a mark in a slice", `for _, x := range xs { ys[x] = 7 }; return 0`, true},
		{"a mark in a slice that is read", `for _, x := range xs { ys[x] = 7; total += ys[0] }; return 0`, false},
		{"a mark and then an end",
			`n := 0; for _, x := range xs { if x > 2 { n = 1 }; if x < 0 { break } }; return n`, false},
		{"an end with a mark and one without",
			`n := 0; for _, x := range xs { if x > 2 { n = 1; break }; if x < 0 { break } }; return n`, false},
		{"an end that marks the round", `for _, x := range xs { if x > 2 { ys[x] = 1; break } }; return 0`, false},
		{"what is taken away", `m := map[int]int{}; for _, x := range xs { delete(m, x) }; return len(m)`, true},
		{"what is taken away and asked for",
			`m, n := map[int]int{}, 0; for _, x := range xs { n += len(m); delete(m, x) }; return n`, false},
		{"what is taken away and put there",
			`m := map[int]int{}; for _, x := range xs { delete(m, x); m[x+1] = 1 }; return len(m)`, false},
		{"another builtin", `for _, x := range xs { clear(ys[:x]) }; return 0`, false},
		{"its own member by a pointer", `for i, x := range many { p := &many[i]; p.n = x.n + 1 }; return 0`, true},
		{"another's member by a pointer", `for i := range many { p := &many[0]; p.n = i }; return 0`, false},
		{"by a pointer within its own member", `for i := range many { p := &many[i]; p.next.n = i }; return 0`, false},
		{"its own member of a field", `t := thing{}; for i, x := range xs { t.ns[i] = x }; return 0`, true},
		{"another's member of a field", `t := thing{}; for i, x := range xs { t.ns[i] = x + t.ns[0] }; return 0`, false},
		{"an end that says what is known before",
			`n := len(ys); for _, x := range xs { if x > 2 { return n } }; return 0`, true},
		{"an end that says what the round is", `for _, x := range xs { if y := x; x > 2 { return y } }; return 0`, false},
		{"what is appended", `for _, x := range xs { ys = append(ys, x) }; return 0`, false},
		{"a call", `for _, x := range xs { g(x) }; return 0`, false},
		{"a call in a question", `for _, x := range xs { if g(x) { return 1 } }; return 0`, false},
		{"a loop within", `n := 0; for _, x := range xs { for _, y := range ys { if y == x { n++; break } } }; return n`,
			true},
		{"a choice",
			`n := 0; for _, x := range xs { switch { case x > 2: n++; case x < 0: break; default: n += 2 } }; return n`, true},
		{"a choice by type",
			`for _, x := range xs { switch v := any(x).(type) { case int: if v > 2 { return 1 } } }; return 0`, true},
		{"one without a name", `n := 0; for _, x := range xs { switch any(x).(type) { case int: n++ } }; return n`, true},
		{"either of two by type",
			`for _, x := range xs { switch any(x).(type) { case int: return 1; default: return 2 } }; return 0`, false},
		{"one that asks what counts",
			`for _, x := range xs { switch any(counts(x)).(type) { case bool: return 1 } }; return 0`, false},
		{"floats round", `var f float64; for _, x := range xs { f += float64(x) / 3 }; return int(f)`, false},
		{"a jump to a label", `out: for range 3 { for _, x := range xs { if x > 2 { continue out } } }; return 0`, false},
		{"variables from outside", `i, x := 0, 0; for i, x = range xs { }; return i + x`, false},
		{"a text that grows", `s := ""; for _, x := range xs { s += string(rune(x)) }; return len(s)`, false},
		{"what waits for the end", `for _, x := range xs { defer g(x) }; return 0`, false},
		{"a question of the package's own", `n := 0; for _, x := range xs { if asks(x) { n++ } }; return n`, true},
		{"one that asks itself", `for _, x := range xs { if again(x) { return 1 } }; return 0`, true},
		{"one of a method", `for _, x := range xs { if (thing{}).asks(x) { return 1 } }; return 0`, true},
		{"one that counts how often it is asked", `for _, x := range xs { if counts(x) { return 1 } }; return 0`, false},
		{"one that writes where its argument says", `for _, x := range xs { if writes(ys, x) { return 1 } }; return 0`, false},
		{"one that asks such a one", `for _, x := range xs { if through(x) { return 1 } }; return 0`, false},
		{"one that gives out numbers", `for _, x := range xs { if <-line > x { return 1 } }; return 0`, false},
		{"one that may look at what the rounds write", `for _, x := range xs { if asks(x) { total++ } }; return 0`, false},
		{"or at what they write in a slice", `for i, x := range xs { if asks(x) { ys[i] = 1 } }; return 0`, false},
		{"what nobody else has",
			`zs, n := make([]int, len(xs)), 0; for i, x := range xs { if asks(x) { zs[i] = 1 } }; return n + len(zs)`, true},
		{"what was given away before",
			`zs := make([]int, len(xs)); ys = zs; for i, x := range xs { if asks(x) { zs[i] = 1 } }; return 0`, false},
		{"what an earlier round of another loop may have given away",
			`zs := make([]int, 9); for range 2 { for i, x := range xs { if asks(x) { zs[i] = 1 } }; ys = zs }; return 0`,
			false},
		{"what has another's name",
			`zs := make([]int, 9); for i, x := range xs { zs := ys; if asks(x) { zs[i] = 1 } }; return len(zs)`, false},
		{"what another slice is of", `zs := ys; for i, x := range xs { if asks(x) { zs[i] = 1 } }; return 0`, false},
	} {
		s := parsed(t, `package p
var total int
var line chan int
type thing struct{ n int; ns []int; next *thing }
var many []thing
func (thing) asks(x int) bool { return x > total }
func asks(x int) bool { n := 0; for i := range x { n += i }; x = n; return x > total }
func again(x int) bool { return x > 3 || x > 0 && again(x-1) }
func counts(x int) bool { total++; return x > 3 }
func writes(to []int, x int) bool { to[0] = x; return x > 3 }
func through(x int) bool { y := counts(x); return y }
func g(x int) bool { writes(nil, x); return true }
func f(xs, ys []int) int { `+c.body+` }`)
		reversed := 0
		for _, m := range s.mutations() {
			if m.operator == "order" {
				reversed++
			}
		}
		want := 1
		if c.any {
			want = 0
		}
		if c.why == "a loop within" {
			assert.LessOrEqual(t, reversed, 1, c.why)
			continue
		}
		assert.Equal(t, want, reversed, c.why)
	}
}

// Functions of other packages of the repository are looked at where they stand.
func TestOrderAcrossPackages(t *testing.T) {
	t.Setenv("GOWORK", "off") // it is a module by itself
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example\n\ngo 1.26\n",
		"q/q.go": `package q

var total int

type T[E any] struct{ N int }

func (t T[E]) Asks() bool    { return t.N > total }
func (t *T[E]) Counts() bool { t.N++; return t.N > 3 }

func Asks(x int) bool   { return x > total }
func Counts(x int) bool { total++; return x > 3 }

type Name string

func (n Name) String() string { total++; return string(n) }

type Either interface{ Asks() bool }
`,
		"p/p.go": `package p

import (
	"example/q"
	"fmt"
)

func Function(xs []int) bool { for _, x := range xs { if q.Asks(x) { return true } }; return false }
func Method(xs []q.T[int]) bool { for _, x := range xs { if x.Asks() { return true } }; return false }
func CountingFunction(xs []int) bool { for _, x := range xs { if q.Counts(x) { return true } }; return false }
func CountingMethod(xs []*q.T[int]) bool { for _, x := range xs { if x.Counts() { return true } }; return false }
func Prints(xs []int) bool { for _, x := range xs { if fmt.Sprint(x) > "3" { return true } }; return false }
func PrintsMethod(xs []q.Name) bool { for _, x := range xs { if fmt.Sprint(x) > "3" { return true } }; return false }
func Unknown(xs []q.Either) bool { for _, x := range xs { if x.Asks() { return true } }; return false }
`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	sources, err := load(dir, []string{"./..."})
	require.NoError(t, err)
	var reversed []string
	for _, s := range sources {
		for _, m := range s.mutations() {
			if m.operator == "order" {
				reversed = append(reversed, m.function)
			}
		}
	}
	assert.Equal(t, []string{"CountingFunction", "CountingMethod", "PrintsMethod", "Unknown"}, reversed)
}
