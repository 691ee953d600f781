package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/tensor"
)

// Strides as PyTorch gives them: TensorIterator's for elementwise results, computeStride's for
// views.

// elementwiseStrides are a result's strides after aten/src/ATen/TensorIterator.cpp: the fast setups
// (all operands of the result's shape, all contiguous, all channels last, or all dense with equal
// strides), else the operands' order of dimensions, laid out densely.
func elementwiseStrides(shape []int64, operands []*tensor.Tensor) []int64 {
	same := true
	for _, t := range operands {
		if !slices.Equal(t.Sizes, shape) {
			same = false
			break
		}
	}
	if same && len(operands) > 0 {
		if st, ok := fastStrides(shape, operands); ok {
			return st
		}
	}
	return ReorderedStrides(shape, operands)
}

func fastStrides(shape []int64, operands []*tensor.Tensor) ([]int64, bool) {
	contiguous, last, equal := true, true, true
	first := operands[0]
	for _, t := range operands {
		contiguous = contiguous && t.IsContiguous()
		last = last && t.IsFormat(tensor.ChannelsLast)
		equal = equal && t.IsDense() && slices.Equal(t.Strides, first.Strides)
	}
	switch {
	case contiguous:
		return tensor.ContiguousStrides(shape), true
	case last:
		return tensor.ChannelsLastStrides(shape), true
	case equal:
		return slices.Clone(first.Strides), true
	}
	return nil, false
}

// ReorderedStrides is TensorIteratorBase::reorder_dimensions and the allocation that follows it.
func ReorderedStrides(shape []int64, operands []*tensor.Tensor) []int64 {
	n := len(shape)
	byteStrides := make([][]int64, len(operands))
	for i, t := range operands {
		st := make([]int64, n)
		off := n - len(t.Sizes)
		for d, size := range t.Sizes {
			if size != 1 || shape[off+d] == 1 {
				st[off+d] = t.Strides[d] * t.DType.ItemSize()
			}
		}
		byteStrides[i] = st
	}
	compare := func(a, b int) int {
		for _, st := range byteStrides {
			sa, sb := st[a], st[b]
			if sa == 0 || sb == 0 {
				continue
			}
			if sa < sb {
				return -1
			}
			if sa > sb {
				return 1
			}
			if shape[a] > shape[b] {
				return 1
			}
		}
		return 0
	}
	return orderedStrides(shape, compare)
}

// InferDenseStrides is at::infer_dense_strides: dense strides in the order of a tensor's strides.
func InferDenseStrides(sizes, strides []int64) []int64 {
	compare := func(a, b int) int {
		sa, sb := strides[a], strides[b]
		switch {
		case sa == 0 || sb == 0:
			return 0
		case sa < sb:
			return -1
		case sa > sb:
			return 1
		case sizes[a] > sizes[b]:
			return 1
		}
		return 0
	}
	return orderedStrides(sizes, compare)
}

// orderedStrides are dense strides of dims in the order that compare gives: 1 where a is outside of
// b, -1 inside, 0 where it does not say. The sort is PyTorch's (an insertion sort that leaves
// undecided pairs), which starts from the last dim.
func orderedStrides(sizes []int64, compare func(a, b int) int) []int64 {
	n := len(sizes)
	perm := make([]int, n)
	for i := range perm {
		perm[i] = n - 1 - i
	}
	for i := 1; i < n; i++ {
		d1 := i
		for d0 := i - 1; d0 >= 0; d0-- {
			r := compare(perm[d0], perm[d1])
			if r > 0 {
				perm[d0], perm[d1] = perm[d1], perm[d0]
				d1 = d0
			} else if r < 0 {
				break
			}
		}
	}
	st := make([]int64, n)
	next := int64(1)
	for _, d := range perm {
		st[d] = next
		next *= max(sizes[d], 1)
	}
	return st
}

// ViewStrides are the strides that show old in shape without a copy; false where there are none
// (aten/src/ATen/TensorUtils.cpp computeStride).
func ViewStrides(sizes, strides, shape []int64) ([]int64, bool) {
	numel := int64(1)
	for _, d := range sizes {
		numel *= d
	}
	if len(sizes) == 0 {
		st := make([]int64, len(shape))
		for i := range st {
			st[i] = 1
		}
		return st, true
	}
	if numel == 0 {
		if slices.Equal(sizes, shape) {
			return slices.Clone(strides), true
		}
		st := make([]int64, len(shape))
		for i := len(shape) - 1; i >= 0; i-- {
			if i == len(shape)-1 {
				st[i] = 1
			} else {
				st[i] = max(shape[i+1], 1) * st[i+1]
			}
		}
		return st, true
	}
	st := make([]int64, len(shape))
	v := len(shape) - 1
	chunkBase := strides[len(strides)-1]
	tensorNumel, viewNumel := int64(1), int64(1)
	for d := len(sizes) - 1; d >= 0; d-- {
		tensorNumel *= sizes[d]
		if d == 0 || sizes[d-1] != 1 && strides[d-1] != tensorNumel*chunkBase {
			for v >= 0 && (viewNumel < tensorNumel || shape[v] == 1) {
				st[v] = viewNumel * chunkBase
				viewNumel *= shape[v]
				v--
			}
			if viewNumel != tensorNumel {
				return nil, false
			}
			if d > 0 {
				chunkBase = strides[d-1]
				tensorNumel, viewNumel = 1, 1
			}
		}
	}
	return st, v == -1
}
