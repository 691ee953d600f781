"""Constructors that fill tensors cost nothing: random weights on the host are not computed, so that
a model that is built on the CPU and moved takes no host memory. What depends on weights is not
known on a pretend GPU anyway."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

import torch

from memshim.pretend.values.keys import OnCPU

LARGE = 1 << 20  # bytes; of less the values are kept

# In place, on one tensor: what initialisers are made of.
FILLS = {
    f"aten::{n}_"
    for n in """
        normal uniform random exponential cauchy log_normal geometric bernoulli erfinv mul add sub div clamp clamp_min
        clamp_max
    """.split()
}
# Of torch.nn.init alone: a module's own code fills masks and positions so, from which it goes on to
# compute.
CONSTANTS = {"aten::fill_", "aten::zero_"}
INITIALISERS = tuple(
    """
    __init__ reset_parameters init_weights _init_weights _initialize_weights _reset_parameters
    """.split()
)
FAR = 40  # frames
TRUNCATED = torch.nn.init._no_grad_trunc_normal_.__code__
REJECTS = "candidates" in TRUNCATED.co_varnames  # from 2.12 on


def skipped(name: str, args: tuple[Any, ...]) -> bool:
    """Whether an operator fills a large tensor of the host while a module initialises itself."""
    if name not in FILLS and name not in CONSTANTS:
        return False
    t = args[0]
    if (
        not t.dtype.is_floating_point
        or t.numel() * t.element_size() < LARGE
        or any(isinstance(a, torch.Tensor) for a in args[1:])
    ):
        return False
    frame: FrameType | None = sys._getframe(1)
    for _ in range(FAR):
        if frame is None:
            return False
        code = frame.f_code
        if (
            code.co_filename == torch.nn.init.__file__
            or name in FILLS
            and code.co_name in INITIALISERS
            and isinstance(frame.f_locals.get("self"), torch.nn.Module)
        ):
            if code is TRUNCATED and REJECTS and name in ("aten::normal_", "aten::uniform_"):
                settle(t, frame.f_locals)
            return True
        frame = frame.f_back
    return False


def settle(t: torch.Tensor, of: Mapping[str, Any]) -> None:
    """trunc_normal_ draws again while any number is rejected: what happens to lie in the host's memory is
    given the likeliest, and what decides about it one half, which accepts that. Of memory that nobody
    used nothing is written where that is zero."""
    deciding = of.get("accept_buf")
    decides = deciding is not None and deciding.data_ptr() == t.data_ptr()
    value = 0.5 if decides else min(max(of["mean"], of["a"]), of["b"])
    with OnCPU():
        if value or t.any():
            t.fill_(value)
