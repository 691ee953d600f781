package attention_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// The gradient of a bias has rows of multiples of 16 elements, and one that is not wanted is not
// made.
func TestGradientOfABias(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	x := func() any { return h.Of(tensor.Float16, 1, 2, 4, 8) }
	for _, c := range []struct {
		bias any
		want []any
		got  string
	}{
		{h.Of(tensor.Float16, 1, 2, 4, 20), []any{true, true, true, true}, "float16[1, 2, 4, 20] [256, 128, 32, 1]"},
		{h.Of(tensor.Float16, 1, 2, 4, 32), []any{true, true, true, true}, "float16[1, 2, 4, 32] [256, 128, 32, 1]"},
		{h.Of(tensor.Float16, 1, 2, 4, 20), []any{true, true, true, false}, ""},
	} {
		out := h.Run("aten::_scaled_dot_product_efficient_attention_backward", x(), x(), x(), x(), c.bias, x(),
			h.Of(tensor.Float32, 1, 2, 32),
			h.Of(tensor.Int64), h.Of(tensor.Int64), 0.0, ops.NewList(schema.Bool, c.want...)).(*ops.Tuple)
		assert.Equal(t, "float16[1, 2, 4, 8] [64, 8, 16, 1]", aten.Describe(out.Items[0]), "positions before heads")
		got, made := out.Items[3].(*tensor.Tensor)
		if c.got == "" {
			assert.False(t, made && got.Storage != nil)
			continue
		}
		assert.Equal(t, c.got, aten.Describe(out.Items[3]))
	}
}
