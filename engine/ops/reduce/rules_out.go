package reduce

import (
	"github.com/memspec/memspec/engine/ops"
)

// outRules
var outRules = []ops.Rule{
	{Schema: "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::amin.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::any.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
	{Schema: "aten::all.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into,
		Workspace: ops.IntoWorkspace},
	{Schema: "aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::argmax.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::argmin.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::min.dim_min(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) min, Tensor(b!) min_indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::cumprod.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
		Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::sort.values_stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::kthvalue.values(Tensor self, SymInt k, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::median.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::nanmedian.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into, Workspace: ops.IntoWorkspace},
	{Schema: "aten::mode.values(Tensor self, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into, Workspace: ops.IntoWorkspace},
}
