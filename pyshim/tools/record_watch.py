"""Watches storages being made and collected while a model runs on fake CUDA tensors.

Nothing here needs a GPU: PyTorch's FakeTensorMode answers for the device, with CUDA's own decompositions.
"""

import contextlib
import gc
import sys
import weakref
from typing import Any, Callable

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from record_stream import Event, Stream

_HERE = __file__.rsplit("/", 1)[0] + "/"


class Watch(TorchDispatchMode):
    """Notes every storage that a dispatched operator returns first, and its death.

    It holds no tensor itself: only weak references to storages, and only while they live.
    """

    def __init__(self, device: str, known: list[torch.Tensor], stream: Stream, lines: bool) -> None:
        super().__init__()
        self.device, self.stream, self.lines = device, stream, lines
        self.known = {t.untyped_storage()._cdata for t in known}
        self.live: dict[int, tuple[weakref.ref, int, int]] = {}  # by storage: its index (-1 while empty) and size
        self.host: dict[int, weakref.ref] = {}
        self.born = 0
        self.unseen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.stream.ops.add(func.name().split(".")[0])
        given = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if self.device == "cuda" and given and not any(isinstance(t, FakeTensor) for t in given):
            # Sizes that a traced graph carries as CPU scalars: their values are needed, so they are computed.
            if torch.device(kwargs.get("device") or "cpu").type == "cpu":
                with _disable_current_modes():
                    out = func(*args, **kwargs)
                self.note(func, out)
                return out
        for t in given:
            storage = t.untyped_storage()
            if t.device.type == self.device and storage.nbytes() and storage._cdata not in self.known and storage._cdata not in self.live:
                self.unseen.append(f"{func} was given {t.dtype} {tuple(t.shape)}, which no operator returned")
        del given
        out = func(*args, **kwargs)
        self.note(func, out)
        return out

    def note(self, func: Any, out: Any) -> None:
        line = ""
        for t in tree_leaves(out):
            if not isinstance(t, torch.Tensor):
                continue
            storage = t.untyped_storage()
            key, size = storage._cdata, storage.nbytes()
            if key in self.known:
                continue
            if t.device.type != self.device:
                if key not in self.host:
                    self.stream.host += 1
                    self.host[key] = weakref.ref(storage, lambda _, key=key: self.host.pop(key))
                continue
            ref, index, was = self.live.get(key, (None, -1, -1))
            if was == size:
                continue
            if size:
                # A storage that changes its size is a new allocation; the old one goes after it.
                line = line or (_line() if self.lines else "")
                self.stream.events.append(Event(self.born, size, str(func), line))
                if index >= 0:
                    self.stream.events.append(Event(index))
                index = self.born
                self.born += 1
            elif was < 0:
                self.stream.zero += 1
            else:
                self.stream.events.append(Event(index))
                index = -1
            self.live[key] = (ref or weakref.ref(storage, lambda _, key=key: self.dead(key)), index, size)

    def dead(self, key: int) -> None:
        _, index, _ = self.live.pop(key)
        if index >= 0:
            self.stream.events.append(Event(index))


def _line() -> str:
    """The innermost frame of the user's code: neither PyTorch's nor the recorder's."""
    frame = sys._getframe(1)
    while frame:
        file = frame.f_code.co_filename
        if not file.startswith(_HERE) and "/site-packages/torch/" not in file and "<" not in file:
            for part in ("/site-packages/", "/testdata/artifacts/"):
                if part in file:
                    return f"{file.split(part, 1)[1]}:{frame.f_lineno}"
            return ""
        frame = frame.f_back
    return ""


def watch(stream: Stream, call: Callable[..., Any], inputs: tuple, known: list[torch.Tensor], device: str) -> Stream:
    """Runs one pass. What dies when the result is dropped is set apart from the pass."""
    watcher = Watch(device, known + [t for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)], stream,
                    lines=stream.name.endswith(".eager"))
    gc.collect()
    gc.disable()
    try:
        with torch.no_grad(), watcher:
            result = call(*inputs)
            length = len(stream.events)
            del result
    finally:
        gc.enable()
    if watcher.unseen:
        raise RuntimeError("; ".join(watcher.unseen[:3]))
    stream.end = [e.index for e in stream.events[length:]]
    del stream.events[length:]
    held = sorted(index for _, index, _ in watcher.live.values() if index >= 0)
    gc.collect()
    stream.kept = sorted(index for _, index, _ in watcher.live.values() if index >= 0)
    watcher.live.clear()  # what dies from here on is no longer the run's
    if held != stream.kept:
        raise RuntimeError(f"storages {sorted(set(held) - set(stream.kept))} were held by a reference cycle")
    return stream


class _Fakes:
    """Turns real tensors into fake CUDA ones; tensors of one storage stay tensors of one storage."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.bases: dict[tuple[int, torch.dtype], torch.Tensor] = {}
        self.made: list[torch.Tensor] = []

    def __call__(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        key = (value.untyped_storage()._cdata, value.dtype)
        if key not in self.bases:
            count = value.untyped_storage().nbytes() // value.element_size()
            self.bases[key] = torch.empty(count, dtype=value.dtype, device=self.device)
        fake = self.bases[key].as_strided(value.size(), value.stride(), value.storage_offset())
        self.made.append(fake)
        return fake


@contextlib.contextmanager
def _fake_mode():
    torch._C._jit_set_texpr_fuser_enabled(False)  # else it asks for a driver at the second pass
    with FakeTensorMode(allow_non_fake_inputs=True):
        yield


def warm() -> None:
    """Makes one fake tensor, so that what this imports is there before processes are forked."""
    with _fake_mode():
        torch.empty(1, device="cuda") + 1


def eager(stream: Stream, module: torch.nn.Module, inputs: tuple, context: Callable[[], Any] = contextlib.nullcontext,
          requires_grad: bool = False) -> Stream:
    """Runs the live module on fake CUDA tensors, the call within a context of its own. What the context lets go at its end, in an order of
    its own, is told in the order of birth."""

    def call(*args):
        with context():
            result = module(*args)
            length.append(len(stream.events))
        stream.events[length[0]:] = sorted(stream.events[length[0]:], key=lambda e: e.index)
        return result

    length: list[int] = []
    with _fake_mode(), torch.no_grad():
        fakes = _Fakes("cuda")
        shared: dict[int, torch.Tensor] = {}
        for part in module.modules():
            for name, p in part._parameters.items():
                if p is not None:
                    if id(p) not in shared:
                        shared[id(p)] = torch.nn.Parameter(fakes(p), requires_grad=requires_grad)
                    part._parameters[name] = shared[id(p)]
            for name, b in part._buffers.items():
                if b is not None:
                    part._buffers[name] = fakes(b)
        given = tree_map(fakes, inputs)
        return watch(stream, call, given, fakes.made, "cuda")


def torchscript(stream: Stream, archive: str, inputs: tuple, dtype: torch.dtype | None = None) -> Stream:
    """Runs an archive in PyTorch's own interpreter on fake CUDA tensors, converted to a dtype first where one is given."""
    module = torch.jit.load(archive, map_location="cpu")
    if dtype:
        module = module.to(dtype)
    with _fake_mode(), torch.no_grad():
        fakes = _Fakes("cuda")
        for part in module.modules():
            for name, t in [*part._parameters.items(), *part._buffers.items()]:
                if t is not None:
                    part._c.setattr(name, fakes(t))
        given = tree_map(fakes, inputs)
        return watch(stream, module, given, fakes.made, "cuda")
