package workspace

import (
	"slices"

	"github.com/memspec/memspec/engine/device"
	"github.com/memspec/memspec/engine/platform"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
)

// What a reduction takes where its work is split over several blocks of threads that meet in global
// memory (aten/src/ATen/native/cuda/Reduce.cuh setReduceConfig, ReduceConfig::global_memory_size,
// semaphore_size).

const reduceSource = "native/cuda/Reduce.cuh"

// Accumulator is what a reduction adds up in.
type Accumulator uint8

// The accumulators.
const (
	AccValue   Accumulator = iota // the accumulate type (ATen/AccumulateType.h)
	AccInput                      // the input's own type
	AccPair                       // a value and its place
	AccWelford                    // mean, squares, two counts
	AccBool
	AccTwo // smallest and largest
)

// bytes is the size of one accumulator over elements of dtype d.
func (a Accumulator) bytes(d tensor.DType) int64 {
	n := d.AccumulateType().ItemSize()
	switch a {
	case AccInput:
		return d.ItemSize()
	case AccPair:
		return 16
	case AccWelford:
		return max(4*n, 16)
	case AccBool:
		return 1
	case AccTwo:
		return 2 * d.ItemSize()
	}
	return n
}

// Reduction is what reducing dims of x takes: nothing where one block of threads a result suffices.
func Reduction(p *platform.Platform, x *tensor.Meta, dims []int, acc Accumulator) []Request {
	d := p.Device
	if !OnDevice(x) || d.SMs == 0 {
		return nil
	}
	buffer, semaphores := shapeReduction(x, dims).staging(acc.bytes(x.DType), x.DType.ItemSize(), int64(d.SMs),
		threadsPerSM(d.ComputeCapability))
	if buffer == 0 {
		return nil
	}
	return []Request{{Bytes: units.Bytes(buffer), Source: reduceSource},
		{Bytes: units.Bytes(semaphores), Source: reduceSource}}
}

// reduceShape is a reduction as TensorIterator sees it: reduced dimensions first, each group in the
// order of strides, neighbours merged.
type reduceShape struct {
	inputs, outputs int64
	sizes, strides  []int64 // strides in elements
	reduced         int     // how many of them are reduced
}

func shapeReduction(x *tensor.Meta, dims []int) *reduceShape {
	r := &reduceShape{inputs: 1, outputs: 1}
	add := func(ds []int) int {
		slices.SortStableFunc(ds, func(a, b int) int { return int(min(max(x.Strides[a]-x.Strides[b], -1), 1)) })
		from := len(r.sizes)
		for _, d := range ds {
			n := len(r.sizes)
			if n > from && r.strides[n-1]*r.sizes[n-1] == x.Strides[d] {
				r.sizes[n-1] *= x.Sizes[d]
				continue
			}
			r.sizes, r.strides = append(r.sizes, x.Sizes[d]), append(r.strides, x.Strides[d])
		}
		return len(r.sizes) - from
	}
	var over, kept []int
	for d, n := range x.Sizes {
		switch {
		case n == 1:
		case slices.Contains(dims, d):
			over = append(over, d)
			r.inputs *= n
		default:
			kept = append(kept, d)
			r.outputs *= n
		}
	}
	r.reduced = add(over)
	add(kept)
	return r
}

// threadsPerSM is how many threads a multiprocessor holds (CUDA C++ programming guide, compute
// capabilities).
func threadsPerSM(c device.Capability) int64 {
	switch {
	case c.Major == 7 && c.Minor == 5:
		return 1024
	case c.Major == 8 && c.Minor > 0, c.Major == 12:
		return 1536
	}
	return 2048
}

func lastPow2(n int64) int64 {
	p := int64(1)
	for p*2 <= n {
		p *= 2
	}
	return p
}

// staging is the bytes of the buffer and of the semaphores; 0 where one block a result suffices.
func (r *reduceShape) staging(accBytes, itemSize, sms, smThreads int64) (buffer, semaphores int64) {
	if r.inputs <= 1 || r.outputs == 0 || len(r.sizes) == 0 {
		return 0, 0
	}
	fast := r.reduced == len(r.sizes) || r.strides[0] < r.strides[r.reduced]
	dim0, vec := r.inputs, int64(1) // where a fast one reads four elements at once, its blocks are as wide
	if !fast {
		if r.strides[r.reduced] == 1 {
			vec = r.outputVector()
		}
		dim0 = r.outputs / vec
	}
	most := int64(512) / vec
	if itemSize == 16 {
		most = 256 / vec
	}
	// a block of another shape, or a smaller one, is of a reduction that stages nothing
	width := min(lastPow2(dim0), 32)
	height := most / width
	stepIn, stepOut := int64(1), int64(1)
	if fast {
		stepIn = width
	} else {
		stepOut = width
	}
	split := divCeil(r.inputs, stepIn) >= min(height*16, 256)
	if split {
		stepIn *= height
	} else {
		stepOut *= height
	}
	perThread := divCeil(r.inputs, stepIn)
	target := sms * (smThreads / (width * height))
	grid := divCeil(r.outputs/vec, stepOut)
	if !split || perThread < 256 || grid > target {
		return 0, 0
	}
	ctas := max(min(divCeil(target, grid), divCeil(perThread, 16)), divCeil(perThread, 256))
	if ctas <= 1 {
		return 0, 0
	}
	buffer = accBytes * r.outputs * ctas
	if !fast {
		buffer *= width * vec
	}
	return buffer, 4 * grid
}

// outputVector is get_output_vec_size: four outputs at once, or as many as sizes and strides divide
// by.
func (r *reduceShape) outputVector() int64 {
	vec := int64(4)
	divide := func(n int64) {
		for n%vec != 0 {
			vec /= 2
		}
	}
	divide(r.sizes[r.reduced])
	for i, s := range r.strides {
		if i != r.reduced {
			divide(s)
		}
	}
	return vec
}

// Scan is a contiguous input, and CUB's storage where dim is all there is
// (native/cuda/ScanUtils.cuh scan_dim).
func Scan(p *platform.Platform, x *tensor.Meta, dim int) []Request {
	const source = "native/cuda/ScanUtils.cuh scan_dim"
	out := Contiguous(source, x)
	if x.Sizes[dim] == x.Numel() {
		out = append(out, cubRequest(p, cubScan(p, x.Numel(), x.DType), source))
	}
	return out
}
