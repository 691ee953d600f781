"""Process groups of NCCL: how many ranks a part of a split group has, and on how many nodes, which
NCCL's functions are not given.

PyTorch splits a communicator by a colour and a key, and asks the new one for its size and rank. Only
Python has the list of ranks: it is passed to the library before the split (native/nccl.c).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

from memshim.pretend import communicators
from memshim.pretend.library import Library

ANY = -1  # a colour that the former group of NCCL chooses itself


def watch() -> None:
    """torch is imported."""
    import torch

    if not torch.distributed.is_available():
        return
    from torch._C import _distributed_c10d as c
    from torch.distributed import distributed_c10d

    split_of = Library().split

    def announce(colour: int, ranks: Sequence[int]) -> None:
        split_of(colour, len(ranks), *communicators.spread(ranks, os.environ))

    def lowest(ranks: Sequence[int]) -> int:
        return min(ranks)  # the colour of ProcessGroupNCCL2::split

    for name, method, at in (
        ("ProcessGroup", "split_group", 0),
        ("ProcessGroupNCCL2", "split", 1),
        ("ProcessGroupNCCLLazy", "split", 1),
    ):
        of = getattr(c, name, None)
        if split := getattr(of, method, None):
            setattr(of, method, _announced(split, at, lowest, announce))
    colour = distributed_c10d._process_group_color

    @functools.wraps(colour)
    def announced_colour(ranks: list[int]) -> int:
        found = colour(ranks)
        announce(found, ranks)
        return found

    distributed_c10d._process_group_color = announced_colour


def _announced(
    split: Callable[..., Any],
    at: int,
    colour: Callable[[Sequence[int]], int],
    announce: Callable[[int, Sequence[int]], None],
) -> Callable[..., Any]:
    """The method, which announces the list of ranks that is its argument at that place, or `ranks`."""

    @functools.wraps(split)
    def announced(self: Any, *args: Any, **kwargs: Any) -> Any:
        ranks = kwargs["ranks"] if "ranks" in kwargs else args[at]
        announce(colour(ranks), ranks)
        announce(ANY, ranks)
        try:
            return split(self, *args, **kwargs)
        finally:
            announce(ANY, [])

    return announced
