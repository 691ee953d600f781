package view_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestPartsByTensors: what torch 2.15 gives where tensors of the host say where to cut, and parts
// of dimensions of size 0.
func TestPartsByTensors(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	x := h.Of(tensor.Float32, 5, 3)
	turned := h.Bench.Tensor(tensor.Meta{DType: tensor.Float32, Sizes: []int64{3, 4}, Strides: []int64{1, 3},
		Device: "cpu"}, nil)
	number := func(n int64) any {
		v := h.Of(tensor.Int64)
		v.Data = &tensor.Data{Ints: []int64{n}}
		return v
	}
	const zero, one, two = int64(0), int64(1), int64(2)
	for _, tt := range []struct {
		why, op   string
		args      []any
		want, err string
	}{
		{"a part from a tensor on", "aten::narrow", []any{x, zero, number(2), two}, "float32[2, 3] [3, 1]", ""},
		{"from the end", "aten::narrow", []any{x, zero, number(-2), two}, "float32[2, 3] [3, 1]", ""},
		{"beyond the end", "aten::narrow", []any{x, zero, number(-2), int64(3)}, "",
			"got start 3 and length 3 for size 5"},
		{"as many parts as a tensor says", "aten::tensor_split", []any{x, number(2)},
			"(float32[3, 3] [3, 1], float32[2, 3] [3, 1])", ""},
		{"cut at a tensor's places", "aten::tensor_split", []any{x, h.Ints(1, 4)},
			"(float32[1, 3] [3, 1], float32[3, 3] [3, 1], float32[1, 3] [3, 1])", ""},
		{"cut along columns, behind each other", "aten::tensor_split", []any{x, h.Ints(4, 1, -1), one},
			"(float32[5, 3] [3, 1], float32[5, 0] [3, 1], float32[5, 1] [3, 1], float32[5, 1] [3, 1])", ""},
		{"cut where a run decides", "aten::tensor_split", []any{x, h.Of(tensor.Int64, 2)}, "",
			"got sections that depend on tensor data"},
		{"no rows in three parts", "aten::chunk", []any{h.Of(tensor.Float32, 0, 3), int64(3)},
			"(float32[0, 3] [3, 1], float32[0, 3] [3, 1], float32[0, 3] [3, 1])", ""},
		{"no rows in too many parts", "aten::chunk", []any{h.Of(tensor.Float32, 0, 3), int64(1<<20 + 1)}, "",
			"got 1048577 parts, want at most 1048576"},
		{"too many sections", "aten::tensor_split", []any{x, int64(1<<20 + 1)}, "",
			"got 1048577 parts, want at most 1048576"},
		{"a diagonal above", "aten::diagonal", []any{h.Of(tensor.Float32, 3, 4, 5), one}, "float32[5, 3] [1, 25]", ""},
		{"a diagonal of the last dimensions, turned", "aten::diagonal", []any{h.Of(tensor.Float32, 3, 4, 5), int64(-1), two,
			zero}, "float32[4, 3] [5, 21]", ""},
		{"a new dimension of one", "aten::expand", []any{turned, ops.IntList(1, 3, 4)}, "float32[1, 3, 4] [3, 1, 3]", ""},
		{"two of them", "aten::expand", []any{turned, ops.IntList(1, 1, 3, 4)}, "float32[1, 1, 3, 4] [3, 3, 1, 3]", ""},
		{"a new dimension of more", "aten::expand", []any{turned, ops.IntList(2, 3, 4)}, "float32[2, 3, 4] [0, 1, 3]", ""},
		{"new ones of more and of one", "aten::expand", []any{turned, ops.IntList(5, 1, 3, 4)},
			"float32[5, 1, 3, 4] [0, 3, 1, 3]", ""},
		{"new ones of more", "aten::expand", []any{turned, ops.IntList(5, 2, 3, 4)}, "float32[5, 2, 3, 4] [0, 0, 1, 3]", ""},
		{"a new dimension before one of one", "aten::expand", []any{h.Of(tensor.Float32, 1, 4), ops.IntList(1, 3, 4)},
			"float32[1, 3, 4] [0, 0, 1]", ""},
		{"no dimension to two", "aten::expand", []any{h.Of(tensor.Float32), ops.IntList(2, 1)}, "float32[2, 1] [0, 0]", ""},
		{"a new dimension as it is", "aten::expand", []any{turned, ops.IntList(-1, 3, 4)}, "", "got sizes [-1 3 4]"},
	} {
		got, err := h.Try(tt.op, tt.args, ops.Kw{})
		if tt.err != "" {
			assert.ErrorContains(t, err, tt.err, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, aten.Describe(got), tt.why)
	}
	h.Changed("testdata/changed_host.txt")
}
