"""Values to the JSON of testdata/aten/README.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .spec import contiguous_strides


def name_of(value: Any) -> str:
    """float32 for torch.float32, channels_last for torch.channels_last."""
    return str(value).removeprefix("torch.")


def tensor(x: torch.Tensor, sid: int) -> dict:
    """A fake or real tensor's metadata; sid numbers its storage within the line."""
    sizes, strides = tuple(x.shape), tuple(x.stride())
    out: dict[str, Any] = {"d": name_of(x.dtype), "s": list(sizes)}
    if strides != contiguous_strides(sizes):
        out["st"] = list(strides)
    if x.storage_offset():
        out["o"] = x.storage_offset()
    device = getattr(x, "fake_device", None) or x.device
    if device.type != "cuda":
        out["dev"] = device.type
    out["sid"] = sid
    nbytes = x.untyped_storage().nbytes()
    if nbytes != x.numel() * x.element_size():
        out["n"] = nbytes
    return out


def value(v: Any, sid: Callable[[torch.Tensor], int]) -> Any:
    """Any argument or result."""
    if isinstance(v, torch.Tensor):
        return tensor(v, sid(v))
    if v is None or isinstance(v, (bool, int, str)):
        return v
    if isinstance(v, float):
        return v if math.isfinite(v) else {"float": str(v)}
    if isinstance(v, complex):
        return {"complex": [value(v.real, sid), value(v.imag, sid)]}
    if isinstance(v, torch.dtype):
        return {"dtype": name_of(v)}
    if isinstance(v, torch.device):
        return {"device": v.type}
    if isinstance(v, torch.memory_format):
        return {"memory_format": name_of(v)}
    if isinstance(v, torch.layout):
        return {"layout": name_of(v)}
    if isinstance(v, (list, tuple)):
        return [value(x, sid) for x in v]
    raise TypeError(f"got {type(v).__name__}, want a value that TorchScript can hold")
