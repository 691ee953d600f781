package program

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/expr"
	"github.com/memspec/memspec/engine/tensor"
)

// identity is a function that returns its last parameter.
func identity(f *Func) *Func {
	return NewFunc(f, func(f *Func) (*Graph, error) {
		g := &Graph{NumValues: len(f.Params)}
		for i, p := range f.Params {
			g.Params = append(g.Params, &Value{ID: i, Name: p.Name})
		}
		g.Body = &Block{Nodes: []*Node{ret(arg(g.Params[len(f.Params)-1]))}}
		return g, nil
	})
}

// full is a program with one of everything that a format with objects has.
func full(t *testing.T) *Program {
	str, ints := &Type{Kind: StrType}, &Type{Kind: ListType, Elems: []*Type{{Kind: IntType}}}
	child := &Class{Name: "A.Child", Kind: ModuleClass, Parameters: []string{"weight", "bias"}, Buffers: []string{"mean"},
		Attrs: []Attr{
			{Name: "weight", Type: &Type{Kind: TensorType}},
			{Name: "bias", Type: &Type{Kind: OptionalType, Elems: []*Type{{Kind: TensorType}}}}, {Name: "mean"},
			{Name: "mode", Type: str, Default: "same", HasDef: true}, {Name: "sizes", Type: ints}}}
	pair := &Class{Name: "B.Pair", Kind: NamedTupleClass,
		Attrs: []Attr{{Name: "first", Type: &Type{Kind: ClassType, Name: "A.Child", Class: child}},
			{Name: "second", Default: int64(2), HasDef: true}}}
	color := &Class{Name: "C.Color", Kind: EnumClass, Attrs: []Attr{{Name: "RED", Default: int64(1), HasDef: true}}}
	api := &Class{Name: "D.Api", Kind: InterfaceClass}
	root := &Class{Name: "E.Root", Kind: ModuleClass, Attrs: []Attr{{Name: "child"}, {Name: "pair"}}}
	for i := range many - 2 {
		root.Attrs = append(root.Attrs, Attr{Name: fmt.Sprintf("flag%d", i), Default: true, HasDef: true})
		root.Methods = append(root.Methods, identity(&Func{Name: fmt.Sprintf("E.Root.m%d", i), Method: fmt.Sprintf("m%d", i),
			Class: root, Params: []Param{{Name: "self"}}, Record: "e.py", Line: i}))
	}
	other := &Class{Name: "F.Other", Attrs: []Attr{{Name: "n", Type: &Type{Kind: TupleType}}}}

	side := identity(&Func{Name: "side", Params: []Param{{Name: "x"}, {Name: "k", Default: 0.5, HasDef: true}},
		Record: "s.py"})
	forked := identity(&Func{Name: "inner", Params: []Param{{Name: "y"}}, Record: "s.py", Line: 3})
	size := sizes(t, "B")[0]
	forward := NewFunc(&Func{Name: "E.Root.forward", Method: "forward", Class: root, Record: "e.py", Line: 9,
		Params: []Param{{Name: "self"}, {Name: "x", Type: ints}, {Name: "n", Size: &size}},
		Result: &Type{Kind: DictType, Elems: []*Type{str, {Kind: AnyType}}},
		Inputs: []Input{{Name: "x", Tree: &Tree{Kind: TupleTree, Items: []*Tree{{}, {Kind: ListTree, Items: []*Tree{{}}}}}}},
		Output: &Tree{Kind: ObjectTree, Class: "Out", Names: []string{"a"},
			Items: []*Tree{{Kind: DictTree, Names: []string{"k", "l"}, Items: []*Tree{{}, {}}}, {}}},
	}, func(*Func) (*Graph, error) {
		self, x, n, f, g, h, l := &Value{Name: "self"}, &Value{ID: 1, Name: "x"}, &Value{ID: 2, Name: "n"},
			&Value{ID: 3, Type: str}, &Value{ID: 4}, &Value{ID: 5, Name: "h", Type: ints}, &Value{ID: 6}
		return &Graph{Params: outs(self, x, n), NumValues: 7, Body: &Block{Nodes: []*Node{
			{Operation: &Operation{Op: "prim::fork", Callee: forked}, Args: []Arg{arg(x)}, Outs: outs(f)},
			{Operation: &Operation{Op: "prim::fork", Callee: side}, Args: []Arg{arg(x)}},
			{Operation: &Operation{Op: "prim::CallFunction", Callee: side}, Args: []Arg{arg(n)}, Outs: outs(g)},
			{Operation: &Operation{Op: "prim::TupleUnpack", Flags: Builtin | Nested},
				Args: []Arg{{Items: []Arg{arg(f), {Items: []Arg{arg(g), lit(true)}}, lit(nil)}}}, Outs: outs(h, l)},
			{Operation: &Operation{Op: "aten::div", Means: Div0To3}, Args: []Arg{arg(h), lit(false)}},
			{Operation: &Operation{Op: "prim::isinstance", Types: []*Type{str, {Kind: ClassType, Name: "A.Child"}, nil},
				Where: Where{Stack: &Stack{}}}, Args: []Arg{arg(h)}},
			ret(arg(l)),
		}}}, nil
	})
	root.Methods = append(root.Methods, forward,
		identity(&Func{Name: "E.Root.last", Method: "last", Class: root, Params: []Param{{Name: "self"}}}))
	for _, c := range []*Class{child, pair, color, api, root, other} {
		c.Seal()
	}

	meta := func(offset int64, n ...int64) tensor.Meta {
		return tensor.Meta{DType: tensor.Float32, Sizes: n, Strides: tensor.ContiguousStrides(n), StorageOffset: offset,
			Device: "cuda"}
	}
	w := &State{Name: "child.weight", Meta: meta(0, 2), NBytes: 16, Class: tensor.Parameter, Record: "data/0",
		Data: &tensor.Data{Floats: []float64{1, 2.5}}}
	b := &State{Name: "child.mean", Meta: meta(2, 2), NBytes: 16, Class: tensor.Buffer, Record: "data/0",
		Data: &tensor.Data{Ints: []int64{3, 4}}}
	p := &State{Name: "packed", Meta: meta(0, 1), NBytes: 4, Storage: 1, Class: tensor.Constant, Packed: true}
	childObject := &Object{Class: child, FQN: "child", Attrs: []any{w, nil, b, "same", &ListLit{Items: []any{int64(1)}}}}
	rootObject := &Object{Class: root,
		Attrs: []any{childObject, &TupleLit{Class: pair, Items: []any{&Object{Class: other, Attrs: []any{&TupleLit{}}},
			int64(2)}}}, HasState: true, State: Device("cpu")}
	for range many - 2 {
		rootObject.Attrs = append(rootObject.Attrs, true)
	}
	top := &Module{Class: "Root", Object: rootObject}
	return &Program{Format: "test", Producer: "by hand", Records: RecordsSource, Entry: forward, Notes: []string{"a note"},
		Symbols: []Symbol{{Name: "B", Min: 1, Max: 8, Example: 3}, {Name: "u0", Max: 4, Unbacked: true}},
		Modules: []*Module{top, {FQN: "child", Class: "Child", Object: childObject, Parent: top}}, States: []*State{w, b, p},
		Objects: Objects{Root: rootObject, Classes: []*Class{child, pair, color, api, root, other}, Funcs: []*Func{side}}}
}

func TestWriteObjects(t *testing.T) {
	p := full(t)
	require.NoError(t, Check(p))
	require.NoError(t, CheckTables(p))
	var b bytes.Buffer
	require.NoError(t, Write(&b, p))
	want := `program test, by hand, records source
entry E.Root.forward
note a note
symbol B 1 to 8, example 3
symbol u0 0 to 4 unbacked
state 0 parameter child.weight float32[2] cuda storage 0 of 16 data/0 = [1 2.5]
state 1 buffer child.mean float32[2] offset 2 cuda storage 0 of 16 data/0 = [3 4]
state 2 constant packed float32[1] cuda storage 1 of 4  packed
module "" Root
  pair = B.Pair(object of F.Other(()), 2)
  __setstate__(device(cpu))
module "child" Child
  weight = state child.weight
  bias = None
  mean = state child.mean
  sizes = [1]
module class A.Child
  parameters weight, bias
  buffers mean
  weight: Tensor
  bias: Optional[Tensor]
  mean
  mode: str = "same"
  sizes: List[int]
named tuple B.Pair
  first: A.Child
  second = 2
enum C.Color
  RED = 1
interface D.Api
module class E.Root
  child
  pair
`
	for i := range many - 2 {
		want += fmt.Sprintf("  flag%d = True\n", i)
	}
	want += "class F.Other\n  n: Tuple[()]\n"
	for i := range many - 2 {
		want += fmt.Sprintf("func E.Root.m%d(self%%0)  # e.py:%d\n  prim::Return(self%%0)  # 0\n", i, i)
	}
	sideText := "func side(x%0, k%1 = 0.5)  # s.py:0\n  prim::Return(k%1)  # 0\n"
	entry := `func E.Root.forward(self%0, x%1: List[int], n%2 B) -> Dict[str, Any]  # e.py:9
  input x = (*, [*])
  result = Out(a: {k: *, l: *}, *)
  %3: str = prim::fork(x%1) inner  # 0
  prim::fork(x%1) side  # 0
  %4 = prim::CallFunction(n%2) side  # 0
  h%5: List[int], %6 = prim::TupleUnpack([%3, [%4, True], None])  # 0 nested
  aten::div(h%5, False) upgrader div_0_3  # 0
  prim::isinstance(h%5) as str as A.Child as ?  # 0
  prim::Return(%6)  # 0
func inner(y%0)  # s.py:3
  prim::Return(y%0)  # 0
` + sideText
	want += entry + "func E.Root.last(self%0)  # :0\n  prim::Return(self%0)  # 0\n" + sideText
	assert.Equal(t, want, b.String())
	b.Reset()
	require.NoError(t, WriteFunc(&b, p.Entry))
	assert.Equal(t, entry, b.String())
}

// What cannot be lowered is not written, wherever it stands.
func TestWriteWhatCannotBeLowered(t *testing.T) {
	wrong := errors.New("e.py:1:2: got x")
	bad := func() *Func { return NewFunc(&Func{Name: "bad"}, func(*Func) (*Graph, error) { return nil, wrong }) }
	forks := NewFunc(&Func{Name: "forks"}, func(*Func) (*Graph, error) {
		return &Graph{Body: &Block{Nodes: []*Node{{Operation: &Operation{Op: "prim::fork", Callee: bad()}}, ret(lit(nil))}}},
			nil
	})
	for name, p := range map[string]*Program{
		"method":   {Objects: Objects{Classes: []*Class{{Name: "M", Methods: []*Func{bad()}}}}},
		"function": {Objects: Objects{Funcs: []*Func{bad()}}},
		"entry":    {Entry: bad()},
		"forked":   {Entry: forks},
	} {
		var b bytes.Buffer
		assert.ErrorIs(t, Write(&b, p), wrong, name)
	}
	var b bytes.Buffer
	assert.ErrorIs(t, WriteFunc(&b, bad()), wrong)
	assert.False(t, bad().Library())
	assert.False(t, identity(&Func{Params: []Param{{Name: "x"}}}).Library())
	assert.True(t, NewFunc(&Func{}, func(*Func) (*Graph, error) {
		return &Graph{Library: true, Body: &Block{Nodes: []*Node{ret(lit(nil))}}}, nil
	}).Library())
}

// Each promise about the tables, broken once, is the only one that is.
func TestCheckOfObjects(t *testing.T) {
	for _, c := range []struct {
		want string
		edit func(p *Program)
	}{
		{"program: got entry E.Root.forward, want a method of A.Child", func(p *Program) { p.Root = p.Modules[1].Object }},
		{"program: got classes out of order", func(p *Program) { p.Classes[1], p.Classes[2] = p.Classes[2], p.Classes[1] }},
		{"program: got functions out of order", func(p *Program) {
			p.Funcs = append(p.Funcs, identity(&Func{Name: "a", Params: []Param{{Name: "x"}}}))
		}},
		{`module "child": got an object of F.Other, want a module's class`, func(p *Program) {
			p.Modules[1].Object = &Object{FQN: "child", Class: p.Classes[5], Attrs: []any{nil}}
		}},
		{`module "child": got an object named "kid"`, func(p *Program) { p.Modules[1].Object.FQN = "kid" }},
		{`module "child": got no object`, func(p *Program) { p.Modules[1].Object = nil }},
		{`module "child": got a parent that comes later`, func(p *Program) { p.Modules[1].Parent = &Module{FQN: "child.a"} }},
		{`module "child": got 4 attributes, want the 5 of A.Child`, func(p *Program) {
			o := p.Modules[1].Object
			o.Attrs = o.Attrs[:4]
		}},
		{`module "child": got a literal of Go type int`, func(p *Program) { p.Modules[1].Object.Attrs[4] = 1 }},
		{`module "child": got a literal of Go type uint8`, func(p *Program) {
			p.Modules[1].Object.Attrs[4] = &ListLit{Items: []any{&ListLit{Items: []any{uint8(1)}}, uint8(1)}}
		}},
		{`module "child": got a literal of Go type uint16`, func(p *Program) {
			p.Modules[1].Object.Attrs[4] = &TupleLit{Items: []any{&TupleLit{Items: []any{uint8(1)}}, uint16(1)}}
		}},
		{`state "packed": got a negative size`, func(p *Program) { p.States[2].Meta.Sizes = []int64{-1} }},
		{`state "packed": got a storage of 3 bytes, want at least 4`, func(p *Program) { p.States[2].NBytes = 3 }},
		{`state "child.mean": got a storage of 17 bytes that another tensor says has 16`, func(p *Program) {
			p.States[1].NBytes = 17
		}},
		{`state "packed": got 2 values of a tensor of 1 elements`, func(p *Program) {
			p.States[2].Data = &tensor.Data{Ints: []int64{1}, Floats: []float64{1}}
		}},
		{"C.Color: got a literal of Go type int32", func(p *Program) { p.Classes[2].Attrs[0].Default = int32(1) }},
		{"E.Root: got method m0 of another class", func(p *Program) { p.Classes[4].Methods[0].Class = p.Classes[0] }},
		{"E.Root: got method m7, which look-up does not find", func(p *Program) { delete(p.Classes[4].methods, "m7") }},
		{"E.Root: got attribute flag3 at place 0, want 5: sealed too early?", func(p *Program) {
			delete(p.Classes[4].attrIndex, "flag3")
		}},
		{"E.Root: got parameter or buffer weights, which is no attribute", func(p *Program) {
			p.Classes[4].Buffers = []string{"weights"}
		}},
	} {
		p := full(t)
		c.edit(p)
		err := CheckTables(p)
		require.Error(t, err, c.want)
		assert.EqualError(t, err, "not a sound program: "+c.want)
	}
}

// Names are found the same with and without a map.
func TestLookUpByName(t *testing.T) {
	p := full(t)
	large, small := p.Classes[4], p.Classes[0]
	i, ok := large.AttrIndex("flag3")
	assert.Equal(t, []any{5, true}, []any{i, ok})
	_, ok = large.AttrIndex("flag")
	assert.False(t, ok)
	i, ok = small.AttrIndex("mode")
	assert.Equal(t, []any{3, true}, []any{i, ok})
	assert.Same(t, large.Methods[7], large.Method("m7"))
	assert.Nil(t, large.Method("m"))
	assert.Nil(t, small.Method("forward"))
	one, two := &Func{Method: "f"}, &Func{Method: "f"}
	assert.Same(t, two, (&Class{Methods: []*Func{one, two, {Method: "g"}}}).Method("f"),
		"of two of one name the later counts")
	for i := range 2 * many {
		one = &Func{Method: "f"}
		large = &Class{Methods: append(large.Methods, one)}
		large.Seal()
		assert.Same(t, one, large.Method("f"), "%d, with a map too", i)
	}
	i, _ = (&Class{Attrs: []Attr{{Name: "a"}, {Name: "a"}, {Name: "b"}}}).AttrIndex("a")
	assert.Equal(t, 1, i)

	f, next := &Func{Params: []Param{{Name: "self"}, {Name: "x"}, {Name: "k"}}}, 0
	args := []Arg{{}, {Name: "k"}, {}, {Name: "other"}}
	var got []int
	for i := range args {
		got = append(got, f.ParamOf(&args[i], &next))
	}
	assert.Equal(t, []int{0, 2, 1, -1}, got)
	assert.Equal(t, 3, p.Entry.Output.Leaves())
	assert.Equal(t, 2, p.Entry.Inputs[0].Tree.Leaves())
}

// What a function's body may be, and what a call gives its callee.
func TestCheckOfBodies(t *testing.T) {
	x, y := &Value{Name: "x"}, &Value{ID: 1, Name: "y"}
	callee := func() *Func {
		return identity(&Func{Name: "g", Params: []Param{{Name: "a"}, {Name: "b", HasDef: true}, {Name: "c"}}})
	}
	call := func(args ...Arg) *Graph {
		return &Graph{Params: outs(x), NumValues: 1,
			Body: &Block{Nodes: []*Node{{Operation: &Operation{Op: "prim::CallFunction", Callee: callee()}, Args: args},
				ret(arg(x))}}}
	}
	named := func(name string) Arg { return Arg{Name: name, Value: x} }
	for _, c := range []struct {
		want string
		g    *Graph
	}{
		{"", &Graph{Params: outs(x), NumValues: 1, Body: &Block{Nodes: []*Node{ret(arg(x))}}}},
		{"f: got no body", &Graph{Params: outs(x), NumValues: 1}},
		{"f: got value 1, want less than 1; f: got value 2, want less than 1",
			&Graph{Params: outs(x), NumValues: 1,
				Body: &Block{Nodes: []*Node{{Operation: &Operation{Op: "aten::max"}, Outs: outs(y, &Value{ID: 2})},
					ret(lit(nil))}}}},
		{"f: got 0 parameter values, want 1", &Graph{Body: &Block{Nodes: []*Node{ret(lit(nil))}}}},
		{"f: got a nil value", &Graph{Params: outs(nil), Body: &Block{Nodes: []*Node{ret(lit(nil))}}}},
		{"f: got value 1, want less than 1",
			&Graph{Params: outs(y), NumValues: 1, Body: &Block{Nodes: []*Node{ret(lit(nil))}}}},
		{"f: got value -1, want less than 1", &Graph{Params: outs(&Value{ID: -1}), NumValues: 1,
			Body: &Block{Nodes: []*Node{ret(lit(nil))}}}},
		{"f: got a body with parameters or results, want a Return",
			&Graph{Params: outs(x), NumValues: 2, Body: &Block{Params: outs(y), Nodes: []*Node{ret(arg(x))}}}},
		{"f: got a body with parameters or results, want a Return",
			&Graph{Params: outs(x), NumValues: 1, Body: &Block{Outs: []Arg{lit(nil)}, Nodes: []*Node{ret(arg(x))}}}},
		{"f: block: got value 4, want less than 1\nf: got a body with parameters or results, want a Return",
			&Graph{Params: outs(x), NumValues: 1, Body: &Block{Outs: []Arg{arg(&Value{ID: 4})}, Nodes: []*Node{ret(arg(x))}}}},
		{"f: line 0: prim::Return: got value -1, want less than 1",
			&Graph{Params: outs(x), NumValues: 1, Body: &Block{Nodes: []*Node{ret(arg(&Value{ID: -1}))}}}},
		{"f: line 0: prim::Return: argument 0 is both a list and something else",
			&Graph{Params: outs(x), NumValues: 1, Body: &Block{Nodes: []*Node{ret(Arg{Value: x, Items: []Arg{}})}}}},
		{"f: line 0: prim::Return: argument 0 is both a list and something else",
			&Graph{Params: outs(x), NumValues: 1, Body: &Block{Nodes: []*Node{ret(Arg{Const: true, Items: []Arg{}})}}}},
		{"f: line 0: prim::Return: got y%1 before it is defined",
			&Graph{Params: outs(x), NumValues: 2, Body: &Block{Nodes: []*Node{ret(Arg{Items: []Arg{arg(x), arg(y)}})}}}},
		{"", call(arg(x), arg(x), arg(x))},
		{"", call(arg(x), named("c"))},
		{"f: line 0: prim::CallFunction: got 4 arguments of g, want at most 3", call(arg(x), arg(x), arg(x), arg(x))},
		{"f: line 0: prim::CallFunction: got no argument c of g", call(arg(x))},
		{"f: line 0: prim::CallFunction: got no argument a of g\nf: line 0: prim::CallFunction: got no argument c of g",
			call()},
	} {
		f := NewFunc(&Func{Name: "f", Params: []Param{{Name: "x"}}}, func(*Func) (*Graph, error) { return c.g, nil })
		_, err := f.Graph()
		if c.want == "" {
			assert.NoError(t, err)
			continue
		}
		require.Error(t, err, c.want)
		for _, one := range bytes.Split([]byte(c.want), []byte("\n")) {
			assert.Contains(t, err.Error(), string(one))
		}
		if !bytes.Contains([]byte(c.want), []byte("\n")) {
			assert.EqualError(t, err, "not a sound program: "+c.want)
		}
	}
}

// What is checked goes through calls, each function once, and what is said of the caller after a
// call is said of the caller.
func TestCheckFollowsCalls(t *testing.T) {
	n := 0
	bad := NewFunc(&Func{Name: "bad"}, func(*Func) (*Graph, error) { n++; return nil, errors.New("b.py:1:1: got x") })
	f := NewFunc(&Func{Name: "f"}, func(*Func) (*Graph, error) {
		return &Graph{Body: &Block{Nodes: []*Node{{Operation: &Operation{Op: "prim::CallFunction", Callee: bad}},
			{Operation: &Operation{Op: "prim::fork", Callee: bad}}, ret(lit(nil))}}}, nil
	})
	assert.EqualError(t, Check(&Program{Format: "test", Objects: Objects{Funcs: []*Func{f}}, Entry: f}),
		"bad: b.py:1:1: got x")
	assert.Equal(t, 1, n)

	many := make([]*State, maxViolations+5)
	for i := range many {
		many[i] = &State{Meta: tensor.Meta{DType: tensor.Int8}, NBytes: 1, Storage: i}
	}
	err := Check(&Program{Format: "test", States: many})
	require.Error(t, err)
	assert.Equal(t, maxViolations, bytes.Count([]byte(err.Error()), []byte("got no name")))
}

// An int that an input is given determines a symbol as a size does.
func TestBindSymbolsOfInts(t *testing.T) {
	twice, sum := sizes(t, "2*B", "B + T")[0], sizes(t, "2*B", "B + T")[1]
	p := &Program{Symbols: []Symbol{{Name: "B", Min: 1, Max: 9}, {Name: "T", Min: 1, Max: 9}},
		Entry: &Func{Params: []Param{{Name: "s", Size: &sum}, {Name: "n", Size: &twice}, {Name: "other"}}}}
	got, err := p.BindSymbols([][]int64{{7}, {6}, {1, 2}})
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"B": 3, "T": 4}, got)
	_, err = p.BindSymbols([][]int64{{7}, {5}})
	assert.ErrorContains(t, err, "input n: got 5, want a size that is 2*B")

	m := &TensorMeta{DType: tensor.Float16, Sizes: sizes(t, "B"), Strides: sizes(t, "T"), Offset: expr.Const(4),
		Device: "cuda"}
	assert.Equal(t, "float16[B] strides [T] offset 4 cuda", m.String())
	_, err = m.Bind(map[string]int64{"B": 3})
	assert.ErrorContains(t, err, "stride 0: got dim")
	m.Sizes, m.Strides = sizes(t, "B", "B"), sizes(t, "1", "T")
	_, err = m.Bind(map[string]int64{"B": 3})
	assert.ErrorContains(t, err, "stride 1: got dim")
	m.Sizes, m.Strides = sizes(t, "B", "B"), sizes(t, "S", "T")
	_, err = m.Bind(map[string]int64{"B": 3})
	assert.ErrorContains(t, err, "stride 0: got dim", "the first of several")
	m.Sizes = sizes(t, "B")
	m.Strides, m.Offset = sizes(t, "1"), sizes(t, "2*u")[0]
	assert.Equal(t, "float16[B] strides [1] offset 2*u cuda", m.String())
	_, err = m.Bind(map[string]int64{"B": 3})
	assert.ErrorContains(t, err, "offset: got dim")
}

// The node kinds of the package comment: how many arguments, results, blocks and types each has,
// and whether it names something.
func TestNodeKinds(t *testing.T) {
	var got []string
	for op, s := range shapes {
		text := fmt.Sprintf("%s: %s -> %s", op, span(s.minArgs, s.maxArgs), span(0, s.maxOuts))
		if s.blocks > 0 {
			text += fmt.Sprintf(", %d blocks", s.blocks)
		}
		if s.types > 0 {
			text += fmt.Sprintf(", %d types", s.types)
		}
		got = append(got, text+map[bool]string{true: ", text"}[s.text]+map[bool]string{true: ", function"}[s.callee]+
			map[bool]string{true: ", recorded"}[s.recorded])
	}
	slices.Sort(got)
	assert.Equal(t, `aten::ComplexImplicit: 1 -> 0 to 1
aten::FloatImplicit: 1 -> 0 to 1
aten::IntImplicit: 1 -> 0 to 1
aten::ScalarImplicit: 1 -> 0 to 1
inductor::alias: 1 -> 0 to 1
inductor::assign: 2 -> 0
inductor::break: 1 -> 0, 1 blocks
inductor::declare: 0 -> 0 to 1
inductor::empty_strided: 0 -> 0 to 1, recorded
inductor::free: 1 -> 0
inductor::if: 2 -> 0, 2 blocks
inductor::item: 1 -> 0 to 1
inductor::kernel: at least 0 -> 0
inductor::move: 1 -> 0 to 1
inductor::reinterpret_tensor: 1 -> 0 to 1, recorded
inductor::size: 2 -> 0, text
inductor::while: 0 -> 0, 1 blocks
prim::CallFunction: at least 0 -> 0 to 1, function
prim::CallMethod: at least 1 -> 0 to 1, text
prim::CreateObject: at least 0 -> 0 to 1, text
prim::DictConstruct: at least 0 -> 0 to 1
prim::Enter: 1 -> 0 to 1
prim::EnumName: 1 -> 0 to 1
prim::EnumValue: 1 -> 0 to 1
prim::Exit: 1 -> 0
prim::GetAttr: 1 -> 0 to 1, text
prim::If: 1 -> at least 0, 2 blocks
prim::ListConstruct: at least 0 -> 0 to 1
prim::ListUnpack: 1 -> at least 0
prim::Loop: at least 2 -> at least 0, 1 blocks
prim::RaiseException: 1 -> 0
prim::Return: 1 -> 0
prim::SetAttr: 2 -> 0, text
prim::TupleConstruct: at least 0 -> 0 to 1
prim::TupleUnpack: 1 -> at least 0
prim::Uninitialized: 0 -> 0 to 1
prim::fork: at least 0 -> 0 to 1, function
prim::isinstance: 1 -> 0 to 1, 1 types
prim::tolist: 1 -> 0 to 1
prim::unchecked_cast: 1 -> 0 to 1, 1 types`, strings.Join(got, "\n"))
}
