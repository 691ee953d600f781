"""The forward line of a backward operator.

Backward runs in threads that have no Python of their own. PyTorch keeps, in anomaly mode, the stack that made a node of the autograd graph, and
tells it with what the node allocates. Here that mode is on without its checks for NaN, and the stack is a list of places, not a formatted
traceback: no cost that can be measured, and no allocation moves.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable

_lock = threading.Lock()
_open = 0
_before: tuple = ()


MODULE = "<module that ran>"  # a frame of that file has the module's name for a function
running: Callable[[], str] | None = None  # tells it, where somebody wants to know


def stack() -> list[str]:
    """file:line:function of the caller's frames, innermost first."""
    frame, out = sys._getframe(1), [f"{MODULE}:0:{running()}\n"] if running else []
    while frame is not None:
        code = frame.f_code
        out.append(f"{code.co_filename}:{frame.f_lineno}:{code.co_name}\n")  # PyTorch writes them out where a backward fails
        frame = frame.f_back
    return out


class Lines:
    """with Lines(): … operators that are run forward in it are named when their backward allocates."""

    def __enter__(self) -> Lines:
        global _open, _before
        import torch
        import torch.fx.traceback as fx

        with _lock:
            _open += 1
            if _open == 1:
                _before = (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled(), fx.format_stack)
                if not _before[0]:  # else the program looks for an anomaly itself, and reads what PyTorch writes
                    original = fx.format_stack
                    fx.format_stack = lambda: original() if fx.has_preserved_node_meta() else stack()  # a graph that is traced keeps stacks of its own
                    torch.autograd.set_detect_anomaly(True, check_nan=False)
        return self

    def __exit__(self, *error) -> None:
        global _open
        import torch
        import torch.fx.traceback as fx

        with _lock:
            _open -= 1
            if _open == 0 and not _before[0]:
                fx.format_stack = _before[2]
                torch.autograd.set_detect_anomaly(_before[0], check_nan=_before[1])


def frames(told: list[str]) -> list[tuple[str, int, str]]:
    """The frames that a node tells of, innermost first: written by stack, or by PyTorch where the program itself looks for anomalies."""
    if told and told[0].startswith("  File "):
        told = [" ".join(text.splitlines()[:1]) for text in reversed(told)]
    return [(m["file"], int(m["line"]), m["name"]) for m in map(_PLACE.match, told) if m]


_PLACE = re.compile(r'(?:  File ")?(?P<file>.*?)(?:", line |:)(?P<line>\d+)(?:, in |:)(?P<name>[^\n]*)')
