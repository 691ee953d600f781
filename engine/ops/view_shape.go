package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// Metadata of views (aten/src/ATen/native/TensorShape.cpp).

// intList is an int[] for Do.
func intList(ns ...int64) *List {
	items := make([]any, len(ns))
	for i, n := range ns {
		items[i] = n
	}
	return NewList(schema.Int, items...)
}

// tensorList is a Tensor[] for Do.
func tensorList(ts ...*tensor.Tensor) *List {
	items := make([]any, len(ts))
	for i, t := range ts {
		items[i] = t
	}
	return NewList(schema.Tensor, items...)
}

// self is the first tensor argument.
func (c *Call) self() *tensor.Tensor {
	t, _ := c.Args[0].(*tensor.Tensor)
	return t
}

// shaper gives the shape a view or reshape asks for.
type shaper func(*Call) ([]int64, error)

func sizeArg(c *Call) ([]int64, error)  { return c.inferShape(c.Ints("size"), c.self().Numel()) }
func shapeArg(c *Call) ([]int64, error) { return c.inferShape(c.Ints("shape"), c.self().Numel()) }
func otherShape(c *Call) ([]int64, error) {
	return c.inferShape(c.T("other").Sizes, c.self().Numel())
}

func flattened(c *Call) ([]int64, error) {
	self := c.self()
	n := len(self.Sizes)
	from, err := c.wrapDim(c.Int("start_dim"), n)
	if err != nil {
		return nil, err
	}
	to, err := c.wrapDim(c.Int("end_dim"), n)
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
	shape = append(shape, product(self.Sizes[from:to+1]))
	return append(shape, self.Sizes[to+1:]...), nil
}

func unflattened(c *Call) ([]int64, error) {
	self := c.self()
	dim, err := c.wrapDim(c.Int("dim"), len(self.Sizes))
	if err != nil {
		return nil, err
	}
	sizes := c.Ints("sizes")
	if len(sizes) == 0 || len(self.Sizes) == 0 {
		return nil, c.Errorf("got sizes %v for dimension %d of %v", sizes, dim, self.Sizes)
	}
	parts, err := c.inferShape(sizes, self.Sizes[dim])
	if err != nil {
		return nil, err
	}
	return slices.Concat(self.Sizes[:dim], parts, self.Sizes[dim+1:]), nil
}

// viewed is a view in the shape asked for; where the strides allow none it is an error.
func viewed(shape shaper) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		self := c.self()
		sizes, err := shape(c)
		if err != nil {
			return nil, err
		}
		st, ok := c.viewStrides(self, sizes)
		if !ok {
			return nil, c.Errorf("got shape %v for sizes %v with strides %v, want one that needs no copy", sizes, self.Sizes, self.Strides)
		}
		return one(view(self, sizes, st, self.StorageOffset))
	}
}

// reshaped is a view where the strides allow one, else a contiguous copy; see copiesTo.
func reshaped(shape shaper) func(*Call) ([]tensor.Meta, error) {
	return func(c *Call) ([]tensor.Meta, error) {
		self := c.self()
		sizes, err := shape(c)
		if err != nil {
			return nil, err
		}
		if st, ok := c.viewStrides(self, sizes); ok {
			return one(view(self, sizes, st, self.StorageOffset))
		}
		return one(fresh(self, sizes...))
	}
}

// copiesTo says whether reshaped copies.
func copiesTo(shape shaper) func(*Call) bool {
	return func(c *Call) bool {
		sizes, err := shape(c)
		if err != nil {
			return false
		}
		_, ok := viewStrides(c.self().Sizes, c.self().Strides, sizes)
		return !ok
	}
}

// viewDType shows the bytes as another dtype.
func viewDType(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	d := c.DTypeOr("dtype", self.DType)
	m := self.Meta.Clone()
	m.DType = d
	from, to := self.DType.ItemSize(), d.ItemSize()
	if from == to {
		return one(m)
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
	return one(m)
}

// permuted shows dimensions in the order perm.
func permuted(self *tensor.Tensor, perm []int) tensor.Meta {
	sizes, strides := make([]int64, len(perm)), make([]int64, len(perm))
	for i, p := range perm {
		sizes[i], strides[i] = self.Sizes[p], self.Strides[p]
	}
	return view(self, sizes, strides, self.StorageOffset)
}

func permute(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	given := c.Ints("dims")
	if len(given) != len(self.Sizes) {
		return nil, c.Errorf("got %d dims for a tensor of %d", len(given), len(self.Sizes))
	}
	if len(given) == 0 {
		return one(self.Meta)
	}
	perm, err := c.dims("dims", len(self.Sizes))
	if err != nil {
		return nil, err
	}
	return one(permuted(self, perm))
}

// swapped exchanges two dimensions, counted from 0.
func swapped(self *tensor.Tensor, a, b int) tensor.Meta {
	sizes, strides := slices.Clone(self.Sizes), slices.Clone(self.Strides)
	if len(sizes) > 0 {
		sizes[a], sizes[b] = sizes[b], sizes[a]
		strides[a], strides[b] = strides[b], strides[a]
	}
	return view(self, sizes, strides, self.StorageOffset)
}

// transpose exchanges the dimensions of its second and third arguments.
func transpose(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	i, _ := asInt(c.Args[1])
	j, _ := asInt(c.Args[2])
	a, err := c.wrapDim(i, len(self.Sizes))
	if err != nil {
		return nil, err
	}
	b, err := c.wrapDim(j, len(self.Sizes))
	if err != nil {
		return nil, err
	}
	return one(swapped(self, a, b))
}

// transposeT is t: at most two dimensions.
func transposeT(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	switch len(self.Sizes) {
	case 0, 1:
		return one(self.Meta)
	case 2:
		return one(swapped(self, 0, 1))
	}
	return nil, c.Errorf("got %d dimensions, want at most 2", len(self.Sizes))
}

// reversedDims is numpy_T.
func reversedDims(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	perm := make([]int, len(self.Sizes))
	for i := range perm {
		perm[i] = len(perm) - 1 - i
	}
	return one(permuted(self, perm))
}

// lastTwo is mT: the last two dimensions exchanged.
func lastTwo(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	n := len(self.Sizes)
	if n == 0 {
		return one(self.Meta)
	}
	if n < 2 {
		return nil, c.Errorf("got %d dimensions, want at least 2", n)
	}
	return one(swapped(self, n-2, n-1))
}

func movedim(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	n := len(self.Sizes)
	from, err := c.dims("source", n)
	if err != nil {
		return nil, err
	}
	to, err := c.dims("destination", n)
	if err != nil {
		return nil, err
	}
	if len(c.Ints("source")) != len(c.Ints("destination")) {
		return nil, c.Errorf("got %d sources and %d destinations", len(from), len(to))
	}
	if n == 0 || len(c.Ints("source")) == 0 {
		return one(self.Meta)
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
	return one(permuted(self, perm))
}

// squeeze drops dimensions of size 1: all of them, or those of dim.
func squeeze(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	n := len(self.Sizes)
	drop := make([]bool, n)
	if c.Schema.ArgIndex("dim") < 0 {
		for i := range drop {
			drop[i] = true
		}
	} else {
		for _, d := range c.Ints("dim") {
			at, err := c.wrapDim(d, n)
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
	return one(view(self, sizes, strides, self.StorageOffset))
}

func unsqueeze(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	n := len(self.Sizes)
	dim, err := c.wrapDim(c.Int("dim"), n+1)
	if err != nil {
		return nil, err
	}
	stride := int64(1)
	if dim < n {
		stride = self.Sizes[dim] * self.Strides[dim]
	}
	return one(view(self, slices.Insert(slices.Clone(self.Sizes), dim, 1), slices.Insert(slices.Clone(self.Strides), dim, stride), self.StorageOffset))
}

// expandTo is at::inferExpandGeometry.
func (c *Call) expandTo(self *tensor.Tensor, shape []int64) (tensor.Meta, error) {
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
	return view(self, sizes, strides, self.StorageOffset), nil
}

func expand(c *Call) ([]tensor.Meta, error) {
	m, err := c.expandTo(c.self(), c.Ints("size"))
	if err != nil {
		return nil, err
	}
	return one(m)
}

func expandAs(c *Call) ([]tensor.Meta, error) {
	m, err := c.expandTo(c.self(), c.T("other").Sizes)
	if err != nil {
		return nil, err
	}
	return one(m)
}

// ravel is contiguous and then a view.
func ravel(c *Call) ([]tensor.Meta, error) {
	self := c.self()
	n := self.Numel()
	if self.IsContiguous() {
		return one(view(self, []int64{n}, []int64{1}, self.StorageOffset))
	}
	return one(fresh(self, n))
}

func isStrided(c *Call) bool { return !c.self().IsContiguous() }
