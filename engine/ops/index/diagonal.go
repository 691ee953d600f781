package index

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// Diagonals and triangles (aten/src/ATen/native/TensorShape.cpp, TriangularOps.cpp).

// diag is a matrix of a vector or the vector of a matrix's diagonal.
func diag(c *ops.Call) (any, error) {
	switch len(c.Self().Sizes) {
	case 1:
		return c.Do("aten::diag_embed", c.Self(), c.Int("diagonal")), nil
	case 2:
		return c.Do("aten::diagonal_copy", c.Self(), c.Int("diagonal")), nil
	}
	return nil, c.Errorf("got %d dimensions, want 1 or 2", len(c.Self().Sizes))
}

// diagEmbed lays the last dimension on the diagonal of two new ones.
func diagEmbed(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	n := len(self.Sizes) + 1
	a, err := c.WrapDim(c.Int("dim1"), n)
	if err != nil {
		return nil, err
	}
	b, err := c.WrapDim(c.Int("dim2"), n)
	if err != nil {
		return nil, err
	}
	if a == b || len(self.Sizes) == 0 {
		return nil, c.Errorf("got dimensions %d and %d for sizes %v", a, b, self.Sizes)
	}
	off := c.Int("offset")
	side := self.Sizes[n-2] + max(off, -off)
	sizes := slices.Clone(self.Sizes[:n-2])
	sizes = slices.Insert(sizes, min(a, b), side)
	return ops.One(ops.FreshLike(self, slices.Insert(sizes, max(a, b), side)...))
}

func diagFlat(c *ops.Call) (any, error) {
	return c.Do("aten::diag_embed", c.Do("aten::reshape", c.Self(), ops.IntList(-1)), c.Int("offset")), nil
}

// triangle is tril and triu.
func triangle(c *ops.Call) ([]tensor.Meta, error) {
	if len(c.Self().Sizes) < 2 {
		return nil, c.Errorf("got %d dimensions, want at least 2", len(c.Self().Sizes))
	}
	return ops.FreshSelf(c)
}

// triangleInPlace is tril_ and triu_.
func triangleInPlace(c *ops.Call) ([]tensor.Meta, error) {
	if _, err := triangle(c); err != nil {
		return nil, err
	}
	return ops.SelfMeta(c)
}

// traceOf sums the diagonal.
func traceOf(c *ops.Call) ([]tensor.Meta, error) {
	if len(c.Self().Sizes) != 2 {
		return nil, c.Errorf("got %d dimensions, want 2", len(c.Self().Sizes))
	}
	d := c.Self().DType
	if d.Integral(true) {
		d = tensor.Int64
	}
	return ops.One(ops.FreshAs(c.Self(), d))
}
