"""Which operator autograd saved a tensor for.

When a backward begins, the graph holds every tensor that it will use. Each node says what it saved,
and, as anomaly mode is on (forward_lines.py), where its forward ran. A tensor is read as it is held:
nothing is unpacked, so that no hook runs and nothing is allocated. One that a hook has replaced, as
activation checkpointing and save_on_cpu do, is left out, and so is all of a PyTorch whose saved
tensors do not say so (before SavedTensor.unpack_hook).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from memshim.allocator.pytorch_snapshot import uncollected


class Saved(NamedTuple):
    """A tensor that a node saved. label: the node's name, and the lines of its forward as
    forward_lines.stack writes them: a text, which Python's garbage collector does not count."""

    tensor: Any
    label: str


def saved(roots: Iterable[Any]) -> Iterator[Saved]:
    """What the graph behind tensors saved, in the order of the forward."""
    import torch

    if not hasattr(torch._C._autograd.SavedTensor, "unpack_hook"):
        return
    with uncollected(), contextlib.suppress(Exception), torch._C.DisableTorchFunctionSubclass():
        for node in sorted(_nodes(roots), key=lambda n: n._sequence_nr()):
            label = node.name() + "\n" + "".join(node.metadata.get("traceback_", ()))
            for t in _tensors(node):
                yield Saved(t, label)


def _nodes(roots: Iterable[Any]) -> set[Any]:
    """Nodes that tensors were made by, and those behind them."""
    import torch

    waiting = [t.grad_fn for t in roots if isinstance(t, torch.Tensor) and t.grad_fn is not None]
    found = set(waiting)
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in found:
                found.add(node)
                waiting.append(node)
    return found


_names: dict[type, tuple[str, ...]] = {}  # by kind of node, what it calls its saved tensors


def _tensors(node: Any) -> Iterator[Any]:
    import torch

    kind = type(node)
    if kind not in _names:
        _names[kind] = tuple(n for n in dir(kind) if n.startswith("_raw_saved_"))
    for name in _names[kind]:
        with contextlib.suppress(RuntimeError):  # of one that was released
            held = getattr(node, name)
            for one in held if isinstance(held, (tuple, list)) else (held,):
                if one is not None and one.unpack_hook is None and isinstance(one.data, torch.Tensor):
                    yield one.data
