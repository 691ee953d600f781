"""The forward line of a backward operator.

Backward runs in threads that have no own Python. PyTorch keeps, in anomaly mode, the stack
that made a node of the autograd graph, and states it with what the node allocates. Here that mode is
on without its checks for NaN, and the stack is a list of places, not a formatted traceback: no cost
that can be measured, and no allocation moves.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType

from memshim.pretend.library import stack_finder

_lock = threading.Lock()
_open = 0
_program: Program


MODULE = "<module that ran>"  # a frame of that file has the module's name for a function
MOST_PLACES = 1 << 16
# by code, which is kept for its number's sake, and instruction
_places: dict[tuple[int, int], tuple[str, CodeType]] = {}
running: Callable[[], str] | None = None  # states it, where somebody wants to know


def stack() -> list[str]:
    """file:line:function of the caller's frames, innermost first, a line each: one text, for
    PyTorch copies it for each allocation of the node's."""
    text = _find()
    return [f"{MODULE}:0:{running()}\n{text}"] if running else [text]


def _text() -> str:
    """Of the caller's caller."""
    frame: FrameType | None = sys._getframe(2)
    out = []
    places = _places
    while frame is not None:
        code = frame.f_code
        place = id(code), frame.f_lasti  # a line's number takes longer to find than to look up, and code to hash
        known = places.get(place)
        if known is None:
            if len(places) >= MOST_PLACES:
                places.clear()
            # PyTorch writes them out where a backward fails
            known = places[place] = f"{code.co_filename}:{frame.f_lineno}:{code.co_name}\n", code
        out.append(known[0])
        frame = frame.f_back
    return "".join(out)


_find: Callable[[], str] = stack_finder(_text) or _text


class Program:
    """What the program itself asks of anomaly mode while ours is on: it reads its own answer, and
    turning its own off leaves ours on, which libraries do to all training that they run
    (Lightning's Trainer)."""

    def __init__(self) -> None:
        import torch
        import torch.fx.traceback as fx

        self.on, self.check_nan = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
        self._set, self._format = torch.set_anomaly_enabled, fx.format_stack
        self._real = {
            name: getattr(torch, name)
            for name in ("set_anomaly_enabled", "is_anomaly_enabled", "is_anomaly_check_nan_enabled")
        }
        ours = self.set, lambda: self.on, lambda: self.check_nan
        for name, function in zip(self._real, ours):
            setattr(torch, name, function)

        def stack_of_node() -> list[str]:
            """A graph that is traced keeps its own stacks; a program that looks for an anomaly
            reads what PyTorch writes."""
            return self._format() if self.on or fx.has_preserved_node_meta() else stack()

        fx.format_stack = stack_of_node
        self.set(self.on, self.check_nan)

    def set(self, mode: bool, check_nan: bool = True) -> None:
        """torch.set_anomaly_enabled."""
        self.on, self.check_nan = mode, check_nan
        self._set(True, mode and check_nan)

    def restore(self) -> None:
        import torch
        import torch.fx.traceback as fx

        for name, function in self._real.items():
            setattr(torch, name, function)
        fx.format_stack = self._format
        self._set(self.on, self.check_nan)


class Lines:
    """with Lines(): … operators that are run forward in it are named when their backward
    allocates."""

    def __enter__(self) -> Lines:
        global _open, _program
        with _lock:
            _open += 1
            if _open == 1:
                _program = Program()
        return self

    def __exit__(self, *error: object) -> None:
        global _open
        with _lock:
            _open -= 1
            if _open == 0:
                _program.restore()
