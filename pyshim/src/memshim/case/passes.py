"""The account of one run of a case: what it held before the first pass, and what each pass took at
most."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from memshim.allocator import history
from memshim.case import record
from memshim.case.build import Built
from memshim.frames import shorten
from memshim.gpu import devices, where
from memshim.gpu.where import Where


def pretend_context() -> int | None:
    """What is taken off a pretend card for its context; None where that is not known of the card,
    and nothing is taken off."""
    import torch

    free, total = torch.cuda.mem_get_info(0)
    return total - free - torch.cuda.memory_reserved(0) or None


HELD = 8  # lines that are known of who held memory when it ended


class Account:
    """From before the model is moved to the device to the end of the last pass. On a GPU the
    numbers are its caching allocator's; on CPU tensors bytes of storages, and nothing that an
    allocator would add."""

    def __init__(self, at: Where, stacks: str):
        from memshim.allocator.cpu_region import CPURegion
        from memshim.allocator.recorder import CUDARegion

        self.where, self.device = at.kind, "cpu" if at.kind == "cpu" else f"cuda:{at.index or 0}"
        self.phases: list[dict[str, Any]] = []
        self.region: Any = CUDARegion(at.index or 0, stacks) if at.kind == "cuda" else CPURegion(stacks, before=[])

    def __enter__(self) -> Account:
        if self.where == "cuda":
            import torch

            torch.cuda.init()
            self.region.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.region.close()

    def baseline(self, model: Built, args: list[Any], kwargs: dict[str, Any]) -> None:
        """The model and its inputs are on the device."""
        import torch
        from torch.utils._pytree import tree_leaves

        gc.collect()
        if self.where == "cpu":  # what was needed to build it is no part of it
            self.region.open()
            given = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
            self.region.load(
                [(t, "parameter" if isinstance(t, torch.nn.Parameter) else "buffer") for t in model.state]
                + [(t, "input") for t in given]
            )
        self._read("baseline", self.region.now)

    def run_pass(self, name: str, model: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Its result is held until it is over."""
        self.region.restart_peaks()
        result = model(*args, **kwargs)
        self._read(name, self.region.peaks)
        del result

    def ran_out(self, phase: str, text: str) -> dict[str, Any]:
        """Memory ended in a phase: it is kept with the peaks that it reached, and what was asked
        for is reported with who held what then."""
        self._read(phase, self.region.peaks)
        out: dict[str, Any] = {"phase": phase, "text": text}
        at = max((i for i, e in enumerate(self.region.events) if e.action == "oom"), default=None)
        if at is not None:
            e = self.region.events[at]
            lines = history.lines_at(self.region, at, at if phase == "baseline" else self.phases[0]["events"])
            out |= {
                "requested": e.size,
                "free": e.key,
                "held": [
                    {
                        "bytes": x.mem,
                        "count": x.count,
                        "file": shorten(x.frame.file) if x.frame else "",
                        "line": x.frame.line if x.frame else 0,
                        "function": x.frame.function if x.frame else "",
                    }
                    for x in lines[:HELD]
                ],
            }
        return out

    def _read(self, name: str, sizes: Callable[[], dict[str, int]]) -> None:
        if self.where == "cuda":
            import torch

            torch.cuda.synchronize(self.device)
        end = self.region.mark()
        self.phases.append(record.phase(name, end, sizes()))

    def describe(self) -> dict[str, Any]:
        if self.where == "cpu":
            return {"name": "cpu", "total": None, "compute_capability": "", "driver": ""}
        import torch

        p = torch.cuda.get_device_properties(self.device)
        return {
            "name": p.name,
            "total": p.total_memory,
            "compute_capability": f"{p.major}.{p.minor}",
            "driver": devices.driver_version(),
        }

    def context(self, used_before: dict[str, int] | None) -> int | None:
        """What the process took of the device outside the allocator; None where it cannot be
        reported."""
        if self.where == "cpu":
            return None
        import torch

        if where.pretended():
            return pretend_context()
        uuid = f"GPU-{getattr(torch.cuda.get_device_properties(self.device), 'uuid', '')}"
        if not used_before or uuid not in used_before:
            return None
        free, total = torch.cuda.mem_get_info(self.device)
        return max(0, total - free - used_before[uuid] - torch.cuda.memory_reserved(self.device))
