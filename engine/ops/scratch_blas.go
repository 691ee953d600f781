package ops

import (
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// The workspaces of cuBLAS and cuBLASLt (aten/src/ATen/cuda/CublasHandlePool.cpp); which release takes what, platform knows.

const (
	cublasKey   = "cublas"
	cublasLtKey = "cublasLt"
)

// cublas is the workspace of a gemm, batched gemm, gemv or dot.
func cublas(p *platform.Platform) []Scratch {
	w := p.Cublas()
	if w.Bytes == 0 {
		return nil
	}
	s := Scratch{Bytes: w.Bytes, Source: "ATen/cuda/CublasHandlePool.cpp getChosenWorkspaceSize"}
	if w.Lifetime != platform.PerCall {
		s.Keep = cublasKey
	}
	return []Scratch{s}
}

// cublasLt is the workspace of a cublasLt matmul.
func cublasLt(p *platform.Platform) []Scratch {
	var out []Scratch
	if p.LtTakesCublas() {
		out = cublas(p)
	}
	w := p.CublasLt()
	if w.Bytes == 0 {
		return out
	}
	s := Scratch{Bytes: w.Bytes, Source: "ATen/cuda/CUDABlas.cpp _getWorkspaceSize"}
	switch w.Lifetime {
	case platform.Shared:
		s.Keep = cublasKey
	case platform.Kept:
		s.Keep = cublasLtKey
	}
	return append(out, s)
}

// gemmCopy is the contiguous clone of a matrix that cuBLAS cannot read in place: one of its strides must be 1 and the other at least
// the size along it (native/cuda/Blas.cpp prepare_matrix_for_cublas).
func gemmCopy(t *tensor.Tensor) []Scratch {
	n := len(t.Sizes)
	rows, cols, sr, sc := t.Sizes[n-2], t.Sizes[n-1], t.Strides[n-2], t.Strides[n-1]
	if sr == 1 && sc >= max(1, rows) || sc == 1 && sr >= max(1, cols) || t.Numel() == 0 {
		return nil
	}
	return []Scratch{{Bytes: t.NBytes(), Source: "native/cuda/Blas.cpp prepare_matrix_for_cublas"}}
}

// batchCopy is gemmCopy for each matrix of a batch; an expanded batch is copied too (prepare_batch_matrix_for_cublas).
func batchCopy(t *tensor.Tensor) []Scratch {
	if t.Sizes[0] > 1 && t.Strides[0] == 0 && t.Numel() > 0 {
		return []Scratch{{Bytes: t.NBytes(), Source: "native/cuda/Blas.cpp prepare_batch_matrix_for_cublas"}}
	}
	return gemmCopy(t)
}

func gemmScratch(c *Call) []Scratch {
	ts := c.operands()
	if len(ts) < 2 || !onCUDA(ts[0]) {
		return nil
	}
	a, b := ts[len(ts)-2], ts[len(ts)-1]
	if len(a.Sizes) == 3 && len(b.Sizes) == 3 {
		return append(append(batchCopy(a), batchCopy(b)...), cublas(c.Platform())...)
	}
	if len(a.Sizes) == 2 && len(b.Sizes) == 2 {
		return append(append(gemmCopy(a), gemmCopy(b)...), cublas(c.Platform())...)
	}
	return cublas(c.Platform())
}

// addmmScratch knows when addmm takes cublasLt with the bias in its epilogue (native/cuda/Blas.cpp isInputCompliesAddmmCudaLt).
func addmmScratch(c *Call) []Scratch {
	bias, a, b := c.T("self"), c.T("mat1"), c.T("mat2")
	if !onCUDA(a) {
		return nil
	}
	copies := append(gemmCopy(a), gemmCopy(b)...)
	if takesLt(c, bias, a, b) {
		return append(copies, cublasLt(c.Platform())...)
	}
	return append(copies, cublas(c.Platform())...)
}

func takesLt(c *Call, bias, a, b *tensor.Tensor) bool {
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

func onCUDA(t *tensor.Tensor) bool { return t != nil && t.Device != "cpu" && t.Device != "meta" }

func ltScratch(c *Call) []Scratch { return cublasLt(c.Platform()) }
