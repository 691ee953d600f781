package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

func TestStandIns(t *testing.T) {
	of := func(d tensor.DType) *tensor.Tensor {
		return &tensor.Tensor{Meta: tensor.Meta{DType: d, Sizes: []int64{2}, Strides: []int64{1}}}
	}
	x, n, u := of(tensor.Float32), of(tensor.Int64), ops.Unknown{Op: "aten::item"}
	i, f := ops.Unknown{Op: "aten::Int", Kind: schema.Int}, ops.Unknown{Op: "aten::Float", Kind: schema.Float}
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
		{"aten::full", []any{list(int64(2)), i, nil, nil, nil, nil}, []any{list(int64(2)), int64(1), nil, nil, nil, nil}, value, "full takes its dtype from the kind"},
		{"aten::full", []any{list(i), int64(1), nil, nil, nil, nil}, nil, "", "a size"},
		{"aten::select.int", []any{x, int64(0), i}, []any{x, int64(0), int64(0)}, index, "a position"},
		{"aten::select.int", []any{x, i, int64(0)}, nil, "", "a dimension"},
		{"aten::roll", []any{x, list(i), list()}, []any{x, list(int64(0)), list()}, index, "positions"},
		{"aten::slice.Tensor", []any{x, int64(0), nil, i, int64(1)}, []any{x, int64(0), nil, i, int64(1)}, "", "the rule bounds it"},
		{"aten::slice.Tensor", []any{x, int64(0), nil, u, int64(1)}, nil, "", "not known to be an int"},
		{"aten::new_zeros", []any{x, list(u), nil, nil, nil, nil}, nil, "", "a size"},
		{"aten::repeat", []any{x, list(i)}, nil, "", "a size"},
		{"aten::arange", []any{u, nil, nil, nil, nil}, nil, "", "numbers that make a size"},
		{"aten::cdist", []any{x, x, f, nil}, nil, "", "the order of a norm chooses what is computed"},
		{"aten::dropout", []any{x, f, true}, nil, "", "dropping all, or nothing, goes another way"},
	} {
		b, ok := builtin.Table().Lookup(c.key)
		require.True(t, ok, c.key)
		got, why, done := ops.StandIns(b, c.args)
		assert.Equal(t, c.want != nil, done, c.why)
		assert.Equal(t, c.want, got, c.why)
		assert.Equal(t, c.note, why, c.why)
	}
}

// Numbers that are not known choose the overload that their kind would.
func TestResolveUnknown(t *testing.T) {
	x := &tensor.Tensor{Meta: tensor.Meta{DType: tensor.Float32, Sizes: []int64{2}, Strides: []int64{1}}}
	i, f, b := ops.Unknown{Kind: schema.Int}, ops.Unknown{Kind: schema.Float}, ops.Unknown{Kind: schema.Bool}
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
		{"aten::mul", []any{x, ops.Unknown{}}, "aten::mul.Tensor", "of no known kind: the first that fits"},
	} {
		got, _, err := builtin.Table().Resolve(c.op, c.args, nil)
		if c.op == "aten::tensor" {
			got, _, err = builtin.Table().Resolve(c.op, c.args[:1], nil)
		}
		require.NoError(t, err, c.why)
		assert.Equal(t, c.want, got.Schema.Key(), c.why)
	}
}
