"""Operators that choose among things by scores, or at random: of unknown scores the indices are
chosen within their range
(modes.spread)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from memshim.pretend.values.memory import host

if TYPE_CHECKING:
    from memshim.pretend.values.operators import Operator

Spread = Callable[[int, int, int], torch.Tensor]  # modes.spread: rows x k indices below n
Chosen = Iterator[tuple[torch.Tensor, torch.Tensor]]  # a tensor of the device, and what it holds

WIDEST = 1 << 40  # a wider range of random integers has no end that could be meant


def along(t: torch.Tensor, dim: int, spread: Spread, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """t holds indices of n things along its dimension dim: distinct there, where it holds no more
    than n."""
    rows = host(t).movedim(dim, -1) if t.dim() else host(t).view(1)
    k = rows.shape[-1]
    count = rows.numel() // k if k else 0
    chosen = spread(count, k, n) if k <= n else spread(rows.numel(), 1, n)
    return t, chosen.reshape(rows.shape).movedim(-1, dim) if t.dim() else chosen.view(())


def of_largest(op: Operator, spread: Spread, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Chosen:
    """topk, sort, kthvalue, max along a dimension and the like: (values, indices)."""
    scores, dim = args[0], op.argument(args, kwargs, "dim")
    if not isinstance(out, (tuple, list)) or len(out) != 2 or not isinstance(dim, int):
        return
    n = scores.shape[dim] if scores.dim() else 1
    if out[1].dim() == scores.dim() and out[1].shape[dim if scores.dim() else slice(0)] != 1:
        yield along(out[1], dim, spread, n)
    else:
        yield each(out[1], spread, n)


def each(t: torch.Tensor, spread: Spread, n: int, first: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Every element of t is one of n numbers from first on."""
    chosen = spread(t.numel(), 1, n)
    return t, (chosen + first if first else chosen).reshape(t.shape)


def of_extreme(op: Operator, spread: Spread, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Chosen:
    """argmax and argmin."""
    scores, dim = args[0], op.argument(args, kwargs, "dim")
    yield each(out, spread, scores.numel() if dim is None else scores.shape[dim] if scores.dim() else 1)


def of_place(op: Operator, spread: Spread, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Chosen:
    """searchsorted and bucketize: where in a sorted sequence a number belongs."""
    borders = op.argument(args, kwargs, "boundaries" if "bucketize" in op.name else "sorted_sequence")
    yield each(out, spread, borders.shape[-1] + 1 if borders.dim() else 2)


def of_sampled(op: Operator, spread: Spread, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Chosen:
    yield along(out, -1, spread, args[0].shape[-1])


def of_permutation(op: Operator, spread: Spread, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Chosen:
    if out.numel():
        yield along(out, 0, spread, out.shape[0])


def of_random(op: Operator, spread: Spread, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Chosen:
    """random_: numbers from `from` up to `to`."""
    if out.dtype is torch.bool:
        yield each(out, spread, 2)
    elif (upto := op.argument(args, kwargs, "to")) is not None:
        first = op.argument(args, kwargs, "from") or 0
        if 0 < upto - first <= WIDEST and not out.dtype.is_floating_point:
            yield each(out, spread, upto - first, first)


def of_coins(op: Operator, spread: Spread, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Chosen:
    if not out.dtype.is_floating_point:
        yield each(out, spread, 2)


def of_clamped(op: Operator, spread: Spread, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Chosen:
    """An unknown integer between two known ones."""
    low, high = op.argument(args, kwargs, "min"), op.argument(args, kwargs, "max")
    if type(low) is int and type(high) is int and low <= high and not out.dtype.is_floating_point:
        yield each(out, spread, high - low + 1, low)


BY_SCORES = {f"aten::{n}" for n in ("topk", "sort", "max", "min", "argmax", "argmin", "multinomial")}  # modes.route
EQUALITIES = {f"aten::{n}" for n in ("eq", "ne", "isin")}
MOST_EXPECTED = 64  # numbers that choices are compared with: the tokens that end a text

OF: dict[str, Callable[..., Chosen]] = {
    **{f"aten::{n}": of_largest for n in ("topk", "sort", "kthvalue", "max", "min", "median", "nanmedian", "mode")},
    **{f"aten::{n}": of_extreme for n in ("argmax", "argmin")},
    **{f"aten::{n}": of_place for n in ("searchsorted", "bucketize")},
    **{f"aten::{n}": of_coins for n in ("bernoulli", "bernoulli_")},
    **{f"aten::{n}": of_clamped for n in ("clamp", "clamp_")},
    "aten::multinomial": of_sampled,
    "aten::randperm": of_permutation,
    "aten::random_": of_random,
}
