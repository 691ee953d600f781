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

// TestFilledValue: which tensors of one number everywhere have their values known.
func TestFilledValue(t *testing.T) {
	host := func(d tensor.DType, sizes ...int64) tensor.Meta {
		return tensor.Meta{DType: d, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes), Device: "cpu"}
	}
	there := host(tensor.Int64, 3)
	there.Device = "cuda"
	for _, tt := range []struct {
		why    string
		v      any
		m      tensor.Meta
		ints   []int64
		floats []float64
	}{
		{"a whole number", int64(7), host(tensor.Int64, 3), []int64{7, 7, 7}, nil},
		{"a real one", 1.5, host(tensor.Float32, 2), nil, []float64{1.5, 1.5}},
		{"without dimensions", int64(7), host(tensor.Int64), []int64{7}, nil},
		{"on the device", int64(7), there, nil, nil},
		{"complex", 1.5, host(tensor.Complex64, 2), nil, nil},
		{"too many", int64(7), host(tensor.Int64, tensor.MaxData+1), nil, nil},
		{"text", "7", host(tensor.Int64, 2), nil, nil},
	} {
		got := ops.FilledValue(tt.v, tt.m)
		if tt.ints == nil && tt.floats == nil {
			assert.Nil(t, got, tt.why)
			continue
		}
		require.NotNil(t, got, tt.why)
		assert.Equal(t, tt.ints, got.Ints, tt.why)
		assert.Equal(t, tt.floats, got.Floats, tt.why)
	}
	full := ops.FilledValue(int64(1), host(tensor.Int64, tensor.MaxData))
	require.NotNil(t, full, "as many as are kept")
}

// TestSameValue: what a conversion makes of known values.
func TestSameValue(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	parts := h.Of(tensor.Float32, 4)
	parts.Data = &tensor.Data{Floats: []float64{0, 1, 2.7, -0.5}}
	for _, tt := range []struct {
		why  string
		from *tensor.Tensor
		to   tensor.DType
		want *tensor.Data
	}{
		{"any number but 0 is true", h.Ints(0, 1, 2, -1), tensor.Bool, &tensor.Data{Ints: []int64{0, 1, 1, 1}}},
		{"a part of 1 too", parts, tensor.Bool, &tensor.Data{Ints: []int64{0, 1, 1, 1}}},
		{"towards 0", parts, tensor.Int64, &tensor.Data{Ints: []int64{0, 1, 2, 0}}},
		{"whole numbers as real ones", h.Ints(3, -4), tensor.Float64, &tensor.Data{Floats: []float64{3, -4}}},
		{"a complex number is not kept", h.Ints(3), tensor.Complex64, nil},
	} {
		got, err := h.Try("aten::to", []any{tt.from, int64(tt.to)}, nil)
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, got.(*tensor.Tensor).Data, tt.why)
	}
}

// TestMakesTensor: arithmetic on numbers that were read off tensors gives numbers, what needs no
// tensor or has one a tensor.
func TestMakesTensor(t *testing.T) {
	x, u := &tensor.Tensor{}, ops.NewUnbacked("aten::item", schema.Any)
	for _, tt := range []struct {
		key  string
		args []any
		want bool
		why  string
	}{
		{"aten::mul.Tensor", []any{x, u}, true, "it has one"},
		{"aten::mul.Tensor", []any{u, u}, false, "it needs one and has none"},
		{"aten::mul.Tensor", []any{u, x}, true, "the second will do"},
		{"aten::arange", []any{u, nil, nil, nil, nil}, true, "it needs none"},
	} {
		b, ok := builtin.Table().Lookup(tt.key)
		require.True(t, ok, tt.key)
		assert.Equal(t, tt.want, ops.MakesTensor(b, tt.args), tt.why)
	}
}

// TestInferDenseStrides holds the strides that PyTorch gives (torch.empty(500).as_strided(sizes,
// strides).exp().stride()).
func TestInferDenseStrides(t *testing.T) {
	for _, tt := range []struct {
		sizes, strides, want []int64
		why                  string
	}{
		{[]int64{2, 3, 4}, []int64{12, 4, 1}, []int64{12, 4, 1}, "as they are"},
		{[]int64{2, 3, 4}, []int64{1, 8, 2}, []int64{1, 8, 2}, "permuted"},
		{[]int64{2, 3, 4}, []int64{24, 8, 2}, []int64{12, 4, 1}, "with holes"},
		{[]int64{2, 3, 4}, []int64{0, 4, 1}, []int64{12, 4, 1}, "expanded"},
		{[]int64{3, 2}, []int64{1, 1}, []int64{2, 1}, "equal strides: the greater size is outside"},
		{[]int64{2, 3}, []int64{1, 1}, []int64{1, 2}, "equal strides, the other way round"},
		{[]int64{3, 3}, []int64{1, 1}, []int64{3, 1}, "equal in all: as they stand"},
	} {
		assert.Equal(t, tt.want, ops.InferDenseStrides(tt.sizes, tt.strides), tt.why)
	}
}
