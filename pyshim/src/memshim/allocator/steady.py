"""Whether iterations are like those before. What the allocator did in them need not be read then: it
raised no peak, and what is held is what was held."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, NamedTuple

from memshim.allocator.pytorch_snapshot import symbolized, uncollected


class State(NamedTuple):
    """Of one device's allocator at a moment."""

    peaks: dict[str, int]
    ooms: int
    segments: list[Any]  # with the blocks in use, each with the Python lines that made it
    requested: int  # bytes that were asked for so far, in all
    made: int  # allocations so far

    def is_like(self, before: State | None) -> bool:
        return before is not None and self[:3] == before[:3]


class Interval:
    """How many iterations go by between two looks: 8, and up to 64 while they are alike. PyTorch
    keeps what happens meanwhile, some 500 B an allocation: where there are many, it does not
    grow."""

    SHORTEST, LONGEST, MOST_KEPT = 8, 64, 100_000

    def __init__(self) -> None:
        self.length, self._from, self._skipped, self._made = self.SHORTEST, 0, 0, 0

    def is_over(self, iterations: int) -> bool:
        if iterations - self._from < self.length:
            return False
        self._from = iterations
        return True

    def looked(self, skipped: int, made: int) -> None:
        """skipped: the bytes of all that was left out so far; made: the allocations so far."""
        like, kept = skipped > self._skipped, made - self._made
        self._skipped, self._made = skipped, made
        if not like:
            self.length = self.SHORTEST
        elif 2 * kept <= self.MOST_KEPT:
            self.length = min(2 * self.length, self.LONGEST)


@cache
def supported() -> bool:
    """Whether PyTorch shows what is held without what was done."""
    import torch

    return "include_traces" in inspect.signature(torch.cuda.memory_snapshot).parameters


def state(index: int, peaks: dict[str, int], stats: dict[str, Any]) -> State:
    """stats: the allocator's counters."""
    import torch

    with uncollected(), symbolized():
        found = torch._C._cuda_memorySnapshot((0, 0, False))["segments"]
    segments = [
        (
            s["address"],
            s["total_size"],
            [
                (b["address"], b["size"], b["requested_size"], b["state"], lines(b))
                for b in s["blocks"]
                if b["state"] != "inactive"
            ],
        )
        for s in found
        if s["device"] == index
    ]
    requested, made = (stats[name]["all"]["allocated"] for name in ("requested_bytes", "allocation"))
    return State(peaks, stats.get("num_ooms", 0), segments, requested, made)


def lines(block: dict[str, Any]) -> list[tuple[str, int]]:
    return [(f["filename"], f["line"]) for f in block.get("frames") or ()]
