"""Calls as lines of testdata/aten/README.md, made of described tensors."""

from __future__ import annotations

from typing import Any

from .spec import contiguous_strides

_DTYPES = {
    "f": "float32",
    "h": "float16",
    "b": "bfloat16",
    "d": "float64",
    "i": "int64",
    "?": "bool",
    "c": "complex64",
    "i32": "int32",
}


def last_strides(sizes: list[int]) -> list[int]:
    """Strides of channels last."""
    out, step = [0] * len(sizes), 1
    for d in [1, *range(len(sizes) - 1, 1, -1), 0]:
        out[d] = step
        step *= max(sizes[d], 1)
    return out


class Lines:
    def __init__(self) -> None:
        self.all: list[dict] = []
        self.sid = 0

    def call(self, key: str, *args: Any, **kwargs: Any) -> None:
        """aten::mm or aten::add.Tensor with arguments."""
        op, _, overload = key.partition(".")
        line: dict[str, Any] = {"op": op} | ({"overload": overload} if overload else {})
        self.sid = 0
        line["args"] = [self.value(a) for a in args]
        line["kwargs"] = {k: self.value(v) for k, v in kwargs.items()}
        self.all.append(line)

    def value(self, v: Any) -> Any:
        if isinstance(v, Tensor):
            self.sid += 1
            return v.line(self.sid - 1)
        if isinstance(v, (list, tuple)):
            return [self.value(x) for x in v]
        return v


class Tensor:
    def __init__(
        self, dtype: str, sizes: tuple[int, ...], strides: list[int] | None = None, offset: int = 0, host: bool = False
    ):
        self.dtype, self.sizes, self.strides, self.offset, self.host = dtype, list(sizes), strides, offset, host

    def line(self, sid: int) -> dict:
        out: dict[str, Any] = {"d": _DTYPES[self.dtype], "s": self.sizes}
        strides = self.strides or list(contiguous_strides(tuple(self.sizes)))
        if strides != list(contiguous_strides(tuple(self.sizes))):
            out["st"] = strides
        if self.offset:
            out["o"] = self.offset
        if self.host:
            out["dev"] = "cpu"
        out["sid"] = sid
        size = {"f": 4, "h": 2, "b": 2, "d": 8, "i": 8, "?": 1, "c": 8, "i32": 4}[self.dtype]
        numel = 1
        for n in self.sizes:
            numel *= n
        span = (self.offset + 1 + sum((n - 1) * s for n, s in zip(self.sizes, strides))) * size if numel else 0
        if span != numel * size:
            out["n"] = span
        return out


def f(*sizes: int, **kw: Any) -> Tensor:
    return Tensor("f", sizes, **kw)


def of(dtype: str, *sizes: int, **kw: Any) -> Tensor:
    return Tensor(dtype, sizes, **kw)


def last(dtype: str, *sizes: int) -> Tensor:
    return Tensor(dtype, sizes, last_strides(list(sizes)))
