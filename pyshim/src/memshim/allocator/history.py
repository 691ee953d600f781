"""What was allocated and freed while code ran, by whom: the CUDA allocator's own history, or
storages of CPU tensors where there is no GPU."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from memshim.allocator.blocks import Blocks
from memshim.allocator.events import Event
from memshim.frames import Frame, Stacks
from memshim.gpu import where

if TYPE_CHECKING:
    import torch

    from memshim.allocator.recorder import CUDARegion


class Region(Protocol):
    """From open to close. Any number may be open at once, opened and closed in any order."""

    where: str  # cuda or cpu
    index: int | None  # of the GPU
    events: list[Event]  # up to the last mark, or to the end
    before: dict[int, int]  # what was there when it began: size by key
    lost: str  # why the events do not record all; empty where they do

    @property
    def stacks(self) -> Stacks: ...
    def open(self) -> Region: ...
    def close(self) -> None: ...
    def mark(self) -> int: ...
    def turn(self) -> Region: ...
    def peaks(self) -> dict[str, int]: ...
    def now(self) -> dict[str, int]: ...
    def restart(self) -> None: ...
    def restart_peaks(self) -> dict[str, int]: ...
    def keys_of(self, tensor: torch.Tensor) -> list[int]: ...  # of the storages behind it, in the words of the events


def region(device: Any = None, stacks: str = "python", events: bool = True) -> Region:
    """Of the device named, else of the current GPU where there is one, else of CPU tensors; to be
    opened."""
    from memshim.allocator.cpu_region import CPURegion
    from memshim.allocator.recorder import CUDARegion

    at = where.of(device)
    return CUDARegion(at.index, stacks, events) if at.kind == "cuda" else CPURegion(stacks)


class Held(NamedTuple):
    """An allocation that is alive at some moment."""

    event: Event
    block: int  # what it counts for
    born: int  # the index of its event


class Moment(NamedTuple):
    """What is alive at one moment of a region, in what the allocator counts. at is the index of its
    event, -1 for the beginning. total is more or less than the parts only where the region's events
    do not record all."""

    at: int
    total: int
    before: list[int]  # sizes of what was there before and still is
    held: list[Held]


class Change(NamedTuple):
    """One step of a replay: an allocation or a free of so many bytes. of_before: the block was
    there when the region began."""

    index: int  # type: ignore[assignment]  # hides a method of tuple
    event: Event
    bytes: int
    of_before: bool


def replay(region: Region) -> list[Change]:
    """The events that change what is allocated, with the true sizes of their blocks."""
    if region.where != "cuda":
        live, out = dict(region.before), []
        for i, e in enumerate(region.events):
            if e.action == "alloc":
                out.append(Change(i, e, e.size, False))
            elif e.action == "free_completed":
                out.append(Change(i, e, -e.size, live.pop(e.key, None) is not None))
        return out
    cuda = cast("CUDARegion", region)
    blocks, before, out = Blocks(cuda.segments, cuda.settings), dict(region.before), []
    for i, e in enumerate(region.events):
        if e.action == "alloc":
            out.append(Change(i, e, blocks.alloc(e.key, e.size), False))
        elif e.action == "free_requested":
            mine = before.pop(e.key, None)
            size = blocks.size_of(e.key) or blocks.settings.rounded(e.size)
            out.append(Change(i, e, -size, mine is not None))
        elif e.action == "free_completed":
            blocks.freed(e.key)
        else:
            blocks.segment_event(e.action, e.key, e.size)
    return out


def moment(region: Region, changes: list[Change], at: int | None = None, since: int = 0) -> Moment:
    """What is alive after the event of that index; None: when most was, for the first time from
    event number since on."""
    if at is None:
        at = peak_of(region, changes, since)
    before, held = dict(region.before), {}
    total = sum(before.values())
    for c in changes:
        if c.index > at:
            break
        total += c.bytes
        if c.bytes > 0:
            held[c.event.key] = Held(c.event, c.bytes, c.index)
        elif c.of_before:
            before.pop(c.event.key, None)
        else:
            held.pop(c.event.key, None)
    sizes = list(before.values())
    return Moment(at, total, sizes, list(held.values()))


def peak_of(region: Region, changes: list[Change], since: int = 0) -> int:
    """The index of the event that made the peak from event number since on, that before it where it
    only fell from there; -1: it was at the beginning."""
    total = most = sum(region.before.values())
    at = -1
    for c in changes:
        total += c.bytes
        if total > most or c.index < since:
            most, at = total, c.index
    return at


class Line(NamedTuple):
    """A source line that held memory at the peak. frame is None for what no stack records; backward:
    the line's operators' backward holds it."""

    frame: Frame | None
    mem: int  # as asked for
    count: int  # type: ignore[assignment]  # hides a method of tuple
    median: int
    backward: bool = False


class OutOfMemory(NamedTuple):
    """An allocation that failed for good."""

    size: int  # asked for
    free: int  # on the device
    at: Frame | None
    then: Peak | None = None  # who held what when it failed; None: what was held at the peak


class Peak(NamedTuple):
    """total = the lines' sum + before + rounding + unknown, to the byte."""

    total: int
    at: Frame | None  # the line whose allocation made it
    lines: list[Line]
    before: Line  # of it, what was there when the region began
    rounding: int = 0  # what the blocks of the lines are larger than what was asked for
    unknown: int = 0  # what the events do not record; why is in lost
    churn: int = 0  # all that was asked for in the region
    oom: OutOfMemory | None = None
    lost: str = ""

    @property
    def untraced(self) -> int:
        """What no line of the region holds."""
        return self.before.mem + self.rounding + self.unknown


def by_line(region: Region, held: list[Held], every_frame: bool = False) -> list[Line]:
    """The lines that hold allocations, the largest first."""
    sizes: dict[tuple[Frame | None, bool], list[int]] = {}
    for h in held:
        sizes.setdefault(line_of(region.stacks, h.event, every_frame), []).append(h.event.size)
    lines = [Line(f, sum(n), len(n), median(n), backward) for (f, backward), n in sizes.items()]
    return sorted(lines, key=lambda x: (-x.mem, str(x.frame), x.backward))


def lines_at(region: Region, at: int, loaded: int) -> list[Line]:
    """Who held what after the event of that index; what was born before the event numbered loaded
    is one line without a place."""
    held = moment(region, replay(region), at).held
    first = [h.event.size for h in held if h.born < loaded]
    lines = by_line(region, [h for h in held if h.born >= loaded])
    return sorted(lines + ([Line(None, sum(first), len(first), median(first))] if first else []), key=lambda x: -x.mem)


def at_peak(region: Region, every_frame: bool = False, since: int = 0) -> Peak:
    """Who held the most that was allocated at once from event number since on, by source line, the
    largest first."""
    changes = replay(region)
    m = moment(region, changes, since=since)
    counted_peak = region.peaks().get("allocated", 0) if region.where == "cuda" and not since else 0
    churn = sum(e.size for e in region.events if e.action == "alloc") + getattr(region, "skipped", 0)
    return _account(region, m, max(m.total, counted_peak), every_frame)._replace(
        churn=churn, oom=_last_oom(region, changes, m, every_frame), lost=region.lost
    )


def _account(region: Region, m: Moment, total: int, every_frame: bool) -> Peak:
    """Who held what at a moment."""
    at = line_of(region.stacks, region.events[m.at], every_frame)[0] if m.at >= 0 else None
    return Peak(
        total,
        at,
        by_line(region, m.held, every_frame),
        Line(None, sum(m.before), len(m.before), median(m.before)),
        sum(h.block - h.event.size for h in m.held),
        total - sum(m.before) - sum(h.block for h in m.held),
    )


def _last_oom(region: Region, changes: list[Change], peak: Moment, every_frame: bool) -> OutOfMemory | None:
    at = next((i for i in range(len(region.events) - 1, -1, -1) if region.events[i].action == "oom"), -1)
    if at < 0:
        return None
    e, m = region.events[at], moment(region, changes, at)
    then = _account(region, m, m.total, every_frame) if m._replace(at=peak.at) != peak else None
    return OutOfMemory(e.size, e.key, line_of(region.stacks, e, every_frame)[0], then)


def line_of(stacks: Stacks, e: Event, every_frame: bool = False) -> tuple[Frame | None, bool]:
    """The line that an allocation is counted for, and whether as its backward."""
    if e.forward >= 0:
        return stacks.line(e.forward, every_frame), True
    return stacks.line(e.stack, every_frame), False


def median(sizes: list[int]) -> int:
    return int(statistics.median(sizes)) if sizes else 0
