package python

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Bad files fail on the line that says so, with the words that stand there; see testdata/errors.
func TestErrors(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join("..", "..", "..", "testdata", "errors", "torchscript_syntax.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, a.Files)
	for _, f := range a.Files {
		t.Run(f.Name, func(t *testing.T) {
			src, line, want := expectation(t, string(f.Data))
			_, err := Parse(f.Name, src)
			if want == nil {
				require.NoError(t, err)
				return
			}
			var e *Error
			require.True(t, errors.As(err, &e), "want an error on line %d, got %v", line, err)
			assert.Equal(t, line, e.Line, "%v", err)
			assert.Regexp(t, want, e.Error())
			assert.True(t, strings.HasPrefix(e.Error(), f.Name+":"+strconv.Itoa(e.Line)+":"+strconv.Itoa(e.Col)+": "), e.Error())
		})
	}
}

func expectation(t *testing.T, data string) (src string, line int, want *regexp.Regexp) {
	lines := strings.Split(data, "\n")
	for i, l := range lines {
		before, after, ok := strings.Cut(l, " ### ")
		if !ok {
			continue
		}
		require.Nil(t, want, "one expectation a file")
		lines[i], line, want = before, i+1, regexp.MustCompile(strings.Trim(after, "`"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n", line, want
}

func TestExpressions(t *testing.T) {
	for _, c := range []struct{ in, want, why string }{
		{"a", "a", ""},
		{"1e-05", "1e-05", "numbers stay as written"},
		{"0x1F", "0x1F", ""},
		{"(1.+2.j)", "(1.+2.j)", "PyTorch writes complex constants without spaces"},
		{"-inf", "-inf", ""},
		{"-a ** -b", "-a ** -b", "the power binds tighter than the sign before it"},
		{"a - b - c", "a - b - c", ""},
		{"not a in b", "not a in b", "not binds looser than in"},
		{"a not in b", "a not in b", ""},
		{"a is not None", "a is not None", ""},
		{"a if b else c if d else e", "a if b else c if d else e", ""},
		{`"a" 'b' "\x63"`, `"abc"`, "literals side by side are one"},
		{`"\303\251\n\"\'\\"`, `"\303\251\n\"\'\\"`, "what is not printable is octal, as PyTorch writes it"},
		{`"\u00e9"`, `"\303\251"`, "a string is its bytes"},
		{`"\q"`, `"\\q"`, "Python keeps the backslash of an escape it does not know"},
		{"(x,)", "(x,)", ""},
		{"()", "()", ""},
		{"(a, b, )", "(a, b, )", ""},
		{"[]", "[]", ""},
		{"{}", "{}", ""},
		{"{a: b, c: d}", "{a: b, c: d}", ""},
		{"x[1:2, ::3, :]", "x[1:2, ::3, :]", ""},
		{"(self).forward(x, )", "(self).forward(x, )", "the printer's comma separates calls of methods from operators"},
		{"f(x, dim=1)", "f(x, dim=1)", ""},
		{"f(\n  x,\n  y)", "f(x, y)", "newlines inside brackets do not count"},
		{"fork(f).wait()", "fork(f).wait()", ""},
	} {
		t.Run(c.in, func(t *testing.T) {
			f, err := Parse("f.py", "x = "+c.in+"\n")
			require.NoError(t, err)
			x := f.Body[0].(*Assign).Value
			assert.Equal(t, c.want, PrintExpr(x), c.why)
			assert.Equal(t, c.in, f.Text(x.Bounds()), "the span covers the text")
		})
	}
}

func TestBinding(t *testing.T) {
	for in, want := range map[string]string{
		"a + b * c":          "(a + (b * c))",
		"a - b - c":          "((a - b) - c)",
		"a ** b ** c":        "(a ** (b ** c))",
		"-a ** b":            "(-(a ** b))",
		"not a == b":         "(not(a == b))",
		"a or b and not c":   "(a or (b and (not c)))",
		"a | b ^ c & d":      "(a | (b ^ (c & d)))",
		"a << b + c":         "(a << (b + c))",
		"a < b == c":         "((a < b) == c)",
		"-a.b(c)[d]":         "(-a.b(c)[d])",
		"a if b or c else d": "(a if (b or c) else d)",
	} {
		f, err := Parse("f.py", "x = "+in+"\n")
		require.NoError(t, err)
		got := strings.ReplaceAll(grouped(f.Body[0].(*Assign).Value), "(not (", "(not(")
		assert.Equal(t, want, got, in)
	}
}

// grouped writes an expression with all its brackets.
func grouped(x Expr) string {
	switch x := x.(type) {
	case *Binary:
		return "(" + grouped(x.X) + " " + x.Op + " " + grouped(x.Y) + ")"
	case *Unary:
		op := x.Op
		if op == "not" {
			op += " "
		}
		return "(" + op + grouped(x.X) + ")"
	case *Cond:
		return "(" + grouped(x.Then) + " if " + grouped(x.Test) + " else " + grouped(x.Else) + ")"
	}
	return PrintExpr(x)
}

// What PyTorch prints for every construct of the language comes back.
func TestLanguage(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "language.txtar"))
	require.NoError(t, err)
	a := txtar.Parse(data)
	require.NotEmpty(t, a.Files)
	for _, f := range a.Files {
		file, err := Parse(f.Name, string(f.Data))
		require.NoError(t, err)
		if got := Print(file); got != string(f.Data) {
			t.Errorf("%s: %s", f.Name, firstDifference(got, string(f.Data)))
		}
	}
}

// Nesting of every kind ends in an error, not in an exhausted stack.
func TestDepth(t *testing.T) {
	n := 100000
	for name, src := range map[string]string{
		"parentheses": "x = " + strings.Repeat("(", n) + "1",
		"lists":       "x = " + strings.Repeat("[", n) + "1",
		"signs":       "x = " + strings.Repeat("-", n) + "1",
		"not":         "x = " + strings.Repeat("not ", n) + "1",
		"attributes":  "x = a" + strings.Repeat(".a", n),
		"calls":       "x = a" + strings.Repeat("()", n),
		"operators":   "x = a" + strings.Repeat(" + a", n),
		"powers":      "x = a" + strings.Repeat(" ** a", n),
		"ternaries":   "x = a" + strings.Repeat(" if b else a", n),
		"blocks":      deepBlocks(2000),
		"elif":        "def f():\n  if a:\n    pass\n" + strings.Repeat("  elif a:\n    pass\n", n),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f.py", src+"\n")
			assert.ErrorContains(t, err, "got more than")
		})
	}
}

// Depth is of what lies within each other: however much lies side by side, none of it counts for
// what follows.
func TestDepthIsGivenBack(t *testing.T) {
	for _, line := range []string{
		"if a:\n    b = c", "if a:\n    b = c\n  elif d:\n    b = c\n  else:\n    b = c", "for a in b:\n    c = d",
		"while a:\n    b = c", "with a as b:\n    c = d",
		"a = (b)", "a = -b", "a = not b", "a = b.c.d[e](f)", "a = [b, c]", "a = {b: c}", "a = (b, c)", "a = b + c * d ** e",
		"a = b if c else d", "a = [b for c in d]", "return a",
	} {
		_, err := Parse("f.py", "def f():\n"+strings.Repeat("  "+line+"\n", 2*maxDepth))
		if line == "a = [b for c in d]" {
			require.Error(t, err, "TorchScript has no comprehensions left when it is printed")
			continue
		}
		require.NoError(t, err, line)
	}
}

// The bound is exact: how much of each kind may lie within each other.
func TestDepthsAreExact(t *testing.T) {
	nested := func(open, shut string) func(int) string {
		return func(n int) string { return "x = " + strings.Repeat(open, n) + "1" + strings.Repeat(shut, n) }
	}
	for name, c := range map[string]struct {
		src  func(n int) string
		most int
	}{
		"parentheses": {nested("(", ")"), 199},
		"lists":       {nested("[", "]"), 199},
		"dicts":       {nested("{1: ", "}"), 199},
		"arguments":   {nested("f(", ")"), 199},
		"subscripts":  {nested("a[", "]"), 199},
		"signs":       {nested("-", ""), 199},
		"attributes":  {func(n int) string { return "x = a" + strings.Repeat(".a", n) }, 200},
		"operators":   {nested("", " + a"), 200},
		"powers":      {nested("", " ** a"), 199},
		"ternaries":   {nested("", " if b else a"), 199},
		"blocks":      {deepBlocks, 99},
		"elif": {func(n int) string {
			return "def f():\n  if a:\n    pass\n" + strings.Repeat("  elif a:\n    pass\n", n)
		}, 197},
	} {
		for n := 1; ; n++ {
			_, err := Parse("f.py", c.src(n)+"\n")
			if err == nil && n <= maxDepth {
				continue
			}
			assert.ErrorContains(t, err, "got more than 200 ", name)
			assert.Equal(t, c.most, n-1, name)
			break
		}
	}
}

func deepBlocks(n int) string {
	var b strings.Builder
	b.WriteString("def f():\n")
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+1) + "if a:\n")
	}
	return b.String() + strings.Repeat(" ", n+1) + "pass"
}

// FuzzParse: no input makes the parser panic, hang or place an error outside the file; what it
// reads prints and reads back the same; and reading in two steps gives what reading at once gives.
func FuzzParse(f *testing.F) {
	if a, err := txtar.ParseFile(filepath.Join("testdata", "language.txtar")); err == nil {
		for _, file := range a.Files {
			f.Add(string(file.Data))
		}
	}
	f.Add("x = \"\\400\"\n")
	f.Add("def f():\n  x = (a if b else c) + 1\n  return x,\n")
	f.Add(
		"class A(B):\n  x : Final[int] = 3\n  __annotations__[\"0\"] = C\n  def f(self, a: int=[1, 2]) -> int:\n    pass\n")
	f.Fuzz(func(t *testing.T, src string) {
		file, err := Parse("f.py", src)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			require.NotContains(t, e.Msg, "internal error")
			require.LessOrEqual(t, e.Line, strings.Count(src, "\n")+1)
			return
		}
		text := Print(file)
		again, err := Parse("f.py", text)
		require.NoError(t, err, text)
		require.Equal(t, text, Print(again))

		p := NewParser("f.py", src)
		if p.Outline(p.file) != nil {
			return // one-line oddities that indentation alone does not show
		}
		for _, d := range functions(p.file.Body) {
			if d.Body, err = p.Body(d); err != nil {
				return
			}
		}
	})
}

// TestBodies: what an outline leaves for later is read as it is when everything is read at once,
// and what was read is not read again.
func TestBodies(t *testing.T) {
	const src = "class M(Module):\n  def f(self,\n    x: Tensor) -> Tensor:\n    y = torch.neg(x)\n    return y\ndef g(x: int) -> int:\n  return x\n"
	whole, err := Parse("f.py", src)
	require.NoError(t, err)
	var p Parser
	outline := &File{Name: "f.py", Source: src}
	require.NoError(t, p.Outline(outline))
	read, left := functions(whole.Body), functions(outline.Body)
	require.Len(t, left, 2)
	for i, d := range left {
		require.Empty(t, d.Body, d.Name)
		body, err := p.Body(d)
		require.NoError(t, err)
		require.Len(t, body, 2-i)
		require.Len(t, read[i].Body, 2-i)
		again, err := p.Body(read[i])
		require.NoError(t, err)
		require.Len(t, again, 2-i)
		assert.Same(t, read[i].Body[0], again[0])
		d.Body = body
		again, err = p.Body(d)
		require.NoError(t, err)
		assert.Same(t, body[0], again[0], "what was read of an outline")
	}
	assert.Equal(t, src, Print(outline))
	none, err := p.Body(&FuncDef{})
	require.NoError(t, err)
	assert.Nil(t, none, "a function without a body, which no outline left")
}

// TestTuples: a comma makes a tuple, also behind one member, wherever Python takes one; behind a
// comma a member follows or the place where the list ends.
func TestTuples(t *testing.T) {
	for _, tt := range []struct {
		in, tuple, members string
		trailing           bool
	}{
		{"for a, in b:\n    pass", "a,", "a", true},
		{"for a, b, in c:\n    pass", "a, b,", "a b", true},
		{"for a, b in c:\n    pass", "a, b", "a b", false},
		{"for a in b, :\n    pass", "b,", "b", true},
		{"for a in b, c, d:\n    pass", "b, c, d", "b c d", false},
		{"return a,", "a,", "a", true},
		{"return a, b, c", "a, b, c", "a b c", false},
		{"x = a, b,", "a, b,", "a b", true},
		{"x = (a,)", "(a,)", "a", true},
		{"x = (a, b)", "(a, b)", "a b", false},
		{"x = ()", "()", "", false},
		{"x = y[a, ]", "a,", "a", true},
		{"x = y[a, b]", "a, b", "a b", false},
		{"x = y[a:b, ..., c]", "", "", false},
	} {
		f, err := Parse("f.py", "def f():\n  "+tt.in+"\n")
		if tt.tuple == "" {
			assert.Error(t, err, tt.in)
			continue
		}
		require.NoError(t, err, tt.in)
		tuple := firstTuple(f.Body[0].(*FuncDef).Body[0])
		require.NotNil(t, tuple, tt.in)
		var members []string
		for _, x := range tuple.Elems {
			members = append(members, f.Text(x.Bounds()))
		}
		assert.Equal(t, []any{tt.tuple, tt.members, tt.trailing}, []any{f.Text(tuple.Span), strings.Join(members, " "),
			tuple.Trailing}, tt.in)
	}
	for in, want := range map[string]string{
		"for a, 1 in b:\n    pass":   `f.py:2:10: got "1", want name, attribute or subscript`,
		"x = a, , b":                 `f.py:2:10: got ",", want expression`,
		"x = y[, a]":                 `f.py:2:9: got ",", want expression`,
		"x = y[a, , b]":              `f.py:2:12: got ",", want expression`,
		"for a, b c in d:\n    pass": `f.py:2:12: got "c", want "in"`,
	} {
		_, err := Parse("f.py", "def f():\n  "+in+"\n")
		assert.EqualError(t, err, want, in)
	}
}

// firstTuple is the tuple of a statement: assigned, gone through, returned or an index.
func firstTuple(s Stmt) *Tuple {
	var x Expr
	switch s := s.(type) {
	case *For:
		if x, ok := s.Target.(*Tuple); ok {
			return x
		}
		x = s.Iter
	case *Return:
		x = s.Value
	case *Assign:
		x = s.Value
	}
	if of, ok := x.(*Subscript); ok {
		x = of.Index
	}
	tuple, _ := x.(*Tuple)
	return tuple
}

// TestRescue: what is no error of the text says that it is one of this package, with the place.
func TestRescue(t *testing.T) {
	p := NewParser("f.py", "a\nb")
	p.start = 2
	err := func() (err error) {
		defer p.rescue(&err)
		panic("index out of range")
	}()
	assert.EqualError(t, err, "f.py:2:1: internal error: index out of range")
}

// TestLinesOfStatements: each statement knows the line that it begins on, whatever is before it.
func TestLinesOfStatements(t *testing.T) {
	const src = "\n\nclass M(Module):\n\n  a : int\n  def f(self,\n    x: Tensor,\n\n    y: int) -> Tensor:\n" +
		"    b = [1,\n\n      2]\n    c = f(\n      x)\n    if c:\n\n      d = 0x\n" +
		"    else:\n      e = 0b1\n    for i in b:\n" +
		"      while c:\n        pass\n    with c as g:\n      raise x\n    assert c\n    del b[0]\n    g()\n" +
		"    return x\ndef h():\n  pass\n"
	f, err := Parse("f.py", src)
	require.NoError(t, err)
	var got []string
	var walk func([]Stmt)
	walk = func(body []Stmt) {
		for _, s := range body {
			word := ""
			line := 0
			switch s := s.(type) {
			case *ClassDef:
				word = "class"
				defer walk(s.Body)
			case *FuncDef:
				word, line = s.Name, s.Line
				defer walk(s.Body)
			case *Assign:
				word, line = f.Text(s.Targets[0].Bounds()), s.Line
			case *If:
				word, line = "if", s.Line
				defer walk(append(s.Then, s.Else...))
			case *For:
				word, line = "for", s.Line
				defer walk(s.Body)
			case *While:
				word, line = "while", s.Line
				defer walk(s.Body)
			case *With:
				word, line = "with", s.Line
				defer walk(s.Body)
			case *Raise:
				word, line = "raise", s.Line
			case *Assert:
				word, line = "assert", s.Line
			case *Delete:
				word, line = "del", s.Line
			case *ExprStmt:
				word, line = f.Text(s.X.Bounds()), s.Line
			case *Return:
				word, line = "return", s.Line
			case *Simple:
				word, line = s.Word, s.Line
			}
			got = append(got, fmt.Sprint(word, " ", line))
		}
	}
	walk(f.Body)
	assert.Equal(t, "class 0, h 29, pass 30, a 5, f 6, b 10, c 13, if 15, for 20, with 23, assert 25, del 26, g() 27, "+
		"return 28, raise 24, while 21, pass 22, d 17, e 19", strings.Join(got, ", "), "what is in a suite behind it")
}
