"""Calls of every ATen operator that takes a Python number where its schema has a tensor.

PyTorch lets a number stand for a tensor for the operators that torch/csrc/utils/python_arg_parser.cpp
(should_allow_numbers_as_tensors) names. export_small.py exports these calls as the model `numbers`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

NUMBERS = [3, 0.5, True]
DTYPES = [torch.float32, torch.float16, torch.int32, torch.bool]
ROUNDING = [None, "floor", "trunc"]


def overloads() -> list[tuple[Any, list[int]]]:
    """The functional overloads that take a number for a tensor, with the places of those arguments."""
    found = []
    for name in sorted(dir(torch.ops.aten)):
        if name.startswith("__") or not torch._C._should_allow_numbers_as_tensors(name):
            continue
        packet = getattr(torch.ops.aten, name)
        for overload in sorted(packet.overloads()):
            op = getattr(packet, overload)
            args = op._schema.arguments
            places = [i for i, a in enumerate(args) if isinstance(a.type, torch._C.TensorType)]
            if places and not any(a.is_out for a in args):
                found.append((op, places))
    return found


def calls() -> Iterator[tuple[Any, list[Any], dict[str, Any]]]:
    """Each overload, its arguments (a dtype stands for the tensor of that dtype) and keywords."""
    for op, places in overloads():
        modes = [{"rounding_mode": m} for m in ROUNDING] if any(a.name == "rounding_mode" for a in op._schema.arguments) else [{}]
        written = [bool(op._schema.arguments[i].is_write) for i in places]  # a number is not
        choices: list[list[Any]] = [DTYPES if w else [*DTYPES, *NUMBERS] for w in written]
        for given, mode in itertools.product(itertools.product(*choices), modes):
            if not any(isinstance(a, torch.dtype) for a in given) or all(isinstance(a, torch.dtype) for a in given):
                continue  # a call on numbers alone makes a tensor of the host
            if accepted(op, given, mode):
                yield op, list(given), mode


def accepted(op: Any, given: Any, mode: dict[str, Any]) -> bool:
    args = [torch.ones(3, dtype=a) if isinstance(a, torch.dtype) else a for a in given]
    try:
        op(*args, **mode)
    except RuntimeError:  # another dtype than it has, or more arguments
        return False
    return True


class Numbers(nn.Module):
    """All calls, one behind the other; what writes or returns its argument gets a copy."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = list(calls())

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        by_dtype = {x.dtype: x for x in tensors}
        results = []
        for op, given, mode in self.calls:
            args = [by_dtype[a] if isinstance(a, torch.dtype) else a for a in given]
            if op._schema.arguments[0].alias_info and isinstance(args[0], torch.Tensor):
                args[0] = args[0].clone()
            results.append(op(*args, **mode))
        return results


def inputs() -> tuple[torch.Tensor, ...]:
    return tuple(torch.ones(3, 5, dtype=d) for d in DTYPES)
