package reduce

import (
	"github.com/memspec/memspec/engine/ops"
)

// statisticsRules are operators made of others that belong to no other domain
// (aten/src/ATen/native/Integration.cpp, Correlation.cpp, ReduceOps.cpp, TensorShape.cpp).
var statisticsRules = []ops.Rule{
	{Schema: "aten::$1.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", For: "trapezoid trapz", Body: trapezoid},
	{Schema: "aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", Body: trapezoid},
	{Schema: "aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", Body: trapezoid},
	{Schema: "aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", Body: cumulativeTrapezoid},
	{Schema: "aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", Body: cumulativeTrapezoid},
	{Schema: "aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor", Body: sumToSize},
	{Schema: "aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
		Body: cov},
	{Schema: "aten::corrcoef(Tensor self) -> Tensor", Body: corrcoef},
	{Schema: "aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool", Host: ops.UnbackedBool},
}
