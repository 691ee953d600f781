package python

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
