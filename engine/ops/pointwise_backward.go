package ops

// gradientRules are the gradients of pointwise operators, indexing, padding and resizing.
var gradientRules = []Rule{
	{Schema: "aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor", Out: pointwise},
	{Schema: "aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor", Out: pointwise},
	{Schema: "aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor", Out: pointwise},
	{Schema: "aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", Out: pointwise},
	{Schema: "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor", Out: pointwise},
	{Schema: "aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor", Out: pointwise},
	{Schema: "aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor", Out: pointwise},
	{Schema: "aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor", Out: pointwise},
	{Schema: "aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", Out: pointwise},
	{Schema: "aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor", Out: pointwise},
	{Schema: "aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor", Out: pointwise},
	{Schema: "aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor", Out: pointwise},
	{Schema: "aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor", Out: pointwise},
	{Schema: "aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor", Out: pointwise},
	{Schema: "aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor", Out: pointwise},
	{Schema: "aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor", Out: pointwise},
	{Schema: "aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor", Out: logSigmoidGradient},
	{Schema: "aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", Out: likeSelf("self")},
	{Schema: "aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)", Out: bothLike},
}
