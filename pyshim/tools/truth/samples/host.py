"""Operators on numbers, strings, lists and dicts, run by the TorchScript interpreter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from . import encode
from .resolve import SCALAR_TYPES, Unresolved


@dataclass
class As:
    """A value whose TorchScript type its Python value does not record: As([], "List[str]")."""

    value: Any
    type: str


@dataclass
class HostCall:
    op: str
    args: list[Any]
    kwargs: dict[str, Any]


def host(op: str, *args: Any, **kwargs: Any) -> HostCall:
    return HostCall(op if "::" in op else "aten::" + op, list(args), kwargs)


def type_of(v: Any) -> str:
    """TorchScript's name for a value's type."""
    if isinstance(v, As):
        return v.type
    if isinstance(v, torch.Tensor):
        return "Tensor"
    if isinstance(v, torch.device):
        return "Device"
    if isinstance(v, list):
        return f"List[{type_of(v[0]) if v else 'int'}]"
    if isinstance(v, tuple):
        return f"Tuple[{', '.join(type_of(x) for x in v)}]"
    if isinstance(v, dict):
        key, value = next(iter(v.items()), ("", 0))
        return f"Dict[{type_of(key)}, {type_of(value)}]"
    return type(v).__name__


def expression(v: Any, params: list[str]) -> str:
    """None and dtypes as constants, all else as a parameter, so that nothing is computed at compile
    time."""
    if v is None:
        return "None"
    if isinstance(v, torch.dtype):
        return str(SCALAR_TYPES.index(v))
    params.append(f"a{len(params)}: {type_of(v)}")
    return f"a{len(params) - 1}"


class Encoder:
    """As in encode, with dicts, tuples and tensors that have values. Numbers storages in order of
    appearance."""

    def __init__(self) -> None:
        self.storages: list[torch.UntypedStorage] = []

    def sid(self, x: torch.Tensor) -> int:
        storage = x.untyped_storage()
        for i, known in enumerate(self.storages):
            if known._cdata == storage._cdata:
                return i
        self.storages.append(storage)
        return len(self.storages) - 1

    def __call__(self, v: Any) -> Any:
        if isinstance(v, As):
            return self(v.value)
        if isinstance(v, dict):
            return {"dict": [[self(k), self(x)] for k, x in v.items()]}
        if isinstance(v, tuple):
            return {"tuple": [self(x) for x in v]}
        if isinstance(v, list):
            return [self(x) for x in v]
        if isinstance(v, torch.device):
            return {"device": str(v)}
        if isinstance(v, torch.Tensor):
            plain = v.dequantize() if v.is_quantized else v
            return encode.tensor(v, self.sid(v)) | {"v": [self(x) for x in plain.flatten().tolist()]}
        return encode.value(v, self.sid)


def copied(v: Any) -> Any:
    return type(v)(v) if isinstance(v, (list, dict)) else v


def record(call: HostCall) -> dict:
    """The line of testdata for a call."""
    params: list[str] = []
    given = [*call.args, *call.kwargs.values()]
    args = [expression(a, params) for a in call.args] + [f"{k}={expression(v, params)}" for k, v in call.kwargs.items()]
    dotted = "torch.ops." + call.op.replace("::", ".")
    kept = ", ".join(p.split(":")[0] for p in params)
    back = f"(r, {kept})" if kept else "r"  # the arguments too: the operator may have changed them
    source = f"def f({', '.join(params)}):\n  r = {dotted}({', '.join(args)})\n  return {back}\n"
    try:
        unit = torch.jit.CompilationUnit(source)
    except RuntimeError as e:
        raise Unresolved(f"{call.op}: {e}") from None
    node = unit.f.graph.findNode(call.op)
    if node is None:
        raise Unresolved(f"{call.op} is not in the graph")
    schema = torch._C.parse_schema(node.schema())
    line: dict[str, Any] = {"op": call.op}
    if schema.overload_name:
        line["overload"] = schema.overload_name
    encoded = Encoder()
    line["args"] = [encoded(a) for a in call.args]
    line["kwargs"] = {k: encoded(v) for k, v in call.kwargs.items()}
    values = [
        copied(v.value if isinstance(v, As) else v) for v in given if v is not None and not isinstance(v, torch.dtype)
    ]
    try:
        with torch.jit.optimized_execution(False):
            result = unit.f(*values)
    except Exception:  # the interpreter's errors are of many types
        line["error"] = True
        return line
    result, after = (result[0], list(result[1:])) if kept else (result, [])
    line["outs"] = (
        [] if not schema.returns else [encoded(x) for x in (result if len(schema.returns) > 1 else (result,))]
    )
    changed = {
        a.name: encoded(v)
        for a, v in zip(schema.arguments, after)
        if a.alias_info is not None and a.alias_info.is_write
    }
    if changed:
        line["after"] = changed
    return line
