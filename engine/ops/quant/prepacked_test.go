package quant_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/tensor"
)

// TestPrepacked: a packed layer gives what the layer itself gives, laid out as its input is
// (native/xnnpack/Convolution.cpp and Linear.cpp run; what torch 2.15 said of
// mkldnn_prepacked::conv2d_run). This build of PyTorch has no XNNPACK, so that the test of its
// layers is the layer that is not packed.
func TestPrepacked(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f32 := tensor.Float32
	ints := func(n ...int64) any { return ops.IntList(n...) }
	x2, x4 := h.Of(f32, 3, 7, 4), h.Of(f32, 2, 4, 8, 6)
	x4last := h.In(f32, tensor.ChannelsLast, 2, 4, 8, 6)
	w2, w4, up := h.Of(f32, 5, 4), h.Of(f32, 6, 2, 3, 3), h.Of(f32, 4, 3, 3, 3)
	b5, b6 := h.Of(f32, 5), h.Of(f32, 6)
	two := int64(2)
	// as an archive holds them (native/xnnpack/OpContext.h)
	saved := func(class string, items ...any) any {
		return &ops.Packed{Class: class, State: &ops.Tuple{Items: items}}
	}
	linear := h.Run("prepacked::linear_clamp_prepack", w2, b5)
	conv := h.Run("prepacked::conv2d_clamp_prepack", w4, b6, ints(2, 1), ints(1, 0), ints(1, 2), two)
	back := h.Run("prepacked::conv2d_transpose_clamp_prepack", up, b6, ints(2, 1), ints(1, 0), ints(1, 0), ints(1, 1), two)
	mkldnn := h.Run("mkldnn_prepacked::conv2d_prepack", w4, b6, ints(2, 1), ints(1, 0), ints(1, 2), two, ints(2, 4, 8, 6),
		"none")
	for _, tt := range []struct {
		op       string
		x        *tensor.Tensor
		packed   any
		unpacked any
	}{
		{"prepacked::linear_clamp_run", x2, linear, h.Run("aten::linear", x2, w2, b5)},
		{"prepacked::linear_clamp_run", x2, saved("xnnpack.LinearOpContext", w2, b5, nil, 6.0),
			h.Run("aten::linear", x2, w2, b5)},
		{"prepacked::conv2d_clamp_run", x4, conv, h.Run("aten::conv2d", x4, w4, b6, ints(2, 1), ints(1, 0), ints(1, 2), two)},
		{"prepacked::conv2d_clamp_run", x4last, saved("xnnpack.Conv2dOpContext", w4, nil, ints(2, 1), ints(1, 0), ints(1, 2),
			two, 0.0, nil),
			h.Run("aten::conv2d", x4last, w4, nil, ints(2, 1), ints(1, 0), ints(1, 2), two)},
		{"prepacked::conv2d_transpose_clamp_run", x4, back, h.Run("aten::conv_transpose2d", x4, up, b6, ints(2, 1),
			ints(1, 0), ints(1, 0), two, ints(1, 1))},
		{"prepacked::conv2d_transpose_clamp_run", x4, saved("xnnpack.TransposeConv2dOpContext", up, b6, ints(2, 1),
			ints(1, 0), ints(1, 0), ints(1, 1), two, nil, nil),
			h.Run("aten::conv_transpose2d", x4, up, b6, ints(2, 1), ints(1, 0), ints(1, 0), two, ints(1, 1))},
	} {
		assert.Equal(t, aten.Describe(tt.unpacked), aten.Describe(h.Run(tt.op, tt.x, tt.packed)), tt.op)
	}
	for _, tt := range []struct {
		x    *tensor.Tensor
		want string
	}{{x4, "float32[2, 6, 4, 2] [48, 8, 2, 1]"}, {x4last, "float32[2, 6, 4, 2] [48, 1, 12, 6]"}} {
		assert.Equal(t, tt.want, aten.Describe(h.Run("mkldnn_prepacked::conv2d_run", tt.x, mkldnn)))
	}

	device := h.Bench.Tensor(tensor.Meta{DType: f32, Sizes: []int64{2, 4}, Strides: []int64{4, 1}, Device: "cuda"}, nil)
	for _, tt := range []struct {
		why, op string
		args    []any
		want    string
	}{
		{"PyTorch has no such kernel", "prepacked::linear_clamp_run", []any{device, linear}, "want one of the host"},
		{"another size", "prepacked::linear_clamp_run", []any{h.Of(f32, 2, 3), linear}, "want one that fits the other"},
		{"another dtype", "prepacked::conv2d_clamp_run", []any{h.Of(tensor.Float16, 2, 4, 8, 6), conv},
			"got float16, want float32"},
		{"three dimensions", "prepacked::conv2d_clamp_run", []any{h.Of(f32, 4, 8, 6), conv}, "want four dimensions of each"},
		{"a state of another form", "prepacked::conv2d_clamp_run", []any{x4, saved("xnnpack.Conv2dOpContext", w4)},
			"with a layer packed as xnnpack.Conv2dOpContext"},
		{"two lists", "prepacked::conv2d_clamp_run",
			[]any{x4, saved("xnnpack.Conv2dOpContext", w4, nil, ints(1, 1), ints(1, 1), two)},
			"with a layer packed as xnnpack.Conv2dOpContext"},
	} {
		_, _, err := h.Bench.Run(tt.op, tt.args, nil)
		require.ErrorContains(t, err, tt.want, tt.why)
	}
	h.Changed("testdata/changed_prepacked.txt")
}
