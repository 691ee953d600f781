package builtin_test

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

// TestStridesOfOddOperands: what torch 2.15 gives for aten::add of two tensors and aten::addcmul of
// three with sizes and strides drawn by chance: expanded, overlapping and broadcast.
func TestStridesOfOddOperands(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	type of struct{ sizes, strides []int64 }
	l := func(n ...int64) []int64 { return n }
	for _, c := range []struct {
		operands []of
		want     []int64
	}{
		{[]of{{l(3, 1, 4), l(2, 6, 12)}, {l(1, 1, 4), l(6, 1, 1)}}, l(1, 3, 3)},
		{[]of{{l(2, 1, 1, 1), l(2, 12, 2, 1)}, {l(2, 2, 1, 1), l(1, 4, 3, 24)}}, l(1, 2, 2, 1)},
		{[]of{{l(1, 1, 3), l(1, 0, 3)}, {l(3, 1), l(6, 4)}}, l(1, 1, 3)},
		{[]of{{l(2, 3, 1), l(4, 3, 1)}, {l(1, 2, 3, 3), l(1, 24, 12, 6)}}, l(1, 9, 3, 1)},
		{[]of{{l(3, 3, 3), l(8, 4, 4)}, {l(1, 3, 3), l(3, 1, 6)}, {l(3, 3, 3), l(3, 0, 2)}}, l(9, 1, 3)},
		{[]of{{l(3, 1, 3), l(4, 1, 6)}, {l(3, 1, 3), l(8, 2, 1)}}, l(1, 1, 3)},
		{[]of{{l(2, 1, 1), l(3, 8, 24)}, {l(1, 1, 1), l(4, 24, 3)}}, l(1, 2, 2)},
		{[]of{{l(1, 1, 1), l(8, 4, 0)}, {l(4, 1, 1), l(4, 8, 8)}}, l(1, 4, 4)},
		{[]of{{l(1, 4), l(1, 4)}, {l(1), l(3)}}, l(1, 1)},
		{[]of{{l(1, 1, 1), l(4, 6, 3)}, {l(3, 1, 1), l(4, 0, 1)}, {l(3, 1, 1), l(1, 8, 6)}}, l(1, 3, 1)},
		{[]of{{l(1, 2), l(1, 1)}, {l(2, 1, 1), l(24, 12, 6)}}, l(2, 1, 1)},
		{[]of{{l(4, 4, 2), l(1, 6, 0)}, {l(4, 4, 2), l(6, 2, 4)}}, l(8, 1, 4)},
		{[]of{{l(1, 1, 4), l(2, 24, 8)}, {l(1, 1, 1), l(1, 4, 24)}}, l(1, 4, 1)},
		{[]of{{l(1, 2, 1, 3), l(1, 2, 6, 12)}, {l(1, 2, 1, 1), l(0, 8, 6, 4)}}, l(1, 1, 2, 2)},
		{[]of{{l(1, 4), l(8, 0)}, {l(3, 4), l(8, 12)}}, l(1, 3)},
		{[]of{{l(2, 4, 1), l(24, 2, 3)}, {l(1, 4, 1), l(0, 12, 3)}}, l(4, 1, 4)},
		{[]of{{l(4, 1), l(0, 24)}, {l(4, 1), l(8, 24)}, {l(4, 1), l(24, 1)}}, l(1, 4)},
		{[]of{{l(1, 3, 3), l(12, 3, 8)}, {l(4, 1, 1), l(3, 24, 1)}}, l(9, 1, 3)},
		{[]of{{l(3, 3, 1), l(4, 6, 6)}, {l(2, 1, 3, 1), l(12, 6, 1, 8)}}, l(9, 1, 3, 9)},
		{[]of{{l(2, 3, 1), l(2, 8, 1)}, {l(1, 1, 1), l(8, 3, 24)}}, l(1, 2, 1)},
		{[]of{{l(4, 2), l(1, 4)}, {l(4, 2), l(1, 2)}}, l(1, 4)},
		{[]of{{l(4, 4), l(12, 24)}, {l(4, 4), l(1, 4)}}, l(1, 4)},
		{[]of{{l(2, 1, 1), l(24, 12, 8)}, {l(4, 1), l(2, 6)}, {l(2, 4, 1), l(1, 12, 3)}}, l(4, 1, 4)},
		{[]of{{l(2, 4, 1), l(12, 2, 6)}, {l(4, 1), l(0, 8)}}, l(4, 1, 4)},
		{[]of{{l(2, 1, 4), l(24, 3, 1)}, {l(2, 3, 4), l(3, 1, 2)}}, l(12, 1, 3)},
		{[]of{{l(2), l(1)}, {l(4, 2), l(4, 24)}}, l(1, 4)},
		{[]of{{l(2, 3, 1, 2), l(3, 1, 24, 2)}, {l(2, 3, 1, 2), l(1, 8, 6, 8)}}, l(6, 1, 12, 3)},
	} {
		var args []any
		for _, x := range c.operands {
			m := tensor.Meta{DType: tensor.Float32, Sizes: x.sizes, Strides: x.strides, Device: "cpu"}
			args = append(args, h.Bench.Tensor(m, nil))
		}
		got := h.Run(map[int]string{2: "aten::add", 3: "aten::addcmul"}[len(args)], args...).(*tensor.Tensor)
		assert.Equal(t, c.want, got.Strides, "%v", c.operands)
	}
}
