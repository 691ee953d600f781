package nn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestConstantPad: the sizes and strides that torch 2.15 gives. Where nothing is added the layout
// of what stays is kept; else the result is in the memory format that the input suggests.
func TestConstantPad(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	l := func(n ...int64) []int64 { return n }
	for _, c := range []struct {
		sizes, strides, pad []int64
		want                string
	}{
		{l(2, 3, 4, 5), l(60, 20, 5, 1), l(0, 0), "[2 3 4 5] [60 20 5 1]"},
		{l(4, 3), l(1, 4), l(0, 0), "[4 3] [1 4]"},
		{l(4, 3), l(1, 4), l(1, 0), "[4 4] [4 1]"},
		{l(4, 3), l(1, 4), l(0, -1), "[4 2] [1 4]"},
		{l(4, 3), l(1, 4), l(0, -1, 1, 0), "[5 2] [2 1]"},
		{l(4, 3), l(1, 4), l(-1, -1, -1, 0), "[3 1] [1 4]"},
		{l(2, 3, 4, 5), l(60, 1, 15, 3), l(1, 1), "[2 3 4 7] [84 1 21 3]"},
		{l(2, 3, 4, 5), l(60, 1, 15, 3), l(-1, 0), "[2 3 4 4] [48 1 12 3]"},
		{l(2, 3, 4, 5), l(60, 1, 15, 3), l(0, 0, 0, 1), "[2 3 5 5] [75 1 15 3]"},
		{l(2, 3), l(6, 2), l(0, -1), "[2 2] [2 1]"},
		{l(2, 3), l(6, 2), l(0, 1), "[2 4] [4 1]"},
		{l(2, 1, 3), l(3, 50, 1), l(0, 0), "[2 1 3] [3 50 1]"},
		{l(3, 2), l(0, 1), l(0, 0), "[3 2] [2 1]"},
	} {
		x := h.Bench.Tensor(tensor.Meta{DType: tensor.Float32, Sizes: c.sizes, Strides: c.strides, Device: "cpu"}, nil)
		got := h.Run("aten::constant_pad_nd", x, ops.IntList(c.pad...)).(*tensor.Tensor)
		assert.Equal(t, c.want, fmt.Sprint(got.Sizes, " ", got.Strides), "%v %v padded by %v", c.sizes, c.strides, c.pad)
		assert.Equal(t, c.sizes, x.Sizes, "the input stays as it is")
	}
}
