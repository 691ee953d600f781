package workspace

import (
	"math/bits"
	"slices"

	"github.com/memspec/memspec/engine/note"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// Sorting and selecting, which CUB does with its own storage.

// Sort is what a sort along a dimension takes (native/cuda/Sort.cpp sort_cuda_kernel, Sort.cu): the
// places in a slice, and for more than 4096 of them copies where the dimension is not innermost,
// and CUB's storage: for each slice where there is one or they are long; for few slices one sort of
// all and a stable one by slice; else one of all slices apart.
func Sort(p *platform.Platform, x *tensor.Meta, dim int) []Request {
	n := x.Numel()
	if !OnDevice(x) || len(x.Sizes) == 0 || n == 0 {
		return nil
	}
	const source = "native/cuda/Sort.cpp"
	length := x.Sizes[dim]
	places := Request{Bytes: units.Bytes(8 * length), Source: source}
	if length <= 4096 {
		return []Request{places}
	}
	var out []Request
	if x.Strides[dim] != 1 {
		// and results as it lies
		out = append(out, CopyOf(x, source), CopyOf(x, source), Request{Bytes: units.Bytes(8 * n), Source: source})
	}
	key := x.DType.ItemSize()
	rows, all := n/length, Request{Bytes: units.Bytes(8 * n), Source: source}
	switch {
	case rows == 1 || length >= 1000000:
		one := []Request{cubRequest(p, radixSort{n: length, key: key}.bytes(p), source)}
		return append(append(out, places), InTurn(one, rows)...)
	case rows < 128:
		bySlice := radixSort{n: n, key: 8, bits: int64(bits.Len64(uint64(rows)))}
		if p.Device.ComputeCapability.Major >= 9 {
			bySlice.value = 4
		}
		return append(out, all, all, Request{Bytes: units.Bytes(key * n), Source: source},
			cubRequest(p, radixSort{n: n, key: key}.bytes(p), source), Drop(2), cubRequest(p, bySlice.bytes(p), source))
	}
	return append(out, all, cubRequest(p, cubStorage(key*n, 8*n), source))
}

// TopK is a contiguous input, and where slices are long what several blocks of threads share for
// one of them: values, counts and places by block and digit. More than 4096 results are sorted and
// put in that order (native/cuda/TensorTopK.cu, TensorTopK.cpp).
func TopK(p *platform.Platform, x *tensor.Meta, dim int, k int64) []Request {
	if !OnDevice(x) || len(x.Sizes) == 0 || x.Numel() == 0 {
		return nil
	}
	const source = "native/cuda/TensorTopK.cu"
	out := Contiguous(source, x)
	length := x.Sizes[dim]
	rows := x.Numel() / length
	if severalBlocks(rows, length) {
		made := func(bytes int64) Request { return Request{Bytes: units.Bytes(bytes), Source: source} }
		const threads, registers = 256, 40
		perSM := int64(65536 / (registers * threads))
		items := threads * min(max(divCeil(x.Numel(), int64(p.Device.SMs)*perSM*threads), 4), 64)
		blocks := rows * divCeil(length, items)
		item := x.DType.ItemSize()
		sums := cubRequest(p, 5*cubPart-1, source)
		parts := []Request{made(rows * item), made(8 * rows), made(2 * max(item, 4) * rows), made(512 * blocks),
			made(1024 * rows), made(4 * blocks), made(4 * blocks)}
		out = append(append(out, parts...), sums, Drop(1), sums, Drop(1+len(parts)))
	}
	if k > 4096 {
		chosen := *x
		chosen.Sizes = slices.Clone(x.Sizes)
		chosen.Sizes[dim] = k
		chosen.Strides = tensor.ContiguousStrides(chosen.Sizes)
		places := Request{Bytes: units.Bytes(8 * chosen.Numel()), Source: source}
		out = append(append(out, places, CopyOf(&chosen, source)), GivenBack(Sort(p, &chosen, dim))...)
		out = append(out, places)
	}
	return out
}

// severalBlocks is should_use_multiblock.
func severalBlocks(rows, length int64) bool {
	switch {
	case rows <= 20:
		return length >= 20000
	case rows <= 40:
		return length >= 10000
	case rows <= 80:
		return length >= 8000
	case rows < 200:
		return length >= 5000
	case rows < 800:
		return length >= 3000
	case rows <= 4000:
		return length >= 800
	}
	return length >= 400
}

// SortedIndices is what a kernel takes that sorts n indices first: four int64 vectors and the radix
// sort's double buffers.
func SortedIndices(n int64, source string) []Request {
	v := Request{Bytes: units.Bytes(8 * n), Source: source, Note: note.WorkspaceEstimate}
	return append(slices.Repeat([]Request{v}, 4),
		Request{Bytes: units.Bytes(16 * n), Upper: units.Bytes(16*n + 1<<20), Source: source,
			Note: note.WorkspaceEstimate})
}

// EmbeddingBackward is the sort of the indices, which few of them do without
// (native/cuda/Embedding.cu embedding_dense_backward_cuda).
func EmbeddingBackward(indices *tensor.Meta, scaleByFrequency bool) []Request {
	const unsorted = 3072
	if !OnDevice(indices) || indices.Numel() <= unsorted && !scaleByFrequency {
		return nil
	}
	return SortedIndices(indices.Numel(), "aten/src/ATen/native/cuda/Embedding.cu embedding_dense_backward_cuda")
}

const nonzeroSource = "aten/src/ATen/native/cuda/Nonzero.cu nonzero_cuda_out_impl"

// Nonzero is a count on the device, what counting n elements takes, and CUB's storage of choosing
// them.
func Nonzero(p *platform.Platform, n int64) []Request {
	if n == 0 {
		return nil
	}
	return append(Before(
		Request{Bytes: 4, Source: nonzeroSource},
		cubRequest(p, cubReduce(p, n), nonzeroSource),
		Drop(1),
	), cubRequest(p, cubSelect(p, n), nonzeroSource))
}

// Mask is nonzero of a mask inside an operator, of which the chosen places stay to the operator's
// end.
func Mask(p *platform.Platform, mask *tensor.Meta, chosen int64) []Request {
	n := mask.Numel()
	if n == 0 {
		return nil
	}
	return Before(
		Request{Bytes: 4, Source: nonzeroSource},
		cubRequest(p, cubReduce(p, n), nonzeroSource),
		Drop(1),
		Request{Bytes: units.Bytes(8 * int64(max(len(mask.Sizes), 1)) * chosen), Source: nonzeroSource},
		cubRequest(p, cubSelect(p, n), nonzeroSource),
		Drop(1),
		DropPast(1),
	)
}

// MaskedScatter are the places in the source, the mask in the result's shape, and CUB's storage of
// adding it up (native/cuda/IndexKernel.cpp masked_scatter__cuda).
func MaskedScatter(p *platform.Platform, mask *tensor.Meta, out []int64) []Request {
	const source = "native/cuda/IndexKernel.cpp masked_scatter__cuda"
	n := tensor.Numel(out)
	if n == 0 {
		return nil
	}
	all := []Request{{Bytes: units.Bytes(8 * n), Source: source}}
	if mask.Numel() != n || !mask.IsContiguous() {
		all = append(all, Request{Bytes: units.Bytes(n), Source: source})
	}
	return append(all, cubRequest(p, cubScan(p, n, tensor.Int64), source))
}
