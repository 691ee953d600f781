"""A process that is one rank of many, where no other rank runs: `memshim run --world-size N`.

The process group is PyTorch's, over the library's NCCL, whose collectives need no partners. What
else would wait for another rank has its answer here: the store (store.py), groups of the CPU
(groups.py), pickled objects (objects.py), FSDP1's optimizer states (flat_states.py), checks that all
have the same (agreement.py). Small tensors that the first rank broadcasts or gathers arrive at later
ones (native/exchange.c).
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import NamedTuple

VARIABLE = "MEMSPEC_RANK"
FIRST = "first"  # the file that has the number of the rank that runs first


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
        from memshim.pretend.absent import agreement, groups, launchers, objects, store, symmetric
        from memshim.pretend.library import Library

        native = Library()
        native.alone(rank.folder.encode(), int(is_first(rank)))
        setattr(symmetric, "multicast", native.multicast)  # noqa: B010
        agreement.assume()
        store.answer(rank)
        groups.replace()
        objects.watch(rank)
        launchers.refuse(rank)


def is_first(rank: Rank) -> bool:
    """Whether no other rank has run before, in the same folder."""
    said = Path(rank.folder, FIRST)
    with contextlib.suppress(FileExistsError), open(said, "x", encoding="ascii") as f:
        f.write(str(rank.rank))
    return said.read_text(encoding="ascii") == str(rank.rank)
