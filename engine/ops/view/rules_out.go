package view

import (
	"github.com/memspec/memspec/engine/ops"
)

// outRules
var outRules = []ops.Rule{
	{Schema: "aten::cat.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
}
