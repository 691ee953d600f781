"""The operator that an allocation is from, and what it is, read off its stack."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from memshim.attribution.generated_code import generated, operators
from memshim.frames import compiled

_OPERATOR = re.compile(r"at::_ops::(\w+)::(?:call|redispatch)")
_TENSOR = ("empty_generic", "empty_strided_generic", "StorageImpl", "resize_bytes", "empty_cuda", "empty_strided_cuda")


@cache
def overloads() -> dict[str, str]:
    """By the name of its C++ struct in at::_ops, every operator."""
    import torch

    return {
        "_".join(filter(None, (s.name.removeprefix("aten::"), s.overload_name))): s.name
        for s in torch._C._jit_get_all_schemas()
        if s.name.startswith("aten::")
    }


@cache
def makes(op: str) -> bool:
    """Whether an operator makes or moves data, where others compute: what that is for only the
    program knows."""
    import torch

    name = op.removeprefix("aten::")
    if not op or name.endswith("_like") or name.startswith("new_") or name in ("to", "_to_copy", "clone", "cuda"):
        return True
    schemas = torch._C._jit_get_schemas_for_operator(op)
    return all("Tensor" not in str(a.type) for s in schemas for a in s.arguments if a.name != "out")


def operator(frames: list[Any]) -> str:
    """What Python, or a node of the backward, called: the outermost operator of the innermost
    C++."""
    found = ""
    for f in frames:
        if f.file.endswith(".py"):
            break
        m = _OPERATOR.search(f.function)
        if m:
            found = overloads().get(m[1], found)
    return found


def fused(frames: list[Any]) -> str:
    """What the kernel was made of that a line of inductor's code makes a buffer for."""
    first = next((f for f in frames if f.line > 0 and not compiled(f.file)), None)
    return operators(first.file, first.line) if first is not None and generated(first.file) else ""


def of_library(frames: list[Any]) -> bool:
    """Whether no tensor asked: cuBLAS's, cuDNN's and CUB's workspace."""
    names = [f.function for f in frames]
    return any("::" in n for n in names) and not any(t in n for n in names for t in _TENSOR)
