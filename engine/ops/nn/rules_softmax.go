package nn

import (
	"github.com/memspec/memspec/engine/ops"
)

// softmaxRules are softmax and its kin (aten/src/ATen/native/SoftMax.cpp).
var softmaxRules = []ops.Rule{
	{Schema: "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
		Body: softmaxOf("aten::_softmax")},
	{Schema: "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
		Body: softmaxOf("aten::_softmax")},
	{Schema: "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
		Body: softmaxOf("aten::_log_softmax")},
	{Schema: "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
		Body: softmaxOf("aten::_log_softmax")},
	{Schema: "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", Out: softmaxOut, Workspace: denseCopy},
	{Schema: "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", Out: softmaxOut,
		Workspace: denseCopy},
	{Schema: "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Out: safeSoftmax,
		Workspace: safeSoftmaxWorkspace},
	{Schema: "aten::_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor",
		Out: maskedSoftmax},
	{Schema: "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
		Out: softmaxBackward},
	{Schema: "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", Out: softmaxBackward},
}
