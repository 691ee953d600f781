package workspace

import (
	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// The gradients of memory-efficient attention (native/transformers/cuda/attention_backward.cu
// _efficient_attention_backward): delta, the sum of output times its gradient a row, and room where
// blocks of one gradient are added up (mem_eff_attention/kernel_backward.h workspace_size).

// backwardKernel is a row of PyTorch's list of kernels (mem_eff_attention/kernels/cutlassB.h): its
// block of queries and of keys, and the most that a head may have.
type backwardKernel struct{ rows, columns, most int64 }

// wholeHead takes heads of any size.
const wholeHead = 65536

// backwardKernelFor is the first kernel of the list that takes heads of a size and that the
// device's shared memory holds.
func backwardKernelFor(c device.Capability, d tensor.DType, head int64, dropout bool) backwardKernel {
	half := d != tensor.Float32
	ampere := c.AtLeast(8, 0)
	// kernels of 128 queries in float32, and of 128 by 128, want more shared memory than a
	// multiprocessor of the smaller classes has
	small := ampere && (c.Major == 12 || c.Major == 8 && (c.Minor == 6 || c.Minor == 9))
	switch {
	case head <= 32:
		return backwardKernel{64, 64, 32}
	case head <= 64:
		return backwardKernel{64, 64, 64}
	case half && small && c.Major == 8 && head <= 96 && !dropout:
		return backwardKernel{128, 64, 96}
	case head <= 128 && half && ampere && !small:
		return backwardKernel{128, 128, 128}
	case head <= 128 && (half && !ampere || !half && ampere && !small):
		return backwardKernel{128, 64, 128}
	case head <= 128:
		return backwardKernel{64, 64, 128}
	case half || ampere && !small:
		return backwardKernel{128, 64, wholeHead}
	}
	return backwardKernel{64, 64, wholeHead}
}

// EfficientBackward is a gradient in another layout than batch × length × heads × dim once more,
// delta, and the room for sums. a's tensors are batch × heads × length × dim, as grad is, the
// output's gradient.
func (a *Attention) EfficientBackward(p *platform.Platform, grad *tensor.Meta) []Request {
	q, k, v := a.Query, a.Key, a.Value
	if !OnDevice(q) || len(q.Sizes) != 4 || len(k.Sizes) != 4 || len(v.Sizes) != 4 || len(grad.Sizes) != 4 {
		return nil
	}
	b, h, m := q.Sizes[0], q.Sizes[1], q.Sizes[2]
	head, value := q.Sizes[3], v.Sizes[3]
	kernel := backwardKernelFor(p.Device.ComputeCapability, q.DType, max(head, value), a.Dropout > 0)
	half := q.DType != tensor.Float32
	const source = "native/transformers/cuda/attention_backward.cu delta"
	delta := Request{Bytes: units.Bytes(4 * b * h * m), Source: source}
	var out []Request
	turned := tensor.Meta{DType: grad.DType, Sizes: []int64{b, m, h, value},
		Strides: []int64{grad.Strides[0], grad.Strides[2], grad.Strides[1], grad.Strides[3]}}
	if !turned.IsContiguous() {
		out = append(out, Request{Bytes: units.Bytes(b * m * h * value * grad.DType.ItemSize()), Before: true,
			Source: "native/transformers/cuda/attention_backward.cu grad_out"})
	}
	product := Request{Bytes: units.Bytes(4 * b * h * m * value), Source: source}
	switch {
	case half: // the kernel computes it
		out = append(out, delta)
	case h == 1 || m == 1: // the sum is as it is wanted
		out = append(out, product, delta, DropPast(1))
	default: // the output times its gradient, the sum, and the sum in the other layout
		out = append(out, product, delta, delta, DropPast(1), DropPast(1))
	}
	// of the query's gradient: GradQTempStorage
	room := divCeil(m, kernel.rows) * divCeil(head, kernel.columns) * (kernel.rows*kernel.columns + 4)
	// those of key and value do not stay in registers
	if half && kernel.most > kernel.rows {
		splits := max(min(divCeil(k.Sizes[2], kernel.columns), 200/max(b*h, 1)), 1)
		room += splits * kernel.columns * (divCeil(head, kernel.rows) + divCeil(value, kernel.rows)) * kernel.rows
	}
	sums := Request{Bytes: units.Bytes(4 * b * h * divCeil(room, 4) * 4),
		Source: "native/transformers/cuda/mem_eff_attention/kernel_backward.h workspace_size"}
	if !p.Device.ComputeCapability.AtLeast(7, 5) { // no release that was asked runs there
		sums.Upper, sums.Note = sums.Bytes, note.WorkspaceEstimate
	}
	return append(out, sums, DropPast(1))
}
