package reduce

import (
	"github.com/memspec/memspec/engine/ops"
)

// outRules
var outRules = []ops.Rule{
	{Schema: "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::sum.dim_IntList"), Scratch: ops.IntoScratch("aten::sum.dim_IntList")},
	{Schema: "aten::mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::mean.dim"), Scratch: ops.IntoScratch("aten::mean.dim")},
	{Schema: "aten::amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::amax"), Scratch: ops.IntoScratch("aten::amax")},
	{Schema: "aten::amin.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::amin"), Scratch: ops.IntoScratch("aten::amin")},
	{Schema: "aten::any.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::any.dim"), Scratch: ops.IntoScratch("aten::any.dim")},
	{Schema: "aten::all.out(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::all.dim"), Scratch: ops.IntoScratch("aten::all.dim")},
	{Schema: "aten::prod.int_out(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::prod.dim_int"), Scratch: ops.IntoScratch("aten::prod.dim_int")},
	{Schema: "aten::argmax.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::argmax"), Scratch: ops.IntoScratch("aten::argmax")},
	{Schema: "aten::argmin.out(Tensor self, int? dim=None, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::argmin"), Scratch: ops.IntoScratch("aten::argmin")},
	{Schema: "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::max.dim"), Scratch: ops.IntoScratch("aten::max.dim")},
	{Schema: "aten::min.dim_min(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) min, Tensor(b!) min_indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::min.dim"), Scratch: ops.IntoScratch("aten::min.dim")},
	{Schema: "aten::cumsum.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::cumsum"), Scratch: ops.IntoScratch("aten::cumsum")},
	{Schema: "aten::cumprod.out(Tensor self, int dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::cumprod"), Scratch: ops.IntoScratch("aten::cumprod")},
	{Schema: "aten::logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)", Out: ops.Into("aten::logsumexp"), Scratch: ops.IntoScratch("aten::logsumexp")},
	{Schema: "aten::sort.values_stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::sort.stable"), Scratch: ops.IntoScratch("aten::sort.stable")},
	{Schema: "aten::sort.values(Tensor self, int dim=-1, bool descending=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::sort"), Scratch: ops.IntoScratch("aten::sort")},
	{Schema: "aten::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::topk"), Scratch: ops.IntoScratch("aten::topk")},
	{Schema: "aten::kthvalue.values(Tensor self, SymInt k, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::kthvalue"), Scratch: ops.IntoScratch("aten::kthvalue")},
	{Schema: "aten::median.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::median.dim"), Scratch: ops.IntoScratch("aten::median.dim")},
	{Schema: "aten::nanmedian.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::nanmedian.dim"), Scratch: ops.IntoScratch("aten::nanmedian.dim")},
	{Schema: "aten::mode.values(Tensor self, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)", Out: ops.Into("aten::mode"), Scratch: ops.IntoScratch("aten::mode")},
}
