"""Threads: each has the hook, and none is inside of it when Python ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from typing import Any

import torch
import torch._C as C


def include(key: Any) -> None:
    """Which keys are included is a matter of each thread; those of autograd have it of the thread that they work for."""
    start = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def start_and_include(thread: threading.Thread) -> None:
        C._dispatch_tls_set_dispatch_key_included(key, True)
        start(thread)

    threading.Thread._bootstrap_inner = start_and_include  # type: ignore[attr-defined]
    C._dispatch_tls_set_dispatch_key_included(key, True)
    atexit.register(wait_for_autograd, key, os.getpid())


_kept: list[torch.Tensor] = []  # what the last pass refers to: the thread is never the one that lets go of it


def wait_for_autograd(key: Any, process: int) -> None:
    """A thread of autograd's lets go of what a backward pass held after the pass has ended; for tensors that went through Python it needs the
    interpreter, and a process whose interpreter ends meanwhile is aborted. It works in order: with one more pass, of nothing, it is through."""
    if os.getpid() != process or not torch.cuda.is_initialized():
        return
    running = autograd_threads()
    C._dispatch_tls_set_dispatch_key_included(key, False)
    for device in range(torch.cuda.device_count()):
        if f"pt_autograd_{device}" in running and torch.cuda.memory_reserved(device):
            x = torch.empty(0, device=f"cuda:{device}", requires_grad=True)
            y, ones = x.view(0), torch.empty(0, device=f"cuda:{device}")
            _kept.extend((x, y, ones))
            y.backward(ones)
    until_they_wait()


def until_they_wait() -> None:
    """After its last pass a thread still ends what it holds. While this sleeps the interpreter is free, so one that sleeps too waits for work."""
    idle, end = 0, time.monotonic() + 1
    while idle < 3 and time.monotonic() < end:
        time.sleep(0.002)
        idle = idle + 1 if set(autograd_threads(state=True)) <= {"S"} else 0


def autograd_threads(state: bool = False) -> set[str]:
    """By name; none where there was no backward pass: one started at the end would itself be in the interpreter's way. Or their states in /proc."""
    names = set()
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm", encoding="utf-8", errors="replace") as f:
            name = f.read().strip()
            if not state:
                names.add(name)
            elif name.startswith("pt_autograd_"):
                with open(f"/proc/self/task/{task}/stat", encoding="utf-8", errors="replace") as stat:
                    names.add(stat.read().rpartition(")")[2].split()[0])
    return names
