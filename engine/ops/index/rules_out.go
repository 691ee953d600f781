package index

import (
	"github.com/memspec/memspec/engine/ops"
)

// outRules
var outRules = []ops.Rule{
	{Schema: "aten::index_select.out(Tensor self, int dim, Tensor index, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::index_select"), Workspace: ops.IntoWorkspace("aten::index_select")},
	{Schema: "aten::gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::gather"), Workspace: ops.IntoWorkspace("aten::gather")},
	{Schema: "aten::tril.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::tril"), Workspace: ops.IntoWorkspace("aten::tril")},
	{Schema: "aten::triu.out(Tensor self, SymInt diagonal=0, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::triu"), Workspace: ops.IntoWorkspace("aten::triu")},
}
