package ops

import (
	"fmt"
	"slices"

	"github.com/memspec/memspec/engine/tensor"
)

// Fresh metadata and the arithmetic of shapes.

// FreshLike is a contiguous result of these sizes with like's dtype and device.
func FreshLike(like *tensor.Tensor, sizes ...int64) tensor.Meta {
	return NewMeta(like.DType, like.Device, sizes)
}

// FreshAs is fresh with another dtype.
func FreshAs(like *tensor.Tensor, d tensor.DType, sizes ...int64) tensor.Meta {
	return NewMeta(d, like.Device, sizes)
}

// NewMeta is a contiguous tensor.
func NewMeta(d tensor.DType, device string, sizes []int64) tensor.Meta {
	return tensor.Meta{DType: d, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes), Device: device}
}

// FreshFormat is fresh laid out in f (Contiguous, ChannelsLast, ChannelsLast3d).
func FreshFormat(like *tensor.Tensor, f tensor.MemoryFormat, sizes ...int64) tensor.Meta {
	return tensor.Meta{DType: like.DType, Sizes: sizes, Strides: tensor.FormatStrides(sizes, f), Device: like.Device}
}

// ViewOf is self seen with other sizes, strides and offset.
func ViewOf(self *tensor.Tensor, sizes, strides []int64, offset int64) tensor.Meta {
	m := self.Meta
	m.Sizes, m.Strides, m.StorageOffset = sizes, strides, offset
	return m
}

// EmptyLike is at::empty_like(self, memory_format): Preserve keeps the strides of a dense tensor
// and else the order of its strides.
func EmptyLike(self *tensor.Tensor, d tensor.DType, f tensor.MemoryFormat) tensor.Meta {
	m := tensor.Meta{DType: d, Sizes: slices.Clone(self.Sizes), Device: self.Device}
	switch {
	case f != tensor.Preserve:
		m.Strides = tensor.FormatStrides(m.Sizes, f)
	case self.IsDense():
		m.Strides = slices.Clone(self.Strides)
	default:
		m.Strides = InferDenseStrides(self.Sizes, self.Strides)
	}
	return m
}

// ReducedSizes are sizes less dims, or with 1 in their place.
func ReducedSizes(sizes []int64, dims []int, keep bool) []int64 {
	out := make([]int64, 0, len(sizes))
	for i, d := range sizes {
		switch {
		case !slices.Contains(dims, i):
			out = append(out, d)
		case keep:
			out = append(out, 1)
		}
	}
	return out
}

// DivCeil and DivFloor round toward plus and minus infinity.
func DivCeil(a, b int64) int64 { return -DivFloor(-a, b) }

func DivFloor(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// NoTensor is an undefined tensor among the results.
func NoTensor() tensor.Meta { return tensor.Meta{DType: tensor.Undefined} }

// TransposedMeta exchanges two dimensions of metadata without a storage.
func TransposedMeta(m tensor.Meta, a, b int) tensor.Meta {
	t := &tensor.Tensor{Meta: m}
	return Transposed(t, a, b)
}

// Permuted shows dimensions in the order perm.
func Permuted(self *tensor.Tensor, perm []int) tensor.Meta {
	sizes, strides := make([]int64, len(perm)), make([]int64, len(perm))
	for i, p := range perm {
		sizes[i], strides[i] = self.Sizes[p], self.Strides[p]
	}
	return ViewOf(self, sizes, strides, self.StorageOffset)
}

// Transposed exchanges two dimensions, counted from 0.
func Transposed(self *tensor.Tensor, a, b int) tensor.Meta {
	sizes, strides := slices.Clone(self.Sizes), slices.Clone(self.Strides)
	if len(sizes) > 0 {
		sizes[a], sizes[b] = sizes[b], sizes[a]
		strides[a], strides[b] = strides[b], strides[a]
	}
	return ViewOf(self, sizes, strides, self.StorageOffset)
}

// WrapDim turns a negative dimension of a tensor with n dimensions into its place; n of 0 counts as
// 1.
func WrapDim(d int64, n int) (int, error) {
	m := int64(max(n, 1))
	if d < -m || d >= m {
		return 0, fmt.Errorf("got dim %d, want one in [%d, %d]", d, -m, m-1)
	}
	if d < 0 {
		d += m
	}
	return int(d), nil
}

// Broadcast is the common shape of several (at::infer_size).
func Broadcast(shapes ...[]int64) ([]int64, error) {
	n := 0
	for _, s := range shapes {
		n = max(n, len(s))
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = 1
	}
	for _, s := range shapes {
		off := n - len(s)
		for i, d := range s {
			switch {
			case d == 1 || d == out[off+i]:
			case out[off+i] == 1:
				out[off+i] = d
			default:
				return nil, fmt.Errorf("got sizes %v and %v, want them to broadcast", shapes[0], s)
			}
		}
	}
	return out, nil
}

// InferShape fills the one -1 of a view's shape (at::infer_size with numel).
func InferShape(shape []int64, numel int64) ([]int64, error) {
	out := slices.Clone(shape)
	at := -1
	for i, d := range out {
		if d == -1 {
			if at >= 0 {
				return nil, fmt.Errorf("got shape %v, want at most one -1", shape)
			}
			at = i
		} else if d < 0 {
			return nil, fmt.Errorf("got shape %v, want sizes of at least 0", shape)
		}
	}
	if at >= 0 {
		out[at] = 1
	}
	n, err := tensor.Product(out)
	if err != nil {
		return nil, fmt.Errorf("got shape %v: %w", shape, err)
	}
	if at >= 0 {
		if n == 0 || numel%n != 0 {
			return nil, fmt.Errorf("got shape %v for %d elements, want one that fits", shape, numel)
		}
		out[at] = numel / n
		return out, nil
	}
	if n != numel {
		return nil, fmt.Errorf("got shape %v for %d elements, want one that fits", shape, numel)
	}
	return out, nil
}

// WithIndices is a result and the int64 places it came from.
func WithIndices(m tensor.Meta) []tensor.Meta {
	i := m.Clone()
	i.DType = tensor.Int64
	return []tensor.Meta{m, i}
}
