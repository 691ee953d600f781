"""A program as a child of this process: its signals are its own, and nothing of it is left running
where a signal ended it."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection
from typing import Any, BinaryIO

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
PATIENCE = 5  # seconds between SIGTERM and SIGKILL


def run(
    words: list[str],
    environ: dict[str, str],
    quiet: bool = False,
    output: BinaryIO | None = None,
    until: Callable[[], bool] | None = None,
) -> tuple[int, dict[int, int]]:
    """Run a command to its end, whatever signals come: they are its own. Its process id; and of it
    and of those of its processes that this one waited for, what waiting gave: an exit code, or less
    than nothing for a signal. quiet: without its standard streams. output: a file for what it
    prints, without an input. until: once that is true, it is ended with all of its processes."""
    prctl, others = _prctl(), frozenset(children())
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # processes whose parent has ended become this one's children
    quietly = subprocess.DEVNULL if quiet else None
    printed = output or quietly
    p = subprocess.Popen(
        words,
        env=environ,
        stdin=subprocess.DEVNULL if output else quietly,
        stdout=printed,
        stderr=printed,
        preexec_fn=functools.partial(end_with_parent, os.getpid()) if sys.platform == "linux" else None,
    )

    def forward(number: int, frame: Any) -> None:
        if number != signal.SIGINT:  # a terminal sends that one to both
            p.send_signal(number)

    here = threading.current_thread() is threading.main_thread()  # which alone may have handlers
    before = {n: signal.signal(n, forward) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if here}
    try:
        ended = until is not None and not wait(p, until)
        statuses = {p.pid: p.wait()}
        if statuses[p.pid] < 0 or ended:
            end_children(statuses, others)
        reap(statuses, others)
    finally:
        for n, handler in before.items():
            signal.signal(n, handler)
        prctl(PR_SET_CHILD_SUBREAPER, 0)
    return p.pid, statuses


def wait(p: subprocess.Popen[bytes], until: Callable[[], bool]) -> bool:
    """Whether the process ended before until() was true. Else it is ended now."""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.wait(0.05)
            return not until()
        if until():
            break
    p.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        p.wait(PATIENCE)
        return False
    p.kill()
    return False


def end_with_parent(parent: int) -> None:
    """This process, a child of parent, ends when that one does."""
    _prctl()(PR_SET_PDEATHSIG, int(signal.SIGTERM))
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _prctl() -> Callable[[int, int], Any]:
    if sys.platform != "linux":
        return lambda option, value: None
    call = ctypes.CDLL(None).prctl
    return lambda option, value: call(
        option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)
    )


def reap(statuses: dict[int, int], others: Collection[int]) -> None:
    """Add those children that have ended, but for others, which somebody else waits for."""
    with contextlib.suppress(ChildProcessError):
        for wanted in [pid for pid in children() if pid not in others] if others else itertools.repeat(-1):
            pid, status = os.waitpid(wanted, os.WNOHANG)
            if pid:
                statuses[pid] = os.waitstatus_to_exitcode(status)
            elif wanted == -1:
                return


def children() -> list[int]:
    """The processes whose parent is this one, also those that have ended and are not waited for;
    none where the system has no list of them."""
    found: list[int] = []
    if not os.path.isdir("/proc/self/task"):
        return found
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/children", encoding="ascii") as f:
            found += map(int, f.read().split())
    return found


def end_children(statuses: dict[int, int], others: Collection[int]) -> None:
    """End what a program that a signal ended has left behind; what those leave is left to this
    process in turn. Others, which were there before, go on."""
    asked: set[int] = set()
    until = time.monotonic() + PATIENCE
    while left := [pid for pid in children() if pid not in others]:
        late = time.monotonic() > until
        for pid in left:
            if late or pid not in asked:
                asked.add(pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
        reap(statuses, others)
        if any(pid not in others for pid in children()):
            time.sleep(0.02)
        if time.monotonic() > until + PATIENCE:
            return
