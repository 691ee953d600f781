package pointwise

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// where takes what condition chooses of two.
func where(c *ops.Call) ([]tensor.Meta, error) {
	if d := c.T("condition").DType; d != tensor.Bool && d != tensor.Uint8 {
		return nil, c.Errorf("got a condition of %s, want bool", d)
	}
	return c.Elementwise(ops.ResultType(c.T("self"), c.T("other")), c.Operands())
}

// whereWorkspace are the copies of operands of another dtype, or on the host.
func whereWorkspace(c *ops.Call) []workspace.Request {
	d := ops.ResultType(c.T("self"), c.T("other"))
	m, err := c.Rule.Out(c)
	if err != nil || m[0].Device == "cpu" {
		return nil
	}
	var out []workspace.Request
	for _, t := range []*tensor.Tensor{c.T("self"), c.T("other")} {
		if t.DType != d || t.Device == "cpu" {
			meta := ops.EmptyLike(t, d, tensor.Preserve)
			out = append(out, workspace.Request{Bytes: meta.StorageBytes(), Before: true,
				Source: "aten/src/ATen/native/TensorCompare.cpp where_self_out"})
		}
	}
	return out
}

// whereScalar makes tensors of numbers on the other operand's device, then casts.
func whereScalar(c *ops.Call) (any, error) {
	d := ops.ResultType(c.Arg("self"), c.Arg("other"))
	like := c.T("self")
	if like == nil {
		like = c.T("other")
	}
	if like == nil {
		like = c.T("condition")
	}
	made := func(v any) *tensor.Tensor {
		return c.Do("aten::scalar_tensor", v, ops.Kw{"dtype": int64(d), "device": ops.Device(like.Device)})
	}
	cond := c.T("condition")
	self, other := c.T("self"), c.T("other")
	switch {
	case self != nil:
		right := made(c.Arg("other"))
		return c.Do("aten::where.self", cond, c.Do("aten::to.dtype", self, int64(d)), right), nil
	case other != nil:
		left := made(c.Arg("self"))
		return c.Do("aten::where.self", cond, left, c.Do("aten::to.dtype", other, int64(d))), nil
	}
	right := made(c.Arg("other"))
	return c.Do("aten::where.self", cond, made(c.Arg("self")), right), nil
}

// whereIndices is nonzero_numpy.
func whereIndices(c *ops.Call) (any, error) { return c.DoAny("aten::nonzero_numpy", c.Args...), nil }

// maskedFill is a contiguous copy in the shape of self and mask.
func maskedFill(c *ops.Call) ([]tensor.Meta, error) {
	self, mask := c.T("self"), c.T("mask")
	if err := checkMask(c, mask); err != nil {
		return nil, err
	}
	shape, err := c.Broadcast(self.Sizes, mask.Sizes)
	if err != nil {
		return nil, err
	}
	return ops.One(ops.FreshLike(self, shape...))
}

func checkMask(c *ops.Call, mask *tensor.Tensor) error {
	if mask.DType != tensor.Bool {
		return c.Errorf("got a mask of %s, want bool", mask.DType)
	}
	if v := c.T("value"); v != nil && len(v.Sizes) > 0 {
		return c.Errorf("got a value of sizes %v, want a 0-dim tensor", v.Sizes)
	}
	return nil
}

func maskedFillInPlace(c *ops.Call) ([]tensor.Meta, error) {
	if err := checkMask(c, c.T("mask")); err != nil {
		return nil, err
	}
	return overwrite(c)
}
