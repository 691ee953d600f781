package workspace

import (
	"slices"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// NMS is the sorted scores with their order, the sorted boxes and a bit for each pair of boxes
// (torchvision/csrc/ops/cuda/nms_kernel.cu).
func NMS(boxes, scores *tensor.Meta) []Request {
	if !OnDevice(boxes) || boxes.Numel() == 0 {
		return nil
	}
	n := boxes.Sizes[0]
	const source = "torchvision/csrc/ops/cuda/nms_kernel.cu"
	return Before(
		CopyOf(scores, source),
		Request{Bytes: units.Bytes(8 * n), Source: source},
		CopyOf(boxes, source),
		Request{Bytes: units.Bytes(8 * n * divCeil(n, 64)), Source: source},
	)
}

// DeformConv2d is the result without its bias, the same in the order of the columns, and the
// columns of up to 32 images at once, out being the sizes of the result
// (torchvision/csrc/ops/cuda/deform_conv2d_kernel.cu).
func DeformConv2d(p *platform.Platform, x, weight *tensor.Meta, out []int64) []Request {
	if !OnDevice(x) || x.Numel() == 0 {
		return nil
	}
	images := int64(1)
	for k := min(x.Sizes[0], 32); k > 1; k-- { // get_greatest_divisor_below_bound
		if x.Sizes[0]%k == 0 {
			images = k
			break
		}
	}
	columns := x.Sizes[1] * weight.Sizes[2] * weight.Sizes[3] * images * out[2] * out[3]
	const source = "torchvision/csrc/ops/cuda/deform_conv2d_kernel.cu"
	result := Request{Bytes: units.Bytes(tensor.Numel(out) * x.DType.ItemSize()), Source: source}
	product := append(CuBLAS(p), Drop(len(CuBLAS(p))))
	return Before(append([]Request{result, result, {Bytes: units.Bytes(columns * x.DType.ItemSize()), Source: source}},
		slices.Repeat(product, int(x.Sizes[1]/weight.Sizes[1]))...)...) // one a group
}

// Upsample are the contiguous copies of result, of sizes out, and input, that a kernel makes of
// other layouts. From minChannels on it works on channels last itself.
func Upsample(x *tensor.Meta, out []int64, minChannels int64) []Request {
	if !OnDevice(x) || x.IsContiguous() {
		return nil
	}
	const source = "aten/src/ATen/native/cuda/UpSampleNearest2d.cu, UpSampleBilinear2d.cu"
	switch f := x.SuggestFormat(); {
	case f == tensor.Contiguous:
		return []Request{CopyOf(x, source)}
	case f == tensor.ChannelsLast && x.Sizes[1] >= minChannels:
		return nil
	}
	return []Request{{Bytes: units.Bytes(tensor.Numel(out) * x.DType.ItemSize()), Source: source}, CopyOf(x, source)}
}
