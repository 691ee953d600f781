"""What a program queries of its device and may then decide by: its memory, or its name.

PyTorch's own queries do not count, nor Triton's, nor memshim's. A library's do: accelerate makes a
device map of free memory. PyTorch's functions stay as they are, for torch.compile knows them by
identity; what they call below is replaced.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from memshim.frames import OWN
from memshim.pretend.after_import import After

MEMORY, NAME = "memory", "name"
# PyTorch's functions that a program queries by. Others of torch.cuda query for themselves.
PUBLIC = {"get_device_properties", "get_device_name", "mem_get_info", "device_memory_used", "get_memory_info"}
ATTRIBUTES = {"total_memory": MEMORY, "name": NAME}
NVML = {"nvmlDeviceGetMemoryInfo": MEMORY, "nvmlDeviceGetMemoryInfo_v2": MEMORY, "nvmlDeviceGetName": NAME}

_asked: set[str] = set()
_installed = False
_torch = ""  # its folder


def begin() -> None:
    """From here on, in this process. torch is imported."""
    global _installed, _torch
    _asked.clear()
    if _installed:
        return
    _installed = True
    import torch

    _torch = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
    if hasattr(torch._C, "_accelerator_getMemoryInfo"):
        _replace(torch._C, "_accelerator_getMemoryInfo", MEMORY)
    if (cudart := vars(torch.cuda)["_cudart"]) is not None:
        _replace(cudart, "cudaMemGetInfo", MEMORY)
        torch.cuda._lazy_call(_properties)  # which PyTorch defines then
    if "pynvml" in sys.modules:
        _nvml(sys.modules["pynvml"])
    else:
        After("pynvml", _nvml)


def asked() -> dict[str, list[str]]:
    """The header's key of it, under `device`; empty where nothing was queried."""
    return {"asked": sorted(_asked)} if _asked else {}


class Properties:
    """torch.cuda's properties of a device, to every test of its class. An attribute that is read is
    a query."""

    __slots__ = ("_of",)

    def __init__(self, of: Any) -> None:
        self._of = of

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._of)

    def __getattr__(self, name: str) -> Any:
        if name in ATTRIBUTES:
            _asked.add(ATTRIBUTES[name])
        return getattr(self._of, name)

    def __dir__(self) -> list[str]:
        return dir(self._of)

    def __repr__(self) -> str:
        _asked.update(ATTRIBUTES.values())
        return repr(self._of)


def _queried(frame: Any) -> str | None:
    """The function of torch.cuda by which other code than PyTorch's queries, "" for none of them;
    None where PyTorch queries for itself."""
    name = ""
    while frame is not None and frame.f_code.co_filename.startswith(
        (_torch + "cuda" + os.sep, _torch + "accelerator" + os.sep)
    ):
        name, frame = frame.f_code.co_name, frame.f_back
    file = frame.f_code.co_filename if frame is not None else ""
    if name and name not in PUBLIC or file.startswith(OWN) or f"{os.sep}triton{os.sep}" in file:
        return None
    # a call in code that torch.compile traces
    if file.startswith(_torch + os.path.join("_dynamo", "variables") + os.sep):
        return name
    return None if file.startswith(_torch) else name


def _replace(module: Any, function: str, what: str) -> None:
    real = getattr(module, function, None)
    if real is not None:
        setattr(module, function, _noting(real, what))


def _noting(real: Callable[..., Any], what: str) -> Callable[..., Any]:
    @functools.wraps(real)
    def call(*args: Any, **kw: Any) -> Any:
        if _queried(sys._getframe(1)) is not None:
            _asked.add(what)
        return real(*args, **kw)

    return call


def _nvml(module: Any) -> None:
    for function, what in NVML.items():
        _replace(module, function, what)


def _properties() -> None:
    import torch

    real = torch.cuda._get_device_properties  # type: ignore[attr-defined]

    @functools.wraps(real)
    def call(*args: Any, **kw: Any) -> Any:
        frame = sys._getframe(1)
        by, found = _queried(frame), real(*args, **kw)
        if by is None:
            return found
        if by == "get_device_name":
            _asked.add(NAME)
            return found
        if _traced(frame):  # whose constants are of the class itself
            _asked.update(ATTRIBUTES.values())
            return found
        return Properties(found)

    torch.cuda._get_device_properties = call  # type: ignore[attr-defined]


def _traced(frame: Any) -> bool:
    return frame.f_back is not None and frame.f_back.f_code.co_filename.startswith(_torch)
