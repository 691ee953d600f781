package linalg

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/workspace"
)

// matmulWorkspace is of the last two tensors among the arguments, the factors.
func matmulWorkspace(c *ops.Call) []workspace.Request {
	ts := c.Operands()
	if len(ts) < 2 || !ops.OnCUDA(ts[0]) {
		return nil
	}
	return workspace.MatMul{A: &ts[len(ts)-2].Meta, B: &ts[len(ts)-1].Meta}.Requests(c.Platform())
}

func addmmWorkspace(c *ops.Call) []workspace.Request {
	bias, a, b := c.T("self"), c.T("mat1"), c.T("mat2")
	if !ops.OnCUDA(a) {
		return nil
	}
	return workspace.MatMul{A: &a.Meta, B: &b.Meta, Bias: &bias.Meta, Beta: c.Float("beta")}.Requests(c.Platform())
}

func ltWorkspace(c *ops.Call) []workspace.Request { return workspace.CuBLASLt(c.Platform()) }
