package create

import (
	"github.com/memspec/memspec/engine/ops"
	"github.com/memspec/memspec/engine/tensor"
)

// copyRules are copies, casts, and writes of a whole tensor.
var copyRules = []ops.Rule{
	{Schema: "aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", Out: to, Copies: toCopies, Value: ops.SameValue},
	{Schema: "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", Out: to, Copies: toCopies, Value: ops.SameValue},
	{Schema: "aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", Out: to, Copies: toCopies, Value: ops.SameValue},
	{Schema: "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", Out: to, Copies: toCopies, Value: ops.SameValue},
	{Schema: "aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)", Out: to, Copies: toCopies, Value: ops.SameValue},
	{Schema: "aten::to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)", Out: to, Copies: toCopies, Value: ops.SameValue},
	{Schema: "aten::to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(b|a)", Out: to,
		Copies: toCopies, Value: ops.SameValue},
	{Schema: "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor", Out: toCopy, Value: ops.SameValue},
	{Schema: "aten::type_as(Tensor self, Tensor other) -> Tensor", Body: typeAs},
	{Schema: "aten::cpu(Tensor(a) self) -> Tensor(b|a)", Out: toDevice("cpu"), Copies: leaves("cpu"),
		Value: ops.SameValue},
	{Schema: "aten::cuda(Tensor(a) self) -> Tensor(b|a)", Out: toDevice("cuda"), Copies: leaves("cuda")},
	{Schema: "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)", Out: contiguous,
		Copies: contiguousCopies, Value: ops.SameValue},
	{Schema: "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", Out: clone, Value: ops.SameValue},
	{Schema: "aten::chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", Body: castTo(tensor.ComplexHalf)},
	{Schema: "aten::_cast_Byte(Tensor self, bool non_blocking=False) -> Tensor", Body: castTo(tensor.Uint8)},
	{Schema: "aten::_cast_Char(Tensor self, bool non_blocking=False) -> Tensor", Body: castTo(tensor.Int8)},
	{Schema: "aten::_cast_Double(Tensor self, bool non_blocking=False) -> Tensor", Body: castTo(tensor.Float64)},
	{Schema: "aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor", Body: castTo(tensor.Float32)},
	{Schema: "aten::_cast_Half(Tensor self, bool non_blocking=False) -> Tensor", Body: castTo(tensor.Float16)},
	{Schema: "aten::_cast_Int(Tensor self, bool non_blocking=False) -> Tensor", Body: castTo(tensor.Int32)},
	{Schema: "aten::_cast_Long(Tensor self, bool non_blocking=False) -> Tensor", Body: castTo(tensor.Int64)},
	{Schema: "aten::_cast_Short(Tensor self, bool non_blocking=False) -> Tensor", Body: castTo(tensor.Int16)},
	{Schema: "aten::_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled, ScalarType cuda_dtype, ScalarType cpu_dtype) -> Tensor(a)", Out: autocast(lower), Copies: autocasts(lower)},
	{Schema: "aten::_autocast_to_full_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) -> Tensor(a)",
		Out: autocast(raise), Copies: autocasts(raise)},
	{Schema: "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", Out: copyInto,
		Workspace: copyWorkspace, Value: copyValue},
	{Schema: "aten::copy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", Out: copyInto, Workspace: copyWorkspace,
		Value: copyValue},
	{Schema: "aten::copy_.int(Tensor(a!) self, int other) -> Tensor(a!)", Out: copyInto, Value: copyValue},
	{Schema: "aten::copy_.float(Tensor(a!) self, float other) -> Tensor(a!)", Out: copyInto, Value: copyValue},
	{Schema: "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", Out: copyOver},
	{Schema: "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", Out: copyInto, Value: copyValue},
	{Schema: "aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)", Out: fillInto, Value: copyValue},
	{Schema: "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", Out: clone, Value: copyValue},
	{Schema: "aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", Out: filledLike, Value: copyValue},
	{Schema: "aten::zero_(Tensor(a!) self) -> Tensor(a!)", Out: ops.SelfMeta, Value: zeroValue},
	{Schema: "aten::zero(Tensor self) -> Tensor", Out: clone, Value: zeroValue},
	{Schema: "aten::data(Tensor self) -> Tensor", Body: dataOf},
	{Schema: "aten::to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor", Body: toDense},
	{Schema: "aten::$1(Tensor self) -> Tensor", For: "lift_fresh_copy _lazy_clone", Out: clone, Value: ops.SameValue},
}
