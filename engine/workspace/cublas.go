package workspace

import (
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
)

// The workspaces of cuBLAS and cuBLASLt (aten/src/ATen/cuda/CublasHandlePool.cpp); which release
// takes what, platform knows.

const (
	cublasKey   = "cublas"
	cublasLtKey = "cublasLt"
)

// CuBLAS is the workspace of a gemm, batched gemm, gemv or dot.
func CuBLAS(p *platform.Platform) []Request {
	w := p.Cublas()
	if w.Bytes == 0 {
		return nil
	}
	r := Request{Bytes: w.Bytes, Source: "ATen/cuda/CublasHandlePool.cpp getChosenWorkspaceSize"}
	if w.Lifetime != platform.PerCall {
		r.Keep = cublasKey
	}
	return []Request{r}
}

// CuBLASLt is the workspace of a cublasLt matmul.
func CuBLASLt(p *platform.Platform) []Request {
	var out []Request
	if p.LtTakesCublas() {
		out = CuBLAS(p)
	}
	w := p.CublasLt()
	if w.Bytes == 0 {
		return out
	}
	r := Request{Bytes: w.Bytes, Source: "ATen/cuda/CUDABlas.cpp _getWorkspaceSize"}
	switch w.Lifetime {
	case platform.Shared:
		r.Keep = cublasKey
	case platform.Kept:
		r.Keep = cublasLtKey
	}
	return append(out, r)
}

// MatMul is a product of two matrices, of two batches of them, or of a matrix and a vector, with a
// bias added where there is one.
type MatMul struct {
	A, B *tensor.Meta
	Bias *tensor.Meta // addmm's self
	Beta float64      // what the bias is multiplied by
}

// Requests are the copies of operands that cuBLAS cannot read in place, and the library's
// workspace; nothing where a matrix has no elements.
func (m MatMul) Requests(p *platform.Platform) []Request {
	var out []Request
	if rank := len(m.A.Sizes); rank > 1 {
		if m.A.Numel() == 0 || m.B.Numel() == 0 {
			return nil
		}
		if len(m.B.Sizes) == rank { // of a result that lies row by row it is the first operand
			out = matrixCopy(m.B)
		}
		out = append(out, matrixCopy(m.A)...)
	}
	if m.Bias != nil && m.takesLt(p) {
		return append(out, CuBLASLt(p)...)
	}
	return append(out, CuBLAS(p)...)
}

// takesLt says whether addmm adds the bias in the epilogue of cublasLt (native/cuda/Blas.cpp
// isInputCompliesAddmmCudaLt).
func (m MatMul) takesLt(p *platform.Platform) bool {
	switch m.A.DType {
	case tensor.Float64, tensor.Float32, tensor.Float16, tensor.BFloat16:
	default:
		return false
	}
	wide := 0
	for _, d := range m.Bias.Sizes {
		if d != 1 {
			wide++
		}
	}
	vector := len(m.Bias.Sizes) == 1 || p.Release().LtSqueezesBias && wide <= 1 && len(m.Bias.Sizes) == 2
	return m.Beta == 1 && vector && m.Bias.IsContiguous() && m.Bias.Numel() == m.B.Sizes[1] &&
		m.B.Sizes[0] > 1 && m.B.Sizes[1] > 1 && m.A.Sizes[0] >= p.LtMinRows()
}

// matrixCopy is the contiguous clone of a matrix, or of a batch of them, that cuBLAS cannot read in
// place: one of its strides must be 1 and the other at least the size along it, or all is dense: a
// row may have any stride to the next where there is none; a batch may stand still
// (native/cuda/Blas.cpp prepare_matrix_for_cublas, prepare_batch_matrix_for_cublas).
func matrixCopy(m *tensor.Meta) []Request {
	n := len(m.Sizes)
	rows, cols, sr, sc := m.Sizes[n-2], m.Sizes[n-1], m.Strides[n-2], m.Strides[n-1]
	if sr == 1 && sc >= max(1, rows) || sc == 1 && sr >= max(1, cols) || m.Numel() == 0 || n == 2 && m.IsDense() {
		return nil
	}
	return []Request{CopyOf(m, "native/cuda/Blas.cpp prepare_matrix_for_cublas")}
}

// OuterProducts says that a batch of products of columns and rows is multiplied by a kernel of
// PyTorch's own, without workspace: in 2.15, not in 2.11.
func (m MatMul) OuterProducts(p *platform.Platform) bool {
	return len(m.A.Sizes) == 3 && m.A.Sizes[2] == 1 && p.Release().Torch.AtLeast(2, 15)
}
