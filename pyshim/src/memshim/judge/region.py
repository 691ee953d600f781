"""What measures a test: the CUDA allocator's peaks, who held them, what is left behind."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from memshim.gpu import devices, where
from memshim.judge.marks import Peaks

if TYPE_CHECKING:
    from memshim.allocator.history import Held
    from memshim.allocator.recorder import CUDARegion
    from memshim.attribution.forward_lines import Lines

TOP = 8  # lines reported of who held the peak
# 1 MiB and 10 MiB are the allocator's own limits
BINS = (512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, 10 << 20, 100 << 20, 1 << 30)


class Region(Protocol):
    """Measures from start to stop. why_not: why it cannot; empty where it can."""

    why_not: str

    def start(self) -> None: ...
    def stop(self) -> Peaks: ...
    def leaked(self, kept: Iterable[Any]) -> int: ...
    def leaks(self) -> str: ...
    def holders(self) -> str: ...
    def drop(self) -> None: ...


class CUDABudget:
    """The caching allocator's peaks of one GPU. Its cache is emptied first, so that reserved is the
    region's own."""

    def __init__(self, device: int | None = None, top: int = TOP, warm: bool = True):
        self._device, self._top, self._warm = device, top, warm
        self._region: CUDARegion | None = None
        self._lines: Lines | None = None
        self._leaks: list[Held] = []
        # the region that began before the test's fixtures, and how many events it had before the
        # test
        self._fixtures: CUDARegion | None = None
        self._since = 0
        self.why_not = self._missing()

    def _missing(self) -> str:
        if "torch" not in sys.modules and not devices.hinted():
            return devices.NONE  # without importing it
        try:
            import torch
        except ImportError:
            return "no torch here"
        found = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if found and (self._device or 0) >= found:
            raise ValueError(f"memory_budget: got device {self._device}, but PyTorch finds {found} GPU here")
        return "" if found else devices.NONE

    def before_fixtures(self) -> Any:
        """A region from here on, for after. What libraries keep is there before it."""
        import torch

        from memshim.allocator.recorder import CUDARegion

        torch.cuda.init()
        if self._warm:
            warm_up(self._device)
        return CUDARegion(self._device).open()

    def after(self, fixtures: Any) -> None:
        """fixtures: the region that was opened before the test's fixtures were made, whose lines
        are known from there on."""
        self._fixtures = fixtures

    @property
    def region(self) -> CUDARegion:
        """What was started."""
        assert self._region is not None
        return self._region

    def start(self) -> None:
        import torch

        from memshim.allocator.recorder import CUDARegion
        from memshim.attribution.forward_lines import Lines

        torch.cuda.init()
        if self._warm:
            warm_up(self._device)
        gc.collect()
        torch.cuda.empty_cache()  # what a budget around this one saw reserved is kept
        self._lines = Lines().__enter__()
        self._region = CUDARegion(self._device).open()
        if self._fixtures is not None and self._fixtures.index == self._region.index:
            self._since = self._fixtures.mark()
        else:
            self._fixtures = None

    def stop(self) -> Peaks:
        import torch

        r = self.region
        self._end_lines()
        torch.cuda.synchronize(r.index)
        peaks = r.peaks()
        p = torch.cuda.get_device_properties(r.index)
        name = ("a pretend " if where.pretended() else "") + p.name
        return Peaks(
            name, peaks["allocated"], peaks["reserved"], peaks["allocated"] - r.allocated_before, 0, p.total_memory
        )

    def leaked(self, kept: Iterable[Any]) -> int:
        """What was allocated since the start and is there still, except what fixtures hold: they
        are ended after the test."""
        import torch

        from memshim.allocator.history import moment, replay

        gc.collect()
        torch.cuda.synchronize(self.region.index)
        self.region.mark()
        theirs = _addresses(kept)
        now = moment(self.region, replay(self.region), len(self.region.events))
        self._leaks = [h for h in now.held if h.event.key not in theirs]
        return sum(h.block for h in self._leaks)

    def leaks(self) -> str:
        """By source line, after leaked."""
        from memshim import sizes
        from memshim.allocator.history import by_line

        rows = by_line(self.region, self._leaks)
        out = [
            f"{sizes.show(x.mem):>10}  {x.count:>5}  {x.frame or 'no Python line'}{', backward' * x.backward}"
            for x in rows[: self._top]
        ]
        return "\n".join([*out, *([f"… {len(rows) - self._top} more"] if len(rows) > self._top else [])])

    def holders(self) -> str:
        """Who held the peak; ends the region."""
        from memshim.look.trace import trace

        self.region.close()
        if self._fixtures is None:
            return trace.of(self.region, top=self._top).table()
        self._fixtures.close()
        return trace.of(self._fixtures, self._since, top=self._top).table()

    def took_nothing(self) -> bool:
        """Whether neither the code nor its fixtures allocated anything on the device."""
        region = self._fixtures or self.region
        region.mark()
        return not any(e.action == "alloc" for e in region.events)

    def survey(self) -> dict[str, Any]:
        """How much was allocated in all and in how many allocations, how many of each size, and the
        lines that held the peak; ends the region."""
        table = self.holders().splitlines()
        sizes = [e.size for e in self.region.events if e.action == "alloc"]
        counts = [0] * (len(BINS) + 1)
        for n in sizes:
            counts[next((i for i, most in enumerate(BINS) if n <= most), len(BINS))] += 1
        return {"churn": sum(sizes), "allocations": len(sizes), "histogram": counts, "lines": table[1:]}

    def snapshot(self) -> dict[str, Any]:
        """As torch.cuda.memory._dump_snapshot writes it, with what happened since the start."""
        from memshim.allocator.snapshot import snapshot

        return snapshot(self.region)

    def drop(self) -> None:
        self._end_lines()
        if self._region:
            self._region.close()

    def _end_lines(self) -> None:
        if self._lines:
            self._lines.__exit__()
            self._lines = None


_warm: set[int] = set()


def warm_up(device: int | None) -> None:
    """Once a process and GPU: what libraries allocate when they are first used and keep (cuBLAS's
    workspace with PyTorch before 2.15) is there before any test, and falls into none."""
    import torch

    index = torch.cuda.current_device() if device is None else device
    if index in _warm:
        return
    _warm.add(index)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        for dtype in (torch.float32, torch.float16):
            x = torch.zeros(16, 16, dtype=dtype, device=f"cuda:{index}")
            torch.addmm(x[0], x, x)
            torch.mm(x, x)
    torch.cuda.synchronize(index)


_NO_HOLDERS = (type, ModuleType, FunctionType, BuiltinFunctionType, FrameType, CodeType)


def _addresses(kept: Iterable[Any]) -> set[int]:
    """Of the storages that these objects hold, gradients among them."""
    import torch

    from memshim.gpu.storages import aside, storages

    out: set[int] = set()
    seen: set[int] = set()
    with aside():
        pending = list(kept)
        while pending:
            o = pending.pop()
            if (
                id(o) in seen
                or isinstance(o, _NO_HOLDERS)
                or type(o).__module__.partition(".")[0] in ("_pytest", "pytest", "pluggy")
            ):
                continue
            seen.add(id(o))
            if isinstance(o, torch.Tensor):
                out.update(s.data_ptr() for s in storages(o) if s.device.type == "cuda" and s.nbytes())
                if o.is_leaf and o.grad is not None:
                    pending.append(o.grad)
            pending += gc.get_referents(o)
    return out
