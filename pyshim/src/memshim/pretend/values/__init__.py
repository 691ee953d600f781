"""Values on a pretend GPU, where kernels do nothing: what the host wrote and small arithmetic on it
come back right; what depends on weights or on random numbers reads as zero, and is noted with the
user's line.

Every operator passes a kernel of ours on its way to CUDA's: registered for a dispatch key of
PyTorch's that stands directly above the backends and that nobody uses (CustomRNGKeyId). It lets
CUDA's kernel run (which allocates as ever) and then computes small results once more on the CPU,
over the same bytes. What gives fresh memory and is never known (gradients of layers, convolutions,
memory itself) passes by without a kernel of ours; numbers of a pass that is trained are not computed
from what is not known, nor what gave zeros of zeros before: they read as zero as they are. An
operator for which nothing is to be done passes by in C (gate.py): most of a training step. A
TorchDispatchMode would do the same, but PyTorch takes other ways while one is active (it
accumulates out of place: isTensorSubclassLike), which moves allocations; this moves none, and tests
compare the streams of events with each other.
"""

from __future__ import annotations

from typing import Any

from memshim.pretend.values import modes
from memshim.pretend.values.hook import Values

__all__ = ["Values", "install", "installed", "modes"]

_installed: Values | None = None


def install(assume: dict[str, Any] | None = None, mode: str = modes.BALANCED) -> Values:
    """From here on, in this process. torch is imported; further calls change nothing but assume and
    the mode."""
    global _installed
    if _installed is None:
        _installed = Values()
        _installed.install()
    if assume:
        _installed.reads.assume.update(assume)
    _installed.choose(mode)
    return _installed


def installed() -> Values | None:
    return _installed
