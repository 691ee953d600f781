"""Storages born and collected, seen from PyTorch's dispatcher: what stands in for the allocator's history where there is no GPU.

A storage is born when an operator first returns a tensor on it and dies when PyTorch collects it. Memory that a kernel takes and gives back
inside itself is not seen. Importing this imports torch.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from memshim.run.frames import Stacks

_SKIPPED = ("/torch/utils/_python_dispatch.py", "/torch/_dynamo/eval_frame.py", "/torch/_compile.py")


def storage_of(t: torch.Tensor) -> torch.UntypedStorage | None:
    """None for tensors that have none of their own: sparse, nested, fake wrappers."""
    try:
        return t.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None


def alive(device: str) -> list[torch.Tensor]:
    """Every tensor of a kind of device that Python can reach, gradients with it."""
    found, seen = [], set()
    pending = [o for o in gc.get_objects() if issubclass(type(o), torch.Tensor)]
    while pending:
        t = pending.pop()
        if id(t) in seen:
            continue
        seen.add(id(t))
        if t.device.type == device:
            found.append(t)
        if t.is_leaf and t.grad is not None:
            pending.append(t.grad)
    found.reverse()
    return found


class Watch(TorchDispatchMode):
    """Notes every storage of one kind of device that is born and collected while it is entered.

    It holds no tensor: only weak references to storages. `note(action, storage, size, operator, stack)` is told each, storages numbered from 0;
    those given as `before` are numbered first and are not told when born.
    """

    def __init__(self, note: Callable[[str, int, int, str, int], None], device: str = "cpu", before: Iterable[torch.Tensor] = (),
                 stacks: Stacks | None = None):
        super().__init__()
        self.note, self.device, self.stacks = note, device, stacks
        self.born = 0
        self.live: dict[int, tuple[weakref.ref, int, int]] = {}  # by address of the StorageImpl: number and size
        self.before = 0
        for t in before:
            storage = storage_of(t)
            if storage is not None and storage.nbytes() and storage._cdata not in self.live and t.device.type == device:
                self.before += storage.nbytes()
                self._add(storage, "", told=False)

    def number_of(self, t: torch.Tensor) -> int | None:
        """The number of the storage behind t, where it is watched."""
        storage = storage_of(t)
        return self.live[storage._cdata][1] if storage is not None and storage._cdata in self.live else None

    def add(self, t: torch.Tensor, what: str) -> None:
        """Count a tensor that no operator returned as born now."""
        storage = storage_of(t)
        if storage is not None and t.device.type == self.device:
            self._see(storage, what, stack=False)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for t in tree_leaves(out):
            if isinstance(t, torch.Tensor) and t.device.type == self.device:
                storage = storage_of(t)
                if storage is not None:
                    self._see(storage, str(func))
        return out

    def _see(self, storage: torch.UntypedStorage, operator: str, stack: bool = True) -> None:
        known = self.live.get(storage._cdata)
        if known is None and storage.nbytes():
            self._add(storage, operator, told=True, stack=stack)
        elif known and known[2] != storage.nbytes():  # resized: the new bytes are there before the old ones go
            if storage.nbytes():
                self._add(storage, operator, told=True)
            else:
                del self.live[storage._cdata]
            self.note("free", known[1], known[2], operator, -1)

    def _add(self, storage: torch.UntypedStorage, operator: str, told: bool, stack: bool = True) -> None:
        key, number, size = storage._cdata, self.born, storage.nbytes()
        self.born += 1
        self.live[key] = (weakref.ref(storage, lambda _: self._dead(key, number)), number, size)
        if told:
            self.note("alloc", number, size, operator, self.stacks.here(_SKIPPED) if self.stacks and stack else -1)

    def _dead(self, key: int, number: int) -> None:
        if key in self.live and self.live[key][1] == number:
            _, _, size = self.live.pop(key)
            self.note("free", number, size, "", -1)

    def forget(self) -> None:
        """What dies from here on is not told."""
        self.live.clear()

