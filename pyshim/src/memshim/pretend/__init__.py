"""A GPU that is not there: unmodified PyTorch on a described card, without a GPU, a driver or the memory that it would take.

    import memshim; memshim.pretend("t4")       # before torch is imported; then torch.cuda is that card
    env = memshim.pretend.environment("t4")      # the variables for a fresh process

A small library (native/) stands in for CUDA's runtime and driver: kernels do nothing, device memory is addresses. All that decides memory is the
real thing: PyTorch's dispatcher, autograd, its caching allocator, cuDNN's choice of plans. Its numbers are no measurement of a real card.
"""

from __future__ import annotations

import sys
import types

from memshim.pretend.activate import TooLate, active, environment
from memshim.pretend.activate import pretend as _pretend
from memshim.pretend.build import BuildError
from memshim.pretend.device import Device, UnknownDevice, find, names, of_case
from memshim.pretend.seen import Report, read_reports, report
from memshim.pretend.support import Unsupported

__all__ = ["BuildError", "Device", "Report", "TooLate", "UnknownDevice", "Unsupported", "active", "environment", "find", "names", "of_case", "read_reports",
           "report"]


class _Callable(types.ModuleType):
    """memshim.pretend("t4") and memshim.pretend.environment("t4") are one name."""

    __call__ = staticmethod(_pretend)


sys.modules[__name__].__class__ = _Callable
