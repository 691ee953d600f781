"""A process that is one rank of many, where no other rank runs: `memshim run --world-size N`.

The process group is PyTorch's, over the library's NCCL, whose collectives need no partners. What
else would wait for another rank has its answer here: the store (store.py), groups of the CPU
(groups.py), pickled objects (objects.py).
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

VARIABLE = "MEMSPEC_RANK"


class Rank(NamedTuple):
    """This process among the ranks, and the folder in which each leaves what it sent."""

    rank: int
    world_size: int
    folder: str
    program: str  # as the command line has it after --


def current() -> Rank | None:
    """What the environment says; None where every rank is a process."""
    said = os.environ.get(VARIABLE)
    return Rank(**json.loads(said)) if said else None


def watch() -> None:
    """torch is imported."""
    rank = current()
    if rank is None:
        return
    import torch

    if torch.distributed.is_available():
        from memshim.pretend.absent import groups, launchers, objects, store

        store.answer(rank)
        groups.replace()
        objects.watch(rank)
        launchers.refuse(rank)
