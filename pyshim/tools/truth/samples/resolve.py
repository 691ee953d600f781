"""Which overload a bare name means, asked of the TorchScript compiler itself."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import torch

from .spec import Call, Ten

# c10::ScalarType, c10::MemoryFormat and c10::Layout: TorchScript source holds them as numbers.
SCALAR_TYPES = [
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
    torch.complex32, torch.complex64, torch.complex128, torch.bool, torch.qint8, torch.quint8, torch.qint32, torch.bfloat16,
]  # fmt: skip
MEMORY_FORMATS = [torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d]


class Unresolved(Exception):
    """No overload takes these arguments."""


class _Source:
    """Builds `def f(a0: Tensor, …): return torch.ops.aten.name(a0, 2, …)`."""

    def __init__(self) -> None:
        self.params: list[str] = []

    def param(self, kind: str) -> str:
        self.params.append(f"a{len(self.params)}: {kind}")
        return f"a{len(self.params) - 1}"

    def expr(self, v: Any) -> str:
        if isinstance(v, Ten):
            return self.param("Tensor")
        if v is None or isinstance(v, (bool, str)):
            return repr(v)
        if isinstance(v, int):
            return repr(v)
        if isinstance(v, float):
            return repr(v) if math.isfinite(v) else self.param("float")
        if isinstance(v, complex):
            return self.param("complex")
        if isinstance(v, torch.dtype):
            return str(SCALAR_TYPES.index(v))
        if isinstance(v, torch.memory_format):
            return str(MEMORY_FORMATS.index(v))
        if isinstance(v, torch.layout):
            return "0"
        if isinstance(v, torch.device):
            return self.param("Device")
        if isinstance(v, (list, tuple)):
            return self.list(list(v))
        raise Unresolved(f"got an argument of type {type(v).__name__}")

    def list(self, v: list) -> str:
        if not v:
            return self.param("List[int]")
        if any(isinstance(x, Ten) for x in v) and any(x is None for x in v):
            return self.param("List[Optional[Tensor]]")
        if all(isinstance(x, Ten) for x in v):
            return self.param("List[Tensor]")
        return "[" + ", ".join(self.expr(x) for x in v) + "]"


@cache
def _compile(op: str, source: str) -> str:
    try:
        graph = torch.jit.CompilationUnit(source).f.graph
    except RuntimeError as e:
        raise Unresolved(str(e)) from None
    node = graph.findNode(op) or _normalised(graph)
    if node is None:
        raise Unresolved(f"{op} is not in the graph")
    name = torch._C.parse_schema(node.schema()).overload_name
    namespace, base = op.split("::")
    if (name or "default") not in getattr(getattr(torch.ops, namespace), base).overloads():
        raise Unresolved(f"{op} has no overload {name!r} that takes tensors")
    return name


def _normalised(graph):
    """The compiler renames some operators: greater to gt, swapaxes to transpose."""
    nodes = [n for n in graph.nodes() if n.kind().startswith("aten::")]
    return nodes[-1] if nodes else None


def overload(call: Call) -> str:
    """The overload's name, "" for the default one."""
    if call.overload is not None:
        return call.overload
    src = _Source()
    args = [src.expr(a) for a in call.args] + [f"{k}={src.expr(v)}" for k, v in call.kwargs.items()]
    dotted = "torch.ops." + call.op.replace("::", ".")
    text = f"def f({', '.join(src.params)}):\n  return {dotted}({', '.join(args)})\n"
    return _compile(call.op, text)
