"""The end of a process: no thread of autograd's needs Python any more when the interpreter goes.

A thread of autograd's ends its hold on a backward pass after the program was informed that the
pass is over. What it releases may be Python's: the context that PyTorch sends along with each
pass (autograd/graph.py, _engine_run_backward), and gradients that went through Python. If the
interpreter is ending by then, asking for it ends the thread in the middle of a destructor, and the
process is aborted ("terminate called without an active exception"). A thread works in order: one
more pass, which holds nothing of Python's, is over when all before it is.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
from typing import Any

AUTOGRAD = re.compile(r"pt_autograd_(\d+)")

_kept: list[Any] = []  # what the last passes refer to: a thread is never the one that releases it


def register() -> None:
    """torch is imported."""
    atexit.register(wait_for_autograd, os.getpid())


def wait_for_autograd(process: int) -> None:
    import torch

    if os.getpid() != process or not torch.cuda.is_initialized():
        return
    run = torch.autograd.Variable._execution_engine.run_backward  # torch.autograd.backward would send a context
    for device in sorted(autograd_threads() & set(range(torch.cuda.device_count()))):
        # else it has had no work, and would make a context on the device
        if torch.cuda.memory_stats(device).get("allocated_bytes.all.allocated"):
            x = torch.empty(0, device=f"cuda:{device}", requires_grad=True)
            y, ones = x.view(0), torch.empty(0, device=f"cuda:{device}")
            _kept.extend((x, y, ones))
            run((y,), (ones,), False, False, (), allow_unreachable=True, accumulate_grad=True)


def autograd_threads() -> set[int]:
    """The devices that have one. None where there was no backward pass: a thread that began here
    would itself be in the interpreter's way."""
    found = set()
    for task in os.listdir("/proc/self/task"):
        with (
            contextlib.suppress(OSError),
            open(f"/proc/self/task/{task}/comm", encoding="utf-8", errors="replace") as f,
        ):
            if name := AUTOGRAD.fullmatch(f.read().strip()):
                found.add(int(name[1]))
    return found
