"""Reads of values that no kernel computed: where the program asked, and what `assume` says it got."""

from __future__ import annotations

import linecache
import os
import sys
import threading
from dataclasses import dataclass, field
from types import FrameType
from typing import Iterator, Union

Number = Union[bool, int, float]

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep  # memshim/pretend/
_LBFGS = os.sep + os.path.join("torch", "optim", "lbfgs.py")
_SITE = ("site-packages" + os.sep, "dist-packages" + os.sep, os.path.dirname(os.__file__) + os.sep)


@dataclass(frozen=True)
class Place:
    """A line of Python."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.function})"


@dataclass
class Read:
    """A value that depends on what no kernel computed was asked for at a place, by an operator."""

    place: Place  # the user's line: the innermost that is neither PyTorch's nor a package's; else the innermost that is not PyTorch's
    inner: Place  # the innermost line that is not PyTorch's
    op: str  # aten::_local_scalar_dense for .item(), if and while; aten::copy_ for .cpu() and .tolist(); aten::nonzero ...
    bytes: int  # of the last such read
    count: int = 0
    assumed: Number | None = None  # what assume says
    given: str = ""  # in words, where that is neither zero nor what assume says


@dataclass
class Reads:
    """All reads of a process, in the order in which their places came first."""

    found: dict[tuple, Read] = field(default_factory=dict)
    assume: dict[str, Number] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    losses: int = 0  # that LBFGS was given

    def note(self, op: str, size: int, assumed: Number | None = None, given: str = "") -> None:
        inner, place = places()
        with self.lock:
            read = self.found.setdefault((place, inner, op), Read(place, inner, op, size, assumed=assumed, given=given))
            read.count += 1
            read.bytes = size

    def assumed(self) -> Number | None:
        """What assume says of a read at the line that is running; None where it says nothing."""
        if not self.assume:
            return None
        for frame in frames():
            for key, value in self.assume.items():
                file, _, line = key.rpartition(":")
                if int(line) == frame.f_lineno and matches(frame.f_code.co_filename, file):
                    return value
        return None


    def searching(self, kind: type) -> Number | None:
        """What torch.optim.LBFGS reads so that its search goes on as far as it may (lbfgs.py, step): no optimum is found, each loss is smaller than the
        one before, and each direction is kept (ys > 1e-10). With zeros it would end at once, and hold nothing. None outside of it."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not frame.f_code.co_filename.endswith(_LBFGS):
            frame = frame.f_back
        if frame is None:
            return None
        if kind is float and frame.f_code.co_name in ("step", "_directional_evaluate"):
            self.losses += 1
            return -self.losses
        if kind is bool and frame.f_code.co_name == "step":
            return "ys" in linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        return None


def matches(path: str, file: str) -> bool:
    """train.py is any/folder/train.py."""
    return path == file or path.endswith(os.sep + file)


def frames() -> Iterator[FrameType]:
    """Of this thread, the innermost first, without PyTorch's and our own."""
    frame: FrameType | None = sys._getframe(1)
    torch = os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_OWN, torch, "<frozen ")):
            yield frame
        frame = frame.f_back


def places() -> tuple[Place, Place]:
    """The innermost line that is not PyTorch's, and the innermost that is no package's either."""
    inner = None
    for frame in frames():
        here = Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        inner = inner or here
        if not any(s in here.file for s in _SITE):
            return inner, here
    nowhere = Place("", 0, "a thread without Python: the backward pass")
    return inner or nowhere, inner or nowhere


def within(folder: str) -> bool:
    """Whether a function of that folder of PyTorch's is running."""
    part = os.sep + os.path.join("torch", folder) + os.sep
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if part in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def read_assume(assume: dict[str, Number]) -> dict[str, Number]:
    """Checked: {"train.py:12": 3}."""
    for key, value in assume.items():
        file, _, line = key.rpartition(":")
        if not file or not line.isdecimal():
            raise ValueError(f"got assume {key!r}, want a place such as train.py:12")
        if not isinstance(value, (bool, int, float)):
            raise ValueError(f"got assume {key}: {value!r}, want a number, true or false")
    return dict(assume)
