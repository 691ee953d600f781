package pointwise

import (
	"github.com/memspec/memspec/engine/ops"
)

// differenceRules are differences along dimensions (aten/src/ATen/native/ReduceOps.cpp
// gradient_helper_float). Lists of spacings have no row yet.
var differenceRules = []ops.Rule{
	{Schema: "aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]",
		Body: gradient},
	{Schema: "aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]",
		Body: gradient},
	{Schema: "aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]", Body: gradient},
}
