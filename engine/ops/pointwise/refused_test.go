package pointwise_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestKernelsDTypes: the dtypes that kernels of rounded quotients, remainders and common divisors
// have, as a pretend GPU answers ("floor_divide" not implemented for 'ComplexFloat'); fake tensors
// take more of them.
func TestKernelsDTypes(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	floor, trunc := ops.Kw{"rounding_mode": "floor"}, ops.Kw{"rounding_mode": "trunc"}
	const real, whole = "want integers or floats", "want integers"
	for _, k := range []struct {
		op    string
		kw    ops.Kw
		wants string
	}{
		{"aten::floor_divide", nil, real}, {"aten::floor_divide_", nil, real},
		{"aten::remainder", nil, real}, {"aten::remainder_", nil, real},
		{"aten::fmod", nil, real}, {"aten::fmod_", nil, real},
		{"aten::div", floor, real}, {"aten::div", trunc, real}, {"aten::div_", floor, real},
		{"aten::gcd", nil, whole}, {"aten::gcd_", nil, whole}, {"aten::lcm", nil, whole}, {"aten::lcm_", nil, whole},
	} {
		for _, d := range []tensor.DType{tensor.Int32, tensor.Uint8, tensor.Float32, tensor.Bool, tensor.Complex64} {
			for _, n := range []int64{2, 0} { // without elements too
				got, _, err := h.Bench.Run(k.op, []any{h.Of(d, n), h.Of(d, n)}, k.kw)
				if d == tensor.Bool || d == tensor.Complex64 || d == tensor.Float32 && k.wants == whole {
					assert.ErrorContains(t, err, "got "+d.String()+", "+k.wants, k.op)
					continue
				}
				require.NoError(t, err, "%s of %s", k.op, d)
				assert.Equal(t, d, got.(*tensor.Tensor).DType, k.op)
			}
		}
	}
	_, _, err := h.Bench.Run("aten::frexp", []any{h.Of(tensor.Int32, 2)}, nil)
	assert.EqualError(t, err, "aten::frexp: got int32, want a floating dtype")
	got, _, err := h.Bench.Run("aten::floor_divide", []any{h.Of(tensor.Bool, 2), h.Of(tensor.Int32, 2)}, nil)
	require.NoError(t, err, "the dtype of both decides")
	assert.Equal(t, "int32[2] [1]", aten.Describe(got))
}
