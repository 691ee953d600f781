"""PyTorch's snapshot of its caching allocator, at the least cost."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

# Unset, PyTorch before 2.15 names C++ frames by starting addr2line, and fails where that is not
# installed.
SYMBOLIZE = "TORCH_SYMBOLIZE_MODE"


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Without Python's garbage collector."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def unswitched() -> Iterator[None]:
    """Python's other threads wait for their turn until it is over, except where C++ gives it to them."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(10)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


class _Unloaded(types.ModuleType):
    """torch._inductor as long as it is not imported, without the one module that a snapshot asks it
    for; whoever else asks it gets the real one."""

    def __getattr__(self, name: str) -> Any:
        if name == "codecache":
            raise AttributeError(name)
        return getattr(importlib.import_module("torch._inductor"), name)


@contextlib.contextmanager
def without_inductor() -> Iterator[None]:
    """To name the frames of code that inductor wrote, PyTorch asks for its cache of code
    (combined_traceback.cpp, py_symbolize), and so imports it, and torch._dynamo with it, where the
    program never did: 2 s and 1,500 modules."""
    import torch

    if "torch._inductor" in sys.modules:
        yield
        return
    stand_in = torch._inductor = _Unloaded("torch._inductor")
    try:
        yield
    finally:
        if vars(torch).get("_inductor") is stand_in:
            del torch._inductor


@contextlib.contextmanager
def symbolized() -> Iterator[None]:
    """C++ frames are named without another program, and without inductor."""
    asked = os.environ.get(SYMBOLIZE)
    os.environ[SYMBOLIZE] = asked or "dladdr"
    try:
        with without_inductor():
            yield
    finally:
        if asked is None:
            del os.environ[SYMBOLIZE]
        else:
            os.environ[SYMBOLIZE] = asked


def allocator_snapshot() -> dict[str, Any]:
    """PyTorch's own, whose C++ frames are named without another program."""
    import torch

    with uncollected(), symbolized():  # it makes a dict an entry, and none of them is garbage
        snapshot: dict[str, Any] = torch.cuda.memory._snapshot()
        return snapshot
