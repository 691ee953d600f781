package python

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStrings: a literal's bytes, as Python reads them.
func TestStrings(t *testing.T) {
	for in, want := range map[string]string{
		`"\a\b\f\n\r\t\v"`: "\a\b\f\n\r\t\v", `"\\\'\""`: `\'"`, "'a\\\nb'": "ab", `"\0\12\1234\777"`: "\x00\nS4\xff",
		`"\8"`: `\8`, `"\x41\xff"`: "A\xff", `"\u0041\u20ac"`: "A€", `"\U0001F600\U0010ffff"`: "😀\U0010ffff",
		`"\U00000041b"`: "Ab", `"a\"b"`: `a"b`, `'a"b'`: `a"b`, `"a'b"`: `a'b`, `""`: "", `"\x0041"`: "\x0041",
		`"\u00414"`: "A4", `"\xaF"`: "\xaf", `"\xFa"`: "\xfa",
	} {
		f, err := Parse("f.py", "x = "+in+"\n")
		require.NoError(t, err, in)
		assert.Equal(t, want, f.Body[0].(*Assign).Value.(*String).Value, in)
	}
	for in, want := range map[string]string{
		`"\U00110000"`: `f.py:1:6: got an escape beyond the last character, want at most \U0010ffff`, `"\x4"`: "f.py:1:",
		`"\xg1"`: "f.py:1:", `"\u004"`: "f.py:1:", `"a`: "f.py:1:", "'a\nb'": "f.py:1:",
	} {
		_, err := Parse("f.py", "x = "+in+"\n")
		assert.ErrorContains(t, err, want, in)
	}
}

// TestStatements: what other makers than PyTorch's printer write comes back as it is read, on its
// line.
func TestStatements(t *testing.T) {
	src := `def f(x):
  raise KeyError
  raise ValueError("a")
  assert x
  assert x, "small"
  del x[0]
  a = x @ x % y // z / w
  b = ~x
  c = x, y
  d, e, = x
  for i in range(3):
    pass
  while True:
    break
    continue
  return c
`
	f, err := Parse("f.py", src)
	require.NoError(t, err)
	body := f.Body[0].(*FuncDef).Body
	lines := map[int]string{2: "KeyError", 3: `ValueError("a")`, 4: "x", 5: "x"}
	for i, s := range body {
		switch s := s.(type) {
		case *Raise:
			assert.Equal(t, lines[s.Line], PrintExpr(s.X))
			assert.Equal(t, i+2, s.Line)
		case *Assert:
			assert.Equal(t, lines[s.Line], PrintExpr(s.X))
			assert.Equal(t, s.Line == 5, s.Msg != nil)
			assert.Equal(t, i+2, s.Line)
		case *Delete:
			assert.Equal(t, []any{6, "x[0]"}, []any{s.Line, PrintExpr(s.X)})
		}
	}
	again, err := Parse("f.py", Print(f))
	require.NoError(t, err)
	assert.Equal(t, Print(f), Print(again))
	assert.Equal(t, "((((x @ x) % y) // z) / w)", grouped(body[5].(*Assign).Value))
	assert.Equal(t, "~x", PrintExpr(body[6].(*Assign).Value))
	assert.Len(t, body, 12)

	for src, want := range map[string]string{
		"x = 3.a\n": "f.py:1:", "x = \n": "f.py:1:5: got newline, want expression", "class A:\n": "f.py:",
		"x = {: 1}\n": "f.py:1:6: got", "def f(x):\n  raise\n": "f.py:2:8: got newline, want expression",
		"def f(x):\n  del\n":                 "f.py:2:6: got newline, want expression",
		"def f(x):\n  assert x,\n":           "f.py:2:12: got newline, want expression",
		"def f(x):\n  for in x:\n    pass\n": "f.py:2:7: got", "def 3(x):\n  pass\n": "f.py:1:5: got",
		"x = $\n": "f.py:1:5: got",
	} {
		_, err := Parse("f.py", src)
		assert.ErrorContains(t, err, want, src)
	}
}

// TestSpans: a statement covers what is written of it, from its first word to the end of its last,
// its blocks included.
func TestSpans(t *testing.T) {
	statements := []string{
		"x = 1", "x : int = 1", "x: int", "a, b, = x", "a = x, y", "f(x)", "return x", "return", "return x, y", "raise x",
		"assert x", `assert x, "m"`, "del x[0]", "pass", "break", "continue",
		"for i in range(3):\n  f(i)\n  x = 2", "while x:\n  x = 3", "with a as b:\n  x = 4", "with a:\n  x = 5",
		"if a:\n  x = 6", "if a:\n  x = 7\nelse:\n  x = 8",
		"if a:\n  x = 9\nelif b:\n  x = 10\nelse:\n  x = 11",
	}
	src := "def f(x):\n"
	for _, s := range statements {
		src += "  " + strings.ReplaceAll(s, "\n", "\n  ") + "\n"
	}
	f, err := Parse("f.py", src)
	require.NoError(t, err)
	body := f.Body[0].(*FuncDef).Body
	require.Len(t, body, len(statements))
	for i, s := range body {
		assert.Equal(t, statements[i], strings.TrimRight(strings.ReplaceAll(f.Text(s.Bounds()), "\n  ", "\n"), "\n"))
	}
}

// TestSubscripts: an index, a slice of up to three parts, several of either.
func TestSubscripts(t *testing.T) {
	for text, want := range map[string]string{
		"a[0]": "a[0]", "a[1:2]": "a[1:2]", "a[1:2:3]": "a[1:2:3]", "a[:]": "a[:]", "a[::]": "a[:]", "a[::2]": "a[::2]",
		"a[1:]": "a[1:]", "a[:2]": "a[:2]", "a[0, 1]": "a[0, 1]", "a[0, 1:2, :]": "a[0, 1:2, :]",
	} {
		f, err := Parse("f.py", "x = "+text+"\n")
		require.NoError(t, err, text)
		assert.Equal(t, want, PrintExpr(f.Body[0].(*Assign).Value), text)
	}
	long := strings.Repeat("a", 40)
	for text, want := range map[string]string{
		"x = a[]": `f.py:1:7: got "]", want expression`, "x = a[1:2:3:4]": `f.py:1:12: got ":", want "]"`,
		"x = a[1 2]": `f.py:1:9: got "2", want "]"`, "x = 3.a": "f.py:1:", "x = 3 .a": "f.py:1:",
		"x = 1 " + long: `f.py:1:7: got "` + long + `", want newline`, "x = 1 " + long + "b": `f.py:1:7: got "` + long +
			`…", want newline`, "x = 1 'b'": `f.py:1:7: got string 'b', want newline`,
		"x = (3).a": "", "x = 3.5.a": "f.py:1:8: got an attribute of a number, want operator", "x = 3j.a": "f.py:1:",
	} {
		_, err := Parse("f.py", text+"\n")
		if want == "" {
			assert.NoError(t, err, text)
			continue
		}
		assert.ErrorContains(t, err, want, text)
	}
}
