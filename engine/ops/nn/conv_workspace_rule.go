package nn

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// The workspace of a cuDNN convolution where nobody asked the library: in, w and out are the bytes of what it is called with.

// upperByRule is seldom exceeded: in how many calls TestRowsByRule tells. A weight's gradient is split over its products more often.
func (v *Conv) upperByRule(p *platform.Platform, in, w, out int64) int64 {
	if v.Grad != nil {
		return (in+w+out)*2 + 16
	}
	return max((in+w+out)*5/4+16, v.winograd(p))
}

// winograd is what the transformed filters of the Winograd kernel take (engine 12), which the heuristics prefer for 3×3 in float32 on plain
// cores: with cuDNN 9.10.2 and 9.26.0 for most such convolutions of 46 torchvision models on sm 75 to 89, with 9.10.2 on sm 70 too.
func (v *Conv) winograd(p *platform.Platform) int64 {
	c := p.Device.ComputeCapability
	square := len(v.Weight.Sizes) == 4 && v.Weight.Sizes[2] == 3 && v.Weight.Sizes[3] == 3 && ops.Numel(v.Stride)*ops.Numel(v.Dilation) == 1
	switch {
	case !square || v.Transposed || v.Groups != 1 || v.X.DType != tensor.Float32 || p.TF32Conv() || v.format() != tensor.Contiguous:
		return 0
	case c.AtLeast(9, 0) || !c.AtLeast(7, 0) || !c.AtLeast(7, 5) && p.CuDNN.AtLeast(9, 19):
		return 0
	}
	return 100*v.Weight.Sizes[0]*v.Weight.Sizes[1] + 4*v.Weight.Sizes[0]
}

// byRule is the commonest workspace of cuDNN's first configuration by class of call, over 78 convolutions of five torchvision models
// on sm 80, 86, 89 and 90 with cuDNN 9.10.2 and 9.26.0.
func (v *Conv) byRule(p *platform.Platform, in, w, out int64) int64 {
	switch {
	case v.Grad != nil:
		return v.weightGradientByRule(p, in, w, out)
	case v.Transposed:
		return v.inputGradientByRule(p, in, w, out)
	}
	last := v.format() != tensor.Contiguous
	point := ops.Numel(v.Weight.Sizes[2:]) == 1
	half := v.X.DType.ItemSize() == 2
	hopper := p.Device.ComputeCapability.AtLeast(9, 0)
	switch {
	case v.Groups > 1 && v.isDepthwise():
		if half && last {
			return w
		}
		return 0
	case half && last:
		return 0
	case half && point:
		return in + out + 16
	case half:
		return in + w + out + 16
	case v.X.DType != tensor.Float32 || !p.TF32Conv():
		return v.winograd(p) // else kernels on plain cores: none, or an index table of some KiB
	case last && hopper:
		return 0
	case hopper && point && p.CuDNN.AtLeast(9, 20):
		return in + out + 16
	case hopper && point:
		return 0
	}
	return in + w + 16
}

// inputGradientByRule is the commonest workspace of a transposed convolution and of an input's gradient, over the same convolutions with
// cuDNN 9.26.0: in is the gradient of what the convolution gives.
func (v *Conv) inputGradientByRule(p *platform.Platform, in, w, out int64) int64 {
	last := v.format() != tensor.Contiguous
	switch {
	case v.Groups > 1 && v.Weight.Sizes[1] == 1:
		return 0
	case v.X.DType.ItemSize() == 2:
		switch {
		case last:
			return 0
		case ops.Numel(v.Weight.Sizes[2:]) == 1:
			return in + out + 16
		}
		return in + w + out + 16
	case v.X.DType != tensor.Float32 || !p.TF32Conv() || !last || p.Device.ComputeCapability.AtLeast(9, 0):
		return 0
	}
	return in + w + 16
}

// weightGradientByRule is the commonest workspace of a weight's gradient over the same: out is the gradient of what the convolution gives.
func (v *Conv) weightGradientByRule(p *platform.Platform, in, w, out int64) int64 {
	last := v.format() != tensor.Contiguous
	half := v.X.DType.ItemSize() == 2
	switch {
	case v.Groups > 1 && v.Weight.Sizes[1] == 1, ops.Numel(v.Weight.Sizes[2:]) == 1, half && last:
		return 0
	case half:
		return in + w + out + 16
	case v.X.DType != tensor.Float32 || !p.TF32Conv() || last && p.Device.ComputeCapability.AtLeast(9, 0):
		return 0
	case last:
		return in + out + 16
	}
	return in + w + out + 16
}
