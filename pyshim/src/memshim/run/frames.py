"""Call stacks, kept once each, and the line of a stack that a reader cares for."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from typing import NamedTuple


OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # the package


class Frame(NamedTuple):
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{shorten(self.file)}:{self.line} ({self.function})"


class Stacks:
    """Stacks by number, less our own frames; a stack is a tuple of frame numbers, innermost first. -1 is no stack."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.stacks: list[tuple[int, ...]] = []
        self._frame: dict[Frame, int] = {}
        self._stack: dict[tuple[int, ...], int] = {}

    def add(self, frames: list[tuple[str, int, str]]) -> int:
        frames = [f for f in frames if not f[0].startswith(OWN) and f[0] != "<frozen runpy>"]
        if not frames:
            return -1
        numbers = []
        for f in map(Frame._make, frames):
            if f not in self._frame:
                self._frame[f] = len(self.frames)
                self.frames.append(f)
            numbers.append(self._frame[f])
        key = tuple(numbers)
        if key not in self._stack:
            self._stack[key] = len(self.stacks)
            self.stacks.append(key)
        return self._stack[key]

    def here(self, skipped: tuple[str, ...]) -> int:
        """The stack of the caller, less the files that end so."""
        frame, out = sys._getframe(1), []
        while frame:
            code = frame.f_code
            if not code.co_filename.endswith(skipped):
                out.append((code.co_filename, frame.f_lineno, code.co_name))
            frame = frame.f_back
        return self.add(out)

    def of(self, stack: int) -> list[Frame]:
        return [self.frames[i] for i in self.stacks[stack]] if stack >= 0 else []

    def line(self, stack: int, every: bool = False) -> Frame | None:
        """The innermost frame of Python code that is neither PyTorch's nor ours, else the innermost of Python; every: simply the innermost."""
        python = [f for f in self.of(stack) if every or f.line > 0 and not f.file.startswith("<") and f.file.endswith(".py")]
        return next((f for f in python if every or not inside(f.file)), python[0] if python else None)


@lru_cache(maxsize=None)
def inside(file: str) -> bool:
    """Whether a file is the library's rather than the user's: torch, memshim, Python itself."""
    stdlib = sysconfig.get_paths()["stdlib"] + os.sep
    return f"{os.sep}site-packages{os.sep}torch{os.sep}" in file or file.startswith(OWN) or (
        file.startswith(stdlib) and "-packages" + os.sep not in file) or file.startswith("<")


@lru_cache(maxsize=None)
def shorten(file: str) -> str:
    """Below the working directory or the installed packages: from there."""
    if f"{os.sep}site-packages{os.sep}" in file:
        return file.rsplit(f"{os.sep}site-packages{os.sep}", 1)[1]
    try:
        relative = os.path.relpath(file)
    except ValueError:
        return file
    return file if relative.startswith("..") else relative
