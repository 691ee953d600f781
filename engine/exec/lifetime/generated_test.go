package lifetime_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/artifact"
	"github.com/memspec/memspec/engine/exec/lifetime"
	"github.com/memspec/memspec/engine/program"
)

// TestGenerated holds the order in which generated code sets names to None: a node's arguments in
// their order, members of lists among them, then results that nothing uses; what a graph of the
// node takes from outside goes with the node.
func TestGenerated(t *testing.T) {
	n := 0
	value := func(name string) *program.Value { n++; return &program.Value{ID: n - 1, Name: name} }
	arg := func(v *program.Value) program.Arg { return program.Arg{Value: v} }
	x, unused := value("x"), value("unused")
	a, b, c, spare := value("a"), value("b"), value("c"), value("spare")
	inner, dead, out := value("inner"), value("dead"), value("out")
	got := value("got")
	sub := &program.Block{Params: []*program.Value{inner, dead}, Outs: []program.Arg{arg(out)}, Nodes: []*program.Node{
		{Operation: &program.Operation{Op: "aten::add"}, Args: []program.Arg{arg(inner), arg(c)},
			Outs: []*program.Value{out}},
	}}
	g := &program.Graph{Params: []*program.Value{x, unused}, Body: &program.Block{Nodes: []*program.Node{
		{Operation: &program.Operation{Op: "aten::relu"}, Args: []program.Arg{arg(x)}, Outs: []*program.Value{a}},
		{Operation: &program.Operation{Op: "aten::max"}, Args: []program.Arg{arg(a)}, Outs: []*program.Value{b, spare}},
		{Operation: &program.Operation{Op: "aten::cat"}, Args: []program.Arg{{Items: []program.Arg{arg(b), arg(a), arg(b)}},
			arg(x)}, Outs: []*program.Value{c}},
		{Operation: &program.Operation{Op: "higher_order::cond"}, Args: []program.Arg{arg(c)}, Outs: []*program.Value{got},
			Blocks: []*program.Block{sub}},
		{Operation: &program.Operation{Op: "prim::Return"}, Args: []program.Arg{{Items: []program.Arg{arg(got)}}}},
	}}}
	g.NumValues = n
	f := lifetime.Func{Func: &program.Func{Name: "forward"}, Graph: g, Ranges: lifetime.Generated(g)}
	require.NoError(t, lifetime.Check(&f))
	var text bytes.Buffer
	require.NoError(t, lifetime.Write(&text, []lifetime.Func{f}))
	assert.Equal(t, `func forward  # :0
  unused%1  entry..entry  entry of the call                        no use
  spare%5   1..1          after aten::max                          no use
  b%3       1..2          after aten::cat                          last use
  a%2       0..2          after aten::cat                          last use
  x%0       entry..2      after aten::cat                          last use
  c%4       2..3          after higher_order::cond                 last use
  dead%7    3..3          entry of higher_order::cond              no use
  inner%6   3..4          after aten::add                          last use
  out%8     4..3          result of a block of higher_order::cond  last use
  got%9     3..5          after prim::Return                       last use
`, text.String())
}

// TestGeneratedIsSound checks what ranges promise on every exported archive.
func TestGeneratedIsSound(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "artifacts", "exported", "*.pt2"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		a, err := artifact.Open(path)
		require.NoError(t, err)
		g, err := a.Program.Entry.Graph()
		require.NoError(t, err)
		assert.NoError(t, lifetime.Check(&lifetime.Func{Func: a.Program.Entry, Graph: g, Ranges: lifetime.Generated(g)}),
			path)
	}
}
