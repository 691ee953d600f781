package pysource

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memspec/memspec/engine/internal/python"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// show prints a source's statements, one a line: kind, place in the tree, targets, right side.
func show(s *Source) string {
	kinds := [...]string{"", " if", " for", " while", " with", " other", " leave", " break"}
	var b strings.Builder
	for i := range s.Stmts {
		st := &s.Stmts[i]
		fmt.Fprintf(&b, "%d in %d.%d after %d%s", i, st.Parent, st.Suite, st.After, kinds[st.Kind])
		for _, g := range st.Targets {
			fmt.Fprintf(&b, " %s", strings.Join(g.Names, ","))
			if g.Tuple {
				b.WriteByte('*')
			}
			if g.Deep {
				b.WriteByte('/')
			}
			if st.Augmented {
				b.WriteByte('+')
			}
			b.WriteByte('=')
		}
		if len(st.Targets) > 0 {
			fmt.Fprintf(&b, " %s", strings.Join(strings.Fields(s.Text[st.Right:st.End]), " "))
		}
		if st.Del != nil {
			fmt.Fprintf(&b, " del %v", st.Del)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestRead(t *testing.T) {
	tests := []struct{ why, text, want, order string }{
		{
			why:   "an alias, a chain and a tuple of targets",
			text:  "def f(self, x):\n    y = x\n    a = b = y\n    c, d = g(x)\n    return c\n",
			want:  "0 in -1.0 after 1 y= x\n1 in -1.0 after 2 a= b= y\n2 in -1.0 after 3 c,d*= g(x)\n3 in -1.0 after 4 leave\n",
			order: "y a b c d",
		},
		{
			why: "brackets join lines, and a comment or a string may hold anything",
			text: "def f(x):\n    \"\"\"doc = x\n    more\"\"\"\n    y = g(  # y = z\n        'a = b',\n        x)\n    z = " +
				"[x, y]  # w = 1\n",
			want:  "0 in -1.0 after 1\n1 in -1.0 after 2 y= g( # y = z 'a = b', x)\n2 in -1.0 after 3 z= [x, y]\n",
			order: "y z",
		},
		{
			why: "blocks nest, an else is the second suite of its if, a suite may stand on the header's line",
			text: "def f(x):\n    for i, l in enumerate(x):\n        if i: y = x\n        else:\n            y = g(l)\n    " +
				"del y\n",
			want: "0 in -1.0 after 4 for i,l*= enumerate(x):\n1 in 0.0 after 4 if\n2 in 1.0 after 3 y= x\n3 in 1.1 after 4 " +
				"y= g(l)\n4 in -1.0 after 5 del [y]\n",
			order: "i l y",
		},
		{
			why:  "an elif is an if in the else before it; what follows belongs to it",
			text: "def f(x):\n    if a:\n        y = 1\n    elif b:\n        y = 2\n    else:\n        y = 3\n    z = y\n",
			want: "0 in -1.0 after 5 if\n1 in 0.0 after 2 y= 1\n2 in 0.1 after 5 if\n3 in 2.0 after 4 y= 2\n4 in 2.1 after 5 " +
				"y= 3\n5 in -1.0 after 6 z= y\n",
			order: "y z",
		},
		{
			why:  "augmented and annotated assignments bind, attributes and subscripts bind no name",
			text: "def f(x):\n    x += 1\n    y: Tensor = x\n    self.a, z[0] = x, y\n    w = x == y\n    v <<= 1\n",
			want: "0 in -1.0 after 1 x+= 1\n1 in -1.0 after 2 y= x\n2 in -1.0 after 3 ,*= x, y\n3 in -1.0 after 4 w= x == y\n" +
				"4 in -1.0 after 5 v+= 1\n",
			order: "x y w v",
		},
		{
			why: "nested targets do not stand for members by place, one name in brackets is a tuple of one",
			text: "def f(x):\n    for i, (p, q) in enumerate(zip(a, b)):\n        [r] = p\n        (s) = q\n        t, *u = " +
				"p\n",
			want: "0 in -1.0 after 4 for i,p,q*/= enumerate(zip(a, b)):\n1 in 0.0 after 2 r*= p\n2 in 0.0 after 3 s= q\n3 in " +
				"0.0 after 4 t,u*/= p\n",
			order: "i p q r s t u",
		},
		{
			why:   "decorators come before the function, semicolons part statements, a function may stand on one line",
			text:  "    @staticmethod\n    @torch.no_grad()\n    def f(a, b: int = 3) -> int: c = a; d = c\n",
			want:  "0 in -1.0 after 1 c= a\n1 in -1.0 after 2 d= c\n",
			order: "c d",
		},
		{
			why:  "a with is one suite, its name is bound; keyword arguments are no names; break and raise leave",
			text: "def f(x):\n    with g(k=x) as k:\n        y = k(x, x=2)\n        break\n    raise E\n",
			want: "0 in -1.0 after 3 with k= g(k=x) as k:\n1 in 0.0 after 2 y= k(x, x=2)\n2 in 0.0 after 3 break\n3 in -1.0 " +
				"after 4 leave\n",
			order: "k y",
		},
		{
			why:   "a name is numbered where it is first read or written, a right side before its targets",
			text:  "def f(x):\n    a = b\n    b = a\n    for c in d:\n        d = c\n",
			want:  "0 in -1.0 after 1 a= b\n1 in -1.0 after 2 b= a\n2 in -1.0 after 4 for c= d:\n3 in 2.0 after 4 d= c\n",
			order: "b a d c",
		},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			s := Read(tt.text)
			require.Equal(t, tt.want, show(s))
			require.Equal(t, tt.order, strings.Join(s.Locals, " "))
		})
	}
}

func TestAt(t *testing.T) {
	text := "def f(x):\n    if x:\n        y = g(\n            x)\n    return y\n"
	s := Read(text)
	for _, tt := range []struct {
		find string
		want int
		why  string
	}{
		{"def", -1, "the def itself is no statement"},
		{"if x", 0, "a compound statement is its header"},
		{"y = g", 1, "and what stands in its suite is a statement of its own"},
		{"x)\n", 1, "brackets hold a statement together over lines"},
		{"\n    return", -1, "what lies between statements belongs to none"},
		{"return", 2, "the last one"},
	} {
		off := strings.LastIndex(text, tt.find)
		require.Equal(t, tt.want, s.At(off), tt.why)
	}
	require.True(t, s.Within(1, 0))
	require.False(t, s.Within(2, 0), "behind its suite")
	require.Equal(t, 1, s.Child(0, 0, 1))
	require.Equal(t, -1, s.Child(0, 1, 1), "there is no else")
	require.Equal(t, 0, s.ChildOf(-1, 1))

	nested := Read("def f():\n    if x:\n        while y:\n            z = 1\n    else:\n        w = 2\n")
	require.Equal(t, 1, nested.Child(0, 0, 2), "what lies deeper is in the statement of the suite")
	require.Equal(t, -1, nested.Child(0, 1, 2))
	require.Equal(t, 3, nested.Child(0, 1, 3), "else is the second suite")
	require.Equal(t, -1, nested.Child(1, 0, 3), "behind it")
	require.Equal(t, 0, nested.Child(-1, 0, 2), "of the function")
}

func TestComprehends(t *testing.T) {
	s := Read("def f(x):\n    for a in x:\n        y = [g(b) for b in a]\n    z = 'for'\n")
	require.False(t, s.Comprehends(0), "a loop's header is none")
	require.True(t, s.Comprehends(1))
	require.False(t, s.Comprehends(2), "a word in a string")
	require.False(t, s.Comprehends(-1))
	require.True(t, Read("def f(x):\n    y = [a for a in x]\n").Comprehends(0), "the first statement")
}

// A text may nest brackets as deep as it likes: what is too deep binds nothing.
func TestReadDeep(t *testing.T) {
	for n, want := range map[int]string{maxNesting: "a", maxNesting + 1: ""} {
		s := Read("def f(x):\n    " + strings.Repeat("(", n) + "a" + strings.Repeat(")", n) + " = x\n")
		require.Equal(t, want, s.Stmts[0].Targets[0].Names[0], n)
	}
}

// A word is one only by itself, outside of brackets and strings.
func TestTopLevelWord(t *testing.T) {
	for s, want := range map[string]int{"a if b": 2, "if b": 0, "a if": 2, "aif b": -1, "a ifb": -1, "(a if b)": -1,
		"'if' x": -1, "(a) if b": 4, "a.if_ if b": 6, "1if b": -1, "": -1, "[if] if": 5} {
		require.Equal(t, want, topLevelWord(s, "if"), s)
	}
}

// TestScanTop: the places that are shown are those outside of brackets, texts and comments, what
// opens a bracket among them.
func TestScanTop(t *testing.T) {
	for text, want := range map[string]string{
		"a+b": "a+b", "a(b)c": "a(c", "[{(b)}]c": "[c", "'a'b": "b", `"a"'c'd`: "d", "a'(b": "a", "a#(b\nc": "a\nc", "#": "",
		"": "", "f('x',#)\n)g": "f(g",
	} {
		var got strings.Builder
		require.Equal(t, -1, python.ScanTop(text, func(i int) bool { got.WriteByte(text[i]); return false }))
		assert.Equal(t, want, got.String(), "%q", text)
		for i := range text { // where it is said to be is where it ends
			if strings.IndexByte(want, text[i]) >= 0 && strings.Count(text, text[i:i+1]) == 1 {
				assert.Equal(t, i, topLevel(text, text[i]), "%q", text)
			}
		}
	}
}

// A statement binds one name by itself where it takes nothing apart.
func TestSingle(t *testing.T) {
	for want, targets := range map[string]Targets{"a": {Names: []string{"a"}}, "": {Names: []string{"a"}, Tuple: true}} {
		require.Equal(t, want, targets.Single())
	}
	require.Empty(t, (&Targets{Names: []string{"a", "b"}}).Single())
	require.Empty(t, (&Targets{}).Single())
}

// TestNamesOfText: names that are read: no attributes, no keywords of a call, nothing in texts and
// comments.
func TestNamesOfText(t *testing.T) {
	for text, want := range map[string]string{
		"a + b.c": "a b", "f(k=x)": "f x", "f(g(k=x), l=y)": "f g x y", "[g(k=x)][l]": "g x l",
		"f({k: x}, l == y)": "f k x l y", "a = b": "a b", "f(a)(k=b) + (l=c)": "f a b c", "'x' + y # z": "y",
		"f(x) == y": "f x y",
		"3 + a1":    "a1", "f[k=x]": "f x", "f(k)": "f k", "f(k": "f k", "f(k=": "f k", "k": "k", "(a)=b": "a b",
	} {
		assert.Equal(t, want, strings.Join(appendNames(nil, text), " "), text)
	}
	assert.Equal(t, 50, maxNesting)
}

// TestClosing: where a bracket ends, past texts and comments that hold others.
func TestClosing(t *testing.T) {
	for text, want := range map[string]int{
		"(a)b": 2, "(a(b)[c]{d})e": 11, "(')')x": 4, "(# )\n)x": 5, "(\")\")": 4, "(": 1, "(a": 2, "((a)": 4, "(#": 2,
		"('a": 3,
	} {
		assert.Equal(t, want, python.Closing(text, 0), text)
	}
	assert.Equal(t, 5, python.Closing("a = (b)", 4)-1)
}

// TestBlankLines: what ends a line is none, by any system's ends, and neither is a comment.
func TestBlankLines(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb": "0a 0b", "a\r\nb\r\n": "0a 0b", "\n\n  a": "2a", "\r\n\ra": "0a", "\fa": "0a", "# c\na": "0a",
		"  # c\n  a # d\n b": "2a 1b", "\ta\n \tb\n        \tc": "8a 8b 16c", "   ": "", "": "", "a;b": "0a;b",
	} {
		var got []string
		for _, l := range logicalLines(text) {
			got = append(got, fmt.Sprintf("%d%s", l.indent, strings.TrimSpace(strings.Split(text[l.start:l.end], "#")[0])))
		}
		assert.Equal(t, want, strings.Join(got, " "), "%q", text)
	}
}

// TestLocalsInOrder: names are numbered as they are met: on the right first, then in what the left
// reads, then the targets.
func TestLocalsInOrder(t *testing.T) {
	for text, want := range map[string]string{
		"def f():\n    a = b = c = d = e = 0\n":                    "a b c d e",
		"def f():\n    z[b] = a\n    a = b = 1\n":                  "a b",
		"def f():\n    z.c[b] = 1\n    a = b = z = 1\n":            "z b a",
		"def f():\n    for i in a[j]:\n        j = i\n    a = 1\n": "a j i",
		"def f():\n    g(a)\n    b = 1\n    a = 2\n":               "a b",
		"def f():\n    if b:\n        a = b\n        b = a\n":      "b a",
		"def f():\n    a += b\n    b = 1\n":                        "b a",
	} {
		assert.Equal(t, want, strings.Join(Read(text).Locals, " "), text)
	}
}

func TestArguments(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", " a , b.c(d, e)[f, g] ,": "a|b.c(d, e)[f, g]", "*x, k='a, b'": "*x|k='a, b'", "a,,b": "a||b",
	} {
		assert.Equal(t, want, strings.Join(Arguments(text), "|"), text)
	}
	assert.Empty(t, Arguments(""))
}

// TestSimpleStatements: each word and each sign of an assignment, and what looks like one.
func TestSimpleStatements(t *testing.T) {
	read := func(line string) string {
		_, rest, _ := strings.Cut(strings.TrimSpace(show(Read("def f():\n    "+line+"\n"))), " after ")
		_, rest, _ = strings.Cut(rest, " ")
		return rest
	}
	for _, sign := range strings.Fields("+ - * / % @ & | ^ ** // << >>") {
		assert.Equal(t, "x+= 1", read("x "+sign+"= 1"), sign)
		assert.Equal(t, "x+= 1", read("x"+sign+"=1"), sign)
		assert.Equal(t, "y= x "+sign+" 1", read("y = x "+sign+" 1"), sign)
	}
	for line, want := range map[string]string{
		"x = y >= z": "x= y >= z", "x: int = 3": "x= 3", "x[a:b] = 3": "= 3", "x: Dict[a, b] = c": "x= c",
		"f(a=b)": "", "x <= y": "", "x >= y": "", "x != y": "", "x == y": "", "(x := 3)": "", "x: int": "",
		"x = y = z == 1": "x= y= z == 1", "a, = x": "a*= x", "x = (y := 3)": "x= (y := 3)",
		"return a": "leave", "raise a": "leave", "break": "break", "continue": "break", "del a, b[0]": "del [a ]",
		"del (a, b)": "del [a b]", "del a": "del [a]", "returned = 1": "returned= 1", "delete = 1": "delete= 1",
		"assert f(x) == 1, 'a = b'": "", "pass": "", "import a": "", "from a import b": "", "global a": "", "nonlocal a": "",
		"assert x, y = 1": "", "import x = 1": "", "from x = 1": "", "global x = 1": "", "nonlocal x = 1": "", "pass = 1": "",
		"return x = 1": "leave", "break = 1": "break",
	} {
		assert.Equal(t, want, read(line), line)
	}
}

// TestCompoundStatements: each word that opens a suite, and each that goes on with one.
func TestCompoundStatements(t *testing.T) {
	for _, tt := range []struct{ why, lines, want string }{
		{"a try", "try:\n  a = 1\nexcept E as e:\n  b = 2\nelse:\n  c = 3\nfinally:\n  d = 4\ne = 5",
			"0 in -1.0 after 5 other\n1 in 0.0 after 2 a= 1\n2 in 0.1 after 3 b= 2\n3 in 0.2 after 4 c= 3\n" +
				"4 in 0.3 after 5 d= 4\n5 in -1.0 after 6 e= 5\n"},
		{"a match", "match a:\n  case 1:\n    b = 2\n  case _: b = 3", "0 in -1.0 after 4 other\n1 in 0.0 after 4 other\n" +
			"2 in 1.0 after 3 b= 2\n3 in 1.1 after 4 b= 3\n"},
		{"a class and a function within", "class A:\n  def g(): a = 1\nb = 2", "0 in -1.0 after 3 other\n" +
			"1 in 0.0 after 3 other\n2 in 1.0 after 3 a= 1\n3 in -1.0 after 4 b= 2\n"},
		{"a while with an else", "while a:\n  b = 1\nelse: c = 2", "0 in -1.0 after 3 while\n1 in 0.0 after 2 b= 1\n" +
			"2 in 0.1 after 3 c= 2\n"},
		{"an else of nothing", "else: a = 1\nb = 2", "0 in -1.0 after 2 other\n1 in 0.0 after 2 a= 1\n" +
			"2 in -1.0 after 3 b= 2\n"},
		{"a comment behind the colon", "if a:  # b: c\n  d = 1  # e", "0 in -1.0 after 2 if\n1 in 0.0 after 2 d= 1\n"},
		{"no blank behind the colon", "if a:b = 1\nelse:c = 2", "0 in -1.0 after 3 if\n1 in 0.0 after 2 b= 1\n" +
			"2 in 0.1 after 3 c= 2\n"},
		{"suites that are indented by one", "if a:\n if b:\n  c = 1\nelse: d = 2", "0 in -1.0 after 4 if\n" +
			"1 in 0.0 after 3 if\n2 in 1.0 after 3 c= 1\n3 in 0.1 after 4 d= 2\n"},
		{"a header without a colon", "if a\nb = 1", "0 in -1.0 after 1\n1 in -1.0 after 2 b= 1\n"},
		{"a colon in brackets", "if a[1:2]: b = 1", "0 in -1.0 after 2 if\n1 in 0.0 after 2 b= 1\n"},
		{"a for without an in", "for a: b = 1", "0 in -1.0 after 2 for\n1 in 0.0 after 2 b= 1\n"},
		{"a with without an as", "with a: b = 1", "0 in -1.0 after 2 with\n1 in 0.0 after 2 b= 1\n"},
		{"blanks between semicolons", "a = 1;   b = 2;c = 3;", "0 in -1.0 after 1 a= 1\n1 in -1.0 after 2 b= 2\n" +
			"2 in -1.0 after 3 c= 3\n"},
	} {
		assert.Equal(t, tt.want, show(Read("def f():\n  "+strings.ReplaceAll(tt.lines, "\n", "\n  ")+"\n")), tt.why)
	}
}

// TestSuites: a suite is from its first statement to behind its last; one that is none is empty.
func TestSuites(t *testing.T) {
	s := Read("def f(x):\n    a = 1\n    if x:\n        b = 2\n        for c in x: d = 3\n" +
		"    else:\n        e = 4\n    g = 5\n")
	for _, tt := range [][4]int{{-1, 0, 0, 7}, {1, 0, 2, 5}, {1, 1, 5, 6}, {1, 2, 6, 6}, {3, 0, 4, 5}, {3, 1, 5, 5},
		{-1, 1, 7, 7}} {
		from, to := s.Suite(tt[0], tt[1])
		assert.Equal(t, tt, [4]int{tt[0], tt[1], from, to})
	}
}
