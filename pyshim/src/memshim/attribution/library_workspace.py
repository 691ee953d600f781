"""Which allocations are libraries' workspace and no tensor's. C++ stacks record it, which cost more
than all else that is recorded; an allocation that comes again, by the same lines and of the same
size, is known without them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memshim.allocator.events import Event
from memshim.allocator.history import Region
from memshim.frames import Stacks, compiled

# Functions of PyTorch that a tensor's memory is asked for by.
_TENSOR = ("empty_generic", "empty_strided_generic", "StorageImpl", "resize_bytes", "empty_cuda", "empty_strided_cuda")


def of_library(names: Iterable[str]) -> bool | None:
    """Whether a stack is of an allocation that no tensor asked for: cuBLAS's, cuDNN's and CUB's
    workspace. None for one without C++ functions."""
    names = list(names)
    return not any(t in n for n in names for t in _TENSOR) if any("::" in n for n in names) else None


class Workspace:
    """What is known of a loop's allocations."""

    def __init__(self) -> None:
        self._stacks = Stacks()
        # by stack: its Python frames, and what its C++ ones say
        self._of: dict[int, tuple[tuple[int, ...], bool | None]] = {}
        self._known: dict[tuple[Any, ...], bool | None] = {}  # None: both were seen

    def learn(self, region: Region) -> bool:
        """Of what was allocated in a region with C++ stacks; whether there was anything new, or
        that cannot be known again."""
        if region.stacks is not self._stacks:
            self._stacks, self._of, self._known = region.stacks, {}, {}
        new = False
        for e in region.events:
            if e.action != "alloc":
                continue
            key, of_library_call = self._seen(e)
            if of_library_call is None:
                continue
            if key not in self._known:
                self._known[key], new = of_library_call, True
            elif self._known[key] is not of_library_call:
                self._known[key], new = None, True
        return new

    def kind(self, e: Event) -> bool | None:
        """Whether an allocation is a library's; None where that is not known."""
        key, of_library_call = self._seen(e)
        if of_library_call is None:
            of_library_call = self._known.get(key)
        return of_library_call

    def _seen(self, e: Event) -> tuple[tuple[Any, ...], bool | None]:
        frames, of_library_call = self._stack(e.stack)
        return (frames, self._stack(e.forward)[0], e.tag, e.stream, e.size), of_library_call

    def _stack(self, stack: int) -> tuple[tuple[int, ...], bool | None]:
        found = self._of.get(stack)
        if found is None:
            numbers = self._stacks.stacks[stack] if stack >= 0 else ()
            frames = self._stacks.frames
            python = tuple(i for i in numbers if frames[i].line > 0 and not compiled(frames[i].file))
            found = self._of[stack] = python, of_library(frames[i].function for i in numbers)
        return found
