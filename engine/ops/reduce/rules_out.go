package reduce

import (
	"github.com/memspec/memspec/engine/ops"
)

// outRules
var outRules = []ops.Rule{
	{Schema: "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::sum.dim_IntList"), Workspace: ops.IntoWorkspace("aten::sum.dim_IntList")},
	{Schema: "aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::mean.dim"), Workspace: ops.IntoWorkspace("aten::mean.dim")},
	{Schema: "aten::amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::amax"), Workspace: ops.IntoWorkspace("aten::amax")},
	{Schema: "aten::amin.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::amin"), Workspace: ops.IntoWorkspace("aten::amin")},
	{Schema: "aten::any.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::any.dim"), Workspace: ops.IntoWorkspace("aten::any.dim")},
	{Schema: "aten::all.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::all.dim"), Workspace: ops.IntoWorkspace("aten::all.dim")},
	{Schema: "aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::prod.dim_int"), Workspace: ops.IntoWorkspace("aten::prod.dim_int")},
	{Schema: "aten::argmax.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::argmax"), Workspace: ops.IntoWorkspace("aten::argmax")},
	{Schema: "aten::argmin.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::argmin"), Workspace: ops.IntoWorkspace("aten::argmin")},
	{Schema: "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::max.dim"), Workspace: ops.IntoWorkspace("aten::max.dim")},
	{Schema: "aten::min.dim_min(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) min, Tensor(b!) min_indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::min.dim"), Workspace: ops.IntoWorkspace("aten::min.dim")},
	{Schema: "aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::cumsum"), Workspace: ops.IntoWorkspace("aten::cumsum")},
	{Schema: "aten::cumprod.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::cumprod"), Workspace: ops.IntoWorkspace("aten::cumprod")},
	{Schema: "aten::logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::logsumexp"), Workspace: ops.IntoWorkspace("aten::logsumexp")},
	{Schema: "aten::sort.values_stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::sort.stable"), Workspace: ops.IntoWorkspace("aten::sort.stable")},
	{Schema: "aten::sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::sort"), Workspace: ops.IntoWorkspace("aten::sort")},
	{Schema: "aten::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::topk"), Workspace: ops.IntoWorkspace("aten::topk")},
	{Schema: "aten::kthvalue.values(Tensor self, SymInt k, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::kthvalue"), Workspace: ops.IntoWorkspace("aten::kthvalue")},
	{Schema: "aten::median.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::median.dim"), Workspace: ops.IntoWorkspace("aten::median.dim")},
	{Schema: "aten::nanmedian.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::nanmedian.dim"), Workspace: ops.IntoWorkspace("aten::nanmedian.dim")},
	{Schema: "aten::mode.values(Tensor self, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::mode"), Workspace: ops.IntoWorkspace("aten::mode")},
}
