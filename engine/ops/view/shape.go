package view

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// Metadata of views (aten/src/ATen/native/TensorShape.cpp).

// shaper gives the shape a view or reshape asks for.
type shaper func(*ops.Call) ([]int64, error)

func sizeArg(c *ops.Call) ([]int64, error) { return c.InferShape(c.Ints("size"), c.Self().Numel()) }

func shapeArg(c *ops.Call) ([]int64, error) { return c.InferShape(c.Ints("shape"), c.Self().Numel()) }

func otherShape(c *ops.Call) ([]int64, error) {
	return c.InferShape(c.T("other").Sizes, c.Self().Numel())
}

func flattened(c *ops.Call) ([]int64, error) {
	self := c.Self()
	n := len(self.Sizes)
	from, err := c.WrapDim(c.Int("start_dim"), n)
	if err != nil {
		return nil, err
	}
	to, err := c.WrapDim(c.Int("end_dim"), n)
	if err != nil {
		return nil, err
	}
	switch {
	case from > to:
		return nil, c.Errorf("got start_dim %d after end_dim %d", from, to)
	case n == 0:
		return []int64{1}, nil
	}
	shape := slices.Clone(self.Sizes[:from])
	shape = append(shape, tensor.Numel(self.Sizes[from:to+1]))
	return append(shape, self.Sizes[to+1:]...), nil
}

func unflattened(c *ops.Call) ([]int64, error) {
	self := c.Self()
	dim, err := c.WrapDim(c.Int("dim"), len(self.Sizes))
	if err != nil {
		return nil, err
	}
	sizes := c.Ints("sizes")
	if len(sizes) == 0 || len(self.Sizes) == 0 {
		return nil, c.Errorf("got sizes %v for dimension %d of %v", sizes, dim, self.Sizes)
	}
	parts, err := c.InferShape(sizes, self.Sizes[dim])
	if err != nil {
		return nil, err
	}
	return slices.Concat(self.Sizes[:dim], parts, self.Sizes[dim+1:]), nil
}

// viewed is a view in the shape asked for; where the strides allow none it is an error.
func viewed(shape shaper) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		self := c.Self()
		sizes, err := shape(c)
		if err != nil {
			return nil, err
		}
		st, ok := viewStrides(c, self, sizes)
		if !ok {
			return nil, c.Errorf("got shape %v for sizes %v with strides %v, want one that needs no copy", sizes,
				self.Sizes, self.Strides)
		}
		return ops.One(ops.ViewOf(self, sizes, st, self.StorageOffset))
	}
}

// reshaped is a view where the strides allow one, else a contiguous copy; see copiesTo.
func reshaped(shape shaper) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		self := c.Self()
		sizes, err := shape(c)
		if err != nil {
			return nil, err
		}
		if st, ok := viewStrides(c, self, sizes); ok {
			return ops.One(ops.ViewOf(self, sizes, st, self.StorageOffset))
		}
		return ops.One(ops.FreshLike(self, sizes...))
	}
}

// copiesTo says whether reshaped copies, of a call that it took.
func copiesTo(shape shaper) func(*ops.Call) bool {
	return func(c *ops.Call) bool {
		sizes, _ := shape(c)
		_, ok := ops.ViewStrides(c.Self().Sizes, c.Self().Strides, sizes)
		return !ok
	}
}

// viewDType shows the bytes as another dtype.
func viewDType(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	d := c.DTypeOr("dtype", self.DType)
	if !d.Valid() {
		return nil, c.Errorf("got dtype %d, want one of PyTorch's", c.Int("dtype"))
	}
	m := self.Meta.Clone()
	m.DType = d
	from, to := self.DType.ItemSize(), d.ItemSize()
	if from == to {
		return ops.One(m)
	}
	last := len(m.Sizes) - 1
	switch {
	case last < 0 || m.Strides[last] != 1:
		return nil, c.Errorf("got %s as %s, want a last dimension of stride 1", self.DType, d)
	case from > to:
		k := from / to
		m.Sizes[last] *= k
		for i := range last {
			m.Strides[i] *= k
		}
		m.StorageOffset *= k
	default:
		k := to / from
		for i := range last {
			if m.Strides[i]%k != 0 {
				return nil, c.Errorf("got strides %v, want them divisible by %d", self.Strides, k)
			}
			m.Strides[i] /= k
		}
		if m.Sizes[last]%k != 0 || m.StorageOffset%k != 0 {
			return nil, c.Errorf("got sizes %v, want the last divisible by %d", self.Sizes, k)
		}
		m.Sizes[last] /= k
		m.StorageOffset /= k
	}
	return ops.One(m)
}

func permute(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	given := c.Ints("dims")
	if len(given) != len(self.Sizes) {
		return nil, c.Errorf("got %d dims for a tensor of %d", len(given), len(self.Sizes))
	}
	if len(given) == 0 {
		return ops.One(self.Meta)
	}
	perm, err := c.Dims("dims", len(self.Sizes))
	if err != nil {
		return nil, err
	}
	return ops.One(ops.Permuted(self, perm))
}

// transpose exchanges the dimensions of its second and third arguments.
func transpose(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	i, _ := ops.AsInt(c.Args[1])
	j, _ := ops.AsInt(c.Args[2])
	a, err := c.WrapDim(i, len(self.Sizes))
	if err != nil {
		return nil, err
	}
	b, err := c.WrapDim(j, len(self.Sizes))
	if err != nil {
		return nil, err
	}
	return ops.One(ops.Transposed(self, a, b))
}

// transposeT is t: at most two dimensions.
func transposeT(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	switch len(self.Sizes) {
	case 0, 1:
		return ops.One(self.Meta)
	case 2:
		return ops.One(ops.Transposed(self, 0, 1))
	}
	return nil, c.Errorf("got %d dimensions, want at most 2", len(self.Sizes))
}

// reversedDims is numpy_T.
func reversedDims(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	perm := make([]int, len(self.Sizes))
	for i := range perm {
		perm[i] = len(perm) - 1 - i
	}
	return ops.One(ops.Permuted(self, perm))
}

// lastTwo is mT: the last two dimensions exchanged.
func lastTwo(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	n := len(self.Sizes)
	if n == 0 {
		return ops.One(self.Meta)
	}
	if n < 2 {
		return nil, c.Errorf("got %d dimensions, want at least 2", n)
	}
	return ops.One(ops.Transposed(self, n-2, n-1))
}

func movedim(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	n := len(self.Sizes)
	from, err := c.Dims("source", n)
	if err != nil {
		return nil, err
	}
	to, err := c.Dims("destination", n)
	if err != nil {
		return nil, err
	}
	if len(c.Ints("source")) != len(c.Ints("destination")) {
		return nil, c.Errorf("got %d sources and %d destinations", len(from), len(to))
	}
	if n == 0 || len(c.Ints("source")) == 0 {
		return ops.One(self.Meta)
	}
	perm := make([]int, n)
	for i := range perm {
		perm[i] = -1
	}
	for i, d := range to {
		perm[d] = from[i]
	}
	next := 0
	for i := range perm {
		if perm[i] >= 0 {
			continue
		}
		for slices.Contains(from, next) {
			next++
		}
		perm[i] = next
		next++
	}
	return ops.One(ops.Permuted(self, perm))
}

// squeeze drops dimensions of size 1: all of them, or those of dim.
func squeeze(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	n := len(self.Sizes)
	drop := make([]bool, n)
	if c.Schema.ArgIndex("dim") < 0 {
		for i := range drop {
			drop[i] = true
		}
	} else {
		for _, d := range c.Ints("dim") {
			at, err := c.WrapDim(d, n)
			if err != nil {
				return nil, err
			}
			if n > 0 && drop[at] {
				return nil, c.Errorf("got dimension %d twice", at)
			}
			if n > 0 {
				drop[at] = true
			}
		}
	}
	sizes, strides := make([]int64, 0, n), make([]int64, 0, n)
	for i, d := range self.Sizes {
		if d != 1 || !drop[i] {
			sizes, strides = append(sizes, d), append(strides, self.Strides[i])
		}
	}
	return ops.One(ops.ViewOf(self, sizes, strides, self.StorageOffset))
}

func unsqueeze(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	n := len(self.Sizes)
	dim, err := c.WrapDim(c.Int("dim"), n+1)
	if err != nil {
		return nil, err
	}
	stride := int64(1)
	if dim < n {
		stride = self.Sizes[dim] * self.Strides[dim]
	}
	return ops.One(ops.ViewOf(self, slices.Insert(slices.Clone(self.Sizes), dim, 1),
		slices.Insert(slices.Clone(self.Strides), dim, stride), self.StorageOffset))
}

// expandTo is at::inferExpandGeometry.
func expandTo(c *ops.Call, self *tensor.Tensor, shape []int64) (tensor.Meta, error) {
	n := len(shape)
	off := n - len(self.Sizes)
	if off < 0 {
		return tensor.Meta{}, c.Errorf("got %d sizes for %d dimensions, want as many or more", n, len(self.Sizes))
	}
	sizes, strides := slices.Clone(shape), make([]int64, n)
	for i := n - 1; i >= 0; i-- {
		size, stride := int64(1), int64(0)
		switch {
		case i >= off:
			size, stride = self.Sizes[i-off], self.Strides[i-off]
		case len(self.Sizes) > 0:
			stride = sizes[i+1] * strides[i+1]
		}
		if shape[i] == -1 && i >= off {
			sizes[i] = size
		}
		if sizes[i] < 0 {
			return tensor.Meta{}, c.Errorf("got sizes %v for sizes %v", shape, self.Sizes)
		}
		if size != sizes[i] {
			if size != 1 {
				return tensor.Meta{}, c.Errorf("got sizes %v for sizes %v, want them to broadcast", shape, self.Sizes)
			}
			stride = 0
		}
		strides[i] = stride
	}
	return ops.ViewOf(self, sizes, strides, self.StorageOffset), nil
}

func expand(c *ops.Call) ([]tensor.Meta, error) {
	m, err := expandTo(c, c.Self(), c.Ints("size"))
	if err != nil {
		return nil, err
	}
	return ops.One(m)
}

func expandAs(c *ops.Call) ([]tensor.Meta, error) {
	m, err := expandTo(c, c.Self(), c.T("other").Sizes)
	if err != nil {
		return nil, err
	}
	return ops.One(m)
}

// ravel is contiguous and then a view.
func ravel(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	n := self.Numel()
	if self.IsContiguous() {
		return ops.One(ops.ViewOf(self, []int64{n}, []int64{1}, self.StorageOffset))
	}
	return ops.One(ops.FreshLike(self, n))
}

func isStrided(c *ops.Call) bool { return !c.Self().IsContiguous() }

// matrixH is lastTwo for one matrix.
func matrixH(c *ops.Call) ([]tensor.Meta, error) {
	if n := len(c.Self().Sizes); n > 2 {
		return nil, c.Errorf("got %d dimensions, want 2", n)
	}
	return lastTwo(c)
}
