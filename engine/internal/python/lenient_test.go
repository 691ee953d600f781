package python

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An expression of a user's source may have comments and lines, and the arguments of its calls are
// not read.
func TestParseExpr(t *testing.T) {
	const text = "net.layers[0]  # the first\n    (*x, key=lambda: [')'])"
	x, err := ParseExpr(text)
	require.NoError(t, err)
	call, ok := x.(*Call)
	require.True(t, ok)
	assert.Empty(t, call.Args)
	assert.Equal(t, "(*x, key=lambda: [')'])", text[call.Open:call.End])
	for text, want := range map[string]string{"f(x)[0]": "f()[0]", "f(x).a": "f().a", "f(x)(y)": "f()()",
		"f(x)+1": "f() + 1",
		"f()":    "f()", "f(x)  # y": "f()", "f(')')": "f()"} {
		x, err := ParseExpr(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, PrintExpr(x), "what is behind the arguments is read")
	}
	for text, want := range map[string]string{
		"":    ":1:1: got newline, want expression",
		"f(x": ":1:2: got a call without an end, want )",
		"x y": `:1:3: got "y", want the end of the expression`,
		"x)":  `:1:2: got ")", want the end of the expression`,
		"(x":  ":1:3: got end of file, want ) or ] or }",
	} {
		_, err := ParseExpr(text)
		assert.EqualError(t, err, want, text)
	}
}

// A record of an archive has no comments, and its calls are read.
func TestRecordsHaveNoComments(t *testing.T) {
	for source, want := range map[string]string{
		"a = 1 # one\n": `m.py:1:7: got "#", want a token`,
		"a = f(*x)\n":   `m.py:1:7: got "*", want expression`,
	} {
		_, err := Parse("m.py", source)
		assert.EqualError(t, err, want)
	}
}
