"""A GPU that is not there: unmodified PyTorch on a described card, without a GPU, a driver or the
memory that it would take.

    import memshim; memshim.pretend("t4")       # before torch is imported; then torch.cuda is that card
    env = memshim.pretend.environment("t4")      # the variables for a fresh process

A small library (native/) replaces CUDA's runtime and driver: kernels do nothing, device memory
is addresses. All that decides memory is the real thing: PyTorch's dispatcher, autograd, its caching
allocator, cuDNN's choice of plans. Its numbers are no measurement of a real card.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memshim.pretend.activate import TooLate, active, environment
    from memshim.pretend.build import BuildError
    from memshim.pretend.device import Device, UnknownDevice, find, names, of_case
    from memshim.pretend.inexact import Report, read_reports, report
    from memshim.pretend.support import Unsupported

__all__ = [
    "BuildError",
    "Device",
    "Report",
    "TooLate",
    "UnknownDevice",
    "Unsupported",
    "active",
    "environment",
    "find",
    "names",
    "of_case",
    "read_reports",
    "report",
]

# Where each name is: a process on a pretend GPU imports this package at its start, and asks for few
# of them.
_MODULES = {
    "activate": ("TooLate", "active", "environment"),
    "build": ("BuildError",),
    "device": ("Device", "UnknownDevice", "find", "names", "of_case"),
    "inexact": ("Report", "read_reports", "report"),
    "support": ("Unsupported",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found


class _Callable(types.ModuleType):
    """memshim.pretend("t4") and memshim.pretend.environment("t4") are one name."""

    def __call__(
        self,
        wanted: Any,
        *,
        count: int = 1,
        memory: int | str | None = None,
        values: bool = True,
        assume: Mapping[str, Any] | None = None,
    ) -> None:
        """This process, and those that it starts, find these devices:
        memshim.pretend.activate.pretend says of the arguments."""
        importlib.import_module(f"{__name__}.activate").pretend(
            wanted, count=count, memory=memory, values=values, assume=assume
        )


sys.modules[__name__].__class__ = _Callable
