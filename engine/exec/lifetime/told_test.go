package lifetime_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/program"
)

// TestTold: results go in the order in which Python let go of them, none before its last use, and one that it never let go of stays to the end.
func TestTold(t *testing.T) {
	x, a, b, c, d := &program.Value{ID: 0, Name: "x"}, &program.Value{ID: 1, Name: "a"}, &program.Value{ID: 2, Name: "b"}, &program.Value{ID: 3, Name: "c"}, &program.Value{ID: 4, Name: "d"}
	node := func(out *program.Value, in ...*program.Value) *program.Node {
		n := &program.Node{Operation: &program.Operation{Op: "aten::add"}, Outs: []*program.Value{out}}
		for _, v := range in {
			n.Args = append(n.Args, program.Arg{Value: v})
		}
		return n
	}
	g := &program.Graph{Params: []*program.Value{x}, NumValues: 5, Body: &program.Block{Nodes: []*program.Node{
		node(a, x), node(b, a), node(c, b, a), node(d, c),
		{Operation: &program.Operation{Op: "prim::Return"}, Args: []program.Arg{{Value: d}}},
	}}}
	ranges, err := lifetime.Told(g, []lifetime.Release{{Value: "a", After: "b"}, {Value: "c", After: "d"}})
	require.NoError(t, err)
	f := lifetime.Func{Func: &program.Func{Name: "forward"}, Graph: g, Ranges: ranges}
	require.NoError(t, lifetime.Check(&f))
	var text bytes.Buffer
	require.NoError(t, lifetime.Write(&text, []lifetime.Func{f}))
	assert.Equal(t, `func forward  # :0
  x%0  entry..0  after aten::add     last use
  a%1  0..2      after aten::add     last use
  c%3  2..3      after aten::add     seen at export
  b%2  1..3      after aten::add     seen at export
  d%4  3..4      after prim::Return  last use
`, text.String())
	longest := lifetime.Longest(lifetime.LastUse(g), ranges)
	f.Ranges = longest
	require.NoError(t, lifetime.Check(&f))
	for _, r := range longest {
		if r.Value == b {
			assert.Equal(t, 3, r.To, "the later of two ends")
		}
	}
	_, err = lifetime.Told(g, []lifetime.Release{{Value: "q", After: "b"}})
	assert.EqualError(t, err, "got a release of q after b, want two results of the program: it was written for another one")
}
