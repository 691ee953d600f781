package pointwise

import (
	"math"

	"github.com/memspec/memspec/engine/ops"
)

// unaryRules are functions of one tensor whose result is floating.
var unaryRules = []ops.Rule{
	{Schema: "aten::sin(Tensor self) -> Tensor", Out: ops.PointwiseFloat, Value: each(math.Sin)},
	{Schema: "aten::sin_(Tensor(a!) self) -> Tensor(a!)", Out: inPlaceFloat, Value: each(math.Sin)},
	{Schema: "aten::cos(Tensor self) -> Tensor", Out: ops.PointwiseFloat, Value: each(math.Cos)},
	{Schema: "aten::cos_(Tensor(a!) self) -> Tensor(a!)", Out: inPlaceFloat, Value: each(math.Cos)},
	{Schema: "aten::$1(Tensor self) -> Tensor",
		For: "tan asin acos atan sinh cosh asinh acosh atanh arcsin arccos arctan arcsinh arccosh arctanh exp2 " +
			"expm1 log10 log1p erf erfc erfinv digamma lgamma i0 sinc sigmoid special_sinc special_expit " +
			"special_exp2 special_expm1 special_log1p special_erf special_erfc special_erfinv special_i0 " +
			"special_digamma special_gammaln special_psi special_bessel_j0 special_bessel_j1 special_bessel_y0 " +
			"special_bessel_y1 special_entr special_erfcx special_i0e special_i1 special_i1e special_log_ndtr " +
			"special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 " +
			"special_modified_bessel_k1 special_ndtri",
		Out: ops.PointwiseFloat},
	{Schema: "aten::$1_(Tensor(a!) self) -> Tensor(a!)",
		For: "tan asin acos atan sinh cosh asinh acosh atanh arcsin arccos arctan arcsinh arccosh arctanh exp2 " +
			"expm1 log10 log1p erf erfc erfinv digamma lgamma i0 sinc sigmoid",
		Out: inPlaceFloat},
	{Schema: "aten::tanh(Tensor self) -> Tensor", Out: ops.PointwiseFloat, Value: each(math.Tanh)},
	{Schema: "aten::tanh_(Tensor(a!) self) -> Tensor(a!)", Out: inPlaceFloat, Value: each(math.Tanh)},
	{Schema: "aten::exp(Tensor self) -> Tensor", Out: ops.PointwiseFloat, Value: each(math.Exp)},
	{Schema: "aten::exp_(Tensor(a!) self) -> Tensor(a!)", Out: inPlaceFloat, Value: each(math.Exp)},
	{Schema: "aten::log(Tensor self) -> Tensor", Out: ops.PointwiseFloat, Value: each(math.Log)},
	{Schema: "aten::log_(Tensor(a!) self) -> Tensor(a!)", Out: inPlaceFloat, Value: each(math.Log)},
	{Schema: "aten::log2(Tensor self) -> Tensor", Out: ops.PointwiseFloat, Value: each(math.Log2)},
	{Schema: "aten::log2_(Tensor(a!) self) -> Tensor(a!)", Out: inPlaceFloat, Value: each(math.Log2)},
	{Schema: "aten::sqrt(Tensor self) -> Tensor", Out: ops.PointwiseFloat, Value: each(math.Sqrt)},
	{Schema: "aten::sqrt_(Tensor(a!) self) -> Tensor(a!)", Out: inPlaceFloat, Value: each(math.Sqrt)},
	{Schema: "aten::rsqrt(Tensor self) -> Tensor", Out: ops.PointwiseFloat, Value: each(rsqrt)},
	{Schema: "aten::rsqrt_(Tensor(a!) self) -> Tensor(a!)", Out: inPlaceFloat, Value: each(rsqrt)},
	{Schema: "aten::reciprocal(Tensor self) -> Tensor", Out: ops.PointwiseFloat, Value: each(reciprocal)},
	{Schema: "aten::reciprocal_(Tensor(a!) self) -> Tensor(a!)", Out: inPlaceFloat, Value: each(reciprocal)},
	{Schema: "aten::$1(Tensor self, float? eps=None) -> Tensor", For: "logit special_logit", Out: ops.PointwiseFloat},
	{Schema: "aten::logit_(Tensor(a!) self, float? eps=None) -> Tensor(a!)", Out: ops.SelfMeta},
	{Schema: "aten::special_$1(Tensor x) -> Tensor",
		For: "airy_ai scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0",
		Out: ops.PointwiseFloat},
	{Schema: "aten::polygamma(int n, Tensor self) -> Tensor", Out: ops.Refusing(atLeast("n", 0), ops.PointwiseFloat)},
	{Schema: "aten::mvlgamma(Tensor self, int p) -> Tensor", Out: ops.Refusing(atLeast("p", 1), ops.PointwiseFloat)},
	{Schema: "aten::special_polygamma(int n, Tensor self) -> Tensor",
		Out: ops.Refusing(atLeast("n", 0), ops.PointwiseFloat)},
	{Schema: "aten::special_multigammaln(Tensor self, int p) -> Tensor",
		Out: ops.Refusing(atLeast("p", 1), ops.PointwiseFloat)},
	{Schema: "aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)", Out: ops.Refusing(atLeast("n", 0), inPlaceFloat)},
	{Schema: "aten::mvlgamma_(Tensor(a!) self, int p) -> Tensor(a!)", Out: ops.Refusing(atLeast("p", 1), inPlaceFloat)},
	{Schema: "aten::_conj_physical(Tensor self) -> Tensor", Out: ops.Pointwise},
	{Schema: "aten::conj_physical(Tensor self) -> Tensor", Body: conjPhysical},
	{Schema: "aten::conj_physical_(Tensor(a!) self) -> Tensor(a!)", Out: ops.SelfMeta},
}
