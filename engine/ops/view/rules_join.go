package view

import (
	"github.com/memspec/memspec/engine/ops"
)

// joinRules put tensors together and repeat them.
var joinRules = []ops.Rule{
	{Schema: "aten::$1(Tensor[] tensors, int dim=0) -> Tensor",
		For: "cat concat concatenate", Out: cat, Value: joined},
	{Schema: "aten::stack(Tensor[] tensors, int dim=0) -> Tensor", Out: stack, Value: joined},
	{Schema: "aten::hstack(Tensor[] tensors) -> Tensor", Body: catAlong("aten::atleast_1d.Sequence", columns)},
	{Schema: "aten::vstack(Tensor[] tensors) -> Tensor", Body: catAlong("aten::atleast_2d.Sequence", rows)},
	{Schema: "aten::row_stack(Tensor[] tensors) -> Tensor", Body: catAlong("aten::atleast_2d.Sequence", rows)},
	{Schema: "aten::dstack(Tensor[] tensors) -> Tensor", Body: catAlong("aten::atleast_3d.Sequence", depth)},
	{Schema: "aten::column_stack(Tensor[] tensors) -> Tensor", Body: columnStack},
	{Schema: "aten::atleast_1d(Tensor self) -> Tensor", Body: atLeastDims(1)},
	{Schema: "aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", Body: atLeastEach(1)},
	{Schema: "aten::atleast_2d(Tensor self) -> Tensor", Body: atLeastDims(2)},
	{Schema: "aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", Body: atLeastEach(2)},
	{Schema: "aten::atleast_3d(Tensor self) -> Tensor", Body: atLeastDims(3)},
	{Schema: "aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", Body: atLeastEach(3)},
	{Schema: "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", Out: repeat},
	{Schema: "aten::tile(Tensor self, SymInt[] dims) -> Tensor", Out: tile},
	{Schema: "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
		Out: repeatInterleave, Workspace: repeatWorkspace},
	{Schema: "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor", Body: repeatInterleaveBy},
	{Schema: "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor", Body: repeatInterleaveInt},
	{Schema: "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", Out: roll, Workspace: rollWorkspace},
	{Schema: "aten::flip(Tensor self, int[] dims) -> Tensor", Out: flip},
	{Schema: "aten::fliplr(Tensor self) -> Tensor", Body: flipAlong(1)},
	{Schema: "aten::flipud(Tensor self) -> Tensor", Body: flipAlong(0)},
	{Schema: "aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", Out: rot90},
	{Schema: "aten::meshgrid(Tensor[] tensors) -> Tensor[]", Body: meshgrid},
	{Schema: "aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", Body: meshgrid},
	{Schema: "aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", Body: broadcastTensors},
	{Schema: "aten::block_diag(Tensor[] tensors) -> Tensor", Out: blockDiag},
	{Schema: "aten::cartesian_prod(Tensor[] tensors) -> Tensor", Body: cartesianProd},
	{Schema: "aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", Body: combinations},
	{Schema: "aten::_stack(Tensor[] tensors, int dim=0) -> Tensor", Out: copied(stack)},
	{Schema: "aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str padding_side=\"right\") -> Tensor", Body: padSequence},
	{Schema: "aten::flatten_dense_tensors(Tensor[] tensors) -> Tensor", Body: flattenDense},
	{Schema: "aten::unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[]", Body: unflattenDense},
	{Schema: "aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", Out: chunkCat},
}
