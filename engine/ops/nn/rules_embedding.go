package nn

import (
	"github.com/memspec/memspec/engine/ops"
)

// embeddingRules look rows up.
var embeddingRules = []ops.Rule{
	{Schema: "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor", Out: embedding, Workspace: embeddingWorkspace},
	{Schema: "aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)",
		Out: ops.Refusing(rowsToRenorm, ops.SelfMeta)},
	{Schema: "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", Body: ops.Refusing(someClasses, oneHot)},
	{Schema: "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)", Out: embeddingBag, Workspace: made(2, 1, 0)},
	{Schema: "aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)", Out: embeddingBag, Workspace: made(2, 1, 0)},
	{Schema: "aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)", Body: embeddingBagForward},
	{Schema: "aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)", Body: ops.Refusing(paddingInside, embeddingBagForward)},
	{Schema: "aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor",
		Out: ops.Refusing(rowsToRenorm, ops.FreshSelf)},
	{Schema: "aten::_no_grad_embedding_renorm_(Tensor weight, Tensor input, float max_norm, float norm_type) -> Tensor",
		Body: ops.Itself},
	{Schema: "aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor", Out: denseRows, Workspace: denseRowsWorkspace},
	{Schema: "aten::_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor", Out: denseRows, Workspace: denseRowsWorkspace},
}
