package create_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestValuesCopied: what is known of a copy, which sizes may be computed from. Elements are known
// as real numbers: of a complex tensor none is.
func TestValuesCopied(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	known := func(d tensor.DType, data tensor.Data) *tensor.Tensor {
		to := h.Of(d, int64(max(len(data.Ints), len(data.Floats))))
		to.Data = &data
		return to
	}
	for _, tt := range []struct {
		why  string
		to   *tensor.Tensor
		from any
		want *tensor.Data
	}{
		{"as many", h.Ints(1, 2), h.Ints(3, 4), &tensor.Data{Ints: []int64{3, 4}}},
		{"one for all", h.Ints(1, 2), int64(3), &tensor.Data{Ints: []int64{3, 3}}},
		{"cast", known(tensor.Float32, tensor.Data{Floats: []float64{1, 2}}), h.Ints(3, 4),
			&tensor.Data{Floats: []float64{3, 4}}},
		{"complex", known(tensor.Complex64, tensor.Data{Floats: []float64{1, 2}}), h.Ints(3, 4), nil},
		{"over what is not known", h.Of(tensor.Int64, 2), h.Ints(3, 4), nil},
	} {
		got := h.Run("aten::copy_", tt.to, tt.from).(*tensor.Tensor)
		assert.Equal(t, tt.want, got.Data, tt.why)
	}
}
