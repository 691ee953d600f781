package pointwise

import (
	"github.com/memspec/memspec/engine/ops"
)

// outRules write their results into tensors that are given (structured kernels:
// aten/src/ATen/native/Resize.cpp resize_output). Overloads that PyTorch makes of others by a copy
// are not among them.
var outRules = []ops.Rule{
	{Schema: "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
	{Schema: "aten::sub.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
	{Schema: "aten::$1(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
		For: "mul.out div.out maximum.out minimum.out fmax.out fmin.out atan2.out remainder.Tensor_out " +
			"fmod.Tensor_out eq.Tensor_out ne.Tensor_out lt.Tensor_out le.Tensor_out gt.Tensor_out ge.Tensor_out " +
			"logical_and.out logical_or.out logical_xor.out bitwise_and.Tensor_out bitwise_or.Tensor_out " +
			"bitwise_xor.Tensor_out",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
	{Schema: "aten::pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
	{Schema: "aten::pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
	{Schema: "aten::$1.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
		For: "eq ne lt le gt ge", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::$1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
		For: "logical_not bitwise_not abs neg ceil floor trunc round sign exp exp2 expm1 log log2 log10 log1p sqrt " +
			"rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh sigmoid erf erfc erfinv lgamma digamma " +
			"silu mish hardsigmoid hardswish frac",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::clamp.out(Tensor self, Scalar? min=None, Scalar? max=None, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::clamp.Tensor_out(Tensor self, Tensor? min=None, Tensor? max=None, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::clamp_min.out(Tensor self, Scalar min, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
	{Schema: "aten::clamp_max.out(Tensor self, Scalar max, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
	{Schema: "aten::elu.out(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::hardtanh.out(Tensor self, Scalar min_val=-1, Scalar max_val=1, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::leaky_relu.out(Tensor self, Scalar negative_slope=0.01, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::softplus.out(Tensor self, Scalar beta=1, Scalar threshold=20, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::threshold.out(Tensor self, Scalar threshold, Scalar value, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::where.self_out(Tensor condition, Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::lerp.Scalar_out(Tensor self, Tensor end, Scalar weight, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::lerp.Tensor_out(Tensor self, Tensor end, Tensor weight, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::addcmul.out(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::addcdiv.out(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::nan_to_num.out(Tensor self, float? nan=None, float? posinf=None, float? neginf=None, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into, Workspace: ops.IntoWorkspace},
}
