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

    def is_like(self, before: State | None) -> bool:
        return before is not None and self[:-1] == before[:-1]


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
    return State(peaks, stats.get("num_ooms", 0), segments, stats["requested_bytes"]["all"]["allocated"])


def lines(block: dict[str, Any]) -> list[tuple[str, int]]:
    return [(f["filename"], f["line"]) for f in block.get("frames") or ()]
