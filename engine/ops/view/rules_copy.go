package view

import (
	"github.com/memspec/memspec/engine/ops"
)

// copyRules are the copying forms of views.
var copyRules = []ops.Rule{
	{Schema: "aten::view_copy(Tensor self, SymInt[] size) -> Tensor", Out: viewOfCopy},
	{Schema: "aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor", Out: copied(viewDType)},
	{Schema: "aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", Out: copied(expand)},
	{Schema: "aten::permute_copy(Tensor self, int[] dims) -> Tensor", Out: copied(permute)},
	{Schema: "aten::t_copy(Tensor self) -> Tensor", Out: copied(transposeT)},
	{Schema: "aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", Out: copied(unsqueeze)},
	{Schema: "aten::$1(Tensor self) -> Tensor", For: "alias_copy detach_copy", Out: copied(ops.SelfMeta)},
	{Schema: "aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", Out: copied(unfold)},
	{Schema: "aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", Out: copied(diagonal)},
	{Schema: "aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
		Out: copied(asStrided)},
	{Schema: "aten::view_as_real_copy(Tensor self) -> Tensor", Out: copied(viewAsReal)},
	{Schema: "aten::view_as_complex_copy(Tensor self) -> Tensor", Out: copied(viewAsComplex)},
	{Schema: "aten::squeeze_copy(Tensor self) -> Tensor", Out: copied(squeeze)},
	{Schema: "aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", Out: copied(squeeze)},
	{Schema: "aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", Out: copied(squeeze)},
	{Schema: "aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
		Out: copied(splitSizes)},
	{Schema: "aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", Out: copied(slice)},
	{Schema: "aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", Out: copied(selectInt)},
	{Schema: "aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", Out: copied(transpose)},
	{Schema: "aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", Out: copied(unbind)},
	{Schema: "aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", Out: copied(split)},
	{Schema: "aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", Out: copied(narrow)},
	{Schema: "aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor", Out: viewOfCopy},
	{Schema: "aten::$1(Tensor self) -> Tensor", For: "_conj_copy _neg_view_copy", Out: ops.FreshSelf},
	{Schema: "aten::_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor", Out: copied(asStrided)},
	{Schema: "aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor",
		Out: copied(resized(sizeInts))},
	{Schema: "aten::resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor",
		Out: copied(resized(templateSizes))},
}
