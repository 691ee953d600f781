package linalg

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
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

// bmmWorkspace is matmulWorkspace, except outer products.
func bmmWorkspace(c *ops.Call) []workspace.Request {
	m := workspace.MatMul{A: &c.T("self").Meta, B: &c.T("mat2").Meta}
	if m.OuterProducts(c.Platform()) {
		return nil
	}
	return matmulWorkspace(c)
}

// addbmmWorkspace is that of one product after the other (native/cuda/Blas.cpp addbmm).
func addbmmWorkspace(c *ops.Call) []workspace.Request {
	a, b := c.T("batch1"), c.T("batch2")
	if !ops.OnCUDA(a) || len(a.Sizes) != 3 || len(b.Sizes) != 3 {
		return nil
	}
	first, second := a.Meta, b.Meta
	first.Sizes, first.Strides = a.Sizes[1:], a.Strides[1:]
	second.Sizes, second.Strides = b.Sizes[1:], b.Strides[1:]
	one := workspace.MatMul{A: &first, B: &second}.Requests(c.Platform())
	return workspace.InTurn(one, a.Sizes[0])
}

func addmmWorkspace(c *ops.Call) []workspace.Request {
	bias, a, b := c.T("self"), c.T("mat1"), c.T("mat2")
	if !ops.OnCUDA(a) {
		return nil
	}
	return workspace.MatMul{A: &a.Meta, B: &b.Meta, Bias: &bias.Meta, Beta: c.Float("beta")}.Requests(c.Platform())
}

// intWorkspace is cublasLt's for int8, up to 2.11; 2.15 gives it none.
func intWorkspace(c *ops.Call) []workspace.Request {
	if c.Platform().Release().Torch.AtLeast(2, 15) {
		return nil
	}
	return ltWorkspace(c)
}

func ltWorkspace(c *ops.Call) []workspace.Request { return workspace.CuBLASLt(c.Platform()) }

// factorization is the workspace of one matrix.
func factorization(bytes func(int64, tensor.DType) int64) func(*ops.Call) []workspace.Request {
	return func(c *ops.Call) []workspace.Request {
		if len(c.Self().Sizes) != 2 {
			return nil
		}
		return workspace.Factorization{Input: &c.Self().Meta, Bytes: bytes}.CuSOLVER(c.Platform())
	}
}

// checkWorkspace is whether any number of an info is an error, which goes to the host
// (native/BatchLinearAlgebra.cpp _linalg_check_errors).
func checkWorkspace(c *ops.Call) []workspace.Request {
	info := c.T("info")
	if !ops.OnCUDA(info) || c.Platform().IsNone() || info.Numel() == 0 {
		return nil
	}
	one := workspace.Request{Bytes: 1, Source: "native/BatchLinearAlgebra.cpp info.any()"}
	return []workspace.Request{one, one}
}
