"""Where code runs whose memory is looked at: on a GPU or on CPU tensors. The one place that decides
it, and that says how numbers are called."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from memshim.pretend.activate import DESCRIPTION

LABELS = {
    "cuda": "allocated on the GPU",
    "pretend": "allocated on a pretend GPU",
    "cpu": "CPU tensors, no GPU: not the allocator's numbers",
}


class Where(NamedTuple):
    """kind is cuda or cpu: what PyTorch takes it for. index is None for the CPU, and for the GPU
    that is current when CUDA starts."""

    kind: str
    index: int | None = None  # type: ignore[assignment]  # hides a method of tuple

    @property
    def words(self) -> str:
        """What its numbers are called, a key of LABELS."""
        return words(self.kind)


def words(kind: str) -> str:
    """PyTorch's CUDA may be a pretend GPU's: its numbers are never called a GPU's."""
    return "pretend" if kind == "cuda" and pretended() else kind


def pretended() -> bool:
    """Whether this process is on a pretend GPU (memshim.pretend)."""
    return bool(os.environ.get(DESCRIPTION))


_NAMED = re.compile(r"cpu|cuda(?::(\d+))?")


def parse(device: Any) -> Where | None:
    """The device named, None for none, without asking whether it is there. ValueError: it is of
    another kind."""
    if device is None:
        return None
    m = _NAMED.fullmatch(str(device))
    if not m:
        raise ValueError(f"got device {str(device)!r}, want cuda, cuda:N or cpu")
    return Where("cpu") if str(device) == "cpu" else Where("cuda", int(m[1]) if m[1] else None)


def of(device: Any = None) -> Where:
    """The device named, else the current GPU where there is one, else the CPU. ValueError: it is of
    another kind, or not there.

    CUDA is not initialised by asking, and where NVML can be asked processes may still be forked
    that use it.
    """
    import torch

    wanted = parse(device)
    if wanted is not None and wanted.kind == "cpu":
        return wanted
    found = torch.cuda.device_count()
    if wanted is None and not found:
        return Where("cpu")
    index = wanted.index if wanted else None
    if (index or 0) >= found:
        raise ValueError(f"got device {str(device)!r}, but PyTorch finds {found or 'no'} GPU here")
    if index is None and torch.cuda.is_initialized():
        index = torch.cuda.current_device()
    return Where("cuda", index)
