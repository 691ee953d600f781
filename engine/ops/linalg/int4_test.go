package linalg_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestInt4: a matrix of 4-bit numbers has 8 columns in a row of tiles; whole models are held on
// pretend GPUs (testdata/conformance/2.15-exported, ao_int4_tiles).
func TestInt4(t *testing.T) {
	b16, i32 := tensor.BFloat16, tensor.Int32
	for _, tt := range []struct {
		why, device       string
		x, packed, scales []int64
		dtype             tensor.DType
		group             int64
		want, lacks       string
	}{
		{"a product", "a100-sxm-80gb", []int64{4, 1024}, []int64{64, 8, 32, 4}, []int64{32, 512, 2}, b16, 32,
			"bfloat16 [4 512] [512 1]", ""},
		{"another count of rows", "a100-sxm-80gb", []int64{4, 256}, []int64{64, 8, 32, 4}, []int64{32, 512, 2}, b16, 32, "",
			"of its columns"},
		{"scales of another grouping", "a100-sxm-80gb", []int64{4, 1024}, []int64{64, 8, 32, 4}, []int64{32, 512, 2}, b16, 64,
			"", "for groups of 64"},
		{"no grouping", "a100-sxm-80gb", []int64{4, 1024}, []int64{64, 8, 32, 4}, []int64{32, 512, 2}, b16, 0, "",
			"for groups of 0"},
		{"another dtype", "a100-sxm-80gb", []int64{4, 1024}, []int64{64, 8, 32, 4}, []int64{32, 512, 2}, tensor.Float16, 32,
			"", "want bfloat16, int32 and bfloat16"},
		{"a device without the kernel", "t4", []int64{4, 1024}, []int64{64, 8, 32, 4}, []int64{32, 512, 2}, b16, 32, "",
			"PyTorch refuses to run it"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			bench := aten.NewBench(builtin.Table(), aten.On(t, tt.device, "2.15"))
			made := func(d tensor.DType, sizes []int64) *tensor.Tensor {
				return bench.Tensor(tensor.Meta{DType: d, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes), Device: "cuda"},
					nil)
			}
			got, _, err := bench.Run("aten::_weight_int4pack_mm", []any{made(tt.dtype, tt.x), made(i32, tt.packed), tt.group,
				made(b16, tt.scales)}, nil)
			if tt.lacks != "" {
				require.ErrorContains(t, err, tt.lacks)
				return
			}
			require.NoError(t, err)
			result, ok := got.(*tensor.Tensor)
			require.True(t, ok, "%T", got)
			assert.Equal(t, tt.want, fmt.Sprint(result.DType, result.Sizes, " ", result.Strides))
		})
	}
}

// TestInt4Changed: what of a product's arguments must fit what.
func TestInt4Changed(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	_, err := h.Try("aten::_weight_int4pack_mm", []any{h.Of(tensor.BFloat16, 4, 1024), h.Of(tensor.Int32, 64, 8, 32, 4),
		int64(32), h.Of(tensor.BFloat16, 32, 512, 2)}, nil)
	require.NoError(t, err)
	h.Changed("testdata/changed_int4.txt")
}
