package reduce

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// quantile and nanquantile (aten/src/ATen/native/Sorting.cpp quantile_compute).
func quantile(c *ops.Call) (any, error) {
	x, q := c.T("self"), c.T("q")
	if x.Numel() == 0 {
		return nil, c.Errorf("got no elements, want at least 1")
	}
	if x.DType != tensor.Float32 && x.DType != tensor.Float64 {
		return nil, c.Errorf("got %s, want float32 or float64", x.DType)
	}
	if q == nil {
		q = c.Do("aten::scalar_tensor", c.Arg("q"), ops.Kw{"dtype": int64(x.DType), "device": ops.Device(x.Device)})
	}
	n := len(x.Sizes)
	at := 0
	if c.Has("dim") {
		d, err := c.WrapDim(c.Int("dim"), n)
		if err != nil {
			return nil, err
		}
		at = d
	}
	if len(q.Sizes) > 1 || !c.OK() {
		return nil, c.Errorf("got q %v, want a number or 1 dimension", q.Sizes)
	}
	// the result's shape: that of the other dimensions, q's in front
	outShape := []int64{}
	switch {
	case c.Has("dim") && n > 0:
		outShape = ops.ReducedSizes(x.Sizes, []int{at}, c.Bool("keepdim"))
	case c.Bool("keepdim"):
		outShape = slices.Repeat([]int64{1}, n)
	}
	if len(q.Sizes) > 0 {
		outShape = append([]int64{q.Sizes[0]}, outShape...)
	}
	flat := quantileInput(c, x, at, outShape, len(q.Sizes) > 0)
	return quantileOf(c, flat, q)
}

// quantileInput moves the dimension to the end and gives the others the result's shape.
func quantileInput(c *ops.Call, x *tensor.Tensor, at int, outShape []int64, listed bool) *tensor.Tensor {
	if !c.Has("dim") {
		x = c.Do("aten::flatten.using_ints", x)
	} else if at != len(x.Sizes)-1 {
		x = c.Do("aten::transpose.int", c.Do("aten::unsqueeze", x, int64(-1)), int64(at), int64(-1))
	}
	in := slices.Clone(outShape)
	if listed {
		in = in[1:]
	}
	size := int64(1)
	if c.OK() && len(x.Sizes) > 0 {
		size = x.Sizes[len(x.Sizes)-1]
	}
	return c.Do("aten::reshape", x, ops.IntList(append(in, size)...))
}

// quantileOf computes the quantiles along the last dimension. Ranks are rounded in place, which
// takes no memory and has no part here.
func quantileOf(c *ops.Call, x, q *tensor.Tensor) (any, error) {
	double, long := ops.Kw{"dtype": int64(tensor.Float64)}, ops.Kw{"dtype": int64(tensor.Int64)}
	mode := c.Str("interpolation")
	last := int64(-1)
	var ranks *tensor.Tensor
	if !c.OK() {
		return nil, nil
	}
	size := x.Sizes[len(x.Sizes)-1]
	if c.Schema.Name == "aten::nanquantile" {
		nan := c.Do("aten::isnan", x)
		kept := c.Do("aten::logical_not_", nan)
		count := c.Do("aten::sum.dim_IntList", kept, ops.IntList(last), true)
		less := c.Do("aten::sub.Scalar", count, int64(1))
		wide := c.Do("aten::_to_copy", q, double)
		ranks = c.Do("aten::mul.Tensor", wide, less)
		c.Free(wide, less, count, kept, nan)
		neg := c.Do("aten::lt.Scalar", ranks, int64(0))
		ranks = c.Do("aten::masked_fill_.Scalar", ranks, neg, int64(0))
		c.Free(neg)
	} else {
		wide := c.Do("aten::_to_copy", q, double)
		base := c.Do("aten::mul.Scalar", wide, size-1)
		nan := c.Do("aten::isnan", x)
		any := c.Do("aten::any.dim", nan, last, true)
		c.Free(nan, wide)
		shape, err := c.Broadcast(base.Sizes, any.Sizes)
		if err != nil {
			return nil, err
		}
		wideBase := c.Do("aten::expand", base, ops.IntList(shape...))
		wideAny := c.Do("aten::expand", any, ops.IntList(shape...))
		ranks = c.Do("aten::masked_fill.Scalar", wideBase, wideAny, size-1)
		c.Free(wideBase, base, wideAny, any)
	}
	below := c.Do("aten::_to_copy", ranks, long)
	if mode != "linear" && mode != "midpoint" {
		ordered := c.DoGet(0, "aten::sort", x)
		return quantileShape(c, c.Do("aten::gather", ordered, last, below), q)
	}
	var weights *tensor.Tensor
	if mode == "midpoint" {
		weights = c.Do("aten::full_like", ranks, 0.5, ops.Kw{"dtype": int64(x.DType)})
	} else {
		diff := c.Do("aten::sub.Tensor", ranks, below)
		weights = c.Do("aten::_to_copy", diff, ops.Kw{"dtype": int64(x.DType)})
		c.Free(diff)
	}
	above := c.Do("aten::_to_copy", ranks, long)
	ordered := c.DoGet(0, "aten::sort", x)
	out := c.Do("aten::gather", ordered, last, below)
	upper := c.Do("aten::gather", ordered, last, above)
	c.Free(ordered)
	return quantileShape(c, c.Do("aten::lerp_.Tensor", out, upper, weights), q)
}

func quantileShape(c *ops.Call, out *tensor.Tensor, q *tensor.Tensor) (any, error) {
	if len(q.Sizes) > 0 {
		out = c.Do("aten::unsqueeze_", out, int64(0))
		out = c.Do("aten::transpose_", out, int64(0), int64(-1))
	}
	return c.Do("aten::squeeze_.dim", out, int64(-1)), nil
}
