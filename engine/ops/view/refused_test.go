package view_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// TestRefusedViews: what is said of views that there are none of, and of more parts than a run can
// hold.
func TestRefusedViews(t *testing.T) {
	turned := aten.Dense(tensor.Float32, 6, 4)
	turned.Strides = []int64{1, 6}
	long := aten.Dense(tensor.Float32, 1<<40)
	ints := func(n ...any) *ops.List { return ops.NewList(schema.Int, n...) }
	for _, tt := range []struct {
		op   string
		x    tensor.Meta
		args []any
		want string
	}{
		{"aten::view", turned, []any{ints(int64(24))}, "got shape [24] for sizes [6 4] with strides [1 6], want one that " +
			"needs no copy"},
		{"aten::view", turned, []any{ints(int64(5), int64(-1))}, "got"},
		{"aten::split", long, []any{int64(1), int64(0)}, "parts"},
		{"aten::split", turned, []any{int64(-1), int64(0)}, "got split size -1 for size 6"},
		{"aten::split", turned, []any{int64(1), int64(2)}, "2"},
		{"aten::chunk", long, []any{int64(1 << 39), int64(0)}, "parts"},
		{"aten::unbind", long, []any{int64(0)}, "parts"},
	} {
		b := aten.NewBench(builtin.Table(), aten.On(t, "a10g", "2.15"))
		_, _, err := b.Run(tt.op, append([]any{b.Tensor(tt.x, nil)}, tt.args...), nil)
		assert.ErrorContains(t, err, tt.want, "%s %v", tt.op, tt.args)
	}
}

// TestResized: a tensor that has the sizes already keeps its strides, unless a memory format is
// given; another is laid out anew.
func TestResized(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	turned := func() *tensor.Tensor {
		x := h.Of(tensor.Float32, 3, 2)
		x.Strides = []int64{1, 3}
		return x
	}
	last := int64(tensor.ChannelsLast)
	for _, tt := range []struct {
		op   string
		args []any
		want string
	}{
		{"aten::resize_", []any{turned(), ops.IntList(3, 2)}, "float32[3, 2] [1, 3]"},
		{"aten::resize_", []any{turned(), ops.IntList(3, 2), ops.Kw{"memory_format": int64(tensor.Contiguous)}},
			"float32[3, 2] [2, 1]"},
		{"aten::resize_", []any{turned(), ops.IntList(2, 3)}, "float32[2, 3] [3, 1]"},
		{"aten::resize_", []any{h.Of(tensor.Float32, 1, 2, 3, 4), ops.IntList(1, 2, 3, 4), ops.Kw{"memory_format": last}},
			"float32[1, 2, 3, 4] [24, 1, 8, 2]"},
		{"aten::resize_as_", []any{turned(), h.Of(tensor.Int64, 3, 2)}, "float32[3, 2] [1, 3]"},
		{"aten::resize_as_", []any{turned(), h.In(tensor.Int64, tensor.ChannelsLast, 1, 2, 1, 3),
			ops.Kw{"memory_format": int64(tensor.Preserve)}}, "float32[1, 2, 1, 3] [6, 1, 6, 2]"},
		{"aten::resize_as_", []any{turned(), h.In(tensor.Int64, tensor.ChannelsLast, 1, 2, 1, 3)},
			"float32[1, 2, 1, 3] [6, 3, 3, 1]"},
	} {
		assert.Equal(t, tt.want, aten.Describe(h.Run(tt.op, tt.args...)), "%s %v", tt.op, tt.args)
	}
	_, _, err := h.Bench.Run("aten::resize_", []any{turned(), ops.IntList(3, 2)},
		ops.Kw{"memory_format": int64(tensor.Preserve)})
	assert.ErrorContains(t, err, "got the memory format preserve_format")
}

// TestRefusedJoins: what does not go together is refused, with both.
func TestRefusedJoins(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) any { return h.Of(tensor.Float32, sizes...) }
	list := func(ts ...any) *ops.List { return ops.NewList(schema.Tensor, ts...) }
	for _, tt := range []struct {
		ts   *ops.List
		dim  int64
		want string
	}{
		{list(), 0, "got no tensors, want one or more"},
		{list(f(2, 3), f()), 0, "got a 0-dim tensor, want at least one dimension"},
		{list(f(2, 3), f(2, 3)), 2, "got dim 2, want one in [-2, 1]"},
		{list(f(2, 3), f(2, 3, 1)), 0, "got 2 and 3 dimensions, want as many"},
		{list(f(2, 3), f(2, 4)), 0, "got sizes [2 3] and [2 4], want them equal except in dimension 0"},
		{list(f(2, 3), h.Bench.Tensor(aten.Dense(tensor.Float32, 2, 3), nil)), 0, "got tensors on cuda and cpu, want one " +
			"device"},
	} {
		_, _, err := h.Bench.Run("aten::cat", []any{tt.ts, tt.dim}, nil)
		assert.EqualError(t, err, "aten::cat: "+tt.want)
	}
}
