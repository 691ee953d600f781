"""Calls as data: tensors described by dtype, sizes, strides, offset and storage, before any
exists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(eq=False)
class Store:
    """A storage. Two descriptions with one Store are aliases."""

    nbytes: int
    device: str = "cuda"


@dataclass(eq=False)
class Ten:
    """A tensor's description."""

    dtype: torch.dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    store: Store


@dataclass(eq=False)
class Call:
    """One call of an operator, named as TorchScript names it, without overload."""

    op: str
    args: list[Any]
    kwargs: dict[str, Any] = field(default_factory=dict)
    fails: bool = False
    overload: str | None = None  # where the name alone does not lead to it


def contiguous_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    out, step = [], 1
    for n in reversed(sizes):
        out.append(step)
        step *= max(n, 1)
    return tuple(reversed(out))


def channels_last_strides(sizes: tuple[int, ...]) -> tuple[int, ...]:
    order = [1, *range(len(sizes) - 1, 1, -1), 0]
    out, step = [0] * len(sizes), 1
    for d in order:
        out[d] = step
        step *= max(sizes[d], 1)
    return tuple(out)


def span(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> int:
    """How many elements the storage must hold."""
    if 0 in sizes:
        return offset
    return offset + 1 + sum((n - 1) * s for n, s in zip(sizes, strides))


def strided(sizes, strides, offset=0, dtype=torch.float32, dev="cuda") -> Ten:
    sizes, strides = tuple(sizes), tuple(strides)
    n = span(sizes, strides, offset)
    return Ten(dtype, sizes, strides, offset, Store(n * dtype.itemsize, dev))


def t(*sizes, dtype=torch.float32, dev="cuda") -> Ten:
    return strided(sizes, contiguous_strides(sizes), 0, dtype, dev)


def cl(*sizes, dtype=torch.float32) -> Ten:
    """Channels last."""
    return strided(sizes, channels_last_strides(sizes), 0, dtype)


def f16(*sizes) -> Ten:
    return t(*sizes, dtype=torch.float16)


def bf16(*sizes) -> Ten:
    return t(*sizes, dtype=torch.bfloat16)


def f64(*sizes) -> Ten:
    return t(*sizes, dtype=torch.float64)


def i64(*sizes) -> Ten:
    return t(*sizes, dtype=torch.int64)


def i32(*sizes) -> Ten:
    return t(*sizes, dtype=torch.int32)


def u8(*sizes) -> Ten:
    return t(*sizes, dtype=torch.uint8)


def boo(*sizes) -> Ten:
    return t(*sizes, dtype=torch.bool)


def c64(*sizes) -> Ten:
    return t(*sizes, dtype=torch.complex64)


def cpu(*sizes, dtype=torch.float32) -> Ten:
    return t(*sizes, dtype=dtype, dev="cpu")


def perm(x: Ten, *dims: int) -> Ten:
    return Ten(x.dtype, tuple(x.sizes[d] for d in dims), tuple(x.strides[d] for d in dims), x.offset, x.store)


def tr(x: Ten, a: int = -2, b: int = -1) -> Ten:
    dims = list(range(len(x.sizes)))
    dims[a], dims[b] = dims[b], dims[a]
    return perm(x, *dims)


def sl(x: Ten, dim: int, start: int, stop: int, step: int = 1) -> Ten:
    sizes, strides = list(x.sizes), list(x.strides)
    sizes[dim] = (stop - start + step - 1) // step
    offset = x.offset + start * strides[dim]
    strides[dim] *= step
    return Ten(x.dtype, tuple(sizes), tuple(strides), offset, x.store)


def ex(x: Ten, *sizes: int) -> Ten:
    lead = len(sizes) - len(x.sizes)
    strides = [0] * lead + [0 if n == 1 and m != 1 else s for n, s, m in zip(x.sizes, x.strides, sizes[lead:])]
    return Ten(x.dtype, tuple(sizes), tuple(strides), x.offset, x.store)


def call(name: str, *args: Any, **kwargs: Any) -> Call:
    return Call(name if "::" in name else "aten::" + name, list(args), kwargs)


def exact(name: str, overload: str, *args: Any, **kwargs: Any) -> Call:
    """A call of an overload that the TorchScript compiler does not find from these arguments."""
    made = call(name, *args, **kwargs)
    made.overload = overload
    return made


def bad(name: str, *args: Any, **kwargs: Any) -> Call:
    """A call that PyTorch refuses."""
    made = call(name, *args, **kwargs)
    made.fails = True
    return made


def tensors(value: Any) -> list[Ten]:
    """Every tensor in a value, in order."""
    if isinstance(value, Ten):
        return [value]
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in tensors(v)]
    if isinstance(value, dict):
        return [x for v in value.values() for x in tensors(v)]
    return []
