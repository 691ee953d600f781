package nn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// What kernels take beside results, on a real device.
func TestEmbeddingsOnADevice(t *testing.T) {
	on := aten.Dense
	for _, c := range []struct {
		op   string
		args []any
		want string
		why  string
	}{
		{"aten::embedding_dense_backward", []any{on(tensor.Float32, 3072, 4), on(tensor.Int64, 3072), int64(8), int64(-1),
			false}, "+128", "few indices are not sorted"},
		{"aten::embedding_dense_backward", []any{on(tensor.Float32, 3073, 4), on(tensor.Int64, 3073), int64(8), int64(-1),
			false}, "+128 +24584 +24584 +24584 +24584 +49168 -5 -4 -3 -2 -1", "many are"},
		{"aten::one_hot", []any{on(tensor.Int64, 4), int64(8)}, "+256", "on a device ones are scattered into zeros"},
	} {
		got, _ := aten.Call{Op: c.op, Args: c.args}.Run(t, builtin.Table(), aten.On(t, "a10g", "2.15"))
		assert.Equal(t, c.want, got, "%s: %s", c.op, c.why)
	}
}
