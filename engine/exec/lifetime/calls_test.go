package lifetime

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCalls holds what Python holds of an exported program in eager execution, as far as the calls
// of modules and their lines report.
func TestCalls(t *testing.T) {
	for _, tt := range []struct {
		why, graph, want string
	}{
		{"an expression's values go with their last use: a name would have been used on another line", `
a = relu x | root 3
b = mul a a | root 3
return b | root 3
`, `
  x%0  entry..0  after relu    last use
  a%1  0..1      after mul     last use
  b%2  1..2      after return  last use
`},
		{"what a later line uses had a name, which holds it to the end of that statement", `
a = relu x | root 3
b = mul a a | root 4
c = exp b | root 4
d = log c | root 4
return d | root 5
`, `
  x%0  entry..0  after relu    last use
  b%2  1..2      after exp     last use
  c%3  2..3      after log     last use
  a%1  0..3      after log     bound to a local
  d%4  3..4      after return  last use
`},
		{"without lines nothing is known of names", `
a = relu x
b = mul a a
c = exp b
return c
`, `
  x%0  entry..0  after relu    last use
  a%1  0..1      after mul     last use
  b%2  1..2      after exp     last use
  c%3  2..3      after return  last use
`},
		{"a stack with another number of frames than calls of modules gives no lines: a function stands between", `
a = relu x | root 3
b = mul a a | root 4 | block
c = exp b | root 4 | block
return c | root 5
`, `
  x%0  entry..0  after relu    last use
  b%2  1..2      after exp     last use
  a%1  0..2      after exp     parameter of a call
  c%3  2..3      after return  last use
`},
		{"a call holds its arguments until it returns, and what it gives is its caller's", `
a = relu x | root 3
b = conv a | root 4 | block 10
c = relu b | root 4 | block 10
d = exp c | root 4 | block 10
e = add d x | root 5
return e | root 6
`, `
  b%2  1..2      after relu    last use
  c%3  2..3      after exp     last use
  a%1  0..3      after exp     parameter of a call
  d%4  3..4      after add     last use
  x%0  entry..4  after add     last use
  e%5  4..5      after return  last use
`},
		{"an argument of a call of a call lives to the end of the outer one, which was given it first", `
a = relu x | root 3
b = conv a | root 4 | block 10 | inner 20
c = relu b | root 4 | block 10 | inner 21
d = exp c | root 4 | block 10
e = log d | root 4
return e | root 5
`, `
  x%0  entry..0  after relu    last use
  b%2  1..2      after relu    last use
  c%3  2..3      after exp     last use
  d%4  3..4      after log     last use
  a%1  0..4      after log     bound to a local
  e%5  4..5      after return  last use
`},
		{"an argument of two calls lives to the end of the later", `
a = relu x | root 3
b = conv a | root 4 | first 10
c = add b a | root 4 | second 20
d = exp c | root 4 | second 20
return d | root 4
`, `
  x%0  entry..0  after relu    last use
  c%3  2..3      after exp     last use
  b%2  1..3      after exp     parameter of a call
  d%4  3..4      after return  last use
  a%1  0..4      after return  bound to a local
`},
		{"of values that go together the calls' own go first, the innermost call's before its caller's, and of one call's " +
			"what it passed on before its locals", `
p = relu x | root 3
q = exp x | root 4
r = log x | root 4
o = neg r | root 5
s = conv q p o | root 5 | block 10
u = exp s | root 5 | block 11 | inner 20
v = mul u u | root 5 | block 11 | inner 21
return v | root 6
`, `
  x%0  entry..2  after log     last use
  u%6  5..6      after mul     last use
  s%5  4..6      after mul     parameter of a call
  q%2  1..6      after mul     parameter of a call
  p%1  0..6      after mul     parameter of a call
  o%4  3..6      after mul     parameter of a call
  r%3  2..6      after mul     bound to a local
  v%7  6..7      after return  last use
`},
		{"members of lists are passed as arguments are", `
a = relu x | root 3
b = exp x | root 3
c = cat [a b] | root 3 | block 10
d = exp c | root 3 | block 10
return d | root 3
`, `
  x%0  entry..1  after exp     last use
  c%3  2..3      after exp     last use
  a%1  0..3      after exp     parameter of a call
  b%2  1..3      after exp     parameter of a call
  d%4  3..4      after return  last use
`},
		{"what a block of a node uses counts as used by the node; the block's own values go in it", `
a = relu x | root 3
b = exp x | root 3
c = cond b | root 3 | block 10
  d = relu a
  e = exp d
f = exp c | root 3 | block 10
return f | root 3
`, `
  x%0  entry..1  after exp     last use
  d%4  3..4      after exp     last use
  e%5  4..4      after exp     no use
  c%3  2..5      after exp     last use
  b%2  1..5      after exp     parameter of a call
  a%1  0..5      after exp     parameter of a call
  f%6  5..6      after return  last use
`},
		{"a value that nothing uses had no name that matters, and what a caller passes in is the caller's", `
a, b = split x | root 3 | block 10
c = exp a | root 3 | block 11
d = log x | root 3 | block 12
return c d | root 4
`, `
  b%2  0..0      after split   no use
  a%1  0..1      after exp     last use
  x%0  entry..2  after log     last use
  c%3  1..3      after return  last use
  d%4  2..3      after return  last use
`},
		{"a statement goes on where its line does, over calls", `
a = relu x | root 3
b = conv a | root 4 | first 10
c = conv b | root 4 | second 20
d = exp c | root 4 | second 21
e = log d | root 5
return e | root 6
`, `
  x%0  entry..0  after relu    last use
  c%3  2..3      after exp     last use
  b%2  1..3      after exp     parameter of a call
  a%1  0..3      after exp     bound to a local
  d%4  3..4      after log     last use
  e%5  4..5      after return  last use
`},
		{"an inner call's local goes before what its caller was given", `
p = relu x | root 3
s = conv p | root 4 | block 10
u = exp s | root 4 | block 11
v = mul u s | root 4 | block 12
w = log v v | root 4 | block 12
return w | root 5
`, `
  x%0  entry..0  after relu    last use
  v%4  3..4      after log     last use
  u%3  2..4      after log     bound to a local
  s%2  1..4      after log     bound to a local
  p%1  0..4      after log     parameter of a call
  w%5  4..5      after return  last use
`},
		{"a line that is not stated ends no statement", `
a = relu x | root 3
b = mul a a | root
c = exp b | root 4
d = log a | root 4
e = exp d | root
f = neg e | root
return c f | root 5
`, `
  x%0  entry..0  after relu    last use
  b%2  1..2      after exp     last use
  a%1  0..3      after log     last use
  d%4  3..4      after exp     last use
  e%5  4..5      after neg     last use
  c%3  2..6      after return  last use
  f%6  5..6      after return  last use
`},
		{"calls may be left and come back to, and begin late", `
a = relu x | root 3
b = exp x | root 3
c = conv b | root 4 | block 10
d = neg a | root 4
e = exp c | root 4 | block 11
f = log e d | root 4 | block 11
g = mul c f | root 4 | block 12
return g | root 5
`, `
  x%0  entry..1  after exp     last use
  e%5  4..5      after log     last use
  c%3  2..6      after mul     last use
  f%6  5..6      after mul     last use
  b%2  1..6      after mul     parameter of a call
  d%4  3..6      after mul     parameter of a call
  a%1  0..6      after mul     bound to a local
  g%7  6..7      after return  last use
`},
	} {
		t.Run(tt.why, func(t *testing.T) { checkCalls(t, tt.graph, tt.want, false) })
	}
}

func checkCalls(t *testing.T, graph, want string, most bool) {
	t.Helper()
	f := exported(t, strings.TrimPrefix(graph, "\n"))
	f.Ranges = Calls(f.Graph, most)
	assert.NoError(t, Check(f))
	_, got, _ := strings.Cut(text(t, f), "\n")
	assert.Equal(t, strings.TrimPrefix(want, "\n"), got)
}

// TestCallsAtMost holds the upper account: every value as long as some name may hold it.
func TestCallsAtMost(t *testing.T) {
	for _, tt := range []struct {
		why, graph, want string
	}{
		{"a name may hold any value to the end of the call that it was made and used in", `
a = relu x | root 3 | outer 10
b = conv a | root 3 | outer 11 | block 20
c = relu b | root 3 | outer 11 | block 20
d = exp c | root 3 | outer 11 | block 20
e = exp d | root 3 | outer 12
f = exp e | root 3 | outer 12
g = exp f | root 4
return g | root 5
`, `
  x%0  entry..0  after relu    last use
  c%3  2..3      after exp     last use
  b%2  1..3      after exp     local to the end of its call
  e%5  4..5      after exp     last use
  a%1  0..5      after exp     local to the end of its call
  g%7  6..7      after return  last use
  d%4  3..7      after return  local to the end of its call
  f%6  5..7      after return  local to the end of its call
`},
		{"a call on whose line more names are bound than the program uses values of it gave something else too, which its " +
			"caller holds", `
z = neg x | root 3
a = relu z | root 3 | outer 10: y, _ = self.block(x) | block 20
b = exp a | root 3 | outer 10: y, _ = self.block(x) | block 21
c = log b | root 3 | outer 11
d = exp c | root 4
return d | root 5
`, `
  x%0  entry..0  after neg     last use
  a%2  1..3      after log     local to the end of its call
  d%5  4..5      after return  last use
  b%3  2..5      after return  local to the end of its call
  z%1  0..5      after return  local to the end of its call
  c%4  3..5      after return  local to the end of its call
`},
		{"with as many names as values nothing else was given", `
a = relu x | root 3 | outer 10: y, z = self.block(x) | block 20
b = exp a | root 3 | outer 10: y, z = self.block(x) | block 21
c = log a | root 3 | outer 10: y, z = self.block(x) | block 22
d = exp c | root 3 | outer 10: y, z = self.block(x) | block 23
e = add b d | root 3 | outer 11
return e | root 4
`, `
  x%0  entry..0  after relu    last use
  c%3  2..3      after exp     last use
  a%1  0..3      after exp     local to the end of its call
  b%2  1..4      after add     last use
  e%5  4..5      after return  last use
  d%4  3..5      after return  local to the end of its call
`},
		{"one name is no more than one value, though the program uses none", `
a = relu x | root 3 | outer 10: y = self.block(x) | block 20
b = exp a | root 3 | outer 10: y = self.block(x) | block 21
c = exp x | root 3 | outer 11
return c | root 4
`, `
  a%1  0..1      after exp     last use
  b%2  1..1      after exp     no use
  x%0  entry..2  after exp     last use
  c%3  2..3      after return  last use
`},
		{"targets that are no names alone, or a line without an assignment, say nothing", `
a = relu x | root 3 | outer 10: y[0], _ = self.block(x) | block 20
b = exp a | root 3 | outer 10: y[0], _ = self.block(x) | block 21
c = log b | root 3 | outer 11: (y, _), h = self.other(x) | other 30
d = exp c | root 3 | outer 11: (y, _), h = self.other(x) | other 31
e = log d | root 3 | outer 12: self.third(x, y, h) | third 40
f = exp e | root 3 | outer 12: self.third(x, y, h) | third 41
g = exp f | root 3 | outer 13
return g | root 4
`, `
  x%0  entry..0  after relu    last use
  a%1  0..1      after exp     last use
  c%3  2..3      after exp     last use
  e%5  4..5      after exp     last use
  b%2  1..6      after exp     local to the end of its call
  d%4  3..6      after exp     local to the end of its call
  g%7  6..7      after return  last use
  f%6  5..7      after return  local to the end of its call
`},
		{"the last result of a call's call may be held by an object that it gives", `
a = relu x | root 3 | block 10 | inner 20
b = exp a | root 3 | block 10 | inner 21
c = conv b | root 3 | block 11 | second 30
d = exp c | root 3 | block 11 | second 31
e = add b d | root 3 | block 12
f = exp e | root 4
return f | root 5
`, `
  x%0  entry..0  after relu    last use
  a%1  0..1      after exp     last use
  c%3  2..3      after exp     last use
  b%2  1..4      after add     last use
  f%6  5..6      after return  last use
  d%4  3..6      after return  local to the end of its call
  e%5  4..6      after return  local to the end of its call
`},
		{"what a call of a call gave goes with the outermost whose line has more names", `
a = relu x | root 3 | outer 5: y, _ = self.block(x) | block 10: h, _ = self.inner(x) | inner 20
b = exp a | root 3 | outer 5: y, _ = self.block(x) | block 10: h, _ = self.inner(x) | inner 21
c = exp b | root 3 | outer 5: y, _ = self.block(x) | block 11
d = exp c | root 3 | outer 6
e = exp d | root 4
return e | root 5
`, `
  x%0  entry..0  after relu    last use
  a%1  0..3      after exp     local to the end of its call
  b%2  1..3      after exp     local to the end of its call
  e%5  4..5      after return  last use
  c%3  2..5      after return  local to the end of its call
  d%4  3..5      after return  local to the end of its call
`},
		{"names on the line of a caller's caller are not of what its calls made and used themselves", `
z = exp x | root 3
a = relu z | root 4: y, _ = self.block(x) | block 10: h = self.inner(x) | inner 20
b = exp a | root 4: y, _ = self.block(x) | block 10: h = self.inner(x) | inner 21
c = exp b | root 4: y, _ = self.block(x) | block 11
d = log z | root 4: y, _ = self.block(x) | block 12
e = mul c d | root 5
return e | root 6
`, `
  x%0  entry..0  after exp     last use
  a%2  1..2      after exp     last use
  e%6  5..6      after return  last use
  b%3  2..6      after return  local to the end of its call
  z%1  0..6      after return  local to the end of its call
  c%4  3..6      after return  local to the end of its call
  d%5  4..6      after return  local to the end of its call
`},
		{"of locals that go together the inner call's go first", `
p = relu x | root 3
a = exp p | root 4 | block 10
b = exp a | root 4 | block 11
c = log b | root 4 | block 12
`, `
  x%0  entry..0  after relu  last use
  b%3  2..3      after log   last use
  c%4  3..3      after log   no use
  a%2  1..3      after log   local to the end of its call
  p%1  0..3      after log   local to the end of its call
`},
		{"values that leave a call, its first among them, are as many as the names on its line: it gave nothing else", `
a = relu x | root 4 | outer 9: y, z, w = self.block(x) | block 10
h = neg x | root 4 | outer 9: y, z, w = self.block(x) | block 11
b = exp h | root 4 | outer 9: y, z, w = self.block(x) | block 11
c = log b | root 4 | outer 9: y, z, w = self.block(x) | block 12
d = mul a b | root 4 | outer 9
e = exp c | root 4 | outer 9
return d e | root 6
`, `
  x%0  entry..1  after neg     last use
  h%2  1..3      after log     local to the end of its call
  a%1  0..5      after exp     local to the end of its call
  b%3  2..5      after exp     local to the end of its call
  d%5  4..6      after return  last use
  e%6  5..6      after return  last use
  c%4  3..6      after return  local to the end of its call
`},
	} {
		t.Run(tt.why, func(t *testing.T) { checkCalls(t, tt.graph, tt.want, true) })
	}
}
