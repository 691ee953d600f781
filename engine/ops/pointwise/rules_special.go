package pointwise

import (
	"github.com/memspec/memspec/engine/ops"
)

// specialRules are the special functions of two arguments, and operators made of several pointwise
// ones.
var specialRules = []ops.Rule{
	{Schema: "aten::special_$1(Tensor x, Tensor n) -> Tensor",
		For: "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w " +
			"hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p " +
			"shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v " +
			"shifted_chebyshev_polynomial_w",
		Out: binaryFloat},
	{Schema: "aten::special_$1.x_scalar(Scalar x, Tensor n) -> Tensor",
		For: "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w " +
			"hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p " +
			"shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v " +
			"shifted_chebyshev_polynomial_w",
		Out: binaryFloat},
	{Schema: "aten::special_$1.n_scalar(Tensor x, Scalar n) -> Tensor",
		For: "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w " +
			"hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p " +
			"shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v " +
			"shifted_chebyshev_polynomial_w",
		Out: binaryFloat},
	{Schema: "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", Out: where,
		Workspace: whereWorkspace},
	{Schema: "aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", Body: whereScalar},
	{Schema: "aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", Body: whereScalar},
	{Schema: "aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", Body: whereScalar},
	{Schema: "aten::where(Tensor condition) -> Tensor[]", Body: whereIndices},
	{Schema: "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", Out: maskedFill},
	{Schema: "aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", Out: maskedFill},
	{Schema: "aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)",
		Out: maskedFillInPlace},
	{Schema: "aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)",
		Out: maskedFillInPlace},
	{Schema: "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
		Body: ops.Refusing(joinable, diff)},
	{Schema: "aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", Out: frexp},
	{Schema: "aten::special_ndtr(Tensor self) -> Tensor", Body: ndtr},
	{Schema: "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor", Body: isClose},
	{Schema: "aten::special_round(Tensor self, *, int decimals=0) -> Tensor", Out: numeric},
}
