"""Calls of ATen operators that PyTorch's own operator tests make (op_db)."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .resolve import Unresolved, overload
from .spec import Call, Store, Ten

DTYPES = (torch.float32, torch.float16, torch.int64, torch.bool, torch.complex64)
PER_DTYPE = {torch.float32: 80, torch.complex64: 4}
ELSEWHERE = 12

# Python spellings that the schemas do not know.
RENAMED = {"input": "self", "axis": "dim", "keepdims": "keepdim"}
DUNDERS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div",
    "__neg__": "neg", "__matmul__": "matmul", "__pow__": "pow", "__eq__": "eq", "__ne__": "ne", "__lt__": "lt",
    "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__invert__": "bitwise_not", "__iadd__": "add_", "__imul__": "mul_",
}  # fmt: skip


class Untranslatable(Exception):
    """An argument that TorchScript source cannot hold."""


def described(v: Any, stores: dict[int, Store]) -> Any:
    """A CPU value of the tests as a description on CUDA."""
    if isinstance(v, torch.Tensor):
        plain = type(v) in (torch.Tensor, torch.nn.Parameter) and v.layout == torch.strided
        if not plain or v.is_quantized or v.is_nested or v.is_conj() or v.is_neg() or v.device.type != "cpu":
            raise Untranslatable(str(type(v)))
        storage = v.untyped_storage()
        store = stores.setdefault(storage._cdata, Store(storage.nbytes()))
        return Ten(v.dtype, tuple(v.shape), tuple(v.stride()), v.storage_offset(), store)
    if isinstance(v, torch.device) or v in ("cpu", "cuda") and isinstance(v, str):
        return torch.device("cuda")
    if v is None or isinstance(v, (bool, str, complex, torch.dtype, torch.memory_format, torch.layout)):
        return v
    if isinstance(v, int):
        return int(v)
    if isinstance(v, float):
        return float(v)
    if isinstance(v, (list, tuple)):
        return [described(x, stores) for x in v]
    raise Untranslatable(str(type(v)))


def name_of(func: Any) -> str | None:
    """The ATen name behind a function that the Python bindings call."""
    if isinstance(func, torch._ops.OpOverload):
        func = func.overloadpacket
    if isinstance(func, torch._ops.OpOverloadPacket):
        return func._qualified_op_name if func._qualified_op_name.startswith("aten::") else None
    name = getattr(func, "__name__", "")
    name = DUNDERS.get(name, name)
    if name.startswith("__") or not hasattr(torch.ops.aten, name):
        return None
    return "aten::" + name


def spellings(op: str, args: list, kwargs: dict) -> Iterator[Call]:
    """A call, then what Python's bindings accept beyond the schema."""
    for names in ({}, {"input": "self"}, RENAMED):
        kw = {names.get(k, k): v for k, v in kwargs.items()}
        yield Call(op, args, kw)
        for first in range(len(args)):
            if all(type(a) is int for a in args[first:]):
                yield Call(op, [*args[:first], args[first:]], kw)


def resolved(op: str, args: list, kwargs: dict) -> Call | None:
    for call in spellings(op, args, kwargs):
        try:
            overload(call)
            return call
        except Unresolved:
            continue
    return None


class Tap(TorchFunctionMode):
    """Notes each call that crosses from Python into the operators."""

    def __init__(self, calls: dict[str, list[Call]], limit: int) -> None:
        super().__init__()
        self.calls, self.limit = calls, limit
        self.counts: dict[str, int] = {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        op = name_of(func)
        if op is not None and self.counts.get(op, 0) < self.limit:
            self.note(op, args, kwargs)
        return func(*args, **kwargs)

    def note(self, op: str, args, kwargs) -> None:
        stores: dict[int, Store] = {}
        try:
            a = [described(x, stores) for x in args]
            kw = {k: described(x, stores) for k, x in kwargs.items() if k != "out" or x is not None}
        except Untranslatable:
            return
        call = resolved(op, a, kw)
        if call is not None:
            self.counts[op] = self.counts.get(op, 0) + 1
            self.calls.setdefault(op, []).append(call)


def quiet_python_overrides() -> None:
    """Python functions of torch then run their bodies under the tap instead of being handed to it
    whole."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("torch."):
            continue
        for attr in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"):
            if attr in vars(module) and not name.startswith("torch._C"):
                setattr(module, attr, lambda *a, **k: False)


def forms(op) -> Iterator[tuple[Any, bool]]:
    """Function, method and in-place form; whether the input must be cloned first."""
    yield op.op, False
    if op.get_method() is not None and op.get_method() is not op.op:
        yield op.get_method(), False
    if op.get_inplace() is not None:
        yield op.get_inplace(), True


def harvest(progress=None) -> dict[str, list[Call]]:
    """op → calls, in the order of op_db."""
    from torch.testing._internal.common_methods_invocations import op_db

    quiet_python_overrides()
    calls: dict[str, list[Call]] = {}
    for op in op_db:
        for dtype in DTYPES:
            if dtype in op.dtypes:
                one(op, dtype, calls)
        if progress:
            progress(op.name)
    return calls


def one(op, dtype: torch.dtype, calls: dict[str, list[Call]]) -> None:
    limit = PER_DTYPE.get(dtype, ELSEWHERE)
    torch.manual_seed(0)
    random.seed(0)
    tap = Tap(calls, limit)
    for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), limit):
        for form, clone in forms(op):
            try:
                first = sample.input.clone() if clone else sample.input
                with torch.no_grad(), tap:
                    form(first, *sample.args, **sample.kwargs)
            except Exception:  # a form that this sample does not fit
                continue
