package nn

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/workspace"
)

// made is an order in which a kernel makes its results, other than that of the schema; those that
// are not named come last.
func made(order ...int) func(*ops.Call) []workspace.Request {
	return func(*ops.Call) []workspace.Request {
		out := make([]workspace.Request, len(order))
		for i, n := range order {
			out[i] = workspace.Make(n)
		}
		return out
	}
}

// im2colWorkspace is the result as it is made first, in the input's sizes, and a contiguous input
// where it is none (native/cuda/Im2Col.cu).
func im2colWorkspace(c *ops.Call) []workspace.Request {
	x := c.Self()
	m, err := im2col(c)
	if err != nil || !ops.OnCUDA(x) || m[0].NBytes() <= x.NBytes() {
		return nil
	}
	first := workspace.CopyOf(&x.Meta, "native/cuda/Im2Col.cu")
	if !x.IsContiguous() {
		return []workspace.Request{first, first, workspace.Make(0), workspace.Drop(2)}
	}
	return []workspace.Request{first, workspace.Make(0), workspace.Drop(1)}
}

// convTBCWorkspace is a product for each element of the kernel (native/ConvolutionTBC.cpp).
func convTBCWorkspace(c *ops.Call) []workspace.Request {
	if !ops.OnCUDA(c.T("self")) {
		return nil
	}
	return workspace.InTurn(workspace.CuBLAS(c.Platform()), c.T("weight").Sizes[0])
}
