package pointwise

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// magnitudeWorkspace is the absolute value that is compared with infinity (native/TensorCompare.cpp
// isinf).
func magnitudeWorkspace(c *ops.Call) []workspace.Request {
	x := c.Self()
	if !ops.OnCUDA(x) || !x.DType.Floating() {
		return nil
	}
	return workspace.Before(workspace.CopyOf(&x.Meta, "native/TensorCompare.cpp isinf"))
}

// promotedWorkspace is self in the result's dtype, where a number beside it has another kind: an
// operator that takes numbers casts first.
func promotedWorkspace(c *ops.Call) []workspace.Request {
	x := c.Self()
	if !ops.OnCUDA(x) {
		return nil
	}
	m, err := c.Rule.Out(c)
	if err != nil || m[0].DType == x.DType {
		return nil
	}
	cast := ops.EmptyLike(x, m[0].DType, tensor.Preserve)
	return workspace.Before(workspace.CopyOf(&cast, "native/TensorIterator.cpp"))
}

// baseWorkspace is the base, a number, as a tensor (native/Pow.cpp pow_out).
func baseWorkspace(c *ops.Call) []workspace.Request {
	if x := c.T("exponent"); !ops.OnCUDA(x) || x.Numel() == 0 {
		return nil
	}
	n := tensor.Float64.ItemSize()
	switch c.Arg("self").(type) {
	case complex128:
		n = tensor.Complex128.ItemSize()
	case bool:
		n = tensor.Bool.ItemSize()
	}
	return []workspace.Request{workspace.CopyOf(&tensor.Meta{DType: tensor.Uint8, Sizes: []int64{n}},
		"native/Pow.cpp pow_out")}
}
