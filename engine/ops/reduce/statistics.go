package reduce

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// sides are the slices of t without its last and without its first element along dim.
func sides(c *ops.Call, t *tensor.Tensor, dim int64) (left, right *tensor.Tensor) {
	n := len(t.Sizes)
	d, err := c.WrapDim(dim, n)
	if err != nil {
		c.Fail(err)
		return t, t
	}
	size := int64(0)
	if n > 0 {
		size = t.Sizes[d]
	}
	return c.Do("aten::slice.Tensor", t, dim, int64(0), size-1), c.Do("aten::slice.Tensor", t, dim, int64(1), size)
}

// spacing is the differences of x, with the dimensions of y.
func spacing(c *ops.Call, y *tensor.Tensor) *tensor.Tensor {
	x, dim := c.T("x"), c.Int("dim")
	if len(x.Sizes) == 1 && len(y.Sizes) > 0 {
		d, err := c.WrapDim(dim, len(y.Sizes))
		if err != nil {
			c.Fail(err)
			return x
		}
		shape := slices.Repeat([]int64{1}, len(y.Sizes))
		shape[d] = x.Sizes[0]
		x = c.Do("aten::view", x, ops.IntList(shape...))
		if !c.OK() {
			return x
		}
	}
	left, right := sides(c, x, dim)
	return c.Do("aten::sub.Tensor", right, left)
}

func trapezoid(c *ops.Call) (any, error) {
	y, dim := c.T("y"), c.Int("dim")
	if len(y.Sizes) == 0 {
		return nil, c.Errorf("got no dimensions, want at least 1")
	}
	d, err := c.WrapDim(dim, len(y.Sizes))
	if err != nil {
		return nil, err
	}
	if y.Sizes[d] == 0 {
		return c.Do("aten::zeros", ops.IntList(ops.ReducedSizes(y.Sizes, []int{d}, false)...),
			ops.Kw{"dtype": int64(y.DType), "device": ops.Device(y.Device)}), nil
	}
	if c.T("x") != nil {
		dx := spacing(c, y)
		left, right := sides(c, y, dim)
		sum := c.Do("aten::add.Tensor", left, right)
		prod := c.Do("aten::mul.Tensor", sum, dx)
		return c.Do("aten::div.Scalar", c.Do("aten::sum.dim_IntList", prod, ops.IntList(dim)), 2.0), nil
	}
	first, last := c.Do("aten::select.int", y, dim, int64(0)), c.Do("aten::select.int", y, dim, int64(-1))
	half := c.Do("aten::mul.Scalar", c.Do("aten::add.Tensor", first, last), 0.5)
	diff := c.Do("aten::sub.Tensor", c.Do("aten::sum.dim_IntList", y, ops.IntList(dim)), half)
	return c.Do("aten::mul.Scalar", diff, c.Float("dx")), nil
}

func cumulativeTrapezoid(c *ops.Call) (any, error) {
	y, dim := c.T("y"), c.Int("dim")
	if len(y.Sizes) == 0 {
		return nil, c.Errorf("got no dimensions, want at least 1")
	}
	if c.T("x") != nil {
		dx := spacing(c, y)
		left, right := sides(c, y, dim)
		prod := c.Do("aten::mul.Tensor", c.Do("aten::add.Tensor", left, right), dx)
		return c.Do("aten::div.Scalar", c.Do("aten::cumsum", prod, dim), 2.0), nil
	}
	left, right := sides(c, y, dim)
	scaled := c.Do("aten::mul.Scalar", c.Do("aten::add.Tensor", right, left), c.Float("dx")/2)
	return c.Do("aten::cumsum", scaled, dim), nil
}

// sumToSize adds up what broadcasting to size's shape would have repeated (ATen/ExpandUtils.h
// sum_to).
func sumToSize(c *ops.Call) (any, error) {
	x, size := c.T("self"), c.Ints("size")
	if len(size) == 0 {
		return c.Do("aten::sum", x), nil
	}
	lead := len(x.Sizes) - len(size)
	if lead < 0 {
		return nil, c.Errorf("got %v and size %v, want one that expands to it", x.Sizes, size)
	}
	var dims []int
	for i, d := range x.Sizes {
		switch {
		case i < lead:
			dims = append(dims, i)
		case size[i-lead] == 1 && d != 1:
			dims = append(dims, i)
		case size[i-lead] != d:
			return nil, c.Errorf("got %v and size %v, want one that expands to it", x.Sizes, size)
		}
	}
	out := x
	if len(dims) > 0 {
		out = c.Do("aten::sum.dim_IntList", x, ops.DimList(dims), true)
	}
	if lead > 0 {
		return c.Do("aten::view", out, ops.IntList(size...)), nil
	}
	return out, nil
}

// cov is native/Correlation.cpp's: the mean taken off, a product of matrices, a division.
func cov(c *ops.Call) (any, error) {
	x := c.Self()
	if len(x.Sizes) > 2 {
		return nil, c.Errorf("got %v, want at most 2 dimensions", x.Sizes)
	}
	in := x
	if len(x.Sizes) < 2 {
		in = c.Do("aten::view", x, ops.IntList(1, -1))
	}
	if !c.OK() {
		return nil, nil
	}
	if in.Sizes[1] == 0 {
		return c.Do("aten::zeros", ops.IntList(in.Sizes[0], in.Sizes[0]),
			ops.Kw{"dtype": int64(x.DType), "device": ops.Device(x.Device)}), nil
	}
	var weights *tensor.Tensor
	for _, name := range []string{"fweights", "aweights"} {
		if t := c.T(name); t != nil {
			if weights == nil {
				weights = t
			} else {
				weights = c.Do("aten::mul.Tensor", weights, t)
			}
		}
	}
	return c.Do("aten::squeeze", covariance(c, in, weights)), nil
}

// covariance is that of a matrix, which a device asks whether there is anything to divide by
// (native/Correlation.cpp).
func covariance(c *ops.Call, in, weights *tensor.Tensor) *tensor.Tensor {
	total, weighted := weights, in
	if weights == nil {
		total = c.Do("aten::scalar_tensor", in.Sizes[1], ops.Kw{"dtype": int64(tensor.Int64),
			"device": ops.Device(in.Device)})
	} else {
		total = c.Do("aten::sum", weights)
		weighted = c.Do("aten::mul.Tensor", in, weights)
	}
	sum := c.Do("aten::sum.dim_IntList", weighted, ops.IntList(1))
	mean := c.Do("aten::div.Tensor", sum, total)
	c.Free(sum)
	if weights != nil {
		c.Free(weighted)
	}
	norm := c.Do("aten::sub.Scalar", total, c.Arg("correction"))
	if ops.OnCUDA(in) {
		none := c.Do("aten::le.Scalar", norm, int64(0))
		one := c.Do("aten::ones_like", none)
		same := c.Do("aten::eq.Tensor", none, one)
		c.Free(c.Do("aten::all", same), same, one, none)
	}
	column := c.Do("aten::unsqueeze", mean, int64(1))
	centered := c.Do("aten::sub.Tensor", in, column)
	right := centered
	if weights != nil {
		right = c.Do("aten::mul.Tensor", centered, weights)
	}
	turned := c.Do("aten::t", right)
	product := c.Do("aten::mm", centered, turned)
	out := c.Do("aten::true_divide.Tensor", product, norm)
	c.Free(product, norm, column, mean, total, turned)
	return out
}

func corrcoef(c *ops.Call) (any, error) {
	x := c.Self()
	if len(x.Sizes) > 2 {
		return nil, c.Errorf("got %v, want at most 2 dimensions", x.Sizes)
	}
	m := c.Do("aten::cov", x)
	if !c.OK() || len(m.Sizes) == 0 {
		return c.Do("aten::div.Tensor", m, m), nil
	}
	variances := c.Do("aten::diagonal", m)
	dev := c.Do("aten::sqrt", variances)
	column, row := c.Do("aten::view", dev, ops.IntList(-1, 1)), c.Do("aten::view", dev, ops.IntList(1, -1))
	rows := c.Do("aten::div.Tensor", m, column)
	both := c.Do("aten::div.Tensor", rows, row)
	c.Free(rows)
	out := c.Do("aten::clamp", both, int64(-1), int64(1))
	c.Free(row, column, dev, variances, m, both)
	return out, nil
}
