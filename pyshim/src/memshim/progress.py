"""How far a long command is, for a person at a terminal; elsewhere silent."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    def __init__(self, total: int, stream: TextIO | None = None):
        self._total, self._stream = total, stream or sys.stderr
        self._live = self._stream.isatty()
        self._done, self._shown, self._start = 0, False, time.monotonic()

    def start(self, name: str) -> None:
        """The next one begins."""
        self._done += 1
        if self._live:
            self._clear()
            print(f"{self._done} of {self._total}: {name} ({time.monotonic() - self._start:.0f} s)", end="", file=self._stream, flush=True)
            self._shown = True

    def say(self, text: str, stream: TextIO) -> None:
        """A line that stays."""
        self._clear()
        print(text, file=stream, flush=True)

    def _clear(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=self._stream, flush=True)
            self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error) -> None:
        self._clear()
