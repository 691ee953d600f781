package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestKnownValues: values are computed for what is small and on the host.
func TestKnownValues(t *testing.T) {
	for _, tt := range []struct {
		why    string
		device ops.Device
		sizes  []int64
		known  bool
	}{
		{"as many as are kept", "cpu", []int64{tensor.MaxData}, true},
		{"one more", "cpu", []int64{tensor.MaxData + 1}, false},
		{"a vector on the device", "cuda", []int64{1}, false},
	} {
		b := aten.NewBench(builtin.Table(), aten.On(t, "none", "2.15"))
		got, _, err := b.Run("aten::ones", []any{ops.IntList(tt.sizes...)}, ops.Kw{"device": tt.device})
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.known, got.(*tensor.Tensor).Data != nil, tt.why)
	}
}
