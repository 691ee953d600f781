package ops_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestStridesOfElementwiseResults: what torch 2.15 gives for aten::add of tensors with such sizes
// and strides. Dimensions of size 1 show which way it went: a setup for operands alike, or their
// order.
func TestStridesOfElementwiseResults(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	type of struct{ sizes, strides []int64 }
	l := func(n ...int64) []int64 { return n }
	for _, c := range []struct {
		why  string
		a, b of
		want []int64
	}{
		{"both contiguous", of{l(2, 1, 3), l(3, 100, 1)}, of{l(2, 1, 3), l(3, 100, 1)}, l(3, 3, 1)},
		{"contiguous, the second broadcast", of{l(2, 1, 3), l(3, 100, 1)}, of{l(3), l(1)}, l(3, 6, 1)},
		{"contiguous, the first broadcast", of{l(1, 1, 3), l(9, 5, 1)}, of{l(2, 1, 3), l(3, 50, 1)}, l(3, 6, 1)},
		{"contiguous beside a scalar", of{l(2, 1, 3), l(3, 50, 1)}, of{}, l(3, 6, 1)},
		{"contiguous, both broadcast", of{l(4, 1), l(1, 1)}, of{l(1, 5), l(5, 1)}, l(5, 1)},
		{"both channels last", of{l(1, 3, 4, 1), l(77, 1, 3, 3)}, of{l(1, 3, 4, 1), l(77, 1, 3, 3)}, l(12, 1, 3, 3)},
		{"channels last and contiguous", of{l(2, 3, 4, 5), l(60, 1, 15, 3)}, of{l(2, 3, 4, 5), l(60, 20, 5, 1)},
			l(60, 1, 15, 3)},
		{"dense, equal strides", of{l(4, 1, 2), l(1, 50, 4)}, of{l(4, 1, 2), l(1, 50, 4)}, l(1, 50, 4)},
		{"dense, other strides", of{l(4, 1, 2), l(1, 50, 4)}, of{l(4, 1, 2), l(1, 9, 4)}, l(1, 8, 4)},
		{"dense, the first decides", of{l(3, 2), l(1, 3)}, of{l(3, 2), l(2, 1)}, l(1, 3)},
		{"dense, the first is contiguous", of{l(3, 2), l(2, 1)}, of{l(3, 2), l(1, 3)}, l(2, 1)},
		{"with gaps", of{l(2, 3), l(6, 2)}, of{l(2, 3), l(6, 2)}, l(3, 1)},
		{"expanded", of{l(2, 3), l(0, 1)}, of{l(2, 3), l(0, 1)}, l(3, 1)},
		{"a size of 1 within", of{l(2, 1, 3), l(100, 1, 2)}, of{l(2, 1, 3), l(100, 1, 2)}, l(3, 1, 1)},
	} {
		t.Run(c.why, func(t *testing.T) {
			in := func(x of) *tensor.Tensor {
				return h.Bench.Tensor(tensor.Meta{DType: tensor.Float32, Sizes: x.sizes, Strides: x.strides, Device: "cpu"}, nil)
			}
			got := h.Run("aten::add", in(c.a), in(c.b)).(*tensor.Tensor)
			assert.Equal(t, fmt.Sprint(c.want), fmt.Sprint(got.Strides))
		})
	}
}
