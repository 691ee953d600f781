package workspace

import (
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// The workspace of a cuDNN convolution where nobody asked the library.

// convBytes are the bytes of what a convolution is called with: of an input's gradient, in is the result's gradient; of a weight's, out is.
type convBytes struct{ in, weight, out int64 }

// upperByRule is seldom exceeded: in how many calls TestRowsByRule tells. A weight's gradient is split over its products more often.
func (v *Convolution) upperByRule(p *platform.Platform, n convBytes) int64 {
	if v.Grad != nil {
		return (n.in+n.weight+n.out)*2 + 16
	}
	return max((n.in+n.weight+n.out)*5/4+16, v.winograd(p))
}

// winograd is what the transformed filters of the Winograd kernel take (engine 12), which the heuristics prefer for 3×3 in float32 on plain
// cores: with cuDNN 9.10.2 and 9.26.0 for most such convolutions of 46 torchvision models on sm 75 to 89, with 9.10.2 on sm 70 too.
func (v *Convolution) winograd(p *platform.Platform) int64 {
	c := p.Device.ComputeCapability
	square := len(v.Weight.Sizes) == 4 && v.Weight.Sizes[2] == 3 && v.Weight.Sizes[3] == 3 && tensor.Numel(v.Stride)*tensor.Numel(v.Dilation) == 1
	switch {
	case !square || v.Transposed || v.Groups != 1 || v.Input.DType != tensor.Float32 || p.TF32Conv() || v.Format() != tensor.Contiguous:
		return 0
	case c.AtLeast(9, 0) || !c.AtLeast(7, 0) || !c.AtLeast(7, 5) && p.CuDNN.AtLeast(9, 19):
		return 0
	}
	return 100*v.Weight.Sizes[0]*v.Weight.Sizes[1] + 4*v.Weight.Sizes[0]
}

// byRule is the commonest workspace of cuDNN's first configuration by class of call, over 78 convolutions of five torchvision models
// on sm 80, 86, 89 and 90 with cuDNN 9.10.2 and 9.26.0.
func (v *Convolution) byRule(p *platform.Platform, n convBytes) int64 {
	switch {
	case v.Grad != nil:
		return v.weightGradientByRule(p, n)
	case v.Transposed:
		return v.inputGradientByRule(p, n)
	}
	last := v.Format() != tensor.Contiguous
	point := tensor.Numel(v.Weight.Sizes[2:]) == 1
	half := v.Input.DType.ItemSize() == 2
	hopper := p.Device.ComputeCapability.AtLeast(9, 0)
	switch {
	case v.Groups > 1 && v.isDepthwise():
		if half && last {
			return n.weight
		}
		return 0
	case half && last:
		return 0
	case half && point:
		return n.in + n.out + 16
	case half:
		return n.in + n.weight + n.out + 16
	case v.Input.DType != tensor.Float32 || !p.TF32Conv():
		return v.winograd(p) // else kernels on plain cores: none, or an index table of some KiB
	case last && hopper:
		return 0
	case hopper && point && p.CuDNN.AtLeast(9, 20):
		return n.in + n.out + 16
	case hopper && point:
		return 0
	}
	return n.in + n.weight + 16
}

// inputGradientByRule is the commonest workspace of a transposed convolution and of an input's gradient, over the same convolutions with
// cuDNN 9.26.0: in is the gradient of what the convolution gives.
func (v *Convolution) inputGradientByRule(p *platform.Platform, n convBytes) int64 {
	last := v.Format() != tensor.Contiguous
	switch {
	case v.Groups > 1 && v.Weight.Sizes[1] == 1:
		return 0
	case v.Input.DType.ItemSize() == 2:
		switch {
		case last:
			return 0
		case tensor.Numel(v.Weight.Sizes[2:]) == 1:
			return n.in + n.out + 16
		}
		return n.in + n.weight + n.out + 16
	case v.Input.DType != tensor.Float32 || !p.TF32Conv() || !last || p.Device.ComputeCapability.AtLeast(9, 0):
		return 0
	}
	return n.in + n.weight + 16
}

// weightGradientByRule is the commonest workspace of a weight's gradient over the same: out is the gradient of what the convolution gives.
func (v *Convolution) weightGradientByRule(p *platform.Platform, n convBytes) int64 {
	last := v.Format() != tensor.Contiguous
	half := v.Input.DType.ItemSize() == 2
	switch {
	case v.Groups > 1 && v.Weight.Sizes[1] == 1, tensor.Numel(v.Weight.Sizes[2:]) == 1, half && last:
		return 0
	case half:
		return n.in + n.weight + n.out + 16
	case v.Input.DType != tensor.Float32 || !p.TF32Conv() || last && p.Device.ComputeCapability.AtLeast(9, 0):
		return 0
	case last:
		return n.in + n.out + 16
	}
	return n.in + n.weight + n.out + 16
}
