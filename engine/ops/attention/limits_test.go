package attention_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestFusedKernelsTakeFourDimensions: each kernel says of the first of query, key and value that
// has other dimensions, and has results of four.
func TestFusedKernelsTakeFourDimensions(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) *tensor.Tensor { return h.Of(tensor.Float32, sizes...) }
	whole, long := f(2, 4, 8, 16), f(1, 2, 4, 8, 16)
	for op, behind := range map[string][]any{
		"aten::_scaled_dot_product_flash_attention": nil, "aten::_scaled_dot_product_flash_attention_for_cpu": nil,
		"aten::_scaled_dot_product_efficient_attention": {nil, true}, "aten::_scaled_dot_product_cudnn_attention": {nil,
			true},
	} {
		for _, tt := range []struct {
			q, k, v *tensor.Tensor
			want    string
		}{
			{whole, whole, whole, ""},
			{f(4, 8, 16), f(8, 16), long, "[4 8 16]"},
			{whole, f(8, 16), long, "[8 16]"},
			{whole, whole, long, "[1 2 4 8 16]"},
			{long, whole, f(16), "[1 2 4 8 16]"},
		} {
			got, _, err := h.Bench.Run(op, append([]any{tt.q, tt.k, tt.v}, behind...), nil)
			if tt.want == "" {
				require.NoError(t, err, op)
				assert.Contains(t, aten.Describe(got), "float32[2, 4, 8, 16]", op)
				continue
			}
			assert.EqualError(t, err, op+": got sizes "+tt.want+", want 4 dimensions")
		}
	}
}

// TestHeadsDivideDimensions: the heads of the fast path share its dimensions, those of the query.
func TestHeadsDivideDimensions(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) *tensor.Tensor { return h.Of(tensor.Float32, sizes...) }
	for want, c := range map[string]struct {
		query       *tensor.Tensor
		dims, heads int64
	}{
		"got query [2 5 6], 2 heads and 8 dimensions":  {f(2, 5, 6), 8, 2},
		"got query [2 5 8], 3 heads and 8 dimensions":  {f(2, 5, 8), 8, 3},
		"got query [2 5 8], 0 heads and 8 dimensions":  {f(2, 5, 8), 8, 0},
		"got query [2 5 8], -2 heads and 8 dimensions": {f(2, 5, 8), 8, -2},
		"got query [5 8], want 3 dimensions":           {f(5, 8), 8, 2},
	} {
		_, _, err := h.Bench.Run("aten::_native_multi_head_attention", []any{c.query, c.query, c.query, c.dims, c.heads,
			f(24, 8), f(24), f(8, 8), f(8)}, nil)
		assert.ErrorContains(t, err, want)
	}
}
