"""Watches storages being made and collected while a model runs on fake CUDA tensors.

Nothing here needs a GPU: PyTorch's FakeTensorMode answers for the device, with CUDA's own
decompositions.
"""

import contextlib
import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch
from record_stream import Event, Stream
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from memshim.allocator.storage_watch import Watch

_WATCH = sys.modules[Watch.__module__].__file__
_HERE = __file__.rsplit("/", 1)[0] + "/"


class StreamWatch(Watch):
    """Notes every storage that a dispatched operator returns first, and its death, in a stream.
    Fake tensors' storages count as those they stand for."""

    def __init__(self, device: str, known: list[torch.Tensor], stream: Stream, lines: bool) -> None:
        super().__init__(device)
        self.stream, self.lines = stream, lines
        self.known = {t.untyped_storage()._cdata for t in known}
        self.host: dict[int, weakref.ref] = {}
        self.unseen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.stream.ops.add(func.name().split(".")[0])
        given = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if self.device == "cuda" and given and not any(isinstance(t, FakeTensor) for t in given):
            # Sizes that a traced graph carries as CPU scalars: their values are needed, so they are
            # computed.
            if torch.device(kwargs.get("device") or "cpu").type == "cpu":
                with _disable_current_modes():
                    out = func(*args, **kwargs)
                self.saw(func, out)
                return out
        for t in given:
            storage = t.untyped_storage()
            if (
                t.device.type == self.device
                and storage.nbytes()
                and storage._cdata not in self.known
                and storage._cdata not in self.live
            ):
                self.unseen.append(f"{func} was given {t.dtype} {tuple(t.shape)}, which no operator returned")
        del given
        out = func(*args, **kwargs)
        self.saw(func, out)
        return out

    def behind(self, t: torch.Tensor) -> list[tuple[torch.UntypedStorage, str]]:
        storage = t.untyped_storage()
        key = storage._cdata
        if key in self.known:
            return []
        if t.device.type != self.device and key not in self.host:
            self.stream.host += 1
            self.host[key] = weakref.ref(storage, lambda _: self.host.pop(key))
        elif t.device.type == self.device and not storage.nbytes() and key not in self.live:
            self.stream.zero += 1
        return [(storage, t.device.type)]

    def birth(self, number: int, size: int, operator: str) -> None:
        self.stream.events.append(Event(number, size, operator, _line() if self.lines else ""))

    def death(self, number: int, size: int) -> None:
        self.stream.events.append(Event(number))


def _line() -> str:
    """The innermost frame of the user's code: neither PyTorch's nor the recorder's."""
    frame = sys._getframe(1)
    while frame:
        file = frame.f_code.co_filename
        if not file.startswith((_HERE, _WATCH)) and "/site-packages/torch/" not in file and "<" not in file:
            for part in ("/site-packages/", "/testdata/artifacts/"):
                if part in file:
                    return f"{file.split(part, 1)[1]}:{frame.f_lineno}"
            return ""
        frame = frame.f_back
    return ""


def watch(stream: Stream, call: Callable[..., Any], inputs: tuple, known: list[torch.Tensor], device: str) -> Stream:
    """Runs one pass. What dies when the result is dropped is set apart from the pass."""
    watcher = StreamWatch(
        device,
        known + [t for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)],
        stream,
        lines=stream.name.endswith(".eager"),
    )
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
    held = sorted(x.number for x in watcher.live.values() if x.number >= 0)
    gc.collect()
    stream.kept = sorted(x.number for x in watcher.live.values() if x.number >= 0)
    watcher.forget()  # what dies from here on is no longer the run's
    if held != stream.kept:
        raise RuntimeError(f"storages {sorted(set(held) - set(stream.kept))} were held by a reference cycle")
    return stream


class _Fakes:
    """Turns real tensors into fake CUDA ones; tensors of one storage stay tensors of one
    storage."""

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


def eager(
    stream: Stream,
    module: torch.nn.Module,
    inputs: tuple,
    context: Callable[[], Any] = contextlib.nullcontext,
    requires_grad: bool = False,
) -> Stream:
    """Runs the live module on fake CUDA tensors, the call within a separate context. What the
    context releases at its end, in a separate order, is reported in the order of birth."""

    def call(*args):
        with context():
            result = module(*args)
            length.append(len(stream.events))
        stream.events[length[0] :] = sorted(stream.events[length[0] :], key=lambda e: e.index)
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
    """Runs an archive in PyTorch's own interpreter on fake CUDA tensors, converted to a dtype first
    where one is given."""
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
