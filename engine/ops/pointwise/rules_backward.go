package pointwise

import (
	"github.com/memspec/memspec/engine/ops"
)

// backwardRules are the gradients of pointwise operators, indexing, padding and resizing.
var backwardRules = []ops.Rule{
	{Schema: "aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor",
		Out: ops.Pointwise},
	{Schema: "aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor", Out: ops.Pointwise},
	{Schema: "aten::$1(Tensor grad_output, Tensor self) -> Tensor",
		For: "hardsigmoid_backward hardswish_backward mish_backward silu_backward", Out: ops.Pointwise},
	{Schema: "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
		Out: ops.Pointwise},
	{Schema: "aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor", Out: ops.Pointwise},
	{Schema: "aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor", Out: ops.Pointwise},
	{Schema: "aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", Out: ops.Pointwise},
	{Schema: "aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
		Out: ops.Pointwise},
	{Schema: "aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor", Out: ops.Pointwise},
	{Schema: "aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor", Out: ops.Pointwise},
	{Schema: "aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor", Out: ops.Pointwise},
	{Schema: "aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor", Out: ops.Pointwise},
	{Schema: "aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor", Out: ops.Pointwise},
	{Schema: "aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
		Out: logSigmoidGradient},
	{Schema: "aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", Out: ops.FreshLikeArg("self")},
	{Schema: "aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
		Out: bothLike},
}
