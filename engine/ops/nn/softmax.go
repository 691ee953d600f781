package nn

import (
	"slices"

	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// softmaxOf converts first, except half to float on an accelerator, which the kernel does.
func softmaxOf(key string) func(*ops.Call) (any, error) {
	return func(c *ops.Call) (any, error) {
		x, dim := c.T("self"), c.Int("dim")
		d := c.DTypeOr("dtype", x.DType)
		if ops.OnCUDA(x) && x.DType == tensor.Float16 && d == tensor.Float32 {
			return c.Do(key, x, dim, true), nil
		}
		if d != x.DType {
			x = c.Do("aten::_to_copy", x, ops.Kw{"dtype": int64(d)})
		}
		return c.Do(key, x, dim, false), nil
	}
}

func softmaxOut(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("self")
	if _, err := c.WrapDim(c.Int("dim"), len(x.Sizes)); err != nil {
		return nil, err
	}
	d := x.DType
	if c.Bool("half_to_float") {
		d = tensor.Float32
	}
	return ops.One(ops.FreshAs(x, d, x.Sizes...))
}

// denseCopy is a contiguous copy of self, made after the result exists.
func denseCopy(c *ops.Call) []workspace.Request {
	return workspace.Contiguous("native/cuda/SoftMax.cu host_softmax input.contiguous()", &c.Self().Meta)
}

func safeSoftmax(c *ops.Call) ([]tensor.Meta, error) {
	x := c.T("self")
	if _, err := c.WrapDim(c.Int("dim"), len(x.Sizes)); err != nil {
		return nil, err
	}
	return ops.One(ops.FreshAs(x, c.DTypeOr("dtype", x.DType), x.Sizes...))
}

// safeSoftmaxWorkspace are the tests for rows that are -inf throughout, a bool an element and one a
// row, and the zero that takes their place (transformers/attention.cpp).
func safeSoftmaxWorkspace(c *ops.Call) []workspace.Request {
	x := c.T("self")
	dim, err := c.WrapDim(c.Int("dim"), len(x.Sizes))
	if err != nil || !ops.OnCUDA(x) {
		return nil
	}
	mask := ops.FreshAs(x, tensor.Bool, x.Sizes...)
	sizes := slices.Clone(x.Sizes)
	if len(sizes) > 0 {
		sizes[dim] = 1
	}
	rows := ops.FreshAs(x, tensor.Bool, sizes...)
	const source = "native/transformers/attention.cpp _safe_softmax"
	zero := ops.FreshAs(x, c.DTypeOr("dtype", x.DType))
	out := []workspace.Request{workspace.CopyOf(&mask, source), workspace.CopyOf(&rows, source),
		workspace.CopyOf(&zero, source)}
	if x.IsContiguous() {
		return out
	}
	return append([]workspace.Request{workspace.Make(0), workspace.CopyOf(&x.Meta, source), workspace.Drop(1)}, out...)
}

func maskedSoftmax(c *ops.Call) ([]tensor.Meta, error) {
	return ops.One(ops.FreshLike(c.T("self"), c.T("self").Sizes...))
}
