package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// TestConverted: what TorchScript makes of an argument of another type: a float of an int, a list
// of a tuple or of one number, a device of a name, a number of a tensor without dimensions.
func TestConverted(t *testing.T) {
	x := onDevice(tensor.Float32, 2, 3)
	number := func(d tensor.DType, data *tensor.Data) *tensor.Tensor {
		n := onDevice(d)
		n.Data = data
		return n
	}
	list := func(items ...any) *ops.List { return ops.NewList(schema.Int, items...) }
	for _, tt := range []struct {
		why, name string
		pos       []any
		at        int
		want      any
	}{
		{"a float of an int", "aten::dropout", []any{x, int64(1), true}, 1, 1.0},
		{"a list of a tuple", "aten::view", []any{x, &ops.Tuple{Items: []any{int64(3), int64(2)}}}, 1,
			list(int64(3), int64(2))},
		{"a list of one number", "aten::max_pool2d", []any{x, int64(3)}, 1, list(int64(3), int64(3))},
		{"a device of a name", "aten::to", []any{x, "cuda:1", int64(6)}, 1, ops.Device("cuda:1")},
		{"an int of a tensor", "aten::unsqueeze", []any{x, number(tensor.Int64, &tensor.Data{Ints: []int64{1}})}, 1,
			int64(1)},
		{"a float of a tensor of ints", "aten::dropout", []any{x, number(tensor.Int64, &tensor.Data{Ints: []int64{1}}),
			true}, 1, 1.0},
		{"a number of a tensor's own kind", "aten::leaky_relu", []any{x, number(tensor.Bool,
			&tensor.Data{Ints: []int64{1}})}, 1, true},
	} {
		b, args, err := builtin.Table().Resolve(tt.name, tt.pos, nil)
		if !assert.NoError(t, err, tt.why) {
			continue
		}
		if _, isTensor := args[tt.at].(*tensor.Tensor); isTensor {
			t.Errorf("%s: %s takes the tensor itself", tt.why, b.Schema.Key())
			continue
		}
		assert.Equal(t, tt.want, args[tt.at], tt.why)
	}
	for _, tt := range []struct {
		why, name string
		pos       []any
		kw        ops.Kw
		got       string
	}{
		{"an argument by a name that is none", "aten::relu", []any{x}, ops.Kw{"other": int64(1), "a": 1.5},
			"Tensor, a=float, other=int"},
		{"an argument twice", "aten::relu", []any{x}, ops.Kw{"self": x}, "Tensor, self=Tensor"},
		{"an argument too many", "aten::relu", []any{x, nil}, nil, "Tensor, None"},
		{"one by its name alone, by its place", "aten::cumsum", []any{x, int64(0), int64(6)}, nil, "Tensor, int, int"},
		{"a tensor of several numbers", "aten::unsqueeze", []any{x, x}, nil, "Tensor, Tensor"},
		{"other types", "aten::relu", []any{true, 1i, ops.Device("cpu"), list(int64(1)), list(), &ops.Dict{},
			&ops.Tuple{Items: []any{"a", nil}}, ops.NewUnbacked("", schema.Int)}, nil,
			"bool, complex, Device, int[], [], Dict, (str, None), unknown"},
	} {
		_, _, err := builtin.Table().Resolve(tt.name, tt.pos, tt.kw)
		var none *ops.NoOverloadError
		require.ErrorAs(t, err, &none, tt.why)
		assert.Equal(t, tt.got, none.Got, tt.why)
	}
}

// TestResultsGiven: a tensor that is given for a result has its device and a dtype that takes it.
func TestResultsGiven(t *testing.T) {
	of := func(d tensor.DType, device string, sizes ...int64) tensor.Meta {
		m := aten.Dense(d, sizes...)
		m.Device = device
		return m
	}
	for _, tt := range []struct {
		why  string
		out  tensor.Meta
		want string
	}{
		{"as it is", of(tensor.Float32, "cuda", 2), ""},
		{"of another size", of(tensor.Float32, "cuda", 5), ""},
		{"of whole numbers", of(tensor.Int64, "cuda", 2),
			"aten::amax: got a result of float32 and a tensor of int64 for it"},
		{"on the host", of(tensor.Float32, "cpu", 2), "aten::amax: got a result on cuda and a tensor on cpu for it"},
	} {
		b := aten.NewBench(builtin.Table(), aten.On(t, "a10g", "2.15"))
		x, out := b.Tensor(aten.Dense(tensor.Float32, 2, 3), nil), b.Tensor(tt.out, nil)
		got, _, err := b.Run("aten::amax", []any{x, ops.IntList(1)}, ops.Kw{"out": out})
		if tt.want != "" {
			assert.EqualError(t, err, tt.want, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, []int64{2}, got.(*tensor.Tensor).Sizes, tt.why)
		assert.Equal(t, tt.out.DType, got.(*tensor.Tensor).DType, tt.why)
	}
}

// TestEffectsOfSeveralForms: overloads that give a tensor or a list of them keep no form.
func TestEffectsOfSeveralForms(t *testing.T) {
	table, err := ops.NewTable([]ops.Rule{
		{Schema: "a::f(Tensor self) -> Tensor", Out: ops.FreshSelf},
		{Schema: "a::f.l(Tensor self) -> Tensor[]", Out: ops.FreshSelf},
		{Schema: "a::g(Tensor self) -> Tensor?", Out: ops.FreshSelf},
	})
	require.NoError(t, err)
	assert.Equal(t, ops.Effects{Known: true, NeverNil: true}, table.Effects("a::f", 1))
	assert.Equal(t, ops.Effects{Known: true}, table.Effects("a::g", 1), "None or a tensor")
}
