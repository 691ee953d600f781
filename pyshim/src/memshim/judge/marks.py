"""The marks: name to function. Each reads a mark's arguments at collection (a ValueError there is the test's error) and gives what judges a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from memshim import sizes

METRICS = ("allocated", "reserved", "delta")


class Limit(NamedTuple):
    metric: str
    text: str  # as written
    bytes: int


class Peaks(NamedTuple):
    """What a region took on one GPU, in bytes. delta is what it added to what was allocated before."""

    device: str
    allocated: int
    reserved: int
    delta: int


class Region(Protocol):
    """Measures from start to stop. why_not: why it cannot; empty where it can."""

    why_not: str

    def start(self) -> None: ...
    def stop(self) -> Peaks: ...
    def holders(self) -> str: ...
    def drop(self) -> None: ...


class Budget(NamedTuple):
    limits: tuple[Limit, ...]
    device: int | None = None

    def broken(self, peaks: Peaks) -> list[tuple[Limit, int]]:
        """Exactly at the limit passes."""
        return [(x, getattr(peaks, x.metric)) for x in self.limits if getattr(peaks, x.metric) > x.bytes]


def memory_budget(*args: Any, device: int | None = None, **limits: str | int) -> Budget:
    """memory_budget(allocated="1GiB", reserved=…, delta=…, device=0): at most so much GPU memory while the test runs."""
    if args:
        raise ValueError(f"memory_budget: got {args[0]!r} without a metric, want {'=, '.join(METRICS)}=")
    unknown = [k for k in limits if k not in METRICS]
    if unknown:
        raise ValueError(f"memory_budget: got the metric {unknown[0]!r}, want one of {', '.join(METRICS)}")
    if not limits:
        raise ValueError(f"memory_budget: got no limit, want {'=, '.join(METRICS)}=")
    try:
        return Budget(tuple(Limit(k, str(v), sizes.parse(v)) for k, v in limits.items()), device)
    except ValueError as e:
        raise ValueError(f"memory_budget: {e}") from None


MARKS: dict[str, Callable[..., Budget]] = {"memory_budget": memory_budget}


class CUDABudget:
    """The caching allocator's peaks of one GPU. Its cache is emptied first, so that reserved is the region's own."""

    def __init__(self, device: int | None = None):
        self._device, self._region, self.why_not = device, None, ""
        try:
            import torch
        except ImportError:
            self.why_not = "no torch here"
            return
        if not torch.cuda.is_available():
            self.why_not = "no GPU here"

    def start(self) -> None:
        import gc

        import torch

        from memshim.run.recorder import CUDARegion

        torch.cuda.init()
        gc.collect()
        torch.cuda.empty_cache()  # what a budget around this one saw reserved is kept
        self._region = CUDARegion(self._device).open()

    def stop(self) -> Peaks:
        import torch

        r = self._region
        torch.cuda.synchronize(r.index)
        peaks = r.peaks()
        return Peaks(torch.cuda.get_device_name(r.index), peaks["allocated"], peaks["reserved"], peaks["allocated"] - r.allocated_before)

    def holders(self) -> str:
        """Who held the peak; ends the region."""
        from memshim.look.trace import trace

        self._region.close()
        return trace.of(self._region, top=8).table()

    def drop(self) -> None:
        if self._region:
            self._region.close()


def message(name: str, place: str, budget: Budget, peaks: Peaks, holders: str, reproduce: str) -> str:
    """The account of a broken budget, as memspec check gives it."""
    broken = budget.broken(peaks)
    limit, got = broken[0]
    over = got - limit.bytes
    percent = f" (+{100 * over / limit.bytes:.1f}%)" if limit.bytes else ""
    what = "peak " + limit.metric if limit.metric != "delta" else limit.metric
    out = [f"FAIL {name} on {peaks.device}: {what} {sizes.show(got)}, budget {sizes.show(limit.bytes)}: over by {sizes.show(over)}{percent}"]
    for i, (x, n) in enumerate(broken):
        out.append(f"  budget     {place}  memory_budget({x.metric}={x.text!r}) ({x.bytes} B)")
        if i:
            out.append(f"             {x.metric} {sizes.show(n)}: over by {sizes.show(n - x.bytes)}")
    out.append(f"  measured   {peaks.reserved} B reserved, {peaks.allocated} B allocated, {peaks.delta} B of it by the test")
    if holders:
        out += ["  held at the peak:", *("    " + line for line in holders.splitlines())]
    out.append(f"  reproduce  {reproduce}")
    return "\n".join(out)
