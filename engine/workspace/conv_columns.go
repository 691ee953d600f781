package workspace

import (
	"slices"

	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// A convolution as a product of matrices, for what cuDNN does not take: patches of one sample at a
// time, one group after the other (native/Convolution.cpp, native/cuda/ConvolutionMM2d.cu,
// NaiveConvolutionTranspose2d.cu, NaiveConvolutionTranspose3d.cu, NaiveDilatedConvolution.cu).

const columnsSource = "native/cuda/ConvolutionMM2d.cu"

// Columns is what such a convolution with a result of sizes out takes, and where the result is
// made.
func (v *Convolution) Columns(p *platform.Platform, out []int64) []Request {
	whole := Contiguous(columnsSource, v.Input, v.Weight)
	if v.Groups == 1 {
		return slices.Concat(whole, v.products(p, out, Make(0)))
	}
	group, outGroup := v.group(out)
	for range v.Groups {
		var part []Request
		if v.Input.Sizes[0] > 1 { // a slice of the channels of several samples is not contiguous
			part = []Request{CopyOf(group.Input, "native/Convolution.cpp subtensor")}
		}
		result := Request{Bytes: units.Bytes(tensor.Numel(outGroup) * v.Input.DType.ItemSize()),
			Source: "native/Convolution.cpp _convolution"}
		whole = slices.Concat(whole, part, group.products(p, outGroup, result))
		if part != nil {
			whole = append(whole, DropPast(1))
		}
	}
	return slices.Concat(whole, []Request{Make(0)}, DropOldest(int(v.Groups)))
}

// group is one group of a convolution and the sizes of its result.
func (v *Convolution) group(out []int64) (one *Convolution, sizes []int64) {
	part := func(m *tensor.Meta, dim int) *tensor.Meta {
		u := *m
		u.Sizes = slices.Clone(m.Sizes)
		u.Sizes[dim] /= v.Groups
		u.Strides = tensor.ContiguousStrides(u.Sizes)
		return &u
	}
	u := *v
	u.Groups, u.Input, u.Weight = 1, part(v.Input, 1), part(v.Weight, 0)
	sizes = slices.Clone(out)
	sizes[1] /= v.Groups
	return &u, sizes
}

// products are the result of a convolution of one group, where it is made, and what the products of
// its samples take.
func (v *Convolution) products(p *platform.Platform, out []int64, result Request) []Request {
	all := []Request{result}
	n := v.Input.DType.ItemSize()
	// made like the input, then resized
	if first := v.Input.NBytes(); v.Transposed && len(out) == 5 && first < units.Bytes(tensor.Numel(out)*n) {
		held := 1
		if result.Result > 0 {
			held = 0
		}
		all = []Request{{Bytes: first, Source: columnsSource}, result, DropPast(held)}
	}
	patches := v.patches(out)
	times := v.Input.Sizes[0]
	if v.Transposed && v.Bias {
		// ones, by which the bias is multiplied
		patches = append(patches, Request{Bytes: units.Bytes(tensor.Numel(out[2:]) * n), Source: columnsSource})
		times *= 2
	}
	return slices.Concat(all, patches, InTurn(CuBLAS(p), times), slices.Repeat([]Request{Drop(1)}, len(patches)))
}

// patches are those of one sample. A kernel of one element that steps by 1 over an input without
// padding reads the input itself, in two dimensions.
func (v *Convolution) patches(out []int64) []Request {
	plain := func(ns []int64, n int64) bool { return !slices.ContainsFunc(ns, func(m int64) bool { return m != n }) }
	if len(out) == 4 && !v.Transposed && plain(v.Weight.Sizes[2:], 1) && plain(v.Stride, 1) && plain(v.Dilation, 1) &&
		plain(v.Padding, 0) {
		return nil
	}
	places := tensor.Numel(out[2:])
	channels := v.Input.Sizes[1] / v.Groups
	if v.Transposed {
		places, channels = tensor.Numel(v.Input.Sizes[2:]), v.Weight.Sizes[1]
	}
	return []Request{{Bytes: units.Bytes(channels * tensor.Numel(v.Weight.Sizes[2:]) * places * v.Input.DType.ItemSize()),
		Source: columnsSource}}
}
