package python

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/golden"
)

// One Parser reads a bounded number of tokens, of all files and bodies together.
func TestTokensAreBounded(t *testing.T) {
	const source = "class A(Module):\n  a : Tensor\n  b : Tensor\n  def f(self: A) -> int:\n    return 1\n"
	const limit = "got more than 4194304 tokens of source, want fewer"
	outline := func(before int) (*Parser, *File, error) {
		p, f := &Parser{tokens: before}, &File{Name: "a.py", Source: source}
		return p, f, p.Outline(f)
	}
	p, f, err := outline(0)
	require.NoError(t, err)
	taken := p.tokens
	_, _, err = outline(maxTokens - taken)
	require.NoError(t, err)
	_, _, err = outline(maxTokens - taken + 1)
	assert.ErrorContains(t, err, limit)

	def := f.Body[0].(*ClassDef).Body[2].(*FuncDef)
	p.tokens = maxTokens
	_, err = p.Body(def)
	assert.ErrorContains(t, err, limit, "bodies count")
}

// A text has at most 1 GiB, however it is read.
func TestTextsAreBounded(t *testing.T) {
	golden.NeedsWhole(t, "a GiB is read")
	const limit = "got a text of 1073741825 bytes, want at most 1073741824"
	bytes := make([]byte, 1<<30+1) // never written, so that it takes no memory
	for name, read := range map[string]func(text string) error{
		"a file":              func(text string) error { _, err := Parse("a.py", text); return err },
		"a file's signatures": func(text string) error { return (&Parser{}).Outline(&File{Source: text}) },
		"an expression":       func(text string) error { _, err := ParseExpr(text); return err },
	} {
		assert.ErrorContains(t, read(unsafe.String(&bytes[0], len(bytes))), limit, name)
		assert.NotContains(t, fmt.Sprint(read(unsafe.String(&bytes[0], len(bytes)-1))), "bytes, want", name)
	}
}

// A class's attribute counts its four tokens, though it is passed over in one go.
func TestTokensOfAttributes(t *testing.T) {
	tokens := func(source string) int {
		p := &Parser{}
		require.NoError(t, p.Outline(&File{Name: "a.py", Source: source}))
		return p.tokens
	}
	one := tokens("class A(Module):\n  a : Tensor\n")
	two := tokens("class A(Module):\n  a : Tensor\n  b : Tensor\n")
	assert.Equal(t, 3, two-one)
}

// What Outline leaves as text is read where it is asked for.
func TestExprLeftAsText(t *testing.T) {
	const source = "class A(Module):\n  a : List[int]\n  b : Tensor = f(1)\n  def f(self: A) -> int:\n    return 1\n"
	p, f := &Parser{}, &File{Name: "a.py", Source: source}
	require.NoError(t, p.Outline(f))
	body := f.Body[0].(*ClassDef).Body
	read := func(x Expr) Expr {
		y, err := p.Expr(x)
		require.NoError(t, err)
		return y
	}
	a := body[0].(*Assign)
	require.IsType(t, &Raw{}, a.Type)
	list, ok := read(a.Type).(*Subscript)
	require.True(t, ok)
	assert.Equal(t, "List[int]", source[list.Start:list.End])
	assert.Equal(t, list, read(list), "what is no text stays")
	name, ok := read(&Raw{Span: Span{list.Start, list.Start + 4}}).(*Name)
	require.True(t, ok)
	assert.Equal(t, "List", name.Text)
	_, err := p.Expr(&Raw{Span: Span{list.Start - 4, list.End}})
	assert.ErrorContains(t, err, `got ":", want the end of the expression`)
}

func TestLines(t *testing.T) {
	f, err := Parse("a.py", "a = \\\n  1 + \\\n  2\nb = (3,\n  4)\n")
	require.NoError(t, err)
	require.Len(t, f.Body, 2)
	for source, want := range map[string]string{
		"a = 'b":                "a.py:1:7: got end of file in a string, want '",
		"a = 1 \\ 2":            `a.py:1:7: got "\\", want a token`,
		"a = \\\n  1 +\\\n *\n": "a.py:3:2: got \"*\", want expression",
	} {
		_, err := Parse("a.py", source)
		assert.EqualError(t, err, want, source)
	}
}
