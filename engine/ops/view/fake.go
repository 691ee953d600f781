package view

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// viewStrides are the strides that show t in shape without a copy; false where there are none. Fake
// tensors make a view dimension by dimension, and may give one of a single element another stride
// than a device does, from which convolutions and copies further on take another memory format.
func viewStrides(c *ops.Call, t *tensor.Tensor, shape []int64) ([]int64, bool) {
	st, ok := ops.ViewStrides(t.Sizes, t.Strides, shape)
	if ok && c.OnFakeTensors() {
		if fake, ok := fakeViewStrides(&t.Meta, shape); ok {
			return fake, true
		}
	}
	return st, ok
}

// fakeViewStrides are the strides of a view of a fake tensor; false where fake tensors refuse it
// (torch/_refs/__init__.py _reshape_view_helper).
func fakeViewStrides(m *tensor.Meta, shape []int64) ([]int64, bool) {
	switch {
	case m.Numel() == 0:
		return tensor.FormatStrides(shape, tensor.Contiguous), true
	case len(m.Sizes) == 0 || len(shape) == 0:
		return slices.Repeat([]int64{1}, len(shape)), true
	case m.IsContiguous() && len(shape) == 1 && len(m.Sizes) > 1:
		return []int64{1}, true
	case m.IsContiguous() && len(shape) == 2 && len(m.Sizes) == 1:
		return []int64{shape[1], 1}, true
	}
	sizes, strides := slices.Clone(m.Sizes), slices.Clone(m.Strides)
	split := func(d int, outer int64) {
		inner := sizes[d] / outer
		sizes = slices.Insert(sizes, d+1, inner)
		strides = slices.Insert(strides, d, strides[d]*inner)
		sizes[d] = outer
	}
	for d, length := range shape {
		switch {
		case d >= len(sizes):
			split(d-1, sizes[d-1])
			continue
		case length == sizes[d]:
			continue
		}
		all, end := sizes[d], d
		for all%length != 0 {
			if end++; end == len(sizes) {
				return nil, false
			}
			all *= sizes[end]
		}
		if end > d {
			stride, ok := collapsed(sizes, strides, d, end)
			if !ok {
				return nil, false
			}
			sizes = slices.Replace(sizes, d, end+1, all)
			strides = slices.Replace(strides, d, end+1, stride)
		}
		if all != length {
			split(d, length)
		}
	}
	return strides[:len(shape)], true
}

// collapsed is the stride of dims from to through end as one; false where they are not one after
// the other in memory.
func collapsed(sizes, strides []int64, from, end int) (int64, bool) {
	stride := strides[end]
	for d := end - 1; d >= from; d-- {
		if sizes[d] != 1 && sizes[d+1] != 1 && strides[d] != strides[d+1]*sizes[d+1] {
			return 0, false
		}
		if sizes[d] != 1 {
			stride = min(stride, strides[d])
		}
	}
	return stride, true
}
