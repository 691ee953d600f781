"""Whole numbers that remember the expression over a config's fields that they were computed by."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class Sym(int):
    """An int with the text of the expression that it comes from."""

    expr: str

    def __new__(cls, value: int, expr: str) -> Sym:
        new = int.__new__(cls, value)
        new.expr = expr
        return new

    def __deepcopy__(self, memo: object) -> Sym:
        return self

    def __copy__(self) -> Sym:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (Sym, (int(self), self.expr))

    def __int__(self) -> int:
        return self

    def __index__(self) -> int:
        return int.__int__(self)

    def __hash__(self) -> int:
        return int.__hash__(self)

    def __neg__(self) -> Sym:
        return Sym(-int.__int__(self), f"-{wrapped(self)}")


class SymFloat(float):
    """A float with the text of the expression that it comes from; int() of it is a Sym."""

    expr: str

    def __new__(cls, value: float, expr: str) -> SymFloat:
        new = float.__new__(cls, value)
        new.expr = expr
        return new

    def __deepcopy__(self, memo: object) -> SymFloat:
        return self

    def __int__(self) -> int:
        return Sym(float.__int__(self), f"int({self.expr})")

    __trunc__ = __int__


def wrapped(value: object) -> str:
    """The text of an operand, in parentheses where it is not one word."""
    if isinstance(value, Sym | SymFloat):
        text = value.expr
        return (
            text
            if text.replace(".", "").replace("_", "").isalnum() or text.endswith(")") and is_call(text)
            else f"({text})"
        )
    return repr(value)


def is_call(text: str) -> bool:
    return isinstance(ast.parse(text, mode="eval").body, ast.Call)


def binary(sign: str, compute: Callable[[Any, Any], Any], swapped: bool) -> Callable[[Any, Any], Any]:
    def run(self: Any, other: Any) -> Any:
        if isinstance(other, bool) or not isinstance(other, int | float):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        plain = [int.__int__(x) if isinstance(x, int) else float.__add__(x, 0.0) for x in (a, b)]
        value = compute(*plain)
        text = f"{wrapped(a)} {sign} {wrapped(b)}"
        return Sym(value, text) if isinstance(value, int) else SymFloat(value, text)

    return run


OPERATORS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": ("+", lambda a, b: a + b),
    "sub": ("-", lambda a, b: a - b),
    "mul": ("*", lambda a, b: a * b),
    "floordiv": ("//", lambda a, b: a // b),
    "truediv": ("/", lambda a, b: a / b),
    "mod": ("%", lambda a, b: a % b),
    "pow": ("**", lambda a, b: a**b),
}
for name, (sign, compute) in OPERATORS.items():
    for kind in (Sym, SymFloat):
        setattr(kind, f"__{name}__", binary(sign, compute, False))
        setattr(kind, f"__r{name}__", binary(sign, compute, True))


class IntType(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, int)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, int)


class SymbolicInt(int, metaclass=IntType):
    """Used as int in the modules of models, so that int(x) keeps the expression of x."""

    def __new__(cls, value: Any = 0, *args: Any) -> Any:
        if isinstance(value, SymFloat):
            return value.__int__()
        if isinstance(value, Sym):
            return value
        return int(value, *args)


def dims_of(size: tuple[Any, ...]) -> tuple[str, ...] | None:
    flat = size[0] if len(size) == 1 and isinstance(size[0], list | tuple | torch.Size) else size
    if not all(isinstance(d, int) for d in flat):
        return None
    return tuple(d.expr if isinstance(d, Sym) else str(d) for d in flat)


FACTORIES = {torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn, torch.full}
EXPANDS = {torch.Tensor.expand, torch.Tensor.view, torch.Tensor.reshape, torch.Tensor.repeat}


class Shapes(TorchFunctionMode):
    """Remembers, by storage and rank, the expressions of the sizes that tensors were made with."""

    def __init__(self) -> None:
        super().__init__()
        self.dims: dict[tuple[int, int], tuple[str, ...]] = {}
        self.kept: list[torch.Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if isinstance(out, torch.Tensor) and out.is_meta and (dims := self.made(func, args, kwargs, out)) is not None:
            self.dims[out.untyped_storage()._cdata, out.dim()] = dims
            self.kept.append(out)
        return out

    def made(self, func: Any, args: Any, kwargs: Any, out: torch.Tensor) -> tuple[str, ...] | None:
        """The sizes of a result, where its arguments say them."""
        if func in FACTORIES:
            return dims_of((kwargs["size"],) if "size" in kwargs else args[:1] if func is torch.full else args)
        if func is torch.arange and args:
            ends = [x.expr if isinstance(x, Sym) else str(x) for x in args[:2]]
            if not any(isinstance(x, Sym) for x in args) or len(args) > 2:
                return None
            return (ends[0],) if len(ends) == 1 or ends[0] == "0" else (f"({ends[1]}) - {wrapped(args[0])}",)
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        if func in EXPANDS and tensors:
            sizes = args[1] if len(args) == 2 and isinstance(args[1], list | tuple | torch.Size) else args[1:]
            before = self.of(tensors[0])
            behind = ("1",) * (len(sizes) - len(before)) + before
            if func is torch.Tensor.expand:
                return tuple(
                    behind[k] if s == -1 else s.expr if isinstance(s, Sym) else str(int(s)) for k, s in enumerate(sizes)
                )
            if func is torch.Tensor.repeat:
                return tuple(
                    d if s == 1 else f"{s.expr if isinstance(s, Sym) else s} * ({d})"
                    for d, s in zip(behind, sizes, strict=True)
                )
            return dims_of(args[1:]) if all(isinstance(s, int) and s >= 0 for s in sizes) else None
        for tensor in tensors:
            if tensor.shape == out.shape and self.known(tensor):
                return self.of(tensor)
        return None

    def known(self, t: torch.Tensor) -> bool:
        return (t.untyped_storage()._cdata, t.dim()) in self.dims

    def of(self, t: torch.Tensor) -> tuple[str, ...]:
        """The expressions of a tensor's sizes; the sizes themselves where none are known."""
        return self.dims.get((t.untyped_storage()._cdata, t.dim())) or tuple(str(int(d)) for d in t.shape)
