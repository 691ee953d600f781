package prim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// Numbers are those of TorchScript, which rounds and raises as Python does but where it is C++.
func TestNumbers(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	i := func(n int64) any { return n }
	tuple := &ops.Tuple{Items: []any{i(1), i(2)}}
	for _, c := range []struct {
		op   string
		args []any
		want any // a text is an error
	}{
		{"aten::__round_to_zero_floordiv", []any{i(7), i(2)}, i(3)},
		{"aten::__round_to_zero_floordiv", []any{i(-7), i(2)}, i(-3)},
		{"aten::__round_to_zero_floordiv", []any{i(7), i(0)}, "division by zero"},
		{"aten::floordiv", []any{i(-7), i(2)}, i(-4)},
		{"aten::floordiv", []any{-7.0, 2.0}, -4.0},
		{"aten::floordiv", []any{i(7), i(0)}, "division by zero"},
		{"aten::remainder", []any{i(-7), i(3)}, i(2)},
		{"aten::remainder", []any{i(7), i(-3)}, i(-2)},
		{"aten::remainder", []any{-7.5, 2.0}, 0.5},
		{"aten::remainder", []any{i(7), i(0)}, "division by zero"},
		{"aten::fmod", []any{-7.5, 2.0}, -1.5},
		{"aten::ceil", []any{i(3)}, i(3)},
		{"aten::ceil", []any{-2.5}, i(-2)},
		{"aten::floor", []any{i(-3)}, i(-3)},
		{"aten::floor", []any{-2.5}, i(-3)},
		{"aten::floor", []any{1e18}, i(1e18)},
		{"aten::floor", []any{i(1<<53 + 1)}, i(1 << 53)}, // by way of a float
		{"aten::floor", []any{-0x1p63}, i(math.MinInt64)},
		{"aten::floor", []any{0x1p63}, "got 9.223372036854776e+18, want a number that fits an int"},
		{"aten::floor", []any{-0x1p64}, "want a number that fits an int"},
		{"aten::ceil", []any{math.NaN()}, "got NaN, want a number that fits an int"},
		{"aten::round", []any{i(3)}, 3.0},
		{"aten::round", []any{2.5}, 2.0},
		{"aten::round", []any{3.5}, 4.0},
		{"aten::round", []any{-0x1p64}, -0x1p64},
		{"aten::pow", []any{2.0, 0.5}, math.Sqrt2},
		{"aten::pow", []any{i(3), i(5)}, 243.0},
		{"aten::pow", []any{i(-2), i(3)}, -8.0},
		{"aten::pow", []any{i(7), i(0)}, 1.0},
		{"aten::pow", []any{i(7), i(1)}, 7.0},
		{"aten::pow", []any{i(2), i(-1)}, 0.5},
		{"aten::pow", []any{i(0), i(-1)}, "got 0 to the power of -1, want no power below 0"},
		{"aten::pow", []any{i(0), i(0)}, 1.0},
		{"aten::lt", []any{i(1), 2.5}, true},
		{"aten::ge", []any{"a", "b"}, false},
		{"aten::ge", []any{"b", "b"}, true},
		{"aten::gt", []any{"b", "b"}, false},
		{"aten::gt", []any{2.5, i(2)}, true},
		{"aten::le", []any{"b", "a"}, false},
		{"aten::le", []any{"b", "b"}, true},
		{"aten::lt", []any{"b", "b"}, false},
		{"aten::eq", []any{ops.Device("cpu"), ops.Device("cpu")}, true},
		{"aten::eq", []any{ops.Device("cpu"), ops.Device("cuda")}, false},
		{"aten::ne", []any{ops.Device("cpu"), ops.Device("cuda")}, true},
		{"aten::eq", []any{ops.IntList(1, 2), ops.IntList(1, 2)}, true},
		{"aten::eq", []any{ops.IntList(1, 2), ops.IntList(1, 3)}, false},
		{"aten::eq", []any{ops.IntList(1, 2), ops.IntList(1)}, false},
		{"aten::len", []any{ops.IntList(1, 2, 3)}, i(3)},
		{"aten::len", []any{h.Of(tensor.Float32, 5, 2)}, i(5)},
		{"aten::len", []any{"abc"}, i(3)},
		{"aten::len", []any{tuple}, i(2)},
		{"aten::count", []any{"abab", "ab", i(0), i(4)}, i(2)},
		{"aten::count", []any{"abab", "", i(0), i(4)}, i(5)},
	} {
		got, err := h.Try(c.op, c.args, nil)
		if text, ok := c.want.(string); ok {
			assert.ErrorContains(t, err, text, "%s %v", c.op, c.args)
			continue
		}
		if !assert.NoError(t, err, "%s %v", c.op, c.args) {
			continue
		}
		assert.Equal(t, c.want, got, "%s %v", c.op, c.args)
	}
	h.Changed("testdata/changed_numbers.txt")
}

// What has no order is an error of the rule, whoever calls it.
func TestNoOrder(t *testing.T) {
	b, ok := builtin.Table().Lookup("aten::lt.str")
	require.True(t, ok)
	_, err := b.Rule.Host(&ops.Call{Bound: b, Args: []any{nil, int64(2)}})
	assert.EqualError(t, err, "aten::lt: got None and int, want numbers or strings")
}

// The power of integers that is an integer, which other releases choose, is computed as one.
func TestPowerOfIntegers(t *testing.T) {
	b, ok := builtin.Table().Lookup("aten::pow.int_to_int")
	require.True(t, ok)
	for _, c := range [][3]int64{{3, 5, 243}, {-2, 3, -8}, {7, 0, 1}, {7, 1, 7}, {2, -1, 0}, {0, 0, 1}, {2, 62, 1 << 62}} {
		got, err := b.Rule.Host(&ops.Call{Bound: b, Args: []any{c[0], c[1]}})
		require.NoError(t, err)
		assert.Equal(t, c[2], got, "%d ** %d", c[0], c[1])
	}
}

// A number that becomes a tensor is known: sizes may be computed with it.
func TestNumbersAsTensors(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	for _, c := range []struct {
		n     any
		dtype tensor.DType
		want  *tensor.Data
	}{
		{int64(3), tensor.Int64, &tensor.Data{Ints: []int64{3}}},
		{2.5, tensor.Float64, &tensor.Data{Floats: []float64{2.5}}},
	} {
		got := h.Run("prim::NumToTensor", c.n).(*tensor.Tensor)
		assert.Equal(t, c.dtype, got.DType)
		assert.Equal(t, c.want, got.Data)
		assert.Equal(t, c.n, h.Run("aten::item", got))
	}
}

// A dict gives its keys, values and both in the order in which they were put in.
func TestDicts(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	d := &ops.Dict{Keys: []any{"b", "a"}, Values: []any{int64(1), int64(2)}}
	keys := h.Run("aten::keys", d).(*ops.List)
	assert.Equal(t, []any{"b", "a"}, keys.Items)
	assert.Equal(t, []any{int64(1), int64(2)}, h.Run("aten::values", d).(*ops.List).Items)
	assert.Equal(t, []any{&ops.Tuple{Items: []any{"b", int64(1)}}, &ops.Tuple{Items: []any{"a", int64(2)}}},
		plain(h.Run("aten::items", d).(*ops.List).Items))
	made := h.Run("aten::dict", ops.NewList(schema.Tuple, &ops.Tuple{Items: []any{"k", int64(7)}})).(*ops.Dict)
	assert.Equal(t, []any{"k"}, made.Keys)
	assert.Empty(t, h.Run("aten::dict").(*ops.Dict).Keys)
}

// plain are tuples without who holds them.
func plain(items []any) []any {
	var out []any
	for _, v := range items {
		out = append(out, &ops.Tuple{Items: v.(*ops.Tuple).Items})
	}
	return out
}
