package workspace

import (
	"slices"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// Sorting and selecting, which CUB does with storage of its own. How much that is depends on its tuning for the device: those figures are estimates.

// Sort is what a sort along a dimension takes (native/cuda/Sort.cpp sort_cuda_kernel, Sort.cu): up to 4096 elements nothing; else a copy where the
// dimension is not innermost, and by the number of segments an arange, two buffers of 8 bytes an element or one.
func Sort(x *tensor.Meta, dim int) []Request {
	n := x.Numel()
	if !OnDevice(x) || len(x.Sizes) == 0 || x.Sizes[dim] <= 4096 || n == 0 {
		return nil
	}
	const source = "native/cuda/Sort.cpp"
	var out []Request
	if x.Strides[dim] != 1 {
		out = append(out, CopyOf(x, source))
	}
	segments := n / x.Sizes[dim]
	pairs := units.Bytes(n * (x.DType.ItemSize() + 8)) // CUB's second buffers for keys and values
	places := units.Bytes(8 * n)
	switch {
	case segments == 1 || x.Sizes[dim] >= 1000000:
		places, pairs = units.Bytes(8*x.Sizes[dim]), pairs/units.Bytes(segments)
	case segments < 128:
		places = units.Bytes(16 * n)
	}
	return append(out, Request{Bytes: places, Source: source}, Request{Bytes: pairs, Upper: pairs*5/4 + 65536, Source: source, Note: note.WorkspaceEstimate})
}

// TopK is a full sort for few long slices, else a contiguous input (native/cuda/TensorTopK.cpp).
func TopK(x *tensor.Meta, dim int) []Request {
	if !OnDevice(x) || len(x.Sizes) == 0 || x.Numel() == 0 {
		return nil
	}
	if x.Numel()/x.Sizes[dim] > 10 || x.Sizes[dim] < 100000 {
		return Contiguous("native/cuda self.contiguous()", x)
	}
	const source = "native/cuda/TensorTopK.cpp sort"
	return append([]Request{CopyOf(x, source), {Bytes: units.Bytes(8 * x.Numel()), Source: source}}, Sort(x, dim)...)
}

// SortedIndices is what a kernel takes that sorts n indices first: four int64 vectors and the radix sort's double buffers.
func SortedIndices(n int64, source string) []Request {
	v := Request{Bytes: units.Bytes(8 * n), Source: source, Note: note.WorkspaceEstimate}
	return append(slices.Repeat([]Request{v}, 4), Request{Bytes: units.Bytes(16 * n), Upper: units.Bytes(16*n + 1<<20), Source: source, Note: note.WorkspaceEstimate})
}

// EmbeddingBackward is the sort of the indices, which few of them do without (native/cuda/Embedding.cu embedding_dense_backward_cuda).
func EmbeddingBackward(indices *tensor.Meta, scaleByFrequency bool) []Request {
	const unsorted = 3072
	if !OnDevice(indices) || indices.Numel() <= unsorted && !scaleByFrequency {
		return nil
	}
	return SortedIndices(indices.Numel(), "aten/src/ATen/native/cuda/Embedding.cu embedding_dense_backward_cuda")
}

const nonzeroSource = "aten/src/ATen/native/cuda/Nonzero.cu nonzero_cuda_out_impl"

// Nonzero is a count on the device and the storage of CUB's select over n elements: about one word a tile of its kernel.
func Nonzero(n int64) []Request {
	if n == 0 {
		return nil
	}
	return []Request{
		{Bytes: 4, Before: true, Source: nonzeroSource},
		{Bytes: units.Bytes(1024 + n/64), Upper: units.Bytes(4096 + n/8), Source: nonzeroSource, Note: note.WorkspaceEstimate},
	}
}

// Mask is nonzero of a mask inside an operator: its count, CUB's storage, and its result of chosen places, which stays to the operator's end.
func Mask(mask *tensor.Meta, chosen int64) []Request {
	n := mask.Numel()
	return Before(
		Request{Bytes: 4, Source: nonzeroSource},
		Request{Bytes: units.Bytes(1024 + n/64), Upper: units.Bytes(4096 + n/8), Source: nonzeroSource, Note: note.WorkspaceEstimate},
		Request{Bytes: units.Bytes(8 * int64(max(len(mask.Sizes), 1)) * chosen), Source: nonzeroSource},
	)
}
