"""A region of the allocator's history in the form that PyTorch's memory_viz opens: as
torch.cuda.memory._dump_snapshot writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memshim.allocator.events import ANNOTATE, Event

if TYPE_CHECKING:
    from memshim.allocator.recorder import CUDARegion


def snapshot(region: CUDARegion) -> dict[str, Any]:
    """Blocks and segments as they are now; of what happened, what the region saw. Other devices
    have no history in it."""
    from memshim.allocator.pytorch_snapshot import allocator_snapshot

    region.mark()
    out = allocator_snapshot()
    frames: dict[int, list[dict[str, Any]]] = {}

    def stack_of(e: Event) -> list[dict[str, Any]]:
        if e.stack < 0:
            return []
        if e.stack not in frames:
            frames[e.stack] = [
                {"filename": f.file, "line": f.line, "name": f.function} for f in region.stacks.of(e.stack)
            ]
        return frames[e.stack]

    def entry(e: Event) -> dict[str, Any]:
        where = {"device_free": e.key} if e.action == "oom" else {"addr": e.key}
        return {
            "action": e.action,
            **where,
            "size": e.size,
            "stream": e.stream,
            "time_us": e.time,
            "frames": stack_of(e),
        }

    seen = [entry(e) for e in region.events if e.action != ANNOTATE]
    out["device_traces"] = [seen if i == region.index else [] for i in range(len(out["device_traces"]))]
    return out
