package program

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
)

// small is `def forward(x): if c: y = relu(x) else: y = x; return y`, which each test breaks in one way.
func small(edit func(p *Program, g *Graph)) *Program {
	class := &Class{Name: "__torch__.M", Kind: ModuleClass, Attrs: []Attr{{Name: "training", Type: &Type{Kind: BoolType}}}}
	value := func(id int, name string) *Value { return &Value{ID: id, Name: name, Type: &Type{Kind: TensorType}} }
	self, x, relu, y := value(0, "self"), value(1, "x"), value(2, ""), value(3, "y")
	branch := &Node{Op: "prim::If", Line: 3, Args: []Arg{{Const: true}}, Outs: []*Value{y}, Blocks: []*Block{
		{Nodes: []*Node{{Op: "aten::relu", Line: 4, Args: []Arg{{Value: x}}, Outs: []*Value{relu}}}, Outs: []Arg{{Value: relu}}},
		{Outs: []Arg{{Value: x}}},
	}}
	ret := &Node{Op: "prim::Return", Line: 6, Args: []Arg{{Value: y}}}
	g := &Graph{Params: []*Value{self, x}, Body: &Block{Nodes: []*Node{branch, ret}}, NumValues: 4}
	f := NewFunc(&Func{Name: "__torch__.M.forward", Method: "forward", Class: class, Params: []Param{{Name: "self"}, {Name: "x"}},
		Result: &Type{Kind: TensorType}}, func(*Func) (*Graph, error) { return g, nil })
	class.Methods = []*Func{f}
	class.Seal()
	root := &Object{Class: class, Attrs: []any{false}}
	p := &Program{Format: "torchscript", Producer: "version 3", Entry: f, Root: root, Classes: []*Class{class}, Modules: []*Module{{Object: root}},
		States: []*State{{Name: "w", Meta: tensor.Meta{DType: tensor.Float32, Sizes: []int64{2, 3}, Strides: []int64{3, 1}}, NBytes: 24, Class: tensor.Parameter}}}
	edit(p, g)
	return p
}

func TestCheck(t *testing.T) {
	require.NoError(t, Check(small(func(*Program, *Graph) {})))
	for _, tt := range []struct {
		want string
		edit func(p *Program, g *Graph)
	}{
		{"value %y.3: defined twice", func(_ *Program, g *Graph) { g.Body.Nodes[1].Outs = g.Body.Nodes[0].Outs }},
		{"line 6: prim::Return: got %2, which is not defined here", func(_ *Program, g *Graph) { g.Body.Nodes[1].Args[0].Value = &Value{ID: 2} }},
		{"value %z.9: got number 9, want less than 4", func(_ *Program, g *Graph) { g.Body.Nodes[1].Outs = []*Value{{ID: 9, Name: "z"}} }},
		{"line 3: prim::If: got 1 blocks, want 2", func(_ *Program, g *Graph) { g.Body.Nodes[0].Blocks = g.Body.Nodes[0].Blocks[:1] }},
		{"line 3: prim::If: got 0 results of a block, want 1", func(_ *Program, g *Graph) { g.Body.Nodes[0].Blocks[1].Outs = nil }},
		{"line 3: prim::Loop: got 1 arguments, want 3", func(_ *Program, g *Graph) { g.Body.Nodes[0].Op = "prim::Loop" }},
		{"line 6: prim::CallFunction: got no function", func(_ *Program, g *Graph) { g.Body.Nodes[1].Op = "prim::CallFunction" }},
		{"state w: got a storage of 20 B, want at least 24 B", func(p *Program, _ *Graph) { p.States[0].NBytes = 20 }},
		{"state v: storage 0: got 32 B, want 24 B as elsewhere", func(p *Program, _ *Graph) {
			v := *p.States[0]
			v.Name, v.NBytes = "v", 32
			p.States = append(p.States, &v)
		}},
		{"module \"\": got 0 attributes, want the 1 of __torch__.M", func(p *Program, _ *Graph) { p.Modules[0].Object = &Object{Class: p.Classes[0]} }},
		{"module \"a\": got it before its parent", func(p *Program, _ *Graph) {
			p.Modules = append(p.Modules, &Module{FQN: "a", Object: p.Root, Parent: &Module{}})
		}},
		{"classes: got them unsorted, want them by name", func(p *Program, _ *Graph) { p.Classes = append(p.Classes, &Class{Name: "A"}) }},
		{"attribute b: not in its table, want it sealed", func(p *Program, _ *Graph) {
			p.Classes[0].Attrs = append(p.Classes[0].Attrs, Attr{Name: "b"})
		}},
	} {
		t.Run(tt.want, func(t *testing.T) { assert.ErrorContains(t, Check(small(tt.edit)), tt.want) })
	}
}

func TestCheckReportsEveryViolation(t *testing.T) {
	err := Check(small(func(p *Program, g *Graph) {
		p.States[0].NBytes = 0
		g.Body.Nodes[0].Blocks[1].Outs = nil
	}))
	assert.ErrorContains(t, err, "state w")
	assert.ErrorContains(t, err, "prim::If")
}

func TestCheckReportsABodyThatCannotBeLowered(t *testing.T) {
	p := small(func(p *Program, _ *Graph) {
		NewFunc(p.Entry, func(*Func) (*Graph, error) { return nil, errors.New("code/m.py:3:1: got newline") })
	})
	assert.ErrorContains(t, Check(p), "__torch__.M.forward: code/m.py:3:1: got newline")
	assert.Error(t, Write(new(bytes.Buffer), p))
}

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Write(&b, small(func(*Program, *Graph) {})))
	assert.Equal(t, `program torchscript, scripted, version 3
state parameter w float32[2,3] storage 0 24 B
module "" __torch__.M
module class __torch__.M
  training: bool
func __torch__.M.forward(%self.0: Tensor, %x.1: Tensor) -> Tensor
  %y.3: Tensor = prim::If(True)
  block 0():
    %2: Tensor = aten::relu(%x.1)
    -> (%2)
  block 1():
    -> (%x.1)
  prim::Return(%y.3)
`, b.String())
}

func TestLiteral(t *testing.T) {
	class := &Class{Name: "__torch__.Pair"}
	for _, tt := range []struct {
		v    any
		want string
	}{
		{nil, "None"}, {true, "True"}, {false, "False"}, {int64(3), "3"}, {1.0, "1.0"}, {1e30, "1e+30"}, {"a\"b", `"a\"b"`}, {Device("cuda:0"), `device("cuda:0")`},
		{&State{Name: "w"}, "state(w)"}, {&Object{Class: class, FQN: "a.b"}, "object(a.b __torch__.Pair)"}, {&ListLit{Items: []any{int64(1), nil}}, "[1, None]"},
		{&TupleLit{Items: []any{int64(1)}}, "(1)"}, {&TupleLit{Items: []any{int64(1)}, Class: class}, "__torch__.Pair(1)"},
		{&DictLit{Keys: []any{"k"}, Values: []any{int64(1)}}, `{"k": 1}`}, {EnumLit{Class: class, Name: "A"}, "__torch__.Pair.A"}, {&Opaque{Class: "c"}, "opaque(c)"},
	} {
		assert.Equal(t, tt.want, literal(tt.v))
	}
}
