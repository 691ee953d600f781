"""Reads of values that no kernel computed: where the program asked, and what `assume` says it
got."""

from __future__ import annotations

import linecache
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

Number = bool | int | float
VALUES = "MEMSPEC_VALUES"  # of a process on a pretend GPU: balanced, least, most or skewed
ROUTING = "routing"  # in the place of a line: indices that come from unknown scores
WORDS = ("balanced", "least", "most", "skewed")
MOST_LOGGED = 1 << 17  # reads whose moments are kept

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep  # memshim/pretend/
_LBFGS = os.sep + os.path.join("torch", "optim", "lbfgs.py")
_SITE = (
    "site-packages" + os.sep,
    "dist-packages" + os.sep,
    os.path.dirname(os.__file__) + os.sep,
    os.path.dirname(os.path.dirname(_OWN)) + os.sep,
)


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

    # the user's line: the innermost that is neither PyTorch's nor a package's; else the innermost
    # that is not PyTorch's
    place: Place
    inner: Place  # the innermost line that is not PyTorch's
    # aten::_local_scalar_dense for .item(), if and while; aten::copy_ for .cpu() and .tolist();
    # aten::nonzero ...
    op: str
    bytes: int  # of the last such read
    count: int = 0
    assumed: Number | str | None = None  # what assume says: a number, or which values are given
    given: str = ""  # in words, where that is neither zero nor what assume says
    kind: str = ""  # bool, int, float, or count: how many there are of something, which sizes a result
    value: Number | None = None  # what the last read gave; None for several values at once
    bounded: bool = True  # False: an integer whose range is not known, so that mode most gives no upper end
    varied: bool = True  # False: a read inside of an operator or a library, which gives the same in every mode
    endless: bool = False  # a loop at this place went on until it was given the opposite value
    held: Number | None = None  # what lay there at the last read of one value
    again: int = 0  # how many reads in a row found that

    def repeated(self, value: Number) -> int:
        """How many reads in a row have found this value, which lies there now."""
        same = type(value) is type(self.held) and value == self.held
        self.held, self.again = value, self.again + 1 if same else 1
        return self.again


@dataclass
class Reads:
    """All reads of a process, in the order in which their places came first."""

    found: dict[tuple[Any, ...], Read] = field(default_factory=dict)
    assume: dict[str, Number | str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    losses: int = 0  # that LBFGS was given
    moment: Callable[[], int] | None = None  # counts what the allocator did, for whoever compares runs
    warns = False  # whether the first read is a Python warning
    log: list[tuple[Read, int]] = field(default_factory=list)  # each read with its moment, where there is one

    def note(
        self,
        op: str,
        size: int,
        assumed: Number | None = None,
        given: str = "",
        kind: str = "",
        value: Number | None = None,
        bounded: bool = True,
        varied: bool = True,
    ) -> Read:
        inner, place = places()
        stated = self.stated() if assumed is None else assumed
        with self.lock:
            read = self.found.setdefault(
                (place, inner, op), Read(place, inner, op, size, assumed=stated, given=given, kind=kind)
            )
            read.count += 1
            read.bytes, read.value = size, value
            read.bounded, read.varied = read.bounded and bounded, read.varied and varied
            if self.moment and len(self.log) < MOST_LOGGED:
                self.log.append((read, self.moment()))
            warns, self.warns = self.warns and assumed is None, self.warns and assumed is not None
        if warns:
            warn(read)
        return read

    def assumed(self) -> Number | None:
        """What assume says of a read at the line that is running; None where it says nothing."""
        said = self.said()
        return None if isinstance(said, str) else said

    def stated(self) -> str | None:
        """The mode of values that assume names at the line that is running; None where it names
        none."""
        said = self.said()
        return said if isinstance(said, str) else None

    def said(self) -> Number | str | None:
        """What assume says of the line that is running, or of the function that reads there:
        train.py:12, train.py:route."""
        if not self.assume:
            return None
        readers = 2  # the innermost that is not PyTorch's, and the innermost that is no package's either
        for i, frame in enumerate(frames()):
            code = frame.f_code
            user = not any(s in code.co_filename for s in _SITE)
            for key, value in self.assume.items():
                file, _, at = key.rpartition(":")
                if not matches(code.co_filename, file):
                    continue
                if (
                    at == str(frame.f_lineno)
                    or readers
                    and (i == 0 or user)
                    and at in (code.co_name, getattr(code, "co_qualname", ""))
                ):
                    return value
            if i == 0 or user:
                readers = 0 if user else 1
        return None

    def searching(self, kind: type) -> Number | None:
        """What torch.optim.LBFGS reads so that its search goes on as far as it may (lbfgs.py,
        step): no optimum is found, each loss is smaller than the one before, and each direction is
        kept (ys > 1e-10). With zeros it would end at once, and hold nothing. None outside of it."""
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


class UnknownValue(UserWarning):
    """A program read a value that no kernel of a pretend GPU computed."""


def warn(read: Read) -> None:
    warnings.warn_explicit(
        f"kernels compute nothing on a pretend GPU, and this line reads what one would have computed: "
        f"{read.given or '0'}. It is no result. "
        "memshim.pretend.report() lists all such reads; later ones do not warn",
        UnknownValue,
        read.place.file or "?",
        read.place.line,
    )


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


def read_assume(assume: Mapping[str, Number | str]) -> dict[str, Number | str]:
    """Checked: {"train.py:12": 3, "train.py:route": "balanced", "routing": "balanced"}."""
    for key, value in assume.items():
        file, _, at = key.rpartition(":")
        if key == ROUTING:
            if value != WORDS[0]:
                raise ValueError(f"got assume {key}: {value!r}, want {WORDS[0]}")
        elif not file or not (at.isdecimal() or at.replace(".", "").isidentifier()):
            raise ValueError(
                f"got assume {key!r}, want a place such as train.py:12, a function such as train.py:route, or {ROUTING}"
            )
        elif not isinstance(value, (bool, int, float)) and value not in WORDS:
            raise ValueError(f"got assume {key}: {value!r}, want a number, true or false, or one of {', '.join(WORDS)}")
    return dict(assume)
