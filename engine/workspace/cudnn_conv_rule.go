package workspace

import (
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// The workspace of a cuDNN convolution where nobody asked the library.

// convBytes are the bytes of what a convolution is called with: of an input's gradient, in is the
// result's gradient; of a weight's, out is.
type convBytes struct{ in, weight, out int64 }

// most is what no answer exceeded, in quarters of what a convolution's input and result take
// together, and of its weight, as kernels lay them out: channels in eights, four bytes each. Some
// kernels convert all three, Winograd's (engine 12) make 25 or 36 numbers of a filter's 9.
type most struct{ ends, weight int64 }

// mostForward is by capability: below 8, below 9, and from there on. It bounds 12,156 answers,
// mostly of whole models' convolutions (cuDNN 9.10 to 9.26, sm 70 to 120, batches of 1 to 8); an
// input's gradient 1,961, and a weight's 1,928.
var (
	mostForward = map[bool]map[bool][3]most{ // half precision, channels last
		false: {false: {{4, 12}, {6, 28}, {7, 10}}, true: {{4, 18}, {4, 12}, {4, 4}}},
		true:  {false: {{8, 33}, {4, 8}, {6, 4}}, true: {{2, 13}, {7, 8}, {2, 2}}},
	}
	mostInput  = map[bool]most{false: {6, 10}, true: {4, 4}} // of its gradient; half precision
	mostWeight = most{13, 4}
)

const (
	upperTables = 64 << 10 // index tables, whatever the size
	hugeOperand = 1 << 50  // no card holds it; what follows stays a number

	// A weight's gradient in float32 may be split over its products, with a copy for each split: at most 51 were seen.
	upperSplits = 64
	splitTile   = 64 << 10 // of a result that a multiprocessor works on
	splitWaves  = 10       // of tiles, over which no more splits are made
)

// upperByRule is what no answer exceeds: TestRowsByRule, TestAnswersWithinUpper.
func (v *Convolution) upperByRule(p *platform.Platform, n convBytes, out []int64) int64 {
	if n.in > hugeOperand || n.weight > hugeOperand || n.out > hugeOperand {
		return n.in
	}
	word := max(4, v.Input.DType.ItemSize())
	half := v.Input.DType.ItemSize() == 2
	ends, weight := word*(inEights(v.Input.Sizes, 1)+inEights(out, 1)), word*inEights(v.Weight.Sizes, 2)
	var q most
	splits := int64(0)
	switch c := p.Device.ComputeCapability; {
	case v.Grad != nil:
		q = mostWeight
		if half {
			break
		}
		splits = upperSplits * weight
		if sms := int64(p.Device.SMs); sms > 0 {
			splits = min(splits, splitWaves*sms*splitTile)
		}
	case v.Transposed:
		q = mostInput[half]
	default:
		class := 0
		if c.AtLeast(8, 0) {
			class++
		}
		if c.AtLeast(9, 0) {
			class++
		}
		q = mostForward[half][v.Format() != tensor.Contiguous][class]
	}
	return (q.ends*ends+q.weight*weight)/4 + splits + upperTables
}

// inEights is the number of elements where the channels, one dimension or the first two of a
// weight, are a multiple of eight.
func inEights(sizes []int64, channels int) int64 {
	n := int64(1)
	for i, s := range sizes {
		if i == 1 || channels == 2 && i == 0 {
			s = (s + 7) / 8 * 8
		}
		n *= s
	}
	return n
}

// winograd is what the transformed filters of the Winograd kernel take (engine 12), which the
// heuristics prefer for 3×3 in float32 on plain cores: with cuDNN 9.10.2 and 9.26.0 for most such
// convolutions of 46 torchvision models on sm 75 to 89, with 9.10.2 on sm 70 too.
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

// byRule is the commonest workspace of cuDNN's first configuration by class of call, over 78
// convolutions of five torchvision models on sm 80, 86, 89 and 90 with cuDNN 9.10.2 and 9.26.0.
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

// inputGradientByRule is the commonest workspace of a transposed convolution and of an input's
// gradient, over the same convolutions with cuDNN 9.26.0: in is the gradient of what the
// convolution gives.
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

// weightGradientByRule is the commonest workspace of a weight's gradient over the same: out is the
// gradient of what the convolution gives.
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
