package workspace

import (
	"math"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// The likely workspace of a cuDNN convolution that no profile answers for. It has three parts:
//
//   - Copies of operands and result. Kernels on tensor cores read half precision channels last, with
//     channels filled up to eights ("Tensor Layouts" in NVIDIA's guide to convolutional layers);
//     float32 is rounded to TF32 first, except on 9.0 and 10.0, whose kernels read it as it lies.
//   - Partial sums. Where the result has fewer tiles than the device has multiprocessors, the sum over
//     products is split, and each split writes its own float32 result ("split-K").
//   - Tables of indices, or the transformed filters of Winograd's algorithm, on plain cores.
//
// Which kernel runs is decided by cuDNN's heuristics, which are trained. The limits below were
// chosen on the fitted half of the known answers; testdata/errors.md has the other half apart.

// convBytes is the bytes of what a convolution is called with. For an input's gradient, in is the
// result's gradient; for a weight's, out is.
type convBytes struct{ in, weight, out int64 }

// hugeOperand is more than any card holds. What is below stays a number in every formula.
const hugeOperand = 1 << 50

func (n convBytes) huge() bool { return max(n.in, n.weight, n.out) > hugeOperand }

// product is the convolution as a product of matrices: m×k by k×n.
type product struct{ m, n, k int64 }

const (
	// tile is the side of the part of a result that a multiprocessor works on at once.
	tile = 128
	// leastWork is the number of multiplications below which gradients run on plain cores.
	leastWork = 3e6
	// smallWork is the number of multiplications below which a TF32 kernel writes its result
	// channels last, too.
	smallWork = 1e8
	// handles is what every kernel with a workspace adds.
	handles = 16
)

// tiles is the number of parts of the result that multiprocessors work on.
func (c product) tiles() int64 {
	return upTo(c.m, tile) / tile * (upTo(c.n, tile) / tile)
}

func (c product) work() float64 {
	return float64(c.m) * float64(c.n) * float64(c.k)
}

// asProduct is what the convolution multiplies; out is the sizes of its result, or of the result's
// gradient where it makes a weight's.
func (v *Convolution) asProduct(out []int64) product {
	pixels := out[0] * tensor.Numel(out[2:])
	switch window := tensor.Numel(v.Weight.Sizes[2:]); {
	case v.Grad != nil:
		return product{v.Weight.Sizes[0], v.Weight.Sizes[1] * window, pixels}
	case v.Transposed:
		return product{pixels, v.Weight.Sizes[1] * v.Groups, v.Weight.Sizes[0] / v.Groups * window}
	default:
		return product{pixels, v.Weight.Sizes[0], v.Weight.Sizes[1] * window}
	}
}

// byRule is the likely workspace, in bytes, of a convolution with a result of sizes out.
func (v *Convolution) byRule(p *platform.Platform, n convBytes, out []int64) int64 {
	switch {
	case n.huge(), v.Input.DType == tensor.Float64:
		return 0
	case v.Groups > 1 && v.Weight.Sizes[1] == 1: // depthwise kernels read all operands as they lie
		return 0
	case v.half() || p.TF32Conv():
		return v.onTensorCores(p, n, out)
	}
	return v.onPlainCores(p, n, out)
}

func (v *Convolution) half() bool { return v.Input.DType.ItemSize() == 2 }

// hopper is whether kernels read float32 channels last without rounding it first: 9.0 and 10.x.
func hopper(p *platform.Platform) bool {
	c := p.Device.ComputeCapability
	return c.AtLeast(9, 0) && !c.AtLeast(12, 0)
}

func (v *Convolution) onTensorCores(p *platform.Platform, n convBytes, out []int64) int64 {
	c := v.asProduct(out)
	if v.staysOnPlainCores(c) {
		return 0
	}
	bytes := v.copied(p, n, out)
	if bytes > 0 {
		bytes += handles
	}
	return bytes + v.partialSums(p, c)
}

// staysOnPlainCores is whether the convolution is too small for tensor cores, so that copies would
// cost more than they gain.
func (v *Convolution) staysOnPlainCores(c product) bool {
	last := v.Format() != tensor.Contiguous
	switch {
	case v.Grad != nil:
		return c.work() < leastWork
	case v.half() && (v.Transposed || last):
		return false
	case v.Transposed:
		return !last && (c.work() < leastWork || c.n < 8)
	case v.half():
		return c.k < 32
	}
	return c.k < 128
}

// copied is the bytes of operands and result in the form that the kernel wants them in.
func (v *Convolution) copied(p *platform.Platform, n convBytes, out []int64) int64 {
	c, last := v.asProduct(out), v.Format() != tensor.Contiguous
	forward := v.Grad == nil && !v.Transposed
	in, result := v.laidOut(v.Input.Sizes, 1), v.laidOut(out, 1)
	switch {
	case v.half() && last && forward: // there are kernels for any number of channels
		return 0
	case !v.half() && last && v.Transposed && c.n < 8: // as plain cores do it: on contiguous copies
		return n.in + n.weight + n.out
	case v.half() || hopper(p) || v.Grad != nil && !last:
		return in + v.laidOut(v.Weight.Sizes, 2) + result
	case v.Grad != nil: // here and below: the two operands, rounded, and the result where it is transposed
		return n.in + n.out
	case last || forward && c.work() >= smallWork:
		return n.in + n.weight
	case forward:
		return n.in + n.weight + n.out
	}
	return in + n.weight + result
}

// laidOut is the bytes of a tensor's copy that is channels last and, in half precision, has a
// multiple of eight channels: nothing where it lies so already. channels is as for inEights.
func (v *Convolution) laidOut(sizes []int64, channels int) int64 {
	n := tensor.Numel(sizes)
	if filled := inEights(sizes, channels); v.half() && filled != n {
		return filled * v.Input.DType.ItemSize()
	}
	if v.Format() != tensor.Contiguous || tensor.Numel(sizes[2:]) == 1 {
		return 0
	}
	return n * v.Input.DType.ItemSize()
}

// partialSums is the bytes of the float32 results of a sum that is split over its products. A
// weight's gradient has as many splits as minimize k/s + c·s, the time of the products and of
// adding s results up: the root of k. Other directions have few products, and are split in two.
func (v *Convolution) partialSums(p *platform.Platform, c product) int64 {
	sms, tiles := float64(p.Device.SMs), float64(c.tiles())
	if sms == 0 {
		sms = tile
	}
	turing, rounded := !p.Device.ComputeCapability.AtLeast(8, 0), !v.half() && !hopper(p)
	one := 4 * upTo(c.m, 64) * c.n
	if v.Grad != nil {
		least, part := int64(1000), 0.5
		if !v.half() {
			least, part = 400, 1
			if !rounded && v.Format() != tensor.Contiguous {
				part = 0.25
			}
		}
		if c.k < least || tiles > sms/2 {
			return 0
		}
		return int64(math.Ceil(min(part*math.Sqrt(float64(c.k)), sms)/tiles)) * one
	}
	least, most := int64(2000), sms/4
	if turing || rounded && !v.Transposed {
		least, most = 800, sms
	}
	if hopper(p) || c.k < least || tiles > most {
		return 0
	}
	return one
}

// onPlainCores is the workspace in float32 without TF32: Winograd's filters for windows of 3 by 3,
// else tables of indices. Gradients channels last are computed on contiguous copies.
func (v *Convolution) onPlainCores(p *platform.Platform, n convBytes, out []int64) int64 {
	c, last := v.asProduct(out), v.Format() != tensor.Contiguous
	pixels, point := tensor.Numel(out[2:]), tensor.Numel(v.Weight.Sizes[2:]) == 1
	matrix := point && tensor.Numel(v.Stride) == 1 // nothing but a product of matrices
	if filters := v.winograd(p, c); filters > 0 {
		if last {
			filters += n.in + n.weight + n.out + handles
		}
		return filters
	}
	switch {
	case v.Grad != nil:
		return c.m * c.n / tile
	case !v.Transposed && (c.k < 16 || pixels == 1):
		return 0
	case !v.Transposed:
		return max(4*c.k, indexTable(pixels))
	case last && pixels > 1 && !(matrix && c.m >= 784):
		if point { // whose weight lies the same in both layouts
			n.weight = 0
		}
		return n.in + n.weight + n.out + handles
	case matrix && c.m >= 196:
		return indexTable(pixels) + 17*128
	}
	return 0
}

// indexTable is the bytes of the table by which kernels without tensor cores find an image's
// pixels: six bytes a pixel and an end, in steps of 128.
func indexTable(pixels int64) int64 { return upTo(6*pixels+1, 128) }

// upTo is the least multiple of step that is not below n.
func upTo(n, step int64) int64 { return (n + step - 1) / step * step }

// winograd is the bytes of the transformed filters of Winograd's algorithm (engines 12 and 19): 25
// numbers for a filter's nine, and one a channel of the result. There are such kernels on 7.0,
// until cuDNN 9.19, and from 7.5 to 8.9.
func (v *Convolution) winograd(p *platform.Platform, c product) int64 {
	capability := p.Device.ComputeCapability
	square := len(v.Weight.Sizes) == 4 && v.Weight.Sizes[2] == 3 && v.Weight.Sizes[3] == 3
	switch {
	case !square || v.Groups != 1 || tensor.Numel(v.Stride)*tensor.Numel(v.Dilation) != 1:
		return 0
	case v.Grad != nil || v.Input.DType != tensor.Float32 || p.TF32Conv():
		return 0
	case c.k < 144 || v.Transposed && c.work() < 3e7:
		return 0
	case capability.AtLeast(9, 0) || !capability.AtLeast(7, 0):
		return 0
	case !capability.AtLeast(7, 5) && p.CuDNN.AtLeast(9, 19):
		return 0
	}
	return 100*v.Weight.Sizes[0]*v.Weight.Sizes[1] + 4*c.n
}
