package program

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/tensor"
)

// maker builds graphs by hand.
type maker struct{ n int }

func (m *maker) value(name string) *Value { m.n++; return &Value{ID: m.n - 1, Name: name} }

func arg(v *Value) Arg          { return Arg{Value: v} }
func lit(v any) Arg             { return Arg{Const: v} }
func ret(a Arg) *Node           { return &Node{Operation: &Operation{Op: "prim::Return"}, Args: []Arg{a}} }
func outs(v ...*Value) []*Value { return v }

// of makes a program of one function with one parameter x.
func of(build func(m *maker, x *Value) []*Node) *Program {
	m := &maker{}
	x := m.value("x")
	body := &Block{Nodes: build(m, x)}
	f := NewFunc(&Func{Name: "f", Method: "f", Record: "f.py", Params: []Param{{Name: "x"}}}, func(*Func) (*Graph, error) {
		return &Graph{Params: outs(x), Body: body, NumValues: m.n}, nil
	})
	class := &Class{Name: "M", Kind: ModuleClass}
	class.Seal()
	return &Program{Format: "test", Producer: "hand-made", Objects: Objects{Root: &Object{Class: class},
		Classes: []*Class{class}, Funcs: []*Func{f}}}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(m *maker, x *Value) []*Node
		want  string // "" for none
	}{
		{"sound", func(m *maker, x *Value) []*Node {
			y, z, i, w := m.value("y"), m.value("z"), m.value("i"), m.value("w")
			return []*Node{
				{Operation: &Operation{Op: "prim::If"}, Args: []Arg{lit(true)}, Outs: outs(y),
					Blocks: []*Block{{Outs: []Arg{arg(x)}}, {Outs: []Arg{lit(nil)}}}},
				{Operation: &Operation{Op: "prim::Loop"}, Args: []Arg{lit(int64(3)), lit(true), arg(y)}, Outs: outs(w),
					Blocks: []*Block{{Params: outs(i, z), Outs: []Arg{lit(true), arg(z)}}}},
				ret(arg(w)),
			}
		}, ""},
		{"use_before_definition", func(m *maker, x *Value) []*Node {
			y := m.value("y")
			return []*Node{{Operation: &Operation{Op: "aten::relu"}, Args: []Arg{arg(y)}}, ret(arg(x))}
		}, "f: line 0: aten::relu: got y%1 before it is defined"},
		{"value_of_a_block", func(m *maker, x *Value) []*Node {
			y := m.value("y")
			return []*Node{
				{Operation: &Operation{Op: "prim::If"}, Args: []Arg{lit(true)},
					Blocks: []*Block{{Nodes: []*Node{{Operation: &Operation{Op: "aten::relu"}, Args: []Arg{arg(x)}, Outs: outs(y)}}},
						{}}},
				ret(arg(y)),
			}
		}, "prim::Return: got y%1 before it is defined"},
		{"assigned_twice", func(m *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "aten::relu"}, Args: []Arg{arg(x)}, Outs: outs(x)}, ret(arg(x))}
		}, "got value x%0 assigned twice"},
		{"number_out_of_range", func(_ *maker, x *Value) []*Node {
			return []*Node{ret(arg(&Value{ID: 7}))}
		}, "got value 7, want less than 1"},
		{"value_and_literal", func(_ *maker, x *Value) []*Node {
			return []*Node{ret(Arg{Value: x, Const: int64(1)})}
		}, "argument 0 is both a value and a literal"},
		{"foreign_literal", func(_ *maker, x *Value) []*Node {
			return []*Node{ret(lit(int32(1)))}
		}, "got a literal of Go type int32"},
		{"if_results", func(m *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "prim::If"}, Args: []Arg{lit(true)}, Outs: outs(m.value("y")),
				Blocks: []*Block{{Outs: []Arg{arg(x)}}, {}}}, ret(arg(x))}
		}, "block 1: got 0 parameters and 0 results, want 0 and 1"},
		{"if_blocks", func(_ *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "prim::If"}, Args: []Arg{lit(true)}, Blocks: []*Block{{}}}, ret(arg(x))}
		}, "prim::If: got 1 blocks, want 2"},
		{"loop_parameters", func(m *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "prim::Loop"}, Args: []Arg{lit(int64(1)), lit(true), arg(x)},
				Blocks: []*Block{{Params: outs(m.value("i")), Outs: []Arg{lit(true)}}}}, ret(arg(x))}
		}, "got 1 parameters, 1 results of the block and 0 of the loop, want 2, 2 and 1"},
		{"loop_parameters_alone", func(_ *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "prim::Loop"}, Args: []Arg{lit(int64(1)), lit(true)},
				Blocks: []*Block{{Outs: []Arg{lit(true)}}}}, ret(arg(x))}
		}, "got 0 parameters, 1 results of the block and 0 of the loop, want 1, 1 and 0"},
		{"loop_block_results_alone", func(m *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "prim::Loop"}, Args: []Arg{lit(int64(1)), lit(true)},
				Blocks: []*Block{{Params: outs(m.value("i"))}}}, ret(arg(x))}
		}, "got 1 parameters, 0 results of the block and 0 of the loop, want 1, 1 and 0"},
		{"loop_results_alone", func(m *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "prim::Loop"}, Args: []Arg{lit(int64(1)), lit(true)},
				Outs: outs(m.value("y")), Blocks: []*Block{{Params: outs(m.value("i")), Outs: []Arg{lit(true)}}}}, ret(arg(x))}
		}, "got 1 parameters, 1 results of the block and 1 of the loop, want 1, 1 and 0"},
		{"if_parameters", func(m *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "prim::If"}, Args: []Arg{lit(true)},
				Blocks: []*Block{{Params: outs(m.value("i"))}, {}}}, ret(arg(x))}
		}, "block 0: got 1 parameters and 0 results, want 0 and 0"},
		{"operator_with_block", func(_ *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "aten::relu"}, Args: []Arg{arg(x)}, Blocks: []*Block{{}}}, ret(arg(x))}
		}, "aten::relu: got 1 blocks, want none"},
		{"no_return", func(_ *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "aten::relu"}, Args: []Arg{arg(x)}}}
		}, "got a body that does not end in prim::Return"},
		{"call_of_nothing", func(_ *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "prim::CallFunction"}, Args: []Arg{arg(x)}}, ret(arg(x))}
		}, "prim::CallFunction: got no function"},
		{"attribute_without_name", func(_ *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "prim::GetAttr"}, Args: []Arg{arg(x)}}, ret(arg(x))}
		}, "prim::GetAttr: got no text"},
		{"arity", func(_ *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "prim::SetAttr", Text: "a"}, Args: []Arg{arg(x)}}, ret(arg(x))}
		}, "prim::SetAttr: got 1 arguments, want 2"},
		{"cast_without_type", func(m *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "prim::unchecked_cast"}, Args: []Arg{arg(x)}, Outs: outs(m.value(""))},
				ret(arg(x))}
		}, "got 0 types, want 1"},
		{"odd_dict", func(_ *maker, x *Value) []*Node {
			return []*Node{{Operation: &Operation{Op: "prim::DictConstruct"}, Args: []Arg{arg(x)}}, ret(arg(x))}
		}, "got 1 arguments, want an even number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Check(of(c.build))
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// All violations come at once, those of classes, modules and tensors too.
func TestCheckGathers(t *testing.T) {
	p := of(func(m *maker, x *Value) []*Node { return []*Node{{Operation: &Operation{Op: "prim::GetAttr"}}} })
	p.Format = ""
	p.Classes = append(p.Classes, &Class{Name: "A", Attrs: []Attr{{Name: "a"}, {Name: "a"}}, Parameters: []string{"b"}})
	p.Modules = []*Module{{FQN: "m", Object: p.Root}, {FQN: "m"}}
	p.States = []*State{{Meta: tensor.Meta{DType: tensor.Float32, Sizes: []int64{2}, Strides: []int64{1}}, NBytes: 4}}
	err := Check(p)
	require.Error(t, err)
	for _, want := range []string{
		"program: got no format", "program: got classes out of order",
		`module "m": got an object named ""`, `module "m": got a second of that name`, `module "m": got no object`,
		`state "": got no name`, `state "": got a storage of 4 bytes, want at least 8`,
		"A: got a second attribute a", "A: got parameter or buffer b, which is no attribute",
		"f: line 0: prim::GetAttr: got 0 arguments, want 1", "f: got a body that does not end in prim::Return",
	} {
		assert.Contains(t, err.Error(), want)
	}
}

func TestWrite(t *testing.T) {
	p := of(func(m *maker, x *Value) []*Node {
		y := m.value("")
		text := &SourceText{File: "/home/u/net.py", FirstLine: 10, Text: "def f(x):\n    return -x\n"}
		return []*Node{
			{Operation: &Operation{Op: "aten::add", Flags: Nested | InReturn,
				Where: Where{SourceRange: SourceRange{Text: text, Start: 14, End: 23}}},
				Args: []Arg{arg(x), lit(1.0), {Name: "alpha", Const: int64(2)}}, Outs: outs(y)},
			ret(arg(y)),
		}
	})
	p.States = []*State{{Name: "w", Class: tensor.Parameter, Record: "data/0", NBytes: 24,
		Meta: tensor.Meta{DType: tensor.Float32, Sizes: []int64{2, 3}, Strides: []int64{1, 2}, Device: "cpu",
			RequiresGrad: true}}}
	p.Modules = []*Module{{Class: "M", Object: p.Root}}
	var b bytes.Buffer
	require.NoError(t, Write(&b, p))
	assert.Equal(t, strings.TrimLeft(`
program test, hand-made, records nothing
state 0 parameter w float32[2, 3] strides [1, 2] cpu storage 0 of 24 data/0 requires_grad
module "" M
module class M
func f(x%0)  # f.py:0
  %1 = aten::add(x%0, 1., alpha=2)  # 0 return nested net.py:11
  prim::Return(%1)  # 0
`, "\n"), b.String())
}

func TestLiterals(t *testing.T) {
	class := &Class{Name: "P"}
	for want, v := range map[string]any{
		"None": nil, "True": true, "3": int64(3), "3.": 3.0, "1e-05": 1e-5, `"a\"b"`: `a"b`, "1.+-2.j": complex(1, -2),
		"device(cpu)": Device("cpu"), "[1, [2]]": &ListLit{Items: []any{int64(1), &ListLit{Items: []any{int64(2)}}}},
		"[]: List[int]": &ListLit{Elem: &Type{Kind: IntType}}, "P(1)": &TupleLit{Items: []any{int64(1)}, Class: class},
		`{"a": None, "b": 119}`: &DictLit{Keys: []any{"a", "b"}, Values: []any{nil, int64(119)}},
		"P.X":                   EnumLit{Class: class, Name: "X"}, "state w": &State{Name: "w"},
		"torch.C(())": &Opaque{Class: "torch.C", State: &TupleLit{}},
	} {
		assert.Equal(t, want, literal(v))
	}
	loop := &ListLit{Items: []any{nil}}
	loop.Items[0] = loop
	assert.Contains(t, literal(loop), "…", "a list in itself ends")
	values := &DictLit{Keys: []any{"a"}, Values: []any{nil}}
	values.Values[0] = values
	keys := &DictLit{Keys: []any{nil}, Values: []any{nil}}
	keys.Keys[0] = keys
	object := &Object{Class: class, Attrs: []any{nil}}
	object.Attrs[0] = object
	opaque := &Opaque{Class: "torch.C"}
	opaque.State = opaque
	for _, v := range []any{values, keys} { // the last key ends with its value
		assert.Equal(t, 2, strings.Count(literal(v), "…"), "%T in itself ends", v)
	}
	for _, v := range []any{object, opaque} {
		assert.Equal(t, 1, strings.Count(literal(v), "…"), "%T in itself ends", v)
	}
	assert.Equal(t, "[[[[[[[[[…]]]]]]]]]", literal(loop), "eight deep")
}

func TestPositions(t *testing.T) {
	relu, module := &Frame{File: "/lib/torch/nn/functional.py", Line: 10, Function: "relu"},
		&Frame{File: "/lib/torch/nn/modules/module.py", Line: 3, Function: "_call_impl"}
	traced := &Where{Stack: &Stack{Frames: []*Frame{relu, {File: "/home/u/net.py", Line: 7, Function: "forward"}, module}}}
	assert.Equal(t, Pos{"/home/u/net.py", 7}, traced.Pos(), "the innermost frame outside torch")
	inner := &Where{Stack: &Stack{Frames: []*Frame{relu, module}}}
	assert.Equal(t, Pos{"/lib/torch/nn/functional.py", 10}, inner.Pos(), "all of it torch's own")
	assert.Equal(t, Pos{}, new(Where).Pos())
}

// What an operator of the language may have of arguments, results and blocks, and one more or less
// of each.
func TestShapesOfNodes(t *testing.T) {
	for op, s := range shapes {
		build := func(args, results, blocks int) string {
			p := of(func(m *maker, x *Value) []*Node {
				n := &Node{Operation: &Operation{Op: op, Text: "t"}}
				for range args {
					n.Args = append(n.Args, arg(x))
				}
				for range results {
					n.Outs = append(n.Outs, m.value(""))
				}
				for range blocks {
					n.Blocks = append(n.Blocks, &Block{})
				}
				return []*Node{n, ret(arg(x))}
			})
			if err := Check(p); err != nil {
				return err.Error()
			}
			return ""
		}
		most := max(s.maxOuts, 0)
		if s.minArgs > 0 {
			assert.Contains(t, build(s.minArgs-1, most, s.blocks), "arguments, want", op)
		}
		assert.NotContains(t, build(s.minArgs, most, s.blocks), "arguments, want", op)
		if s.maxArgs >= 0 {
			assert.Contains(t, build(s.maxArgs+1, most, s.blocks), "arguments, want", op)
			assert.NotContains(t, build(s.maxArgs, most, s.blocks), "arguments, want", op)
		} else {
			assert.NotContains(t, build(s.minArgs+8, most, s.blocks), "arguments, want", op)
		}
		if s.maxOuts >= 0 {
			assert.Contains(t, build(s.minArgs, s.maxOuts+1, s.blocks), "results, want at most", op)
			assert.NotContains(t, build(s.minArgs, s.maxOuts, s.blocks), "results, want", op)
		} else {
			assert.NotContains(t, build(s.minArgs, 9, s.blocks), "results, want at most", op)
		}
		assert.Contains(t, build(s.minArgs, most, s.blocks+1), "blocks, want", op)
		assert.NotContains(t, build(s.minArgs, most, s.blocks), "blocks, want", op)
	}
}

// Members of lists are read in their order, those of lists in them among them.
func TestValuesOfAnArgument(t *testing.T) {
	m := &maker{}
	a, b, c := m.value("a"), m.value("b"), m.value("c")
	var got []string
	(&Arg{Items: []Arg{arg(a), {Items: []Arg{arg(b), lit(int64(1))}}, arg(c), arg(a)}}).Values(func(v *Value) {
		got = append(got, v.Name)
	})
	assert.Equal(t, []string{"a", "b", "c", "a"}, got)
}

func TestWriteBlocks(t *testing.T) {
	p := of(func(m *maker, x *Value) []*Node {
		y, i, z := m.value("y"), m.value("i"), m.value("z")
		return []*Node{
			{Operation: &Operation{Op: "prim::Loop"}, Args: []Arg{lit(int64(3)), lit(true), arg(x)}, Outs: outs(y),
				Blocks: []*Block{{
					Params: outs(i, z),
					Nodes:  []*Node{{Operation: &Operation{Op: "prim::If"}, Args: []Arg{lit(true)}, Blocks: []*Block{{}, {}}}},
					Outs:   []Arg{lit(true), arg(z)},
				}}},
			ret(arg(y)),
		}
	})
	var b bytes.Buffer
	require.NoError(t, Write(&b, p))
	assert.Contains(t, b.String(), strings.TrimLeft(`
  y%1 = prim::Loop(3, True, x%0)  # 0
    block i%2, z%3
      prim::If(True)  # 0
        block
        block
      (True, z%3)
  prim::Return(y%1)  # 0
`, "\n"))
}
