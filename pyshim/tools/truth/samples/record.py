"""One call on fake CUDA tensors: the leaves it dispatches, the storages it makes and drops."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from . import encode
from .resolve import overload
from .spec import Call, Ten, contiguous_strides

# Questions about a tensor, not operators of the model.
QUESTIONS = ("prim.device.default", "aten.sym_", "aten.is_", "aten.size.", "aten.stride.")


# With cuDNN these ask for a driver: they run on PyTorch's own cells instead.
NO_CUDNN = {"aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu"}


class Refused(Exception):
    """PyTorch does not run this call on fake CUDA tensors."""


class Log(TorchDispatchMode):
    """Numbers storages in order of appearance and notes their births, deaths and growth."""

    def __init__(self) -> None:
        super().__init__()
        self.leaves: list[str] = []
        self.events: list[list] = []
        self.cpu: list[list] = []
        self.numbers: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        self.finalizers: list[Any] = []
        self.open = True

    def sid(self, x: torch.Tensor) -> int:
        return self.numbers[x.untyped_storage()._cdata]

    def known(self, x: torch.Tensor) -> bool:
        return x.untyped_storage()._cdata in self.numbers

    def take(self, x: torch.Tensor) -> int:
        """Number a storage; a known one keeps its number."""
        storage = x.untyped_storage()
        key = storage._cdata
        if key not in self.numbers:
            sid = len(self.sizes)
            self.numbers[key] = sid
            self.sizes[sid] = storage.nbytes()
            end = weakref.finalize(storage, self.dead, key, sid, self.stream(x))
            end.atexit = False
            self.finalizers.append(end)
        return self.numbers[key]

    def stream(self, x: torch.Tensor) -> list[list]:
        return self.events if x.fake_device.type == "cuda" else self.cpu

    def dead(self, key: int, sid: int, stream: list[list]) -> None:
        self.numbers.pop(key, None)
        if self.open and self.sizes[sid]:
            stream.append(["f", sid])

    def grown(self, x: torch.Tensor) -> None:
        """resize_ and its like change a storage in place."""
        sid, nbytes = self.sid(x), x.untyped_storage().nbytes()
        if nbytes != self.sizes[sid]:
            self.sizes[sid] = nbytes
            self.stream(x).append(["r", nbytes, sid])

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if not str(func).startswith(QUESTIONS):
            self.leaves.append(str(func))
        for x in tree_flatten(result)[0]:
            if isinstance(x, FakeTensor) and not self.known(x):
                sid = self.take(x)
                if self.sizes[sid]:
                    self.stream(x).append(["a", self.sizes[sid], sid])
        for x in tree_flatten((args, kwargs))[0]:
            if isinstance(x, FakeTensor) and self.known(x):
                self.grown(x)
        return result


class Build:
    """Descriptions to fake tensors; one Store becomes one storage."""

    def __init__(self) -> None:
        self.bases: dict[int, torch.Tensor] = {}

    def value(self, v: Any) -> Any:
        if isinstance(v, Ten):
            return self.tensor(v)
        if isinstance(v, (list, tuple)):
            return [self.value(x) for x in v]
        return v

    def tensor(self, x: Ten) -> torch.Tensor:
        key = id(x.store)
        plain = x.offset == 0 and x.strides == contiguous_strides(x.sizes)
        if key not in self.bases:
            n = x.store.nbytes // x.dtype.itemsize
            numel = 1
            for s in x.sizes:
                numel *= s
            if plain and numel == n:
                self.bases[key] = torch.empty(x.sizes, dtype=x.dtype, device=x.store.device)
                return self.bases[key]
            self.bases[key] = torch.empty(n, dtype=x.dtype, device=x.store.device)
        base = self.bases[key]
        if base.dtype != x.dtype:
            base = base.view(x.dtype)
        return base.as_strided(x.sizes, x.strides, x.offset)


def operator(op: str, name: str):
    namespace, base = op.split("::")
    packet = getattr(getattr(torch.ops, namespace), base)
    return getattr(packet, name or "default")


def written(func) -> list[bool]:
    """For each argument of the schema, whether the call may change it."""
    return [a.alias_info is not None and a.alias_info.is_write for a in func._schema.arguments]


def record(call: Call) -> dict:
    """The line of testdata for a call. Raises Refused or resolve.Unresolved."""
    name = overload(call)
    func = operator(call.op, name)
    line: dict[str, Any] = {"op": call.op}
    if name:
        line["overload"] = name
    with FakeTensorMode(), torch.no_grad():
        build = Build()
        args, kwargs = build.value(call.args), {k: build.value(v) for k, v in call.kwargs.items()}
        log = Log()
        given = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
        for x in given:
            log.take(x)
        line["args"] = encode.value(args, log.sid)
        line["kwargs"] = {k: encode.value(v, log.sid) for k, v in kwargs.items()}
        if call.op in NO_CUDNN:
            line["backend"] = "native"
        wide, named = broadcast(func, args, kwargs)
        try:
            with log, torch.backends.cudnn.flags(enabled=call.op not in NO_CUDNN):
                result = STAND_INS.get((call.op, name), func)(*wide, **named)
        except Exception as e:  # what PyTorch raises here is of many types
            log.open = False
            if call.fails:
                line["error"] = True
                return line
            raise Refused(
                f"{type(e).__name__}: {str(e).strip().splitlines()[0][:160] if str(e).strip() else ''}"
            ) from None
        if call.fails:
            raise Refused("got a result, want an error")
        before = len(log.events)
        gc.collect()
        if len(log.events) != before:
            line["cycle"] = True
        log.open = False
        for x in tree_flatten(result)[0]:
            if isinstance(x, torch.Tensor):
                if not log.known(x):
                    raise Refused("a result that no dispatched operator returned")
        line["outs"] = outs(result, log)
        after = changed(func, args, kwargs, log)
        if after:
            line["after"] = after
        line["events"] = log.events
        if log.cpu:
            line["cpu_events"] = log.cpu
        line["leaves"] = log.leaves
        for end in log.finalizers:
            end.detach()
    return line


def to_device(self, device=None, dtype=None, non_blocking=False, copy=False):
    """aten::to.prim_Device without its check that the device is there."""
    return torch.ops.aten.to.dtype_layout(self, device=device, dtype=dtype, non_blocking=non_blocking, copy=copy)


# The real one asks for a driver.
STAND_INS = {("aten::to", "prim_Device"): to_device}


def broadcast(func, args: list, kwargs: dict) -> tuple[list, dict]:
    """One int where the schema says int[2] means two of them; Python's binding leaves that to
    TorchScript."""
    arguments = func._schema.arguments
    sized = {a.name: a.N for a in arguments if a.N}

    def fit(name: str, v: Any) -> Any:
        return [v] * sized[name] if name in sized and type(v) is int else v

    return [fit(a.name, v) for a, v in zip(arguments, args)], {k: fit(k, v) for k, v in kwargs.items()}


def outs(result: Any, log: Log) -> list:
    if result is None:
        return []
    if isinstance(result, tuple):
        return [encode.value(x, log.sid) for x in result]
    return [encode.value(result, log.sid)]


def changed(func, args, kwargs, log: Log) -> dict:
    """The metadata after the call of the arguments it may write to, by the schema's names."""
    out = {}
    for i, (arg, writes) in enumerate(zip(func._schema.arguments, written(func))):
        if not writes:
            continue
        v = args[i] if i < len(args) else kwargs.get(arg.name)
        if v is not None:
            for x in tree_flatten(v)[0]:
                log.take(x)
            out[arg.name] = encode.value(v, log.sid)
    return out
