package workspace

import (
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// most is what no known answer of a class exceeds: quarters of what input and result take together,
// quarters of what the weight takes, and partial sums, each a float32 result. Channels are counted
// in eights and elements as four bytes, as kernels lay them out. Kernels of Winograd's algorithm
// make 25 or 36 numbers of a filter's nine.
type most struct{ ends, weight, sums int64 }

// By half precision, channels last, and capability: below 8, below 9, and from there on. They are
// the least figures that hold for all answers in testdata/workspace (TestAnswersWithinUpper).
var (
	mostForward = map[bool]map[bool][3]most{
		false: {false: {{4, 11, 0}, {6, 7, 24}, {4, 6, 24}}, true: {{4, 16, 0}, {4, 8, 24}, {4, 4, 48}}},
		true:  {false: {{4, 4, 8}, {3, 8, 1}, {2, 5, 1}}, true: {{2, 2, 8}, {8, 7, 0}, {2, 5, 1}}},
	}
	mostInput = map[bool]map[bool][3]most{ // of its gradient
		false: {false: {{4, 11, 0}, {4, 7, 24}, {4, 4, 24}}, true: {{5, 16, 0}, {4, 6, 24}, {4, 4, 24}}},
		true:  {false: {{2, 5, 2}, {2, 9, 1}, {8, 5, 0}}, true: {{2, 2, 2}, {4, 6, 0}, {6, 5, 0}}},
	}
)

const (
	upperTables = 64 << 10        // index tables, whatever the size
	tileBytes   = 4 * tile * tile // of a partial sum that a multiprocessor works on
)

// upperByRule is the bytes that no known answer exceeds.
func (v *Convolution) upperByRule(p *platform.Platform, n convBytes, out []int64) int64 {
	if n.huge() {
		return n.in
	}
	word := max(4, v.Input.DType.ItemSize())
	ends, weight := word*(inEights(v.Input.Sizes, 1)+inEights(out, 1)), word*inEights(v.Weight.Sizes, 2)
	if v.Grad != nil {
		return 2*ends + 2*weight + v.mostSumsOfWeight(p, v.asProduct(out)) + upperTables
	}
	q := mostForward
	if v.Transposed {
		q = mostInput
	}
	class, c := 0, p.Device.ComputeCapability
	if c.AtLeast(8, 0) {
		class++
	}
	if c.AtLeast(9, 0) {
		class++
	}
	m := q[v.half()][v.Format() != tensor.Contiguous][class]
	upper := (m.ends*ends+m.weight*weight)/4 + mostSums(p, m.sums, v.asProduct(out), len(out)-2) + upperTables
	if !p.ChoosesAlike() && v.isProduct() {
		upper = max(upper, min(mostProductSplits*4*tensor.Numel(out), 32<<20)+upperTables)
	}
	return upper
}

// mostProductSplits is into how many parts an H100 was seen to split a product
// (testdata/measured/h100-convolutions.csv): each part has a float32 result, and all parts have the
// 32 MiB that cuBLAS asks for on such a card.
const mostProductSplits = 32

// isProduct says that a convolution is a product of matrices as its operands lie: kernels and
// strides of 1. With a device, cuDNN gives it to other engines than without.
func (v *Convolution) isProduct() bool {
	for i, n := range v.Weight.Sizes[2:] {
		if n != 1 || v.Stride[i] != 1 {
			return false
		}
	}
	return !v.Transposed && v.Groups == 1
}

// sums is the bytes of partial sums, in whole parts of 64 by 64.
func (c product) sums(n int64) int64 {
	return int64(min(4*float64(n)*float64(upTo(c.m, 64))*float64(upTo(c.n, 64)), hugeOperand))
}

// mostSums is the bytes of up to sums partial sums of 32 products or more. They take no more than
// the multiprocessors work on in 18 waves, 32 in three dimensions, unless one sum alone is more. It
// never falls as a batch grows, which a search for the largest batch relies on.
func mostSums(p *platform.Platform, sums int64, c product, dimensions int) int64 {
	if sums = min(sums, c.k/32); sums == 0 || p.Device.SMs == 0 {
		return c.sums(sums)
	}
	waves := int64(18)
	if dimensions == 3 {
		waves = 32
	}
	return min(c.sums(sums), max(c.sums(1), waves*int64(p.Device.SMs)*tileBytes))
}

// mostSumsOfWeight is the bytes of the partial sums of a weight's gradient: of eight pixels or
// more, and no more than the multiprocessors work on in some waves.
func (v *Convolution) mostSumsOfWeight(p *platform.Platform, c product) int64 {
	waves, pixels := int64(10), int64(8)
	switch {
	case v.Groups > 1:
		waves, pixels = 25, 2
	case v.half() && p.Device.ComputeCapability.AtLeast(8, 0):
		waves = 1
	case v.half():
		waves = 4
	case !p.TF32Conv(): // nothing is split
		return 0
	}
	sms := int64(p.Device.SMs)
	if sms == 0 {
		return c.sums(c.k / pixels)
	}
	return min(c.sums(c.k/pixels), waves*sms*tileBytes)
}

// inEights is the number of elements where the channels, one dimension or the first two of a
// weight, are a multiple of eight.
func inEights(sizes []int64, channels int) int64 {
	n := int64(1)
	for i, s := range sizes {
		if i == 1 || channels == 2 && i == 0 {
			s = upTo(s, 8)
		}
		n *= s
	}
	return n
}
