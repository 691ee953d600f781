"""How far a long command is, for a person at a terminal; elsewhere silent."""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

from memshim.printed import say

EVERY = 0.1  # seconds; more often is not read


class Progress:
    """Any thread may count."""

    def __init__(self, total: int, stream: TextIO | None = None):
        self._total, self._stream = total, stream or sys.stderr
        self._live, self._lock = self._stream.isatty(), threading.Lock()
        self._done, self._shown, self._start, self._last = 0, False, time.monotonic(), -EVERY

    def start(self, name: str) -> None:
        """The next one begins."""
        with self._lock:
            self._done += 1
            now = time.monotonic()
            if self._live and now - self._last >= EVERY:
                self._clear()
                say(
                    f"{self._done} of {self._total}: {name} ({now - self._start:.0f} s)",
                    end="",
                    file=self._stream,
                    flush=True,
                )
                self._shown, self._last = True, now

    def say(self, text: str, stream: TextIO) -> None:
        """A line that stays."""
        with self._lock:
            self._clear()
            say(text, file=stream, flush=True)

    def _clear(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=self._stream, flush=True)
            self._shown, self._last = False, -EVERY

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._clear()
