package index_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestPlacesDType: places are of int32 or int64; where there are none their dtype is not looked at.
// So a pretend GPU answers.
func TestPlacesDType(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	two := ops.Kw{"reduce": "sum"}
	for _, d := range []tensor.DType{tensor.Int64, tensor.Int32, tensor.Float32, tensor.Bool} {
		for _, rows := range []int64{2, 0} {
			at, src := h.Of(d, rows, 2), h.Of(tensor.Float32, rows, 2)
			for _, k := range []struct {
				op   string
				what any
				kw   ops.Kw
			}{
				{"aten::scatter_add", src, nil}, {"aten::scatter_add_", src, nil}, {"aten::scatter", src, nil}, {"aten::scatter_", src, nil},
				{"aten::scatter", 1.0, nil}, {"aten::scatter_", 1.0, nil}, {"aten::scatter_reduce", src, two}, {"aten::scatter_reduce_", src, two},
			} {
				got, _, err := h.Bench.Run(k.op, []any{h.Of(tensor.Float32, 3, 3), int64(0), at, k.what}, k.kw)
				if rows > 0 && !d.Integral(false) {
					assert.ErrorContains(t, err, "got places of "+d.String()+", want int32 or int64", k.op)
					continue
				}
				require.NoError(t, err, "%s at %s", k.op, d)
				assert.Equal(t, "float32[3, 3] [3, 1]", aten.Describe(got), k.op)
			}
		}
	}
}
