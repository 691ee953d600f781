package attention_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestEncoderLayer: a layer has the sizes of its input, whether its norms come first or last.
func TestEncoderLayer(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) *tensor.Tensor { return h.Of(tensor.Float32, sizes...) }
	for _, first := range []bool{false, true} {
		got, _, err := h.Bench.Run("aten::_transformer_encoder_layer_fwd", []any{f(2, 3, 8), int64(8), int64(2), f(24, 8),
			f(24), f(8, 8), f(8), true, first, 1e-5,
			f(8), f(8), f(8), f(8), f(32, 8), f(32), f(8, 32), f(8)}, nil)
		require.NoError(t, err)
		assert.Equal(t, "float32[2, 3, 8] [24, 8, 1]", aten.Describe(got))
	}
}
