package pointwise

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

func gradient(c *ops.Call) (any, error) {
	self, order := c.Self(), c.Int("edge_order")
	if order != 1 && order != 2 {
		return nil, c.Errorf("got edge_order %d, want 1 or 2", order)
	}
	dims, err := c.Dims("dim", len(self.Sizes))
	if err != nil {
		return nil, err
	}
	if l, ok := c.Arg("spacing").(*ops.List); ok && len(l.Items) != len(dims) {
		return nil, c.Errorf("got %d spacings for %d dimensions, want as many", len(l.Items), len(dims))
	}
	out := make([]any, len(dims))
	for i, d := range dims {
		if self.Sizes[d] <= order {
			return nil, c.Errorf("got sizes %v, want at least %d in dimension %d", self.Sizes, order+1, d)
		}
		out[i] = differences(c, self, int64(d), order)
	}
	return c.List(schema.Tensor, out...), nil
}

// differences are the central ones along dim, between those of the edges.
func differences(c *ops.Call, x *tensor.Tensor, dim, order int64) *tensor.Tensor {
	at := func(from, to any) *tensor.Tensor { return c.Do("aten::slice.Tensor", x, dim, from, to) }
	over := func(a, b *tensor.Tensor) *tensor.Tensor {
		diff := c.Do("aten::sub.Tensor", a, b)
		out := c.Do("aten::div.Scalar", diff, 1.0)
		c.Free(diff)
		return out
	}
	center := over(at(int64(2), nil), at(nil, int64(-2)))
	var before, after *tensor.Tensor
	if order == 1 {
		before = over(at(int64(1), int64(2)), at(int64(0), int64(1)))
		after = over(at(int64(-1), nil), at(int64(-2), int64(-1)))
	} else {
		before = edge(c, at(int64(2), int64(3)), at(int64(1), int64(2)), at(int64(0), int64(1)))
		after = edge(c, at(int64(-3), int64(-2)), at(int64(-2), int64(-1)), at(int64(-1), nil))
	}
	half := c.Do("aten::div.Scalar", center, int64(2))
	out := c.Do("aten::cat", ops.TensorList(before, half, after), dim)
	c.Free(half, center, after, before)
	return out
}

// edge is a difference of second order.
func edge(c *ops.Call, xs ...*tensor.Tensor) *tensor.Tensor {
	var ts []*tensor.Tensor
	for _, x := range xs {
		ts = append(ts, c.Do("aten::mul.Scalar", x, 0.5))
	}
	sum := c.Do("aten::add.Tensor", ts[1], ts[2])
	diff := c.Do("aten::sub.Tensor", sum, ts[0])
	out := c.Do("aten::div.Scalar", diff, 1.0)
	c.Free(diff, sum, ts[2], ts[1], ts[0])
	return out
}

// diff is repeated subtraction of neighbours (aten/src/ATen/native/ReduceOps.cpp diff_helper).
func diff(c *ops.Call) (any, error) {
	self := c.T("self")
	n, dim := c.Int("n"), c.Int("dim")
	at, err := c.WrapDim(dim, len(self.Sizes))
	if err != nil {
		return nil, err
	}
	if len(self.Sizes) == 0 {
		return nil, c.Errorf("got a 0-dim tensor, want at least one dimension")
	}
	if n < 0 {
		return nil, c.Errorf("got n %d, want at least 0", n)
	}
	if n == 0 {
		z := c.Do("aten::zeros_like", self)
		return c.Do("aten::copy_", z, self), nil
	}
	result := self
	if c.Has("prepend") || c.Has("append") {
		var parts []any
		for _, v := range []any{c.Arg("prepend"), self, c.Arg("append")} {
			if v != nil {
				parts = append(parts, v)
			}
		}
		result = c.Do("aten::cat", ops.NewList(schema.Tensor, parts...), dim)
	}
	if c.Err() != nil {
		return nil, nil
	}
	size := result.Sizes[at]
	op := "aten::sub.Tensor"
	if self.DType == tensor.Bool {
		op = "aten::logical_xor"
	}
	for range min(n, size) {
		length := result.Sizes[at] - 1
		a := c.Do("aten::narrow", result, dim, int64(1), length)
		b := c.Do("aten::narrow", result, dim, int64(0), length)
		next := c.Do(op, a, b)
		c.Free(b, a)
		if result != self {
			c.Free(result)
		}
		result = next
		if c.Err() != nil {
			return nil, nil
		}
	}
	return result, nil
}
