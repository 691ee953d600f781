package reduce

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// What a reduction's result is made of: its dtype from the input's, its sizes from dim and keepdim.
// Results are contiguous (aten/src/ATen/native/ReduceOpsUtils.h).

type reduceType func(c *ops.Call, d tensor.DType) (tensor.DType, error)

func sameType(_ *ops.Call, d tensor.DType) (tensor.DType, error) { return d, nil }

func boolType(_ *ops.Call, d tensor.DType) (tensor.DType, error) {
	if d == tensor.Uint8 {
		return d, nil // all and any of uint8 stay uint8
	}
	return tensor.Bool, nil
}

func indexType(*ops.Call, tensor.DType) (tensor.DType, error) { return tensor.Int64, nil }

func realType(_ *ops.Call, d tensor.DType) (tensor.DType, error) { return d.ToReal(), nil }

func floatResult(_ *ops.Call, d tensor.DType) (tensor.DType, error) { return ops.FloatType(d), nil }

// sumType adds integers up in int64; a dtype argument decides where it is given.
func sumType(c *ops.Call, d tensor.DType) (tensor.DType, error) {
	if c.Has("dtype") {
		return c.DTypeOr("dtype", d), nil
	}
	if d.Integral(true) {
		return tensor.Int64, nil
	}
	return d, nil
}

func meanType(c *ops.Call, d tensor.DType) (tensor.DType, error) {
	d = c.DTypeOr("dtype", d)
	if !d.Floating() && !d.Complex() {
		return d, c.Errorf("got %s, want a floating or complex dtype", d)
	}
	return d, nil
}

func normType(c *ops.Call, d tensor.DType) (tensor.DType, error) {
	d = c.DTypeOr("dtype", d)
	if !d.Floating() && !d.Complex() {
		return d, c.Errorf("got %s, want a floating or complex dtype", d)
	}
	return d.ToReal(), nil
}

// reduceDims are the dimensions a reduction runs over: all where it names none.
func reduceDims(c *ops.Call, self *tensor.Tensor) ([]int, error) {
	if c.Schema.ArgIndex("dim") < 0 || !c.Has("dim") {
		return c.Dims("", len(self.Sizes))
	}
	if len(self.Sizes) == 0 {
		for _, d := range c.Ints("dim") {
			if _, err := c.WrapDim(d, 0); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	if d, ok := c.Arg("dim").(int64); ok {
		w, err := c.WrapDim(d, len(self.Sizes))
		return []int{w}, err
	}
	return c.Dims("dim", len(self.Sizes))
}

func reduceSizes(c *ops.Call) ([]int64, error) {
	self := c.T("self")
	dims, err := reduceDims(c, self)
	if err != nil {
		return nil, err
	}
	return ops.ReducedSizes(self.Sizes, dims, c.Bool("keepdim")), nil
}

func reduceTo(types ...reduceType) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		self := c.T("self")
		sizes, err := reduceSizes(c)
		if err != nil {
			return nil, err
		}
		out := make([]tensor.Meta, len(types))
		for i, f := range types {
			d, err := f(c, self.DType)
			if err != nil {
				return nil, err
			}
			out[i] = ops.FreshAs(self, d, slices.Clone(sizes)...)
		}
		return out, nil
	}
}

// extremes is reduceTo for what has no value for no elements.
func extremes(types ...reduceType) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		self := c.T("self")
		dims, err := reduceDims(c, self)
		if err != nil {
			return nil, err
		}
		for _, d := range dims {
			if self.Sizes[d] == 0 {
				return nil, c.Errorf("got sizes %v, want none of 0 in dimension %d", self.Sizes, d)
			}
		}
		return reduceTo(types...)(c)
	}
}

func reducePair(a, b reduceType) func(*ops.Call) ([]tensor.Meta, error) { return reduceTo(a, b) }

// extremeOther is max and min of two tensors.
func extremeOther(key string) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) { return c.Do(key, c.T("self"), c.T("other")), c.Err() }
}

// extremeValue is max (sign 1) and min (-1) of a small known tensor.
func extremeValue(sign int) func(*ops.Call) *tensor.Data {
	return func(c *ops.Call) *tensor.Data {
		d := c.T("self").Data
		if d == nil {
			return nil
		}
		switch {
		case len(d.Ints) > 0 && sign > 0:
			return &tensor.Data{Ints: []int64{slices.Max(d.Ints)}}
		case len(d.Ints) > 0:
			return &tensor.Data{Ints: []int64{slices.Min(d.Ints)}}
		case len(d.Floats) > 0 && sign > 0:
			return &tensor.Data{Floats: []float64{slices.Max(d.Floats)}}
		case len(d.Floats) > 0:
			return &tensor.Data{Floats: []float64{slices.Min(d.Floats)}}
		}
		return nil
	}
}

func scan(f reduceType) func(*ops.Call) ([]tensor.Meta, error) {
	return func(c *ops.Call) ([]tensor.Meta, error) {
		self := c.T("self")
		if _, err := c.WrapDim(c.Int("dim"), len(self.Sizes)); err != nil {
			return nil, err
		}
		d, err := f(c, self.DType)
		if err != nil {
			return nil, err
		}
		return ops.One(ops.FreshAs(self, d, self.Sizes...))
	}
}

func scanInPlace(c *ops.Call) ([]tensor.Meta, error) {
	self := c.T("self")
	_, err := c.WrapDim(c.Int("dim"), len(self.Sizes))
	return []tensor.Meta{self.Meta}, err
}

func scanPair(c *ops.Call) ([]tensor.Meta, error) {
	m, err := scan(sameType)(c)
	if err != nil {
		return nil, err
	}
	return ops.WithIndices(m[0]), nil
}

func distance(c *ops.Call) ([]tensor.Meta, error) {
	self, other := c.T("self"), c.T("other")
	d := ops.PromoteTypes(self.DType, other.DType)
	if !d.Floating() && !d.Complex() {
		return nil, c.Errorf("got %s, want a floating or complex dtype", d)
	}
	if _, err := c.Broadcast(self.Sizes, other.Sizes); err != nil {
		return nil, err
	}
	return ops.One(ops.FreshAs(self, d.ToReal()))
}

// nanMean is nansum divided by the count of what is no NaN (aten/src/ATen/native/ReduceOps.cpp).
func nanMean(c *ops.Call) (any, error) {
	self := c.T("self")
	isNum := c.Do("aten::logical_not_", c.Do("aten::isnan", self))
	factor := c.Do("aten::sum.dim_IntList", isNum, c.Arg("dim"), c.Bool("keepdim"))
	c.Free(isNum, isNum) // isnan's result and logical_not_'s are one
	sum := c.Do("aten::nansum", self, c.Arg("dim"), c.Bool("keepdim"), ops.Kw{"dtype": c.Arg("dtype")})
	return c.Do("aten::div.Tensor", sum, factor), c.Err()
}

// extremeIndex is argmax and argmin, which refuse a dimension without elements
// (aten/src/ATen/native/ReduceOps.cpp check_argmax_argmin).
func extremeIndex(c *ops.Call) ([]tensor.Meta, error) {
	self := c.T("self")
	dims, err := reduceDims(c, self)
	if err != nil {
		return nil, err
	}
	for _, d := range dims {
		if d < len(self.Sizes) && self.Sizes[d] == 0 && (c.Has("dim") || self.Numel() == 0) {
			return nil, c.Errorf("got size 0 in dim %d, want elements", d)
		}
	}
	return reduceTo(indexType)(c)
}

// segmentReduce is one row a segment.
func segmentReduce(c *ops.Call) ([]tensor.Meta, error) {
	data := c.T("data")
	if len(data.Sizes) == 0 {
		return nil, c.Errorf("got a 0-dim tensor, want at least one dimension")
	}
	axis, err := c.WrapDim(c.Int("axis"), len(data.Sizes))
	if err != nil {
		return nil, err
	}
	by := c.T("lengths")
	n := int64(0)
	switch {
	case by != nil && axis < len(by.Sizes):
		n = by.Sizes[axis]
	case c.T("offsets") != nil && axis < len(c.T("offsets").Sizes):
		n = c.T("offsets").Sizes[axis] - 1
	default:
		return nil, c.Errorf("got neither lengths nor offsets, want one of them")
	}
	sizes := slices.Clone(data.Sizes)
	sizes[axis] = n
	return ops.One(ops.FreshLike(data, sizes...))
}

// hashTensor reduces to 64-bit hashes.
func hashTensor(c *ops.Call) ([]tensor.Meta, error) {
	dims, err := c.Dims("dim", len(c.Self().Sizes))
	if err != nil {
		return nil, err
	}
	return ops.One(ops.FreshAs(c.Self(), tensor.Uint64, ops.ReducedSizes(c.Self().Sizes, dims, c.Bool("keepdim"))...))
}
