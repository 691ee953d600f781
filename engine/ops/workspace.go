package ops

import (
	"slices"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// SortedPlaces is the scratch of a kernel that sorts n places first: four int64 vectors and the radix sort's double buffers.
func SortedPlaces(n int64, source string) []Scratch {
	v := Scratch{Bytes: units.Bytes(8 * n), Source: source, Note: note.ScratchEstimate}
	out := slices.Repeat([]Scratch{v}, 4)
	return append(out, Scratch{Bytes: units.Bytes(16 * n), Upper: units.Bytes(16*n + 1<<20), Source: source, Note: note.ScratchEstimate})
}

const (
	cublasKey   = "cublas"
	cublasLtKey = "cublasLt"
)

// CuBLAS is the workspace of a gemm, batched gemm, gemv or dot.
func CuBLAS(p *platform.Platform) []Scratch {
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

// CuBLASLt is the workspace of a cublasLt matmul.
func CuBLASLt(p *platform.Platform) []Scratch {
	var out []Scratch
	if p.LtTakesCublas() {
		out = CuBLAS(p)
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

func OnCUDA(t *tensor.Tensor) bool { return t != nil && t.Device != "cpu" && t.Device != "meta" }
