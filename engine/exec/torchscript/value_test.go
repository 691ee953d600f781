package torchscript

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/exec"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/program"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// TestKinds: each type of value is a separate kind, for what an operator resolved to holds for
// values of the same kinds; dicts, objects and what is not known are looked at anew.
func TestKinds(t *testing.T) {
	number, vector := &tensor.Tensor{}, &tensor.Tensor{Meta: tensor.Meta{Sizes: []int64{1}}}
	values := []any{nil, true, int64(1), 1.5, 1i, "a", vector, number, ops.Device("cpu"), &ops.List{}, &ops.Tuple{},
		&ops.Dict{}, ops.Unbacked{}, &Object{}}
	seen := map[kind]int{}
	for i, v := range values {
		k := kindOf(v)
		at, twice := seen[k]
		assert.False(t, twice, "values %d and %d", at, i)
		seen[k] = i
		assert.Equal(t, k, map[int]kind{0: kNone, 1: kBool, 2: kInt, 3: kFloat, 4: kComplex, 5: kStr, 6: kTensor,
			7: kScalarTensor, 8: kDevice, 9: kList, 10: kTuple, 11: kDict, 12: kUnknown, 13: kOther}[i])
		assert.Equal(t, i < 11, sameKinds([]kind{k}, []any{v}), "value %d", i)
	}
	assert.True(t, sameKinds([]kind{kInt, kNone}, []any{int64(7), nil}))
	assert.False(t, sameKinds([]kind{kInt, kNone}, []any{int64(7), 1.5}))
	assert.False(t, sameKinds([]kind{kFloat, kNone}, []any{int64(7), nil}))
	l := &ops.List{}
	assert.True(t, unchanged([]any{int64(1), l}, []any{int64(2), l, "more"}), "of one kind, and one list")
	assert.False(t, unchanged([]any{l}, []any{&ops.List{}}), "another list")
	assert.False(t, unchanged([]any{int64(1)}, []any{1.0}))
	assert.False(t, unchanged([]any{int64(1), int64(1)}, []any{int64(1), 1.0}))
}

// TestSame: what `is` says of values: None and members of enumerations by what they are, all else
// by identity; numbers and text are never compared so.
func TestSame(t *testing.T) {
	x, y := &tensor.Tensor{}, &tensor.Tensor{}
	c, d := &program.Class{}, &program.Class{}
	for _, tt := range []struct {
		a, b any
		want bool
	}{
		{nil, nil, true}, {nil, x, false}, {x, nil, false}, {x, x, true}, {x, y, false}, {true, true, true},
		{true, false, false}, {int64(1), int64(1), false}, {"a", "a", false},
		{Enum{c, "A", 1}, Enum{c, "A", 2}, true}, {Enum{c, "A", 1}, Enum{c, "B", 1}, false},
		{Enum{c, "A", 1}, Enum{d, "A", 1}, false}, {Enum{c, "A", 1}, x, false},
	} {
		assert.Equal(t, tt.want, same(tt.a, tt.b), "%v is %v", tt.a, tt.b)
	}
}

// TestOneLine: a message is reported to the end of its first line, or 200 bytes of it.
func TestOneLine(t *testing.T) {
	long := strings.Repeat("x", 200)
	for in, want := range map[string]string{"": "", "a": "a", "a\nb": "a…", "\n": "…", long: long, long + "y": long + "…",
		long + "\n": long + "…"} {
		assert.Equal(t, want, oneLine(in))
	}
}

// TestUpgradeLeaves: calls that say already what they mean, and values that have a separate type.
func TestUpgradeLeaves(t *testing.T) {
	n := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Int64}}
	unknown := func(k schema.Kind) ops.Unbacked { return ops.NewUnbacked("t::n", k) }
	floor := ops.Kw{"rounding_mode": "floor"}
	for _, c := range []struct {
		why    string
		means  program.Upgrade
		args   []any
		kw     ops.Kw
		want   []any
		wantKw ops.Kw
	}{
		{"a rounding mode is stated", program.Div0To3, []any{n, n}, floor, []any{n, n}, floor},
		{"three arguments", program.Div0To3, []any{n, n, "floor"}, nil, []any{n, n, "floor"}, nil},
		{"by a real number that is not known", program.Div0To3, []any{n, unknown(schema.Float)}, nil,
			[]any{n, unknown(schema.Float)}, nil},
		{"by an int that is not", program.Div0To3, []any{n, unknown(schema.Int)}, nil, []any{n, unknown(schema.Int)},
			ops.Kw{"rounding_mode": "trunc"}},
		{"full of a number that is not known", program.Full0To4, []any{nil, unknown(schema.Int)}, nil,
			[]any{nil, unknown(schema.Float)}, nil},
		{"of false", program.Full0To4, []any{nil, false}, nil, []any{nil, 0.0}, nil},
		{"of a float", program.Full0To4, []any{nil, 2.5}, nil, []any{nil, 2.5}, nil},
		{"with a dtype in its place", program.Full0To4, []any{nil, int64(2), int64(6)}, nil, []any{nil, int64(2), int64(6)},
			nil},
		{"with None there", program.Full0To4, []any{nil, int64(2), nil}, nil, []any{nil, 2.0, nil}, nil},
		{"of nothing", program.Full0To4, []any{nil}, nil, []any{nil}, nil},
		{"steps by name", program.Linspace0To7, []any{int64(0), int64(1)}, ops.Kw{"steps": int64(5)},
			[]any{int64(0), int64(1)}, ops.Kw{"steps": int64(5)}},
		{"steps, and more behind them", program.Logspace0To8, []any{int64(0), int64(1), nil, 2.0}, nil,
			[]any{int64(0), int64(1), int64(100), 2.0}, nil},
		{"nothing to say", program.NoUpgrade, []any{n, n}, nil, []any{n, n}, nil},
	} {
		given := append([]any(nil), c.args...)
		args, kw := upgrade(c.means, c.args, c.kw)
		assert.Equal(t, c.want, args, c.why)
		assert.Equal(t, c.wantKw, kw, c.why)
		assert.Equal(t, given, c.args, "%s: what was given stays", c.why)
	}
}

// TestEachState: the tensors of a value, in order: of containers, of objects and their states, each
// object once.
func TestEachState(t *testing.T) {
	of := func(name string) *program.State { return &program.State{Name: name} }
	shared := &program.Object{Attrs: []any{of("a"), int64(1)}, State: of("b")}
	shared.Attrs = append(shared.Attrs, shared)
	var none *program.Object
	v := &program.ListLit{Items: []any{
		of("0"), shared, shared, none, &program.TupleLit{Items: []any{of("1"), of("2")}},
		&program.DictLit{Keys: []any{of("3"), of("4")}, Values: []any{of("5"), "x"}},
		&program.Opaque{State: &program.TupleLit{Items: []any{of("6")}}}, of("0"),
	}}
	var got []string
	eachState(v, func(s *program.State) { got = append(got, s.Name) })
	assert.Equal(t, "0 a b 1 2 3 4 5 6 0", strings.Join(got, " "))
}

// TestUsedAsPosition: whether a round's number says nothing but where a tensor is selected.
func TestUsedAsPosition(t *testing.T) {
	i, x := &program.Value{ID: 0}, &program.Value{ID: 1}
	v := func(v *program.Value) program.Arg { return program.Arg{Value: v} }
	selects := &program.Node{Operation: &program.Operation{Op: "aten::select"},
		Args: []program.Arg{v(x), {Const: int64(0)}, v(i)}}
	block := func(outs []program.Arg, nodes ...*program.Node) *program.Block {
		return &program.Block{Nodes: nodes, Outs: outs}
	}
	for _, tt := range []struct {
		why  string
		b    *program.Block
		want bool
	}{
		{"it is not used", block([]program.Arg{v(x)}), true},
		{"a position", block(nil, selects), true},
		{"a dimension",
			block(nil, &program.Node{Operation: &program.Operation{Op: "aten::select"}, Args: []program.Arg{v(x), v(i), v(i)}}),
			false},
		{"of another operator", block(nil, selects, &program.Node{Operation: &program.Operation{Op: "aten::add"},
			Args: []program.Arg{v(x), {}, v(i)}}), false},
		{"handed on", block([]program.Arg{v(x), v(i)}, selects), false},
		{"in a block, a position",
			block(nil, &program.Node{Operation: &program.Operation{Op: "prim::If"},
				Blocks: []*program.Block{block(nil, selects)}}), true},
		{"in a block, a number",
			block(nil, &program.Node{Operation: &program.Operation{Op: "prim::If"},
				Blocks: []*program.Block{block(nil), block([]program.Arg{v(i)})}}), false},
	} {
		assert.Equal(t, tt.want, usedAsPosition(tt.b, i), tt.why)
	}
}

// TestKept: what a pass may leave for the next one is in the attributes of objects and in the
// constants of the inlined program.
func TestKept(t *testing.T) {
	for _, l := range []exec.Liveness{exec.LastUse, exec.PythonFrame} {
		m := started(t, l)
		attr, constant := &ops.List{}, &ops.List{}
		o := m.object(&program.Object{Class: &program.Class{Attrs: []program.Attr{{Name: "l"}}}})
		o.attrs[0] = attr
		want := []any{attr}
		if m.whole != nil {
			n := m.whole.graph.Body.Nodes[0]
			n.Args = append(n.Args, program.Arg{Const: constant})
			want = append(want, constant)
		}
		var got []any
		m.Kept(func(v any) {
			if _, ok := v.(*ops.List); ok {
				got = append(got, v)
			}
		})
		assert.Equal(t, l == exec.LastUse, m.whole != nil)
		assert.Len(t, got, len(want))
		for i := range want {
			assert.Same(t, want[i], got[i])
		}
	}
}
