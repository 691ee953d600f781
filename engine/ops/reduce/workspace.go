package reduce

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/units"
	"github.com/memspec/memspec/engine/workspace"
)

// reduceWorkspace is what a reduction over the operator's dimensions takes.
func reduceWorkspace(acc workspace.Accumulator) func(*ops.Call) []workspace.Request {
	return func(c *ops.Call) []workspace.Request {
		x := c.T("self")
		dims, err := reduceDims(c, x)
		if err != nil {
			return nil
		}
		return workspace.Reduction(c.Platform(), &x.Meta, dims, acc)
	}
}

// wholeWorkspace is the same of a kernel that goes over a contiguous copy where no dimension is
// given (native/TensorCompare.cpp, ReduceAllOps.cpp).
func wholeWorkspace(acc workspace.Accumulator) func(*ops.Call) []workspace.Request {
	return func(c *ops.Call) []workspace.Request {
		x := c.T("self")
		if c.Has("dim") || !ops.OnCUDA(x) || x.IsContiguous() {
			return reduceWorkspace(acc)(c)
		}
		rows := ops.FreshAs(x, x.DType, x.Sizes...)
		dims, err := reduceDims(c, x)
		if err != nil {
			return nil
		}
		return append(workspace.Contiguous("native/ReduceAllOps.cpp", &x.Meta), workspace.Reduction(c.Platform(), &rows,
			dims, acc)...)
	}
}

// sumWorkspace is the same of what is added up in the result's dtype: of the input, cast where that
// is another one (native/ReduceOpsUtils.h make_reduction). From half to float the kernel casts
// itself.
func sumWorkspace(of reduceType) func(*ops.Call) []workspace.Request {
	return func(c *ops.Call) []workspace.Request {
		x := c.T("self")
		d, err := of(c, x.DType)
		if err != nil || !ops.OnCUDA(x) {
			return nil
		}
		cast, requests := castTo(&x.Meta, d)
		dims, err := reduceDims(c, x)
		if err != nil {
			return nil
		}
		return append(requests, workspace.Reduction(c.Platform(), cast, dims, workspace.AccValue)...)
	}
}

// castTo is x in d, and what the copy takes.
func castTo(x *tensor.Meta, d tensor.DType) (*tensor.Meta, []workspace.Request) {
	if x.DType == d || d == tensor.Float32 && (x.DType == tensor.Float16 || x.DType == tensor.BFloat16) {
		return x, nil
	}
	cast := ops.EmptyLike(&tensor.Tensor{Meta: *x}, d, tensor.Preserve)
	return &cast, []workspace.Request{workspace.CopyOf(&cast, "native/ReduceOpsUtils.h make_reduction")}
}

// oneElementWorkspace is all and any of one element: it is cast to bool and copied.
func oneElementWorkspace(c *ops.Call) []workspace.Request {
	x := c.T("self")
	if ops.OnCUDA(x) && x.Numel() == 1 && x.DType != tensor.Bool {
		return []workspace.Request{{Bytes: 1, Source: "native/ReduceOps.cpp allany_impl"}}
	}
	return reduceWorkspace(workspace.AccBool)(c)
}

// varianceWorkspace: a complex tensor's is the sum of its parts'.
func varianceWorkspace(c *ops.Call) []workspace.Request {
	x := c.T("self")
	if !ops.OnCUDA(x) || !x.DType.Complex() {
		return reduceWorkspace(workspace.AccWelford)(c)
	}
	sizes, err := reduceSizes(c)
	if err != nil {
		return nil
	}
	part := ops.FreshAs(x, x.DType.ToReal(), sizes...)
	one := workspace.CopyOf(&part, "native/ReduceOps.cpp std_var_out")
	return workspace.Before(slices.Repeat([]workspace.Request{one}, 2*len(c.Results))...)
}

// scanWorkspace is the input in the result's dtype, laid out row by row, and CUB's storage where
// the dimension is all there is (native/ReduceOps.cpp cumsum, native/cuda/ScanUtils.cuh scan_dim).
func scanWorkspace(of reduceType) func(*ops.Call) []workspace.Request {
	return func(c *ops.Call) []workspace.Request {
		x := c.T("self")
		if !ops.OnCUDA(x) || x.Numel() == 0 {
			return nil
		}
		inPlace := c.Results[0].Mode == ops.InPlace
		const source = "native/cuda/ScanUtils.cuh scan_dim"
		d, at := x.DType, 0
		var err error
		if !inPlace {
			if d, err = of(c, d); err != nil {
				return nil
			}
		}
		if at, err = c.WrapDim(c.Int("dim"), len(x.Sizes)); err != nil {
			return nil
		}
		if len(x.Sizes) == 0 { // fill_ with what may be the same tensor
			if inPlace {
				return []workspace.Request{workspace.CopyOf(&x.Meta, source)}
			}
			return nil
		}
		in := x.Meta
		var out []workspace.Request
		if d != x.DType {
			in = ops.EmptyLike(x, d, tensor.Preserve)
			out = append(out, workspace.CopyOf(&in, source))
		}
		return append(out, workspace.Scan(c.Platform(), &in, at)...)
	}
}

// countWorkspace is the comparison with zero, as int64, that is added up
// (native/TensorAdvancedIndexing.cpp count_nonzero_cuda).
func countWorkspace(c *ops.Call) []workspace.Request {
	x := c.T("self")
	dims, err := reduceDims(c, x)
	if err != nil || !ops.OnCUDA(x) {
		return nil
	}
	mask := ops.EmptyLike(x, tensor.Bool, tensor.Preserve)
	cast, copied := castTo(&mask, tensor.Int64)
	out := append(workspace.Before(workspace.CopyOf(&mask, "native/TensorAdvancedIndexing.cpp count_nonzero_cuda")),
		copied...)
	return append(out, workspace.Reduction(c.Platform(), cast, dims, workspace.AccValue)...)
}

// logSumExpWorkspace are the largest elements, which of them are infinite, and the exponentials of
// what is left, added up (native/ReduceOps.cpp logsumexp_out_impl).
func logSumExpWorkspace(c *ops.Call) []workspace.Request {
	x := c.T("self")
	if !ops.OnCUDA(x) || x.Numel() == 0 {
		return nil
	}
	dims, err := reduceDims(c, x)
	if err != nil {
		return nil
	}
	const source = "native/ReduceOps.cpp logsumexp_out_impl"
	in := ops.EmptyLike(x, ops.FloatType(x.DType), tensor.Preserve)
	var out []workspace.Request
	cast := in.DType != x.DType
	if cast {
		out = append(out, workspace.CopyOf(&in, source))
	}
	largest := ops.FreshAs(x, in.DType.ToReal(), ops.ReducedSizes(x.Sizes, dims, true)...)
	mask := ops.FreshAs(x, tensor.Bool, largest.Sizes...)
	out = append(out, workspace.CopyOf(&largest, source))
	out = append(out, workspace.GivenBack(workspace.Reduction(c.Platform(), &in, dims, workspace.AccInput))...)
	out = append(out, workspace.CopyOf(&largest, source), workspace.CopyOf(&mask, source),
		workspace.Drop(2), workspace.CopyOf(&in, source))
	return append(append(out, workspace.Make(0)), workspace.Reduction(c.Platform(), &in, dims, workspace.AccValue)...)
}

// medianWorkspace is the sort, and whether the last is NaN; where NaNs are left out, their number
// and the place that follows from it (native/cuda/Sorting.cpp median_impl).
func medianWorkspace(leftOut bool) func(*ops.Call) []workspace.Request {
	return func(c *ops.Call) []workspace.Request {
		x := c.T("self")
		if !ops.OnCUDA(x) || x.Numel() == 0 {
			return nil
		}
		const source = "native/cuda/Sorting.cpp median_impl"
		made := func(bytes int64) workspace.Request {
			return workspace.Request{Bytes: units.Bytes(bytes), Source: source}
		}
		n := x.Numel()
		flat := ops.FreshAs(x, x.DType, n)
		whole := workspace.Contiguous(source, &x.Meta)
		sorting := append([]workspace.Request{made(8 * n)}, workspace.Sort(c.Platform(), &flat, 0)...)
		out := append(append(whole, workspace.CopyOf(&flat, source)), workspace.GivenBack(sorting)...)
		if len(whole) > 0 {
			out = append(out, workspace.DropPast(1))
		}
		if !leftOut {
			return append(out, made(1), workspace.Make(0))
		}
		past := workspace.DropPast(1)
		return append(out, made(n), made(8), made(8*n), workspace.Drop(1), made(8), made(4), made(8), past, past, past,
			past, workspace.Make(0))
	}
}

// segmentWorkspace is the lengths of the segments, where offsets are given
// (native/SegmentReduce.cpp).
func segmentWorkspace(c *ops.Call) []workspace.Request {
	at := c.T("offsets")
	if at == nil || c.T("lengths") != nil || !ops.OnCUDA(at) || len(at.Sizes) == 0 {
		return nil
	}
	last := at.Sizes[len(at.Sizes)-1]
	if last < 2 {
		return nil
	}
	return []workspace.Request{{Bytes: units.Bytes(at.Numel() / last * (last - 1) * at.DType.ItemSize()),
		Source: "native/cuda/SegmentReduce.cu"}}
}

// sorterWorkspace is the least and the largest of a sorter's places, which are looked at first
// (native/BucketizationUtils.h).
func sorterWorkspace(c *ops.Call) []workspace.Request {
	if s := c.T("sorter"); !ops.OnCUDA(s) || s.Numel() == 0 {
		return nil
	}
	r := workspace.Request{Bytes: 8, Source: "native/BucketizationUtils.h searchsorted_pre_check"}
	return workspace.Before(r, r, workspace.DropPast(1), workspace.Drop(1))
}

// searchWorkspace is that, and operands that lie otherwise than row by row or are of the other's
// dtype.
func searchWorkspace(c *ops.Call) []workspace.Request {
	values, edges := c.T("self"), c.T("sorted_sequence")
	if edges == nil {
		edges = c.T("boundaries")
	}
	if !ops.OnCUDA(values) {
		return nil
	}
	const source = "native/BucketizationUtils.h searchsorted_maybe_trim_input_tensors"
	operands := []*tensor.Meta{&values.Meta, &edges.Meta}
	if s := c.T("sorter"); s != nil {
		operands = append(operands, &s.Meta)
	}
	out := append(sorterWorkspace(c), workspace.Contiguous(source, operands...)...)
	both := ops.ResultType(values, edges)
	for _, t := range []*tensor.Tensor{values, edges} {
		if t.DType != both {
			cast := ops.FreshAs(t, both, t.Sizes...)
			out = append(out, workspace.CopyOf(&cast, source))
		}
	}
	return out
}

// modeWorkspace is a copy where the dimension is not innermost.
func modeWorkspace(c *ops.Call) []workspace.Request {
	x := c.T("self")
	d, err := c.WrapDim(c.Int("dim"), len(x.Sizes))
	if err != nil || len(x.Sizes) == 0 {
		return nil
	}
	turned, last := x.Meta, len(x.Sizes)-1
	turned.Sizes, turned.Strides = slices.Clone(x.Sizes), slices.Clone(x.Strides)
	turned.Sizes[d], turned.Sizes[last] = x.Sizes[last], x.Sizes[d]
	turned.Strides[d], turned.Strides[last] = x.Strides[last], x.Strides[d]
	return workspace.Contiguous("native/cuda/TensorModeKernel.cpp mode_kernel_impl", &turned)
}

// distWorkspace is the difference (native/ReduceOps.cpp dist).
func distWorkspace(c *ops.Call) []workspace.Request {
	x := c.T("self")
	shape, err := c.Broadcast(x.Sizes, c.T("other").Sizes)
	if err != nil || !ops.OnCUDA(x) {
		return nil
	}
	return []workspace.Request{{Bytes: units.Bytes(tensor.Numel(shape) * x.DType.ItemSize()), Before: true,
		Source: "native/ReduceOps.cpp dist"}}
}
