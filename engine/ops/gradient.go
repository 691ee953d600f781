package ops

import (
	"github.com/memspec/memspec/engine/schema"
	"github.com/memspec/memspec/engine/tensor"
)

// differenceRules are differences along dimensions (aten/src/ATen/native/ReduceOps.cpp gradient_helper_float). Lists of spacings have no row yet.
var differenceRules = []Rule{
	{Schema: "aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]", Body: gradient},
	{Schema: "aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]", Body: gradient},
	{Schema: "aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]", Body: gradient},
}

func gradient(c *Call) (any, error) {
	self, order := c.self(), c.Int("edge_order")
	if order != 1 && order != 2 {
		return nil, c.Errorf("got edge_order %d, want 1 or 2", order)
	}
	dims, err := c.dims("dim", len(self.Sizes))
	if err != nil {
		return nil, err
	}
	if l, ok := c.Arg("spacing").(*List); ok && len(l.Items) != len(dims) {
		return nil, c.Errorf("got %d spacings for %d dimensions, want as many", len(l.Items), len(dims))
	}
	out := make([]any, len(dims))
	for i, d := range dims {
		if self.Sizes[d] <= order {
			return nil, c.Errorf("got sizes %v, want at least %d in dimension %d", self.Sizes, order+1, d)
		}
		out[i] = c.differences(self, int64(d), order)
	}
	return c.List(schema.Tensor, out...), nil
}

// differences are the central ones along dim, between those of the edges.
func (c *Call) differences(x *tensor.Tensor, dim, order int64) *tensor.Tensor {
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
		before = c.edge(at(int64(2), int64(3)), at(int64(1), int64(2)), at(int64(0), int64(1)))
		after = c.edge(at(int64(-3), int64(-2)), at(int64(-2), int64(-1)), at(int64(-1), nil))
	}
	half := c.Do("aten::div.Scalar", center, int64(2))
	out := c.Do("aten::cat", tensorList(before, half, after), dim)
	c.Free(half, center, after, before)
	return out
}

// edge is a difference of second order.
func (c *Call) edge(xs ...*tensor.Tensor) *tensor.Tensor {
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
