"""The second test: PyTorch's profiler on CPU tensors, which knows nothing of dispatch modes and
weak references.

Its memory events, less what an operator takes and gives back before it ends, must report the same
births and deaths.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

# What kernels call to make or reshape storage: no operators in their own right.
_PLUMBING = (
    "aten::empty",
    "aten::resize_",
    "aten::as_strided",
    "aten::new_empty",
    "aten::zeros",
    "aten::zero_",
    "aten::fill_",
)


def run(call: Callable[..., Any], inputs: tuple, ops: set[str]) -> list[tuple[int, int]]:
    """Runs one pass on CPU tensors and returns births (number and size) and deaths (number and 0)
    in order.

    The ops are those that the other test saw whole. Attention is written out, as on a fake
    device.
    """
    with (
        torch.no_grad(),
        sdpa_kernel(SDPBackend.MATH),
        profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof,
    ):
        result = call(*inputs)
    del result
    events: list[tuple[int, int, int, Any]] = []  # time, pointer, size, node
    pending = list(prof.profiler.kineto_results.experimental_event_tree())
    while pending:
        node = pending.pop()
        pending += node.children
        if node.tag.name == "Allocation":
            _, fields = node.typed
            if str(fields.device) == "cpu":
                events.append((node.start_time_ns, fields.ptr, fields.alloc_size, node))
    events.sort(key=lambda e: e[0])
    scratch = _scratch(events, ops)
    recorded: list[tuple[int, int]] = []
    born: dict[int, int] = {}
    count = 0
    for n, (_, pointer, size, _) in enumerate(events):
        if n in scratch:
            continue
        if size > 0:
            recorded.append((count, size))
            born[pointer] = count
            count += 1
        elif pointer in born:  # what existed before is none of the pass's
            recorded.append((born.pop(pointer), 0))
    return recorded


def _scratch(events: list[tuple[int, int, int, Any]], ops: set[str]) -> set[int]:
    """Finds allocations that are freed before the operator that made them ends."""
    found: set[int] = set()
    open_: dict[int, int] = {}
    for n, (time, pointer, size, _) in enumerate(events):
        if size > 0:
            open_[pointer] = n
        elif pointer in open_:
            born = open_.pop(pointer)
            operator = _operator(events[born][3], ops)
            if operator is not None and time <= operator.end_time_ns:
                found |= {born, n}
    return found


def _operator(node: Any, ops: set[str]) -> Any:
    """The outermost operator around the node that is among ops, else the innermost that is more
    than plumbing.

    The second is for operators that a CPU calls by another name, batch norm for one.
    """
    found = inner = None
    while node is not None:
        if node.tag.name == "TorchOp":
            if node.name in ops:
                found = node
            if inner is None and not node.name.startswith(_PLUMBING):
                inner = node
        node = node.parent
    return found or inner
