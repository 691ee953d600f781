package create_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestComplexOfTwo: two real tensors are joined where they have one floating dtype; else both are
// reported, in their order.
func TestComplexOfTwo(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	for _, tt := range []struct {
		real, imag tensor.DType
		got, want  string
	}{
		{tensor.Float32, tensor.Float32, "complex64[2, 3] [3, 1]", ""},
		{tensor.Float64, tensor.Float64, "complex128[2, 3] [3, 1]", ""},
		{tensor.Float32, tensor.Float64, "", "got float32 and float64, want one floating dtype"},
		{tensor.Int64, tensor.Float64, "", "got int64 and float64, want one floating dtype"},
		{tensor.Float64, tensor.Int64, "", "got float64 and int64, want one floating dtype"},
		{tensor.Int64, tensor.Int64, "", "got int64 and int64, want one floating dtype"},
		{tensor.Complex64, tensor.Complex64, "", "got complex64 and complex64, want one floating dtype"},
	} {
		got, _, err := h.Bench.Run("aten::complex", []any{h.Of(tt.real, 2, 3), h.Of(tt.imag, 3)}, nil)
		if tt.want != "" {
			assert.EqualError(t, err, "aten::complex: "+tt.want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, tt.got, aten.Describe(got))
	}
}
