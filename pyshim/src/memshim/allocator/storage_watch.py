"""Storages born and collected, seen from PyTorch's dispatcher: what replaces the allocator's
history where there is no GPU.

A storage is born when an operator first returns a tensor on it and dies when PyTorch collects it.
Memory that a kernel takes and gives back inside itself is not seen; nor what code that inductor
compiled makes, until an operator is given it. Importing this imports torch.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch._C import _len_torch_dispatch_stack as _stack_depth
from torch.utils import _python_dispatch as modes
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from memshim.gpu.storages import aside, storages

_INDUCTOR = "torch._inductor.codecache"  # imported when something is compiled for the CPU
COMPILED = "compiled code"  # the operator of what it made


class Live(NamedTuple):
    ref: weakref.ref[torch.UntypedStorage]
    number: int  # -1 while it is empty
    size: int


class Watch(TorchDispatchMode):
    """Sees every storage that is born and collected on one kind of device while it is entered.

    It holds no tensor: only weak references to storages. Subclasses say what becomes of a birth and
    a death; storages are numbered from 0.
    """

    def __init__(self, device: str):
        super().__init__()  # type: ignore[no-untyped-call]  # PyTorch's
        self.device, self.born = device, 0
        self.live: dict[int, Live] = {}  # by address of the StorageImpl
        self._lock = threading.RLock()

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """What is compiled stays compiled, and torch.compile does not refuse to."""
        return True

    def birth(self, number: int, size: int, operator: str) -> None:
        raise NotImplementedError

    def death(self, number: int, size: int) -> None:
        raise NotImplementedError

    def behind(self, t: torch.Tensor) -> Iterable[tuple[torch.UntypedStorage, str]]:
        """The storages behind a tensor, and the kind of device that each lies on."""
        return [(s, s.device.type) for s in storages(t)]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if _INDUCTOR in sys.modules:
            self.saw(COMPILED, (args, kwargs))
        out = func(*args, **(kwargs or {}))
        self.saw(func, out)
        return out

    def saw(self, func: object, out: object) -> None:
        """Count what an operator returned."""
        for t in tree_leaves(out):
            if isinstance(t, torch.Tensor):
                for storage, device in self.behind(t):
                    if device == self.device:
                        self.see(storage, str(func))

    def see(self, storage: torch.UntypedStorage, operator: str) -> None:
        """Count a storage if it is new, or has another size than it had: then the new bytes are
        there before the old ones go."""
        with self._lock:
            key, size = storage._cdata, storage.nbytes()
            known = self.live.get(key)
            if known and known.size == size:
                return
            number = self.born if size else -1
            self.born += size > 0
            ref = known.ref if known else weakref.ref(storage, lambda _: self._dead(key))
            self.live[key] = Live(ref, number, size)
            if size:
                self.birth(number, size, operator)
            if known and known.number >= 0:
                self.death(known.number, known.size)

    def _dead(self, key: int) -> None:
        with self._lock:
            gone = self.live.pop(key, None)
            if gone and gone.number >= 0:
                self.death(gone.number, gone.size)

    def forget(self) -> None:
        """What dies from here on is not known."""
        with self._lock:
            self.live.clear()

    def numbers_of(self, t: torch.Tensor) -> list[int]:
        """The numbers of the storages behind t, those that are watched."""
        return [self.live[s._cdata].number for s, _ in self.behind(t) if s._cdata in self.live]

    def __exit__(self, *error: object) -> None:
        """Modes may be left in another order than they were entered."""
        above: list[Any] = []
        while _stack_depth() and modes._get_current_dispatch_mode() is not self:
            above.append(modes._pop_mode())
        if above:  # what was so when we were entered is so when the next above us is left
            for name, mine in vars(self).items():
                theirs = vars(above[-1]).get(name) if name.startswith("old_") else None
                if theirs and mine:
                    mine[-1], theirs[-1] = theirs[-1], mine[-1]
        if _stack_depth():
            super().__exit__(*error)  # type: ignore[no-untyped-call]  # PyTorch's
        for m in reversed(above):
            modes._push_mode(m)


class _InThread(TorchDispatchMode):
    """The same watch in another thread: modes are a thread's own."""

    def __init__(self, watch: Watch):
        super().__init__()  # type: ignore[no-untyped-call]  # PyTorch's
        self._watch = watch

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._watch.__torch_dispatch__(func, types, args, kwargs)


class Threads:
    """While it is entered, threads that start are watched as well. Those that run already are
    not."""

    def __init__(self, watch: Watch):
        self._watch = watch

    def __enter__(self) -> Threads:
        start, watch, self._on = threading.Thread.start, self._watch, True

        def watched_start(thread: threading.Thread) -> None:
            if self._on:
                run = thread.run

                def watched_run() -> None:
                    del thread.run
                    if self._on:
                        modes._push_mode(_InThread(watch))  # not by its __enter__: that counts for the whole process
                        try:
                            return run()
                        finally:
                            modes._pop_mode()
                    run()

                thread.run = watched_run  # type: ignore[method-assign]  # for this thread
            start(thread)

        self._start, self._mine = start, watched_start
        threading.Thread.start = watched_start  # type: ignore[assignment, method-assign]  # for all that start
        return self

    def __exit__(self, *error: object) -> None:
        self._on = False
        if threading.Thread.start is self._mine:  # else somebody stands before us, and goes on through us
            threading.Thread.start = self._start  # type: ignore[method-assign]  # as it was


def found(tensors: Iterable[torch.Tensor], device: str) -> Iterator[torch.UntypedStorage]:
    """The storages of a kind of device behind tensors, those with bytes, once each."""
    seen = set()
    with aside():
        for t in tensors:
            for s in storages(t):
                if s.device.type == device and s.nbytes() and s._cdata not in seen:
                    seen.add(s._cdata)
                    yield s
