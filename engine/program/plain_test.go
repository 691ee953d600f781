package program

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
)

// plain is a program without objects, as torch.export makes them: one graph, whose nodes name their
// overload, what they gave, and where they stand.
func plain(t *testing.T) *Program {
	meta := func(rows, columns string) *TensorMeta {
		return &TensorMeta{DType: tensor.Float32, Sizes: sizes(t, rows, columns), Strides: sizes(t, columns, "1"),
			Device: "cuda"}
	}
	root, fc := &Module{Class: "net.Net"}, &Module{FQN: "fc", Class: "torch.nn.modules.linear.Linear"}
	weight := &State{Name: "fc.weight", Meta: tensor.Meta{DType: tensor.Float32, Sizes: []int64{4, 8},
		Strides: []int64{8, 1}, Device: "cpu"}, NBytes: 128, Class: tensor.Parameter, Record: "data/weights/weight_0"}
	stack := &Stack{Frames: []*Frame{{File: "/home/u/net.py", Line: 7, Function: "forward"}}}
	x, y, z := &Value{ID: 0, Name: "x"}, &Value{ID: 1, Name: "linear"}, &Value{ID: 2, Name: "sort"}
	body := &Block{Nodes: []*Node{
		{Operation: &Operation{Op: "aten::linear",
			Meta:  &NodeMeta{Key: "aten::linear", Recorded: []*TensorMeta{meta("B", "4")}},
			Where: Where{Stack: stack, Call: &ModuleCall{Module: fc}}}, Args: []Arg{arg(x), lit(weight), lit(nil)},
			Outs: outs(y)},
		{Operation: &Operation{Op: "aten::sort", Meta: &NodeMeta{Key: "aten::sort.stable",
			Recorded: []*TensorMeta{meta("B", "4"), nil}}, Where: Where{Call: &ModuleCall{Module: root}, Stmt: 1}},
			Args: []Arg{arg(y), {Name: "stable", Const: true}}, Outs: outs(z)},
		{Operation: &Operation{Op: "prim::Return", Where: Where{Stmt: 2}}, Args: []Arg{arg(z)}},
	}}
	entry := NewFunc(&Func{Name: "forward", Record: "models/model.json",
		Params: []Param{{Name: "x", Type: &Type{Kind: TensorType}, Meta: meta("B", "8")}}},
		func(*Func) (*Graph, error) { return &Graph{Params: outs(x), Body: body, NumValues: 3}, nil })
	return &Program{Format: "torchexport", Producer: "torch 2.15", Records: RecordsModules, Entry: entry,
		Symbols: []Symbol{{Name: "B", Min: 2, Max: 64}},
		Modules: []*Module{root, fc}, States: []*State{weight}}
}

func TestAPlainGraph(t *testing.T) {
	p := plain(t)
	require.NoError(t, Check(p))
	require.NoError(t, CheckTables(p))
	var b bytes.Buffer
	require.NoError(t, Write(&b, p))
	assert.Equal(t, `program torchexport, torch 2.15, records modules
entry forward
symbol B 2 to 64
state 0 parameter fc.weight float32[4, 8] cpu storage 0 of 128 data/weights/weight_0
module "" net.Net
module "fc" torch.nn.modules.linear.Linear
func forward(x%0: Tensor float32[B, 8] strides [8, 1] cuda)  # models/model.json:0
  linear%1 = aten::linear(x%0, state fc.weight, None) -> float32[B, 4] strides [4, 1] cuda  # 0 in "fc" net.py:7
  sort%2 = aten::sort.stable(linear%1, stable=True) -> float32[B, 4] strides [4, 1] cuda, no tensor  # 1 in ""
  prim::Return(sort%2)  # 2
`, b.String())
	values, err := p.BindSymbols([][]int64{{16, 8}})
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"B": 16}, values)
}

func TestCheckOfAPlainGraph(t *testing.T) {
	for _, c := range []struct {
		want string
		edit func(p *Program, n *Node)
	}{
		{"forward: line 0: aten::linear: got the overload aten::linears, want one of the operator",
			func(_ *Program, n *Node) { n.Meta.Key = "aten::linears" }},
		{"forward: line 0: aten::linear: result 0: got the size C, which is no symbol of the program",
			func(_ *Program, n *Node) { n.Meta.Recorded[0].Sizes = sizes(t, "C", "4") }},
		{"forward: line 0: aten::linear: result 0: got 1 sizes and 2 strides", func(_ *Program, n *Node) {
			n.Meta.Recorded[0].Sizes = sizes(t, "B")
		}},
		{"forward: line 0: aten::linear: result 0: got no dtype", func(_ *Program, n *Node) {
			n.Meta.Recorded[0].DType = tensor.Undefined
		}},
		{"forward: parameter x: got the size C, which is no symbol of the program", func(p *Program, _ *Node) {
			p.Entry.Params[0].Meta.Sizes = sizes(t, "C", "8")
		}},
		{"symbol \"B\": got a range of 9 to 8", func(p *Program, _ *Node) { p.Symbols[0].Min, p.Symbols[0].Max = 9, 8 }},
		{"symbol \"B\": got a range of -1 to 64", func(p *Program, _ *Node) { p.Symbols[0].Min = -1 }},
		{"symbol \"A\": got it after B, want names in order, each once", func(p *Program, _ *Node) {
			p.Symbols = append(p.Symbols, Symbol{Name: "A"})
		}},
		{"symbol \"1\": got \"1\", want a name\nforward: line 0: aten::linear: result 0: got the size B",
			func(p *Program, _ *Node) { p.Symbols[0].Name = "1" }},
	} {
		p := plain(t)
		g, err := p.Entry.Graph()
		require.NoError(t, err)
		c.edit(p, g.Body.Nodes[0])
		err = Check(p)
		require.Error(t, err, c.want)
		text := err.Error()
		if strings.Contains(c.want, "\n") {
			first, second, _ := strings.Cut(c.want, "\n")
			assert.Contains(t, text, first)
			assert.Contains(t, text, second)
			continue
		}
		assert.Equal(t, c.want, text)
	}
}

// A function is checked when it is lowered, its callees are not; the error is one line.
func TestAFunctionIsCheckedWhenItIsLowered(t *testing.T) {
	lowered := false
	callee := NewFunc(&Func{Name: "g"}, func(*Func) (*Graph, error) { lowered = true; return &Graph{}, nil })
	x, y := &Value{ID: 0, Name: "x"}, &Value{ID: 1, Name: "y"}
	f := NewFunc(&Func{Name: "f", Params: []Param{{Name: "x"}}}, func(*Func) (*Graph, error) {
		return &Graph{Params: outs(x), NumValues: 2,
			Body: &Block{Nodes: []*Node{{Operation: &Operation{Op: "prim::CallFunction", Callee: callee}},
				{Operation: &Operation{Op: "aten::relu"}, Args: []Arg{arg(y)}}}}}, nil
	})
	_, err := f.Graph()
	assert.EqualError(t, err, "not a sound program: f: got a body that does not end in prim::Return; f: line 0: "+
		"aten::relu: got y%1 before it is defined")
	assert.False(t, lowered)
}

// TestAllNodes: a node comes before those of its blocks, which come before the next node; who has
// enough gets no more.
func TestAllNodes(t *testing.T) {
	node := func(op string, blocks ...*Block) *Node { return &Node{Operation: &Operation{Op: op}, Blocks: blocks} }
	b := &Block{Nodes: []*Node{node("a"),
		node("b", &Block{Nodes: []*Node{node("c", &Block{Nodes: []*Node{node("d")}}), node("e")}},
			&Block{Nodes: []*Node{node("f")}}), node("g")}}
	for enough, want := range []string{"a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefg"} {
		got := ""
		for n := range b.All() {
			if got += n.Op; len(got) > enough {
				break
			}
		}
		assert.Equal(t, want, got)
	}
}
