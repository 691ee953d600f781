package view

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// Rolling, flipping and turning (aten/src/ATen/native/TensorTransformations.cpp).

// roll is a contiguous copy.
func roll(c *ops.Call) ([]tensor.Meta, error) {
	shifts, dims := c.Ints("shifts"), c.Ints("dims")
	if len(dims) == 0 && len(shifts) != 1 || len(dims) > 0 && len(shifts) != len(dims) || len(shifts) == 0 {
		return nil, c.Errorf("got %d shifts for %d dims", len(shifts), len(dims))
	}
	for _, d := range dims {
		if _, err := c.WrapDim(d, len(c.Self().Sizes)); err != nil {
			return nil, err
		}
		if len(c.Self().Sizes) == 0 {
			return nil, c.Errorf("got dim %d of a tensor without dimensions, want none", d)
		}
	}
	return ops.One(ops.FreshLike(c.Self(), c.Self().Sizes...))
}

// rollWorkspace is the contiguous copy of a strided tensor, and each shift's result before the last
// (aten/src/ATen/native/TensorTransformations.h roll_common).
func rollWorkspace(c *ops.Call) []workspace.Request {
	self := c.Self()
	s := workspace.Request{Bytes: self.NBytes(), Before: true,
		Source: "aten/src/ATen/native/TensorTransformations.h roll_common"}
	between := max(len(c.Ints("dims"))-1, 0)
	out := slices.Repeat([]workspace.Request{s}, between)
	switch {
	case self.IsContiguous():
		return out
	case between == 0:
		return []workspace.Request{s}
	}
	s.Before = false
	return append([]workspace.Request{s, s, workspace.DropPast(1)}, append(slices.Repeat([]workspace.Request{s},
		between-1), workspace.Make(0))...)
}

// flip keeps the strides of a dense tensor.
func flip(c *ops.Call) ([]tensor.Meta, error) {
	if c.Schema.ArgIndex("dims") >= 0 && len(c.Ints("dims")) > 0 {
		if _, err := c.Dims("dims", len(c.Self().Sizes)); err != nil {
			return nil, err
		}
	}
	return ops.One(ops.EmptyLike(c.Self(), c.Self().DType, tensor.Preserve))
}

// flipAlong is fliplr and flipud.
func flipAlong(dim int64) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		if len(c.Self().Sizes) <= int(dim) {
			return nil, c.Errorf("got %d dimensions, want more than %d", len(c.Self().Sizes), dim)
		}
		return c.Do("aten::flip", c.Self(), ops.IntList(dim)), nil
	}
}

// rot90 is a flipped copy, seen transposed after an odd number of turns.
func rot90(c *ops.Call) ([]tensor.Meta, error) {
	self := c.Self()
	dims, err := c.Dims("dims", len(self.Sizes))
	if err != nil {
		return nil, err
	}
	if len(dims) != 2 || len(c.Ints("dims")) != 2 {
		return nil, c.Errorf("got %d dims, want 2", len(dims))
	}
	m := ops.EmptyLike(self, self.DType, tensor.Preserve)
	switch k := ((c.Int("k") % 4) + 4) % 4; k {
	case 0:
		m = ops.FreshLike(self, self.Sizes...)
	case 1, 3:
		m = ops.Transposed(&tensor.Tensor{Meta: m}, dims[0], dims[1])
	}
	return ops.One(m)
}
