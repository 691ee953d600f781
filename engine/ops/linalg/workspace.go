package linalg

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// The workspaces of cuBLAS and cuBLASLt (aten/src/ATen/cuda/CublasHandlePool.cpp); which release takes what, platform knows.

// gemmCopy is the contiguous clone of a matrix that cuBLAS cannot read in place: one of its strides must be 1 and the other at least
// the size along it (native/cuda/Blas.cpp prepare_matrix_for_cublas).
func gemmCopy(t *tensor.Tensor) []ops.Scratch {
	n := len(t.Sizes)
	rows, cols, sr, sc := t.Sizes[n-2], t.Sizes[n-1], t.Strides[n-2], t.Strides[n-1]
	if sr == 1 && sc >= max(1, rows) || sc == 1 && sr >= max(1, cols) || t.Numel() == 0 {
		return nil
	}
	return []ops.Scratch{{Bytes: t.NBytes(), Source: "native/cuda/Blas.cpp prepare_matrix_for_cublas"}}
}

// batchCopy is gemmCopy for each matrix of a batch; an expanded batch is copied too (prepare_batch_matrix_for_cublas).
func batchCopy(t *tensor.Tensor) []ops.Scratch {
	if t.Sizes[0] > 1 && t.Strides[0] == 0 && t.Numel() > 0 {
		return []ops.Scratch{{Bytes: t.NBytes(), Source: "native/cuda/Blas.cpp prepare_batch_matrix_for_cublas"}}
	}
	return gemmCopy(t)
}

func gemmScratch(c *ops.Call) []ops.Scratch {
	ts := c.Operands()
	if len(ts) < 2 || !ops.OnCUDA(ts[0]) {
		return nil
	}
	a, b := ts[len(ts)-2], ts[len(ts)-1]
	if len(a.Sizes) == 3 && len(b.Sizes) == 3 {
		return append(append(batchCopy(a), batchCopy(b)...), ops.CuBLAS(c.Platform())...)
	}
	if len(a.Sizes) == 2 && len(b.Sizes) == 2 {
		return append(append(gemmCopy(a), gemmCopy(b)...), ops.CuBLAS(c.Platform())...)
	}
	return ops.CuBLAS(c.Platform())
}

// addmmScratch knows when addmm takes cublasLt with the bias in its epilogue (native/cuda/Blas.cpp isInputCompliesAddmmCudaLt).
func addmmScratch(c *ops.Call) []ops.Scratch {
	bias, a, b := c.T("self"), c.T("mat1"), c.T("mat2")
	if !ops.OnCUDA(a) {
		return nil
	}
	copies := append(gemmCopy(a), gemmCopy(b)...)
	if takesLt(c, bias, a, b) {
		return append(copies, ops.CuBLASLt(c.Platform())...)
	}
	return append(copies, ops.CuBLAS(c.Platform())...)
}

func takesLt(c *ops.Call, bias, a, b *tensor.Tensor) bool {
	p := c.Platform()
	width := 0
	for _, d := range bias.Sizes {
		if d != 1 {
			width++
		}
	}
	oneDim := len(bias.Sizes) == 1 || p.Release().LtSqueezesBias && width <= 1 && len(bias.Sizes) == 2
	switch a.DType {
	case tensor.Float64, tensor.Float32, tensor.Float16, tensor.BFloat16:
	default:
		return false
	}
	return c.Float("beta") == 1 && oneDim && bias.IsContiguous() && bias.Numel() == b.Sizes[1] &&
		b.Sizes[0] > 1 && b.Sizes[1] > 1 && a.Sizes[0] >= p.LtMinRows()
}

func ltScratch(c *ops.Call) []ops.Scratch { return ops.CuBLASLt(c.Platform()) }
