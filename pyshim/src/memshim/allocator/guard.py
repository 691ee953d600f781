"""What stands before torch's own functions that reset the allocator's peaks or record its history."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memshim.allocator.recorder import Recorder


class Guard:
    """Stands before torch's own functions while a region is open."""

    def __init__(self, owner: Recorder):
        self._owner = owner
        self._real: dict[str, Any] = {}

    def install(self) -> None:
        import torch

        if self._real:
            return
        c, owner = torch._C, self._owner
        self._real = {name: getattr(c, name) for name in _GUARDED if hasattr(c, name)}
        self._record_history = torch.cuda.memory._record_memory_history
        for name in self._real:
            setattr(c, name, owner.program_resets if "reset" in name else owner.program_reads)

        def record(enabled: Any = "all", *args: Any, **kw: Any) -> None:
            owner.program_records(enabled, args, kw)

        torch.cuda.memory._record_memory_history = functools.wraps(self._record_history)(record)

    def remove(self) -> None:
        import torch

        for name, fn in self._real.items():
            setattr(torch._C, name, fn)
        self._real = {}
        torch.cuda.memory._record_memory_history = self._record_history

    def record(self, *args: Any, **kw: Any) -> None:
        """Before 2.8 there is no clear_history: what was recorded goes where recording ends."""
        import torch

        impl = getattr(torch.cuda.memory, "_record_memory_history_impl", None)
        if impl is not None and "clear_history" not in inspect.signature(impl).parameters:
            if kw.pop("clear_history", False):
                self._record_history(None)
        self._record_history(*args, **kw)

    def stats(self, index: int) -> dict[str, Any]:
        import torch

        stats: dict[str, Any] = self._real.get("_cuda_memoryStats", torch._C._cuda_memoryStats)(index)
        return stats

    def reset_peaks(self, index: int) -> None:
        self._real["_cuda_resetPeakMemoryStats"](index)


_GUARDED = (
    "_cuda_resetPeakMemoryStats",
    "_accelerator_resetPeakStats",
    "_cuda_memoryStats",
    "_accelerator_getDeviceStats",
)
