package nn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memspec/memspec/engine/internal/testing/aten"
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/ops/builtin"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/trace"
)

// TestLimits: what kernels refuse and fake tensors take, each limit at its edge and beyond: a call
// without words of an error is one that is taken.
func TestLimits(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	f := func(sizes ...int64) *tensor.Tensor { return h.Of(tensor.Float32, sizes...) }
	list := func(ts ...any) any { return ops.NewList(schema.Tensor, ts...) }
	const one, two = int64(1), int64(2)
	deform := func(x, w *tensor.Tensor, stride, pad, dilation int64) []any {
		return []any{x, w, f(2, 18, 6, 6), f(2, 9, 6, 6), f(4), stride, stride, pad, pad, dilation, dilation, one, one, true}
	}
	for _, tt := range []struct {
		why, op string
		args    []any
		got     string
		want    string // of an error
	}{
		{"one box", "torchvision::nms", []any{f(1, 4), f(1), 0.5}, "int64[1] [1]", ""},
		{"boxes of three numbers", "torchvision::nms", []any{f(5, 3), f(5), 0.5}, "", "torchvision::nms: got boxes [5 3] " +
			"and scores [5], want [n, 4] and [n]"},
		{"a box alone", "torchvision::nms", []any{f(4), f(4), 0.5}, "", "torchvision::nms: got boxes [4] and scores [4], " +
			"want [n, 4] and [n]"},
		{"scores in columns", "torchvision::nms", []any{f(5, 4), f(5, 1), 0.5}, "", "torchvision::nms: got boxes [5 4] and " +
			"scores [5 1], want [n, 4] and [n]"},
		{"a score more", "torchvision::nms", []any{f(5, 4), f(6), 0.5}, "", "torchvision::nms: got boxes [5 4] and scores " +
			"[6], want [n, 4] and [n]"},

		{"regions of one bin", "torchvision::roi_pool", []any{f(2, 3, 8, 8), f(5, 5), 1.0, one, one},
			"(float32[5, 3, 1, 1] [3, 1, 1, 1], int32[5, 3, 1, 1] [3, 1, 1, 1])", ""},
		{"channels spread over the bins", "torchvision::ps_roi_pool", []any{f(2, 12, 8, 8), f(5, 5), 1.0, two, int64(3)},
			"(float32[5, 2, 2, 3] [12, 6, 3, 1], int32[5, 2, 2, 3] [12, 6, 3, 1])", ""},
		{"channels for fewer bins", "torchvision::ps_roi_pool", []any{f(2, 13, 8, 8), f(5, 5), 1.0, two, int64(3)}, "",
			"torchvision::ps_roi_pool: got 13 channels for 2×3 bins, want a multiple"},
		{"images without a batch", "torchvision::roi_pool", []any{f(3, 8, 8), f(5, 5), 1.0, two, two}, "",
			"torchvision::roi_pool: got input [3 8 8], rois [5 5] and output 2×2, want " +
				"[batch, channels, height, width] and [n, 5]"},
		{"regions of four numbers", "torchvision::roi_pool", []any{f(2, 3, 8, 8), f(5, 4), 1.0, two, two}, "",
			"torchvision::roi_pool: got input [2 3 8 8], rois [5 4] and output 2×2, want " +
				"[batch, channels, height, width] and [n, 5]"},
		{"a region alone", "torchvision::roi_pool", []any{f(2, 3, 8, 8), f(5), 1.0, two, two}, "",
			"torchvision::roi_pool: got input [2 3 8 8], rois [5] and output 2×2, want " +
				"[batch, channels, height, width] and [n, 5]"},
		{"no rows of bins", "torchvision::roi_pool", []any{f(2, 3, 8, 8), f(5, 5), 1.0, int64(0), two}, "",
			"torchvision::roi_pool: got input [2 3 8 8], rois [5 5] and output 0×2, want " +
				"[batch, channels, height, width] and [n, 5]"},
		{"no columns of bins", "torchvision::roi_pool", []any{f(2, 3, 8, 8), f(5, 5), 1.0, two, int64(0)}, "",
			"torchvision::roi_pool: got input [2 3 8 8], rois [5 5] and output 2×0, want " +
				"[batch, channels, height, width] and [n, 5]"},

		{"boxes that are turned", "torchvision::box_iou_rotated", []any{f(3, 5), f(4, 5)}, "float32[3, 4] [4, 1]", ""},
		{"a turned box alone", "torchvision::box_iou_rotated", []any{f(5), f(4, 5)}, "",
			"torchvision::box_iou_rotated: got [5] and [4 5], want 2 dimensions"},
		{"another alone", "torchvision::box_iou_rotated", []any{f(4, 5), f(5)}, "", "torchvision::box_iou_rotated: got [4 " +
			"5] and [5], want 2 dimensions"},

		{"a kernel as large as its input", "torchvision::deform_conv2d", deform(f(2, 3, 3, 3), f(4, 3, 3, 3), 1, 0, 1),
			"float32[2, 4, 1, 1] [4, 1, 1, 1]", ""},
		{"every way to move it", "torchvision::deform_conv2d", deform(f(2, 3, 9, 12), f(4, 3, 3, 3), 2, 1, 2),
			"float32[2, 4, 4, 5] [80, 20, 5, 1]", ""},
		{"a kernel larger than its input", "torchvision::deform_conv2d", deform(f(2, 3, 2, 3), f(4, 3, 3, 3), 1, 0, 1), "",
			"torchvision::deform_conv2d: got input [2 3 2 3], too small for weight [4 3 3 3]"},
		{"a stride of nothing", "torchvision::deform_conv2d", deform(f(2, 3, 8, 8), f(4, 3, 3, 3), 0, 0, 1), "",
			"torchvision::deform_conv2d: got stride 0, want at least 1"},
		{"an input without a batch", "torchvision::deform_conv2d", deform(f(3, 8, 8), f(4, 3, 3, 3), 1, 0, 1), "",
			"torchvision::deform_conv2d: got input [3 8 8] and weight [4 3 3 3], want 4 dimensions"},
		{"a weight of three dimensions", "torchvision::deform_conv2d", deform(f(2, 3, 8, 8), f(4, 3, 3), 1, 0, 1), "",
			"torchvision::deform_conv2d: got input [2 3 8 8] and weight [4 3 3], want 4 dimensions"},

		{"neither stride nor padding", "aten::convolution", []any{f(2, 3, 8, 8), f(4, 3, 3, 3), nil, ops.IntList(),
			ops.IntList(), ops.IntList(1), false, ops.IntList(0), one}, "", "aten::convolution: got no stride, want 1 or 2 " +
			"members"},
		{"no padding", "aten::convolution", []any{f(2, 3, 8, 8), f(4, 3, 3, 3), nil, ops.IntList(1), ops.IntList(),
			ops.IntList(), false, ops.IntList(0), one}, "", "aten::convolution: got no padding, want 1 or 2 members"},
		{"the weights of a layer in one buffer", "aten::_cudnn_rnn_flatten_weight",
			[]any{list(f(24, 4), f(24, 6), f(24), f(24)), int64(4), int64(4), two, int64(6), int64(0), one, false, false},
			"float32[288] [1]", ""},
		{"no weights", "aten::_cudnn_rnn_flatten_weight", []any{list(), int64(4), int64(4), two, int64(6), int64(0), one,
			false, false}, "", "aten::_cudnn_rnn_flatten_weight: got no weights, want at least 1"},

		{"a sequence of numbers", "aten::_pack_padded_sequence", []any{f(5, 3), h.Ints(5, 3, 2), false},
			"(float32[10] [1], int64[5] [1])", ""},
		{"a sequence alone", "aten::_pack_padded_sequence", []any{f(5), h.Ints(5), false}, "",
			"aten::_pack_padded_sequence: got input [5] and lengths [1], want [time, batch, …] and [batch]"},
		{"lengths in a matrix", "aten::_pack_padded_sequence", []any{f(5, 3), h.Of(tensor.Int64, 3, 1), false}, "",
			"aten::_pack_padded_sequence: got input [5 3] and lengths [3 1], want [time, batch, …] and [batch]"},

		{"an image that is not square, folded", "aten::col2im", []any{f(2, 12, 8), ops.IntList(3, 5), ops.IntList(2, 2),
			ops.IntList(1, 1), ops.IntList(0, 0), ops.IntList(1, 1)}, "float32[2, 3, 3, 5] [45, 15, 5, 1]", ""},
		{"a place more", "aten::col2im", []any{f(2, 12, 9), ops.IntList(3, 5), ops.IntList(2, 2), ops.IntList(1, 1),
			ops.IntList(0, 0), ops.IntList(1, 1)}, "", "aten::col2im: got 9 columns, want 8"},

		{"points in lines", "aten::_cdist_forward", []any{f(3, 4), f(5, 4), 2.0, nil}, "float32[3, 5] [5, 1]", ""},
		{"points of other dimensions", "aten::_cdist_forward", []any{f(3, 4), f(5, 3), 2.0, nil}, "",
			"aten::_cdist_forward: got [3 4] and [5 3], want points of one dimension"},
		{"a point alone", "aten::_cdist_forward", []any{f(4), f(5, 4), 2.0, nil}, "", "aten::_cdist_forward: got [4] and " +
			"[5 4], want points of one dimension"},
		{"another point alone", "aten::_cdist_forward", []any{f(5, 4), f(4), 2.0, nil}, "",
			"aten::_cdist_forward: got [5 4] and [4], want points of one dimension"},
	} {
		got, err := h.Try(tt.op, tt.args, nil)
		if tt.want != "" {
			assert.EqualError(t, err, tt.want, tt.why)
			assert.Nil(t, got, tt.why)
			continue
		}
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.got, aten.Describe(got), tt.why)
	}
	h.Changed("testdata/changed_limits.txt")
}

// TestBatchNormOfCuDNN: how many images, elements and statistics a batch norm may have that cuDNN
// runs (native/Normalization.cpp use_cudnn), each limit at its edge and beyond: the last result of
// _batch_norm_impl_index names the kernel, 1 cuDNN's and 0 PyTorch's own.
func TestBatchNormOfCuDNN(t *testing.T) {
	const most = 1<<31 - 1
	for _, tt := range []struct {
		why      string
		d        tensor.DType
		sizes    []int64
		training bool
		want     int64
	}{
		{"as many elements as an int counts", tensor.Float32, []int64{1, 1, most}, true, 1},
		{"an element more", tensor.Float32, []int64{1, 1, most + 1}, true, 0},
		{"as many images as in training", tensor.Float32, []int64{880801, 2, 3}, true, 1},
		{"an image more", tensor.Float32, []int64{880802, 2, 3}, true, 0},
		{"as many images as in evaluation", tensor.Float32, []int64{65535, 2, 3}, false, 1},
		{"an image more in evaluation", tensor.Float32, []int64{65536, 2, 3}, false, 0},
		{"features of images", tensor.Float32, []int64{5, 2}, true, 0},
		{"half with weights of float", tensor.Float16, []int64{5, 2, 3}, true, 1},
		{"bfloat16", tensor.BFloat16, []int64{5, 2, 3}, true, 0},
	} {
		b := aten.NewBench(builtin.Table(), on(t, "a10g", "2.15", false))
		v := func() any { return b.Tensor(aten.Dense(tensor.Float32, tt.sizes[1]), nil) }
		got, _, err := b.Run("aten::_batch_norm_impl_index", []any{b.Tensor(aten.Dense(tt.d, tt.sizes...), nil), v(), v(),
			v(), v(), tt.training, 0.1, 1e-5, true}, nil)
		require.NoError(t, err, tt.why)
		assert.Equal(t, tt.want, got.(*ops.Tuple).Items[4], tt.why)
	}
	for _, tt := range []struct { // which of weight, bias, mean and variance are there, as bits
		there            int
		training, others int64 // the kernel in training, and else
	}{
		{0b1111, 1, 1}, {0b0011, 1, -1}, {0b0111, 0, -1}, {0b1011, 0, -1}, {0b1110, 0, 0}, {0b1101, 0, 0}, {0b1100, 0, 0},
		{0b0010, 0, -1}, {0b0001, 0, -1},
	} {
		for training, want := range map[bool]int64{true: tt.training, false: tt.others} {
			if want < 0 {
				continue // statistics that are not there are not read
			}
			b := aten.NewBench(builtin.Table(), on(t, "a10g", "2.15", false))
			args := []any{b.Tensor(aten.Dense(tensor.Float32, 5, 2, 3), nil), nil, nil, nil, nil, training, 0.1, 1e-5, true}
			for i := range 4 {
				if tt.there>>i&1 == 1 {
					args[1+i] = b.Tensor(aten.Dense(tensor.Float32, 2), nil)
				}
			}
			got, _, err := b.Run("aten::_batch_norm_impl_index", args, nil)
			require.NoError(t, err, "%04b", tt.there)
			assert.Equal(t, want, got.(*ops.Tuple).Items[4], "%04b, training %t", tt.there, training)
		}
	}
}

// TestTargetsOfUnknownLengths: where the lengths' values are not known, the longest target is at
// most all of them, one behind the other, or a row of a matrix.
func TestTargetsOfUnknownLengths(t *testing.T) {
	h := aten.NewHost(t, builtin.Table())
	for _, tt := range []struct {
		targets []int64
		longest int64
	}{{[]int64{7}, 7}, {[]int64{2, 5}, 5}} {
		got, _, err := h.Bench.Run("aten::_ctc_loss", []any{h.Of(tensor.Float32, 6, 2, 5), h.Of(tensor.Int64, tt.targets...),
			h.Of(tensor.Int64, 2), h.Of(tensor.Int64, 2), int64(0), false}, nil)
		require.NoError(t, err)
		assert.Equal(t, []int64{2, 6, 2*tt.longest + 1}, got.(*ops.Tuple).Items[1].(*tensor.Tensor).Sizes, "targets %v",
			tt.targets)
	}
}

// TestScaledInItsOwnLayout: where rms_norm is made of several operators, as with a weight of
// another dtype, what is normalised keeps its layout, takes the weight in it, is copied into the
// contiguous one, and at last has the input's dtype; recorded of PyTorch 2.15 on fake CUDA tensors.
func TestScaledInItsOwnLayout(t *testing.T) {
	b := aten.NewBench(builtin.Table(), aten.On(t, "a10g", "2.15"))
	x := b.Tensor(tensor.Meta{DType: tensor.Float32, Sizes: []int64{2, 4, 3}, Strides: []int64{12, 1, 4}, Device: "cuda"},
		nil)
	got, events, err := b.Run("aten::rms_norm", []any{x, ops.NewList(schema.Int, int64(4), int64(3)),
		b.Tensor(aten.Dense(tensor.Float64, 4, 3), nil), 1e-5}, nil)
	require.NoError(t, err)
	var births []int64
	for _, e := range events {
		if e.Action == trace.Alloc {
			births = append(births, int64(e.Bytes))
		}
	}
	assert.Equal(t, []int64{96, 8, 8, 96, 192, 192, 96}, births)
	assert.Equal(t, tensor.Float32, got.(*tensor.Tensor).DType)
}
