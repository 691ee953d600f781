package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/tensor"
)

// Fresh metadata and the arithmetic of shapes.

// fresh is a contiguous result of these sizes with like's dtype and device.
func fresh(like *tensor.Tensor, sizes ...int64) tensor.Meta {
	return newMeta(like.DType, like.Device, sizes)
}

// freshAs is fresh with another dtype.
func freshAs(like *tensor.Tensor, d tensor.DType, sizes ...int64) tensor.Meta {
	return newMeta(d, like.Device, sizes)
}

// newMeta is a contiguous tensor.
func newMeta(d tensor.DType, device string, sizes []int64) tensor.Meta {
	return tensor.Meta{DType: d, Sizes: sizes, Strides: tensor.ContiguousStrides(sizes), Device: device}
}

// freshFormat is fresh laid out in f (Contiguous, ChannelsLast, ChannelsLast3d).
func freshFormat(like *tensor.Tensor, f tensor.MemoryFormat, sizes ...int64) tensor.Meta {
	return tensor.Meta{DType: like.DType, Sizes: sizes, Strides: tensor.FormatStrides(sizes, f), Device: like.Device}
}

// view is self seen with other sizes, strides and offset.
func view(self *tensor.Tensor, sizes, strides []int64, offset int64) tensor.Meta {
	m := self.Meta
	m.Sizes, m.Strides, m.StorageOffset = sizes, strides, offset
	return m
}

// emptyLike is at::empty_like(self, memory_format): Preserve keeps the strides of a dense tensor and else the order of its strides.
func emptyLike(self *tensor.Tensor, d tensor.DType, f tensor.MemoryFormat) tensor.Meta {
	m := tensor.Meta{DType: d, Sizes: slices.Clone(self.Sizes), Device: self.Device}
	switch {
	case f != tensor.Preserve:
		m.Strides = tensor.FormatStrides(m.Sizes, f)
	case self.IsDense():
		m.Strides = slices.Clone(self.Strides)
	default:
		m.Strides = inferDenseStrides(self.Sizes, self.Strides)
	}
	return m
}

// wrapDim turns a negative dimension of a tensor with n dimensions into its place; n of 0 counts as 1.
func (c *Call) wrapDim(d int64, n int) (int, error) {
	m := int64(max(n, 1))
	if d < -m || d >= m {
		return 0, c.Errorf("got dim %d, want one in [%d, %d]", d, -m, m-1)
	}
	if d < 0 {
		d += m
	}
	return int(d), nil
}

// broadcast is the common shape of several (at::infer_size).
func (c *Call) broadcast(shapes ...[]int64) ([]int64, error) {
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
				return nil, c.Errorf("got sizes %v and %v, want them to broadcast", shapes[0], s)
			}
		}
	}
	return out, nil
}

// inferShape fills the one -1 of a view's shape (at::infer_size with numel).
func (c *Call) inferShape(shape []int64, numel int64) ([]int64, error) {
	out := slices.Clone(shape)
	at := -1
	for i, d := range out {
		if d == -1 {
			if at >= 0 {
				return nil, c.Errorf("got shape %v, want at most one -1", shape)
			}
			at = i
		} else if d < 0 {
			return nil, c.Errorf("got shape %v, want sizes of at least 0", shape)
		}
	}
	if at >= 0 {
		out[at] = 1
	}
	n, err := tensor.Product(out)
	if err != nil {
		return nil, c.Errorf("got shape %v: %v", shape, err)
	}
	if at >= 0 {
		if n == 0 || numel%n != 0 {
			return nil, c.Errorf("got shape %v for %d elements, want one that fits", shape, numel)
		}
		out[at] = numel / n
		return out, nil
	}
	if n != numel {
		return nil, c.Errorf("got shape %v for %d elements, want one that fits", shape, numel)
	}
	return out, nil
}

// dims wraps an int[] of dimensions; none given means all of them, sorted.
func (c *Call) dims(name string, n int) ([]int, error) {
	given := c.Ints(name)
	if len(given) == 0 {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	out := make([]int, len(given))
	for i, d := range given {
		w, err := c.wrapDim(d, n)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out[:i], w) {
			return nil, c.Errorf("got dim %d twice, want each once", d)
		}
		out[i] = w
	}
	return out, nil
}

// reduced are sizes less dims, or with 1 in their place.
func reduced(sizes []int64, dims []int, keep bool) []int64 {
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

// divCeil and divFloor round toward plus and minus infinity.
func divCeil(a, b int64) int64 { return -divFloor(-a, b) }

func divFloor(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// one wraps a single Meta.
func one(m tensor.Meta) ([]tensor.Meta, error) { return []tensor.Meta{m}, nil }
