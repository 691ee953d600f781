package reduce

import (
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

// countWorkspace is the comparison with zero that is added up (native/TensorAdvancedIndexing.cpp count_nonzero_cuda).
func countWorkspace(c *ops.Call) []workspace.Request {
	x := c.T("self")
	if !ops.OnCUDA(x) {
		return nil
	}
	mask := workspace.Request{Bytes: units.Bytes(x.Numel()), Before: true, Source: "native/TensorAdvancedIndexing.cpp count_nonzero_cuda"}
	return append([]workspace.Request{mask}, reduceWorkspace(workspace.AccValue)(c)...)
}

// logSumExpWorkspace are the largest elements and the exponentials of what is left (native/ReduceOps.cpp logsumexp_out_impl).
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
	d := ops.FloatType(x.DType)
	largest, all := ops.FreshAs(x, d, ops.ReducedSizes(x.Sizes, dims, true)...), ops.FreshAs(x, d, x.Sizes...)
	return append([]workspace.Request{workspace.CopyOf(&largest, source), workspace.CopyOf(&all, source)},
		workspace.Reduction(c.Platform(), &x.Meta, dims, workspace.AccValue)...)
}

// distWorkspace is the difference (native/ReduceOps.cpp dist).
func distWorkspace(c *ops.Call) []workspace.Request {
	x := c.T("self")
	shape, err := c.Broadcast(x.Sizes, c.T("other").Sizes)
	if err != nil || !ops.OnCUDA(x) {
		return nil
	}
	return []workspace.Request{{Bytes: units.Bytes(tensor.Numel(shape) * x.DType.ItemSize()), Before: true, Source: "native/ReduceOps.cpp dist"}}
}
