"""What an operator is given: its tensors, numbers in their places, the same on the host."""

from __future__ import annotations

from typing import Any

import torch
import torch._C as C

from memshim.pretend.values.kinds import TAKE_NUMBERS
from memshim.pretend.values.memory import host

# what PyTorch makes of a number
TENSORS = {int: torch.int64, float: torch.float64, bool: torch.bool, complex: torch.complex128}
NUMBERS = tuple(TENSORS)
PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


def with_number(op: torch._ops.OpOverload, place: int) -> torch._ops.OpOverload:
    """The overload that differs by a number in that place; the given one where PyTorch makes a
    tensor of a number itself, or where there is none."""
    if op._schema.name.partition("::")[2].rstrip("_") in TAKE_NUMBERS:
        return op
    mine = op._schema.arguments
    for name in op.overloadpacket.overloads():
        other: torch._ops.OpOverload = getattr(op.overloadpacket, name)
        theirs = other._schema.arguments
        if len(theirs) == len(mine) and all(
            isinstance(b.type, torch.NumberType)
            if i == place
            else str(a.type) == str(b.type) and a.kwarg_only == b.kwarg_only
            for i, (a, b) in enumerate(zip(mine, theirs))
        ):
            return other
    return op


def collect(items: Any, into: list[torch.Tensor]) -> bool:
    """The tensors among arguments; False where one is of a kind that is not followed: a subclass's,
    sparse, quantised."""
    for a in items:
        kind = type(a)
        if kind in PLAIN:
            if a.layout is not torch.strided or a.is_quantized or a.is_meta:
                return False
            into.append(a)
        elif kind is list or kind is tuple:
            if not collect(a, into):
                return False
        elif isinstance(a, torch.Tensor):
            return False
    return True


def trained(tensors: list[torch.Tensor]) -> bool:
    """Whether this is of a pass that is trained, or of its gradients: numbers depend on weights as
    all of them do, and read as zero."""
    if torch.is_grad_enabled():
        for t in tensors:
            if t.requires_grad:
                return True
    return C._current_graph_task_id() != -1


def of_floats(result: Any) -> bool:
    if type(result) in (tuple, list):
        return bool(result) and of_floats(result[0])
    return isinstance(result, torch.Tensor) and result.dtype.is_floating_point


def to_host(a: Any) -> Any:
    kind = type(a)
    if kind in PLAIN:
        return host(a)
    if kind is list or kind is tuple:
        return kind(map(to_host, a))
    if kind is torch.device:
        return torch.device("cpu")
    return a


def defined(result: Any) -> Any:
    """An operator's result with an empty tensor for each that is undefined in a list of it."""
    if isinstance(result, tuple):
        return tuple(map(defined, result))
    if not isinstance(result, list) or all(t is not None for t in result):
        return result
    like = next((t for t in result if t is not None), None)
    empty = torch.empty(0) if like is None else like.new_empty(0)
    return [empty if t is None else t for t in result]
