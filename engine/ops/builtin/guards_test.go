package builtin_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

func TestHints(t *testing.T) {
	of := func(d tensor.DType) *tensor.Tensor {
		return &tensor.Tensor{Meta: tensor.Meta{DType: d, Sizes: []int64{2}, Strides: []int64{1}}}
	}
	x, n, u := of(tensor.Float32), of(tensor.Int64), ops.NewUnbacked("aten::item", schema.Any)
	i, f := ops.NewUnbacked("aten::Int", schema.Int), ops.NewUnbacked("aten::Float", schema.Float)
	list := func(items ...any) *ops.List { return &ops.List{Items: items, Elem: schema.Int} }
	const index, value = note.IndexAssumed, note.ValueAssumed
	for _, c := range []struct {
		key  string
		args []any
		want []any
		note note.ID
		why  string
	}{
		{"aten::mul.Scalar", []any{x, u}, []any{x, 1.0}, value, "a factor"},
		{"aten::clamp", []any{x, nil, u}, []any{x, nil, 1.0}, value, "an optional number"},
		{"aten::mul.Scalar", []any{n, u}, nil, "", "an int tensor times a real number is a real one"},
		{"aten::mul.Scalar", []any{n, f}, []any{n, 1.0}, value, "what is known to be real makes it real"},
		{"aten::mul.Scalar", []any{n, i}, []any{n, int64(1)}, value, "what is known to be an int leaves it"},
		{"aten::full", []any{list(int64(2)), i, nil, nil, nil, nil}, []any{list(int64(2)), int64(1), nil, nil, nil, nil},
			value, "full takes its dtype from the kind"},
		{"aten::full", []any{list(i), int64(1), nil, nil, nil, nil}, nil, "", "a size"},
		{"aten::select.int", []any{x, int64(0), i}, []any{x, int64(0), int64(0)}, index, "a position"},
		{"aten::select.int", []any{x, i, int64(0)}, nil, "", "a dimension"},
		{"aten::kthvalue", []any{x, i, int64(-1), false}, []any{x, int64(1), int64(-1), false}, value, "counted from 1"},
		{"aten::kthvalue", []any{x, int64(1), i, false}, nil, "", "a dimension"},
		{"aten::tril", []any{x, i}, []any{x, int64(0)}, value, "a diagonal"},
		{"aten::embedding", []any{x, n, i, false, false}, []any{x, n, int64(-1), false, false}, value, "no row is padding"},
		{"aten::random_.from", []any{n, i, i, nil}, []any{n, int64(0), int64(math.MaxInt32), nil}, value, "no empty range"},
		{"aten::roll", []any{x, list(i), list()}, []any{x, list(int64(0)), list()}, index, "positions"},
		{"aten::slice.Tensor", []any{x, int64(0), nil, i, int64(1)}, []any{x, int64(0), nil, i, int64(1)}, "",
			"the rule bounds it"},
		{"aten::slice.Tensor", []any{x, int64(0), nil, u, int64(1)}, nil, "", "not known to be an int"},
		{"aten::new_zeros", []any{x, list(u), nil, nil, nil, nil}, nil, "", "a size"},
		{"aten::new_zeros", []any{x, list(i), nil, nil, nil, nil}, nil, "", "a size that nothing bounds"},
		{"aten::new_zeros", []any{x, list(ops.Between("", 2, 7)), nil, nil, nil, nil}, []any{x, list(int64(7)), nil, nil, nil,
			nil}, "", "a size in a range: Bound says which end"},
		{"aten::select.int", []any{x, int64(0), ops.Between("", 3, 7)}, []any{x, int64(0), int64(3)}, index,
			"a hint lies in the range"},
		{"aten::roll", []any{x, list(ops.NewUnbacked("", schema.Float)), list()}, []any{x, list(1.0), list()}, index,
			"a hint is of the number's kind"},
		{"aten::mul.Scalar", []any{x, ops.NewUnbacked("", schema.Bool)}, []any{x, true}, value, "a bool"},
		{"aten::arange", []any{ops.Between("", 0, 7), nil, nil, nil, nil}, nil, "", "its rule computes the size"},
		{"aten::repeat", []any{x, list(i)}, nil, "", "a size"},
		{"aten::arange", []any{u, nil, nil, nil, nil}, nil, "", "numbers that make a size"},
		{"aten::cdist", []any{x, x, f, nil}, nil, "", "the order of a norm chooses what is computed"},
		{"aten::dropout", []any{x, f, true}, nil, "", "dropping all, or nothing, goes another way"},
	} {
		b, ok := builtin.Table().Lookup(c.key)
		require.True(t, ok, c.key)
		h := ops.Hints{Bound: func(u ops.Unbacked) int64 { return u.Max }}
		got, done := h.Fill(b, c.args)
		assert.Equal(t, c.want != nil, done, c.why)
		assert.Equal(t, c.want, got, c.why)
		if done {
			assert.Equal(t, c.note, h.Why, c.why)
		}
	}
}

// Numbers that are not known choose the overload that their kind would.
func TestResolveUnbacked(t *testing.T) {
	x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float32, Sizes: []int64{2}, Strides: []int64{1}}}
	i, f, b := ops.NewUnbacked("", schema.Int), ops.NewUnbacked("", schema.Float), ops.NewUnbacked("", schema.Bool)
	for _, c := range []struct {
		op   string
		args []any
		want string
		why  string
	}{
		{"aten::mul", []any{x, f}, "aten::mul.Scalar", "a number is no tensor"},
		{"aten::mul", []any{i, i}, "aten::mul.int", "two ints"},
		{"aten::add", []any{i, f}, "aten::add.int_float", "an int and a float"},
		{"aten::pow", []any{x, i}, "aten::pow.Tensor_Scalar", "an exponent"},
		{"aten::__not__", []any{b}, "aten::__not__", "a bool"},
		{"aten::tensor", []any{f, nil, nil, false}, "aten::tensor.float", "by kind"},
		{"aten::mul", []any{x, ops.NewUnbacked("", schema.Any)}, "aten::mul.Tensor", "of no known kind: the first that fits"},
	} {
		got, _, err := builtin.Table().Resolve(c.op, c.args, nil)
		if c.op == "aten::tensor" {
			got, _, err = builtin.Table().Resolve(c.op, c.args[:1], nil)
		}
		require.NoError(t, err, c.why)
		assert.Equal(t, c.want, got.Schema.Key(), c.why)
	}
}

// What an operator on the host does with a number that is not known.
func TestGuard(t *testing.T) {
	n, x := ops.NewUnbacked("", schema.Int), &tensor.Tensor{}
	ints := func(items ...any) *ops.List { return &ops.List{Items: items, Elem: schema.Int} }
	tensors := &ops.List{Items: []any{x, x}, Elem: schema.Tensor}
	for _, c := range []struct {
		key     string
		args    []any
		guarded bool
		lost    bool
		kind    schema.Kind
		why     string
	}{
		{"aten::add.int", []any{n, int64(1)}, true, false, schema.Int, "arithmetic"},
		{"aten::lt.int", []any{n, int64(1)}, true, false, schema.Bool, "a comparison"},
		{"aten::add.int", []any{int64(1), int64(1)}, false, false, schema.Any, "both are known"},
		{"aten::append.t", []any{ints(), n}, false, false, schema.Any, "a list may hold what is not known"},
		{"aten::len.t", []any{ints(n, n)}, false, false, schema.Any, "its length is known"},
		{"aten::__getitem__.t", []any{ints(int64(4), n), int64(0)}, false, false, schema.Any, "another member is asked for"},
		{"aten::__getitem__.t", []any{ints(int64(4), int64(5)), n}, true, false, schema.Int, "some int of the list"},
		{"aten::__getitem__.t", []any{tensors, n}, true, true, schema.Any, "some tensor of the list"},
		{"aten::_set_item.t", []any{ints(int64(4), int64(5)), n, int64(1)}, true, true, schema.Any,
			"some place of the list is written"},
		{"aten::pop.t", []any{tensors, n}, true, true, schema.Any, "some tensor goes"},
		{"aten::mul.left_t", []any{ints(int64(0)), n}, true, true, schema.Any, "a list of some length"},
		{"aten::__contains__.int_list", []any{ints(int64(4)), n}, true, false, schema.Bool, "it may be in there"},
		{"aten::__contains__.int_list", []any{ints(n), int64(4)}, true, false, schema.Bool, "it may be in there"},
		{"aten::remove.int", []any{ints(int64(4)), n}, true, true, schema.Any, "some member goes"},
		{"aten::sort.int", []any{ints(n, int64(4)), false}, true, true, schema.Any, "an order that is not known"},
		{"aten::eq.int_list", []any{ints(n), ints(int64(4))}, true, false, schema.Bool, "they may be equal"},
		{"aten::__getitem__.Dict_int", []any{&ops.Dict{Keys: []any{n}, Values: []any{x}}, int64(4)}, true, true, schema.Any,
			"a key may be that"},
		{"aten::keys.int", []any{&ops.Dict{Keys: []any{n}, Values: []any{x}}}, false, false, schema.Any, "all of them"},
		{"aten::dict", nil, false, false, schema.Any, "an empty one, of no arguments"},
	} {
		b, ok := builtin.Table().Lookup(c.key)
		require.True(t, ok, c.key)
		u, lost, guarded := ops.Guard(&ops.Call{Bound: b, Args: c.args})
		assert.Equal(t, c.guarded, guarded, "%s: %s", c.key, c.why)
		assert.Equal(t, c.lost, lost, "%s: %s", c.key, c.why)
		if !guarded {
			continue
		}
		assert.Equal(t, c.kind, u.Kind, "%s: %s", c.key, c.why)
	}
}

// Ints made of ints keep a range, as PyTorch's value range analysis does
// (torch/utils/_sympy/value_ranges.py).
func TestRanges(t *testing.T) {
	between := func(lower, upper int64) ops.Unbacked { return ops.Between("", lower, upper) }
	free := ops.NewUnbacked("", schema.Int)
	for _, c := range []struct {
		key          string
		args         []any
		lower, upper int64
		why          string
	}{
		{"aten::add.int", []any{between(2, 7), int64(3)}, 5, 10, ""},
		{"aten::add.int", []any{between(2, 7), between(-1, 1)}, 1, 8, ""},
		{"aten::add.int", []any{free, int64(3)}, ops.NoMin, ops.NoMax, "nothing bounds it"},
		{"aten::add.int", []any{between(0, ops.NoMax), int64(3)}, 3, ops.NoMax, "from below only"},
		{"aten::add.int", []any{between(0, ops.NoMax-1), int64(3)}, 3, ops.NoMax, "what leaves int64 is not bounded"},
		{"aten::add.int", []any{between(ops.NoMin+1, 0), int64(-3)}, ops.NoMin, -3, "on either side"},
		{"aten::sub.int", []any{between(2, 7), between(1, 4)}, -2, 6, ""},
		{"aten::sub.int", []any{int64(10), between(1, ops.NoMax)}, ops.NoMin, 9, ""},
		{"aten::neg.int", []any{between(2, 7)}, -7, -2, ""},
		{"aten::neg.int", []any{between(ops.NoMin, 7)}, -7, ops.NoMax, ""},
		{"aten::mul.int", []any{between(2, 7), int64(3)}, 6, 21, ""},
		{"aten::mul.int", []any{between(2, 7), between(0, 4)}, 0, 28, ""},
		{"aten::mul.int", []any{between(-2, 7), int64(3)}, ops.NoMin, ops.NoMax, "of numbers below 0 nothing is said"},
		{"aten::mul.int", []any{between(0, ops.NoMax), int64(0)}, 0, 0, "nothing times anything"},
		{"aten::mul.int", []any{between(1, ops.NoMax), int64(2)}, 2, ops.NoMax, ""},
		{"aten::mul.int", []any{between(1, 1<<40), int64(1 << 40)}, 1 << 40, ops.NoMax, "what leaves int64 is not bounded"},
		{"aten::floordiv.int", []any{between(-3, 7), int64(2)}, -2, 3, "towards minus infinity"},
		{"aten::floordiv.int", []any{between(0, ops.NoMax), int64(2)}, 0, ops.NoMax, ""},
		{"aten::floordiv.int", []any{between(4, 7), between(1, 2)}, ops.NoMin, ops.NoMax, "by a number that is not known"},
		{"prim::min.int", []any{between(4, 7), int64(5)}, 4, 5, ""},
		{"prim::max.int", []any{between(4, 7), int64(5)}, 5, 7, ""},
		{"aten::remainder.int", []any{between(4, 7), int64(5)}, ops.NoMin, ops.NoMax, "no range is worked out"},
		{"aten::add.int", []any{between(4, 7), ops.NewUnbacked("", schema.Any)}, ops.NoMin, ops.NoMax,
			"not known to be an int"},
	} {
		b, ok := builtin.Table().Lookup(c.key)
		require.True(t, ok, c.key)
		u, lost, guarded := ops.Guard(&ops.Call{Bound: b, Args: c.args})
		assert.True(t, guarded && !lost, "%s: %s", c.key, c.why)
		assert.Equal(t, schema.Int, u.Kind)
		assert.Equal(t, [2]int64{c.lower, c.upper}, [2]int64{u.Min, u.Max}, "%s of %v: %s", c.key, c.args, c.why)
	}
}
