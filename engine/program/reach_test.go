package program

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
)

// TestReach: from the entry on, each function once, in the order of their calls: every method of a
// name that is called, what makes an object, what a block within a block calls.
func TestReach(t *testing.T) {
	calls := func(name string, nodes ...*Node) *Func {
		return NewFunc(&Func{Name: name, Method: name[len(name)-1:]}, func(*Func) (*Graph, error) {
			return &Graph{Body: &Block{Nodes: append(nodes, ret(lit(nil)))}}, nil
		})
	}
	node := func(o Operation, blocks ...*Block) *Node {
		if o.Op == "prim::If" {
			return &Node{Operation: &o, Args: []Arg{lit(true)}, Blocks: blocks}
		}
		return &Node{Operation: &o, Args: []Arg{lit(nil)}}
	}
	function := func(f *Func) *Node {
		n := node(Operation{Op: "prim::CallFunction", Callee: f})
		n.Args = nil
		return n
	}
	af, bf, never := calls("A.f"), calls("B.f"), calls("A.g")
	made := &Class{Name: "C", Methods: []*Func{{Method: "f"}, calls("C.__init__")}}
	made.Methods[1].Method = "__init__"
	a := &Class{Name: "A", Methods: []*Func{af, never}}
	b := &Class{Name: "B", Methods: []*Func{bf}}
	inner := calls("inner")
	second := calls("second", function(inner))
	entry := calls("entry",
		node(Operation{Op: "prim::If"}, &Block{Nodes: []*Node{node(Operation{Op: "prim::If"},
			&Block{Nodes: []*Node{function(second)}}, &Block{Nodes: []*Node{function(inner)}})}}, &Block{}),
		node(Operation{Op: "prim::CallMethod", Text: "f"}), function(second),
		node(Operation{Op: "prim::CreateObject", Text: "C", Class: made}),
		node(Operation{Op: "prim::CreateObject", Text: "unknown"}),
		node(Operation{Op: "prim::CreateObject", Text: "D", Class: &Class{Name: "D"}}),
		node(Operation{Op: "prim::CallMethod", Text: "none"}), node(Operation{Op: "aten::f", Callee: never}))
	p := &Program{Entry: entry, Objects: Objects{Classes: []*Class{a, b}, Funcs: []*Func{calls("free")}}}
	var got []string
	require.NoError(t, p.Reach(func(f *Func, g *Graph) {
		of, err := f.Graph()
		require.NoError(t, err)
		assert.Same(t, of, g)
		got = append(got, f.Name)
	}))
	assert.Equal(t, []string{"entry", "second", "inner", "A.f", "B.f", "C.__init__"}, got)

	wrong := errors.New("a.py:1:2: got x")
	second.body, second.err = nil, wrong
	got = nil
	assert.Equal(t, wrong, p.Reach(func(f *Func, _ *Graph) { got = append(got, f.Name) }))
	assert.Equal(t, []string{"entry"}, got, "what cannot be lowered is visited by nobody, nor is what comes after")
	assert.NoError(t, (&Program{}).Reach(nil), "no entry")
}

// TestEachLiteral: each kind of literal as it is printed.
func TestEachLiteral(t *testing.T) {
	pair, module := &Class{Name: "B.Pair"}, &Class{Name: "M", Kind: ModuleClass}
	loop := &ListLit{}
	loop.Items = []any{loop}
	size := sizes(t, "2*B")[0]
	for _, tt := range []struct {
		v    any
		want string
	}{
		{nil, "None"}, {true, "True"}, {false, "False"}, {int64(-3), "-3"}, {"a\"b", `"a\"b"`},
		{Device("cuda:1"), "device(cuda:1)"},
		{2.0, "2."}, {-2.0, "-2."}, {0.5, "0.5"}, {1e30, "1e+30"}, {math.Inf(-1), "-Inf"}, {math.NaN(), "NaN"},
		{complex(1, -2.5), "1.+-2.5j"}, {size, "2*B"}, {&State{Name: "w"}, "state w"},
		{&Object{Class: module, FQN: "layers.0"}, `module "layers.0"`}, {&Object{Class: module}, `module ""`},
		{&Object{Class: pair, Attrs: []any{int64(1), nil}}, "object of B.Pair(1, None)"},
		{&Opaque{Class: "Packed", State: &TupleLit{Items: []any{int64(1)}}}, "Packed((1))"},
		{EnumLit{Class: &Class{Name: "Color"}, Name: "RED", Value: int64(1)}, "Color.RED"},
		{&ListLit{}, "[]"}, {&ListLit{Elem: &Type{Kind: IntType}}, "[]: List[int]"},
		{&ListLit{Elem: &Type{Kind: IntType}, Items: []any{int64(1), int64(2)}}, "[1, 2]"},
		{&TupleLit{Items: []any{true, "a"}}, `(True, "a")`}, {&TupleLit{Class: pair, Items: []any{true}}, "B.Pair(True)"},
		{&DictLit{Keys: []any{"k", int64(2)}, Values: []any{&ListLit{}, nil}}, `{"k": [], 2: None}`},
		{uint8(7), "7"}, // the members of a dict are not checked
		{loop, "[[[[[[[[[…]]]]]]]]]"},
	} {
		assert.Equal(t, tt.want, literal(tt.v))
	}
}

// TestLoopsCarry: a loop carries as many values into its block, out of it and to its results.
func TestLoopsCarry(t *testing.T) {
	for _, tt := range []struct {
		params, outs, results int
		want                  string
	}{
		{3, 3, 2, ""},
		{2, 3, 2, "got 2 parameters, 3 results of the block and 2 of the loop, want 3, 3 and 2"},
		{3, 4, 2, "got 3 parameters, 4 results of the block and 2 of the loop, want 3, 3 and 2"},
		{3, 3, 1, "got 3 parameters, 3 results of the block and 1 of the loop, want 3, 3 and 2"},
	} {
		err := Check(of(func(m *maker, x *Value) []*Node {
			block := &Block{}
			for range tt.params {
				block.Params = append(block.Params, m.value("p"))
			}
			for range tt.outs {
				block.Outs = append(block.Outs, lit(true))
			}
			n := &Node{Operation: &Operation{Op: "prim::Loop"}, Args: []Arg{lit(int64(1)), lit(true), arg(x), arg(x)},
				Blocks: []*Block{block}}
			for range tt.results {
				n.Outs = append(n.Outs, m.value("r"))
			}
			return []*Node{n, ret(arg(x))}
		}))
		if tt.want == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, "f: not a sound program: f: line 0: prim::Loop: "+tt.want)
		}
	}
}

// TestRecordedTensors: a view of a buffer may keep the dtype, and nothing else may.
func TestRecordedTensors(t *testing.T) {
	check := func(op string, m *TensorMeta) string {
		err := Check(of(func(mk *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: op, Meta: &NodeMeta{Recorded: []*TensorMeta{m}}}, Args: []Arg{arg(x)},
				Outs: outs(mk.value("y"))}, ret(arg(x))}
		}))
		if err != nil {
			return strings.ReplaceAll(err.Error(), "f: not a sound program: ", "")
		}
		return ""
	}
	kept := func() *TensorMeta {
		return &TensorMeta{DType: tensor.Undefined, Sizes: sizes(t, "2"), Strides: sizes(t, "1")}
	}
	assert.Empty(t, check(BufferView, kept()))
	assert.Equal(t, "f: line 0: aten::view: result 0: got no dtype", check("aten::view", kept()))
	short := kept()
	short.Strides = nil
	assert.Equal(t, "f: line 0: "+BufferView+": result 0: got 1 sizes and 0 strides", check(BufferView, short))
	other := kept()
	other.Strides = sizes(t, "S")
	assert.Equal(t, "f: line 0: "+BufferView+": result 0: got the size S, which is no symbol of the program",
		check(BufferView, other))
	other = kept()
	other.DType, other.Sizes, other.Strides, other.Offset = tensor.Float32, sizes(t, "R*P"), sizes(t, "S"),
		sizes(t, "T")[0]
	var want []string
	for _, name := range []string{"R", "P", "S", "T"} {
		want = append(want, "f: line 0: aten::view: result 0: got the size "+name+", which is no symbol of the program")
	}
	assert.Equal(t, strings.Join(want, "\n"), check("aten::view", other), "in this order")
	assert.Equal(t, "f: line 0: "+BufferView+": got no recorded tensor", check(BufferView, nil))
}

// TestValuesOfParameters: each that is none is said, in their order, and how many arguments a node
// must have at least.
func TestValuesOfParameters(t *testing.T) {
	f := NewFunc(&Func{Name: "f", Params: []Param{{Name: "x"}, {Name: "y"}}}, func(*Func) (*Graph, error) {
		return &Graph{Params: outs(&Value{ID: 7}, &Value{ID: 8}), Body: &Block{Nodes: []*Node{
			{Operation: &Operation{Op: "prim::Loop"}, Args: []Arg{lit(int64(1))}, Blocks: []*Block{{}}},
			{Operation: &Operation{Op: "prim::SetAttr", Text: "a"}}, ret(lit(nil))}}}, nil
	})
	_, err := f.Graph()
	require.Error(t, err)
	assert.Equal(t, []string{"not a sound program: f: got value 7, want less than 0", "f: got value 8, want less than 0",
		"f: line 0: prim::Loop: got 1 arguments, want at least 2",
		"f: line 0: prim::Loop: got 0 parameters, 0 results of the block and 0 of the loop, want 0, 0 and -1",
		"f: line 0: prim::SetAttr: got 0 arguments, want 2"}, strings.Split(err.Error(), "; "))
}

// TestScopeOfABlock: what a block is given or makes is not known behind it.
func TestScopeOfABlock(t *testing.T) {
	for _, of := range []string{"parameter", "result"} {
		err := checked(func(m *maker, x *Value) []*Node {
			i, y := m.value("parameter"), m.value("result")
			after := map[string]*Value{"parameter": i, "result": y}[of]
			return []*Node{{Operation: &Operation{Op: "prim::Loop"}, Args: []Arg{lit(int64(1)), lit(true)},
				Blocks: []*Block{{Params: outs(i), Outs: []Arg{lit(true)},
					Nodes: []*Node{{Operation: &Operation{Op: "aten::relu"}, Args: []Arg{arg(i)}, Outs: outs(y)}}}}},
				{Operation: &Operation{Op: "aten::relu"}, Args: []Arg{arg(after)}}, ret(arg(x))}
		})
		assert.Regexp(t, "^f: not a sound program: f: line 0: aten::relu: got "+of+"%[0-9] before it is defined$", err)
	}
}

func checked(build func(m *maker, x *Value) []*Node) string {
	if err := Check(of(build)); err != nil {
		return err.Error()
	}
	return ""
}

// TestEachArg: a node's arguments come before those of the blocks within it, a block's results
// last; what is shown may be changed.
func TestEachArg(t *testing.T) {
	number := func(n int64) Arg { return Arg{Const: n} }
	node := func(blocks []*Block, args ...Arg) *Node {
		return &Node{Operation: &Operation{}, Args: args, Blocks: blocks}
	}
	b := &Block{Outs: []Arg{number(8), number(9)}, Nodes: []*Node{
		node([]*Block{{Nodes: []*Node{node(nil, number(3))}, Outs: []Arg{number(4)}},
			{Nodes: []*Node{node([]*Block{{Outs: []Arg{number(6)}}}, number(5))}}}, number(1), number(2)),
		node(nil, number(7)),
	}}
	var got []any
	b.EachArg(func(a *Arg) {
		got = append(got, a.Const)
		a.Name = "seen"
	})
	assert.Equal(t, []any{int64(1), int64(2), int64(3), int64(4), int64(5), int64(6), int64(7), int64(8), int64(9)}, got)
	b.EachArg(func(a *Arg) { assert.Equal(t, "seen", a.Name, a.Const) })
}
