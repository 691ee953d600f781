"""Regions of CPU tensors: what replaces the allocator where there is no GPU. One watch serves
all that are open."""

from __future__ import annotations

import contextlib
import copy
import gc
import threading
from collections.abc import Iterator
from typing import Any

import torch

from memshim.allocator.events import Event, forward_frames
from memshim.allocator.storage_watch import COMPILED, Threads, Watch, found
from memshim.frames import Stacks
from memshim.gpu.storages import reachable

BASE = "memshim:"  # what tags begin with
_SKIPPED = ("/torch/utils/_python_dispatch.py", "/torch/_dynamo/eval_frame.py", "/torch/_compile.py")


class CPURegion:
    """Storages of CPU tensors from open to close: bytes as asked for, nothing that an allocator
    would add.

    stacks: "" for none. before: the tensors that are there; None for all that Python can reach.
    """

    where = "cpu"
    index: int | None = None

    def __init__(self, stacks: str = "python", before: list[Any] | None = None):
        self.wants, self._given = stacks, before
        self.events: list[Event] = []
        self.before: dict[int, int] = {}
        self.lost, self.compiled = "", False
        self._from = self._last = 0
        self._current = self._most = 0
        self._ended = False

    @property
    def stacks(self) -> Stacks:
        return watcher.stacks

    def open(self) -> CPURegion:
        watcher.open(self)
        return self

    def close(self) -> None:
        watcher.close(self)

    def mark(self) -> int:
        watcher.read(self)
        return len(self.events)

    def peaks(self) -> dict[str, int]:
        if not self._ended:
            self.mark()
        return {"requested": self._most}

    def now(self) -> dict[str, int]:
        if not self._ended:
            self.mark()
        return {"requested": self._current}

    def restart_peaks(self) -> dict[str, int]:
        """Count peaks anew from here. The most until now, by metric."""
        peaks, self._most = self.peaks(), self.now()["requested"]
        return peaks

    def keys_of(self, tensor: torch.Tensor) -> list[int]:
        return watcher.numbers_of(tensor)

    def restart(self) -> None:
        """Begin anew: what is there now is of before."""
        watcher.restart(self)

    def turn(self) -> CPURegion:
        """mark and restart in one: what there was so far, as a region that is closed."""
        self.mark()
        past = copy.copy(self)
        past._ended = True
        self.restart()
        return past

    def load(self, tensors: list[tuple[torch.Tensor, str]]) -> None:
        """Count these as born now, each with what it is in the place of an operator."""
        with watcher.unstacked():
            for tensor, what in tensors:
                for s in found([tensor], "cpu"):
                    watcher.see(s, what)

    def advance(self) -> None:
        """Count the events that came since the last time."""
        for e in self.events[self._last :]:
            self._current += e.size if e.action == "alloc" else -e.size
            self._most = max(self._most, self._current)
        self._last = len(self.events)


class Watcher(Watch):
    """The one watch, entered while any region is open."""

    def __init__(self) -> None:
        super().__init__("cpu")
        self.regions: list[CPURegion] = []
        self.stacks = Stacks()
        self.compiled = False  # code that is compiled made something
        self.tag = ""  # what is done now: BASE and what follows it, in the words of who profiles; empty in a backward
        self._events: list[Event] = []
        self._first = 0  # the number of the first event kept
        self._stacked = False
        self._threads: Threads | None = None
        self._regions_lock = threading.RLock()

    def birth(self, number: int, size: int, operator: str) -> None:
        stack = forward = -1
        self.compiled = self.compiled or operator == COMPILED
        if self._stacked:
            stack = self.stacks.here(_SKIPPED)
            forward = self._forward()
        tag = "" if self.tag == BASE and torch._C._current_autograd_node() is not None else self.tag
        self._events.append(Event("alloc", number, size, 0, operator, stack, forward, tag))

    def death(self, number: int, size: int) -> None:
        self._events.append(Event("free_completed", number, size))

    def _forward(self) -> int:
        node = torch._C._current_autograd_node()
        metadata: Any = node.metadata if node is not None else {}  # a property
        traceback = metadata.get("traceback_")
        return self.stacks.add(forward_frames(traceback)) if traceback else -1

    def open(self, region: CPURegion) -> None:
        with self._regions_lock:
            if not self.regions:
                self.stacks, self._events, self._first, self.compiled, self.born = Stacks(), [], 0, False, 0
            gc.collect()
            with self.unstacked():
                for s in found(reachable() if region._given is None else region._given, "cpu"):
                    self.see(s, "")
                    region.before[self.live[s._cdata].number] = s.nbytes()
            self._stacked = self._stacked or bool(region.wants)
            if not self.regions:
                self.__enter__()  # type: ignore[no-untyped-call]  # PyTorch's
                self._threads = Threads(self).__enter__()
            self.regions.append(region)
            self._begin(region)

    def _begin(self, region: CPURegion) -> None:
        region.events, region._last = [], 0
        region._current = region._most = sum(region.before.values())
        region._from = self._first + len(self._events)
        unread = min(r._from for r in self.regions) - self._first
        del self._events[:unread]
        self._first += unread

    def restart(self, region: CPURegion) -> None:
        with self._regions_lock, self._lock:
            region.before = {x.number: x.size for x in self.live.values() if x.size}
            self._begin(region)

    @contextlib.contextmanager
    def unstacked(self) -> Iterator[None]:
        """What is seen in it was made elsewhere."""
        stacked, self._stacked = self._stacked, False
        try:
            yield
        finally:
            self._stacked = stacked

    def read(self, region: CPURegion) -> None:
        with self._regions_lock:
            region.events = self._events[region._from - self._first :]
            region.advance()

    def close(self, region: CPURegion) -> None:
        with self._regions_lock:
            if region._ended or region not in self.regions:
                region._ended = True
                return
            self.read(region)
            region._ended, region.compiled = True, self.compiled
            self.regions.remove(region)
            if not self.regions:
                if self._threads is not None:
                    self._threads.__exit__()
                self.__exit__(None, None, None)
                self.forget()
                self._events, self._stacked = [], False


watcher = Watcher()
