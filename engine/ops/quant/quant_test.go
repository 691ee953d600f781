package quant

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// rules is the table of this family alone.
func rules(t *testing.T) *ops.Table {
	t.Helper()
	table, err := ops.NewTable(Rules...)
	require.NoError(t, err)
	return table
}

func testTensor(d tensor.DType, sizes ...int64) *tensor.Tensor {
	return &tensor.Tensor{Meta: ops.NewMeta(d, "cpu", sizes), Storage: &tensor.Storage{ID: -1}}
}

// The forms in which archives hold a convolution's packed parameters.
func TestPackedParameters(t *testing.T) {
	w, b := testTensor(tensor.QInt8, 6, 2, 3, 3), testTensor(tensor.Float32, 6)
	config := testTensor(tensor.Int16, 11)
	numbers := []int64{2, 2, 1, 1, 0, 1, 1, 0, 0, 2, 0}
	config.Data = &tensor.Data{Ints: numbers}
	unread := testTensor(tensor.Int16, 11)
	tests := []struct {
		name  string
		items []any
		ok    bool
		why   string
	}{
		{"version 2", []any{"2", ops.TensorList(config, w), ops.TensorList(b)}, true,
			"a configuration tensor and the weight"},
		{"version 3", []any{int64(3), ops.IntList(numbers...), ops.NewList(schema.Optional, nil, w, b)}, true,
			"numbers, then tensors of which the first is none"},
		{"stripped", []any{"2", ops.TensorList(unread, w), ops.TensorList(b)}, false, "the configuration's values are not " +
			"in the archive"},
		{"version 1", []any{"1", ops.TensorList(config, w), ops.TensorList(b)}, false, "no such version"},
		{"cut", []any{int64(3), ops.IntList(numbers[:5]...), ops.NewList(schema.Optional, nil, w, b)}, false,
			"too few numbers for two dimensions"},
	}
	with := func(n ...int64) []any {
		return []any{int64(3), ops.IntList(n...), ops.NewList(schema.Optional, nil, w, b)}
	}
	for why, items := range map[string][]any{
		"no dimensions": with(0, 2, 0), "four dimensions": with(4, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 2, 0),
		"nothing": with(), "a number too many": with(append(numbers, 0)...),
		"another version": {int64(2), ops.IntList(numbers...), ops.NewList(schema.Optional, nil, w, b)},
		"no weight":       {int64(3), ops.IntList(numbers...), ops.NewList(schema.Optional, nil)},
		"no list":         {int64(3), w, ops.NewList(schema.Optional, nil, w, b)},
		"four items": {int64(3), ops.IntList(numbers...),
			ops.NewList(schema.Optional, nil, w, b), nil},
		"no configuration": {"2", ops.TensorList(w), ops.TensorList(b)}, "a flag": {true, nil, nil}, "none": {},
	} {
		assert.Nil(t, parsePacked(items), why)
	}
	up := parsePacked(with(2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1))
	assert.Equal(t, &packedParams{weight: w, bias: b, stride: []int64{1, 2}, padding: []int64{3, 4},
		dilation: []int64{5, 6}, outPad: []int64{7, 8}, groups: 9, transposed: true}, up)
	one := parsePacked(with(1, 1, 2, 3, 4, 5, 0))
	assert.Equal(t, &packedParams{weight: w, bias: b, stride: []int64{1}, padding: []int64{2}, dilation: []int64{3},
		outPad: []int64{4}, groups: 5}, one)
	unbiased := parsePacked([]any{"2", ops.TensorList(config, w), nil})
	assert.Nil(t, unbiased.bias)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parsePacked(tt.items)
			require.Equal(t, tt.ok, p != nil, tt.why)
			if !tt.ok {
				return
			}
			assert.Equal(t, []int64{2, 1}, p.stride)
			assert.Equal(t, []int64{1, 0}, p.padding)
			assert.Equal(t, []int64{1, 1}, p.dilation)
			assert.Equal(t, int64(2), p.groups)
			assert.False(t, p.transposed)
			assert.Same(t, w, p.weight)
			assert.Same(t, b, p.bias)

			bound, ok := rules(t).Lookup("quantized::conv2d.new")
			require.True(t, ok)
			x := testTensor(tensor.QUint8, 1, 4, 8, 8)
			out,
				err := quantConv(&ops.Call{Bound: bound, Args: []any{x, &ops.Packed{State: &ops.Tuple{Items: tt.items}}, 0.1,
				int64(0)}})
			require.NoError(t, err)
			assert.Equal(t, []int64{1, 6, 4, 6}, out[0].Sizes, "(8+2-3)/2+1 by 8-3+1")
			assert.True(t, out[0].IsFormat(tensor.ChannelsLast), "the host's kernels give channels last")
		})
	}
}

// Linear layers pack a weight and a bias; what else is packed is a missing operator, not a guess.
func TestQuantLinear(t *testing.T) {
	bound, ok := rules(t).Lookup("quantized::linear_dynamic")
	require.True(t, ok)
	x := testTensor(tensor.Float32, 5, 16)
	call := func(state any) ([]tensor.Meta, error) {
		return quantLinear(&ops.Call{Bound: bound, Args: []any{x, &ops.Packed{Class: "LinearPackedParamsBase", State: state},
			false}})
	}
	out, err := call(&ops.Tuple{Items: []any{testTensor(tensor.QInt8, 32, 16), nil}})
	require.NoError(t, err)
	assert.Equal(t, []int64{5, 32}, out[0].Sizes)
	assert.Equal(t, tensor.Float32, out[0].DType)

	_, err = call(nil)
	assert.EqualError(t, err, "no rule for operator quantized::linear_dynamic with parameters packed as "+
		"LinearPackedParamsBase")

	_, err = call(&ops.Tuple{Items: []any{testTensor(tensor.QInt8, 32, 8), nil}})
	assert.EqualError(t, err, "quantized::linear_dynamic: got input [5 16], want one that fits the weight")
}
