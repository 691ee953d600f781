package torchexport

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/program"
)

// TestEdgesOfStacks: frames as traceback.format_list writes them, the innermost first, each with
// the line under it; what is no frame is left out.
func TestEdgesOfStacks(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []program.Frame
	}{
		{"", nil},
		{`no frames\n`, nil},
		{`  File \"net.py\", line 13, in forward\n    out = self.helper(x)\n  File \"a.py\", line 2, in helper\n    y\n`,
			[]program.Frame{{File: "a.py", Line: 2, Function: "helper", Text: "y"},
				{File: "net.py", Line: 13, Function: "forward", Text: "out = self.helper(x)"}}},
		{`  File \"a.py\", line 1, in f\n  File \"b.py\", line 2, in g\n    y\n`,
			[]program.Frame{{File: "b.py", Line: 2, Function: "g", Text: "y"}, {File: "a.py", Line: 1, Function: "f"}}},
		{`  File \"a.py\", line 1, in f\n    one\n    two\n`,
			[]program.Frame{{File: "a.py", Line: 1, Function: "f", Text: "one"}}},
		{`  File \"a.py\", line 1\n    one\n`, []program.Frame{{File: "a.py", Line: 1, Text: "one"}}},
		{`  File \"a.py\", line x, in f\n`, nil}, {`  File \"a.py\" line 1\n`, nil}, {`  Fil \"a.py\", line 1\n`, nil},
		{`\q`, nil},
	} {
		p := newPlaces()
		got := p.stack([]byte(tt.text))
		assert.Same(t, got, p.stack([]byte(tt.text)), "a text is read once: %s", tt.text)
		if tt.want == nil {
			assert.Nil(t, got, tt.text)
			continue
		}
		require.NotNil(t, got, tt.text)
		frames := make([]program.Frame, len(got.Frames))
		for i, f := range got.Frames {
			frames[i] = *f
		}
		assert.Equal(t, tt.want, frames, tt.text)
	}
}

// TestEdgesOfCalls: modules that call one another, the outermost first, with the number of a call
// behind the name of one that is called again.
func TestEdgesOfCalls(t *testing.T) {
	p := newPlaces()
	for _, none := range []string{"", noModules, strings.Repeat(";", maxCalls+1)} {
		assert.Nil(t, p.call([]byte(none)))
	}
	c := p.call([]byte("L__self__,,net.Net;L__self___c,a.c@2,torch.nn.Conv2d"))
	require.NotNil(t, c)
	assert.Equal(t, []any{"a.c", "torch.nn.Conv2d", 2}, []any{c.Module.FQN, c.Module.Class, c.Number})
	require.NotNil(t, c.Outer)
	assert.Equal(t, []any{"", "net.Net", 0}, []any{c.Outer.Module.FQN, c.Outer.Module.Class, c.Outer.Number})
	assert.Nil(t, c.Outer.Outer)
	assert.Same(t, c, p.call([]byte("L__self__,,net.Net;L__self___c,a.c@2,torch.nn.Conv2d")))

	deepest := p.call([]byte("x" + strings.Repeat(";x,a,b", maxCalls)))
	for range maxCalls {
		require.NotNil(t, deepest)
		deepest = deepest.Outer
	}
	assert.NotNil(t, deepest)
	without := p.call([]byte("x,lone"))
	assert.Equal(t, []any{"lone", ""}, []any{without.Module.FQN, without.Module.Class})
	assert.Nil(t, p.call([]byte(`\q`)), "a text that is none")

	var names []string
	for m := p.module("a.b.c", "C"); m != nil; m = m.Parent {
		names = append(names, m.FQN)
	}
	assert.Equal(t, []string{"a.b.c", "a.b", "a", ""}, names, "what a module lies in is there too")
	deep := strings.Repeat(".a", maxCalls+1)[1:]
	assert.NotNil(t, p.module(deep, "").Parent)
	assert.Nil(t, p.module(deep+".a", "").Parent, "a name of more parts is a module alone")
}
