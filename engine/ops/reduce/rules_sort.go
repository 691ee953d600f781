package reduce

import (
	"github.com/memspec/memspec/engine/ops"
)

// sortRules are sorting, searching and counting (aten/src/ATen/native/Sorting.cpp,
// BucketizationUtils.h, Unique.cpp, Histogram.cpp).
var sortRules = []ops.Rule{
	{Schema: "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", Out: sorted,
		Workspace: sortWorkspace},
	{Schema: "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
		Out: sorted, Workspace: sortWorkspace},
	{Schema: "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", Body: argsort("aten::sort")},
	{Schema: "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
		Body: argsort("aten::sort.stable")},
	{Schema: "aten::msort(Tensor self) -> Tensor", Body: msort},
	{Schema: "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
		Out: topk, Workspace: topkWorkspace},
	{Schema: "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
		Out: kthValue, Workspace: contiguousBefore},
	{Schema: "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
		Out: ops.Refusing(searchable, search("self")), Workspace: searchWorkspace},
	{Schema: "aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
		Out: ops.Refusing(searchable, search(""))},
	{Schema: "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
		Out: ops.Refusing(searchable, search("self")), Workspace: searchWorkspace},
	{Schema: "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
		Out: ops.Refusing(searchable, search(""))},
	{Schema: "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", Out: histc,
		Workspace: histcWorkspace},
	{Schema: "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
		Out: histogram},
	{Schema: "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)", Out: histogram},
	{Schema: "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", Out: bincount},
	{Schema: "aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)", Out: unique},
	{Schema: "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", Out: unique},
	{Schema: "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)", Out: unique},
	{Schema: "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", Out: unique},
	{Schema: "aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", Out: unique},
	{Schema: `aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor`, Body: quantile},
	{Schema: `aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor`, Body: quantile},
	{Schema: `aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor`, Body: quantile},
	{Schema: `aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor`, Body: quantile},
}
