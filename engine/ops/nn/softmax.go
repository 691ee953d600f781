package nn

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
	"github.com/memspec/memspec/engine/workspace"
)

// softmaxRules are softmax and its kin (aten/src/ATen/native/SoftMax.cpp).
var softmaxRules = []ops.Rule{
	{Schema: "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Body: softmaxOf("aten::_softmax"), Grad: "self: result"},
	{Schema: "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Body: softmaxOf("aten::_softmax")},
	{Schema: "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Body: softmaxOf("aten::_log_softmax"), Grad: "self: result"},
	{Schema: "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", Body: softmaxOf("aten::_log_softmax")},
	{Schema: "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", Out: softmaxOut, Workspace: denseCopy, Grad: "self: result"},
	{Schema: "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", Out: softmaxOut, Workspace: denseCopy, Grad: "self: result"},
	{Schema: "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Out: safeSoftmax, Workspace: safeSoftmaxWorkspace, Grad: "self: result"},
	{Schema: "aten::_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor", Out: maskedSoftmax, Grad: "self: result"},
	{Schema: "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", Out: softmaxBackward},
	{Schema: "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", Out: softmaxBackward},
}

// softmaxOf converts first, but for half to float on an accelerator, which the kernel does.
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

// safeSoftmaxWorkspace are the tests for rows that are -inf throughout, a bool an element and one a row, and the zero that takes their place
// (transformers/attention.cpp).
func safeSoftmaxWorkspace(c *ops.Call) []workspace.Request {
	x := c.T("self")
	if !ops.OnCUDA(x) || len(x.Sizes) == 0 {
		return nil
	}
	dim, err := c.WrapDim(c.Int("dim"), len(x.Sizes))
	if err != nil {
		return nil
	}
	mask := ops.FreshAs(x, tensor.Bool, x.Sizes...)
	rows := ops.FreshAs(x, tensor.Bool, ops.ReducedSizes(x.Sizes, []int{dim}, true)...)
	const source = "native/transformers/attention.cpp _safe_softmax"
	zero := ops.FreshAs(x, c.DTypeOr("dtype", x.DType))
	return []workspace.Request{workspace.CopyOf(&mask, source), workspace.CopyOf(&rows, source), workspace.CopyOf(&zero, source)}
}

func maskedSoftmax(c *ops.Call) ([]tensor.Meta, error) {
	return ops.One(ops.FreshLike(c.T("self"), c.T("self").Sizes...))
}
