"""Call stacks, kept once each, and the line of a stack that a reader cares for."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import tempfile
from functools import cache
from types import FrameType
from typing import NamedTuple

OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep  # the package
_OURS = (OWN, "<frozen runpy>")
# its redispatch is how our operators of a pretend GPU go on (pretend/values)
_DISPATCH = os.path.join("torch", "_ops.py")


class Frame(NamedTuple):
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{shorten(self.file)}:{self.line} ({self.function})"


class Stacks:
    """Stacks by number, less our own frames; a stack is a tuple of frame numbers, innermost first.
    -1 is no stack."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.stacks: list[tuple[int, ...]] = []
        self._frame: dict[tuple[str, int, str], int] = {}  # -1: one of ours
        self._stack: dict[tuple[int, ...], int] = {}

    def add(self, frames: list[tuple[str, int, str]]) -> int:
        numbers = []
        for f in frames:
            number = self._frame.get(f)
            if number is None:
                number = self._frame[f] = self._number(f)
            if number >= 0:
                numbers.append(number)
        if not numbers:
            return -1
        key = tuple(numbers)
        if key not in self._stack:
            self._stack[key] = len(self.stacks)
            self.stacks.append(key)
        return self._stack[key]

    def _number(self, f: tuple[str, int, str]) -> int:
        """Of a frame that is new; -1 of one of ours."""
        if f[0].startswith(_OURS) or f[2] == "redispatch" and f[0].endswith(_DISPATCH):
            return -1
        self.frames.append(Frame._make(f))
        return len(self.frames) - 1

    def here(self, skipped: tuple[str, ...]) -> int:
        """The stack of the caller, less the files that end so."""
        frame: FrameType | None = sys._getframe(1)
        out = []
        while frame:
            code = frame.f_code
            if not code.co_filename.endswith(skipped):
                out.append((code.co_filename, frame.f_lineno, code.co_name))
            frame = frame.f_back
        return self.add(out)

    def of(self, stack: int) -> list[Frame]:
        return [self.frames[i] for i in self.stacks[stack]] if stack >= 0 else []

    def line(self, stack: int, every: bool = False) -> Frame | None:
        """The innermost frame of Python code that is neither PyTorch's nor ours, else the innermost
        of Python; every: simply the innermost."""
        python = [f for f in self.of(stack) if f.line > 0 and not compiled(f.file)]
        if every:
            return next(iter(python), None)
        return next((f for f in python if not inside(f.file)), python[0] if python else None)


_COMPILED = re.compile(r"\.(so(\.\d+)*|dylib|dll|pyd|exe|c|cc|cpp|cxx|cu|cuh|h|hpp)$|[\\/]python[\d.]*$", re.I)
_INSTALLED_TORCH = re.compile(r"[\\/](site|dist)-packages[\\/]torch[\\/]")  # another machine's, in a recording
_TYPED = ("<stdin>", "<console>", "<python-input-", "<ipython-input-", "<doctest ")  # what people type


@cache
def compiled(file: str) -> bool:
    """Whether a frame of that file is C's or C++'s: a library, the interpreter, a source."""
    return bool(_COMPILED.search(file))


@cache
def inside(file: str) -> bool:
    """Whether a file is a library's own rather than the user's: PyTorch's real folder wherever that
    lies, what it generates, memshim, Python."""
    if file.startswith("<"):
        return not file.startswith(_TYPED) and not (file == "<string>" and _command())
    return (
        file.startswith(_folders())
        or bool(_INSTALLED_TORCH.search(file))
        or file.startswith(_stdlib())
        and "-packages" + os.sep not in file
    )


def _command() -> bool:
    """python -c: its text is the user's code; elsewhere <string> is what a library generates."""
    return "-c" in sys.orig_argv and not getattr(sys.modules.get("__main__"), "__file__", None)


def _stdlib() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple(
        {paths["stdlib"] + os.sep, paths["platstdlib"] + os.sep, os.path.dirname(os.path.abspath(os.__file__)) + os.sep}
    )


def _folders() -> tuple[str, ...]:
    """Of memshim and of the torch that runs, and where inductor writes the code it generates."""
    folders = {OWN}
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__:
        folder = os.path.dirname(os.path.abspath(torch.__file__))
        folders |= {folder + os.sep, os.path.realpath(folder) + os.sep}
    folders.add(os.path.join(tempfile.gettempdir(), "torchinductor_"))
    if named := os.environ.get("TORCHINDUCTOR_CACHE_DIR"):
        folders.add(named)
    return tuple(folders)


@cache
def shorten(file: str) -> str:
    """Below the working directory or the installed packages: from there."""
    for packages in ("site-packages", "dist-packages"):
        if f"{os.sep}{packages}{os.sep}" in file:
            return file.rsplit(f"{os.sep}{packages}{os.sep}", 1)[1]
    try:
        relative = os.path.relpath(file)
    except ValueError:
        return file
    return file if relative.startswith("..") or file.startswith("<") else relative
