package nn

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// made is an order in which a kernel makes its results, other than that of the schema; those that
// are not named come last.
func made(order ...int) func(*ops.Call) []workspace.Request {
	return func(*ops.Call) []workspace.Request {
		out := make([]workspace.Request, len(order))
		for i, n := range order {
			out[i] = workspace.Make(n)
		}
		return out
	}
}

// im2colWorkspace is the result as it is made first, in the input's sizes, and a contiguous input
// where it is none (native/cuda/Im2Col.cu).
func im2colWorkspace(c *ops.Call) []workspace.Request {
	x := c.Self()
	m, err := im2col(c)
	if err != nil || !ops.OnCUDA(x) {
		return nil
	}
	const source = "native/cuda/Im2Col.cu"
	if m[0].NBytes() <= x.NBytes() {
		return workspace.Contiguous(source, &x.Meta)
	}
	first := workspace.CopyOf(&x.Meta, source)
	if !x.IsContiguous() {
		return append([]workspace.Request{first, first, workspace.Make(0)}, workspace.DropOldest(2)...)
	}
	return []workspace.Request{first, workspace.Make(0), workspace.Drop(1)}
}

// resizedColumns is col2im: on a device its result is made in the input's sizes and then resized,
// which keeps the memory that it had (native/cuda/Col2Im.cu).
func resizedColumns(c *ops.Call) (any, error) {
	x := c.Self()
	m, err := col2im(c)
	if err != nil {
		return nil, err
	}
	sizes := ops.IntList(m[0].Sizes...)
	if !ops.OnCUDA(x) {
		return c.Do("aten::new_empty", x, sizes), nil
	}
	out := c.Do("aten::empty_like", x, ops.Kw{"memory_format": int64(tensor.Contiguous)})
	rows := c.Do("aten::contiguous", x)
	c.Do("aten::resize_", out, sizes)
	if rows != x {
		c.Free(rows)
	}
	return out, nil
}

// convTBCWorkspace is a product for each element of the kernel that sees any input
// (native/ConvolutionTBC.cpp).
func convTBCWorkspace(c *ops.Call) []workspace.Request {
	if !ops.OnCUDA(c.T("self")) {
		return nil
	}
	in, kernel, pad, products := c.T("self").Sizes[0], c.T("weight").Sizes[0], c.Int("pad"), int64(0)
	for k := range kernel { // the times that it sees
		if first, end := max(pad-k, 0), min(in+pad-k, in-kernel+1+2*pad); end > first {
			products++
		}
	}
	return workspace.InTurn(workspace.CuBLAS(c.Platform()), products)
}
