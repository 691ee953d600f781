"""The marks: name to function. Each reads a mark's arguments (a ValueError there is the test's
error) and gives what judges a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, NamedTuple

from memshim import sizes
from memshim.gpu import where

METRICS = ("allocated", "reserved", "delta", "leaked")


class Limit(NamedTuple):
    """At most so many bytes, or a share of the device's memory."""

    metric: str
    text: str  # as written
    bytes: int
    share: Fraction | None = None

    def of(self, total: int) -> Limit:
        """On a device with that much memory."""
        return self if self.share is None else self._replace(bytes=int(self.share * total))


class Peaks(NamedTuple):
    """What a region took on one GPU, in bytes. delta is what it added to what was allocated before;
    leaked what of it is still there, held by no fixture; total the device's memory."""

    device: str
    allocated: int
    reserved: int
    delta: int
    leaked: int = 0
    total: int = 0


class Budget(NamedTuple):
    limits: tuple[Limit, ...]
    device: int | None = None

    def broken(self, peaks: Peaks) -> list[tuple[Limit, int]]:
        """Exactly at the limit passes."""
        return [
            (x, getattr(peaks, x.metric))
            for x in (x.of(peaks.total) for x in self.limits)
            if getattr(peaks, x.metric) > x.bytes
        ]

    def nothing(self) -> bool:
        """Whether it is kept only by code that takes nothing, or is of what stays: then such code
        is judged."""
        return all(x.metric == "leaked" or x.metric == "delta" and x.bytes == 0 and not x.share for x in self.limits)

    def wants(self, metric: str) -> bool:
        return any(x.metric == metric for x in self.limits)


def _limit(metric: str, value: str | int | float) -> Limit:
    if isinstance(value, str) and value.strip().endswith("%"):
        try:
            share = Fraction(value.strip()[:-1].strip()) / 100
        except (ValueError, ZeroDivisionError):
            share = Fraction(-1)
        if not 0 <= share <= 1:
            raise ValueError(f"got {value!r}, want 0% to 100% of the device's memory")
        return Limit(metric, value, 0, share)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return Limit(metric, str(value), sizes.parse(value))


def memory_budget(*args: Any, device: int | str | None = None, on: str = "", **limits: str | int | float) -> Budget:
    """memory_budget(allocated="1GiB", reserved="10%", delta=…, leaked=…, device=0, on="t4"): at
    most so much GPU memory while the test runs. on: in a separate process, where that GPU is
    pretended (separate_process.py)."""
    if args:
        raise ValueError(f"memory_budget: got {args[0]!r} without a metric, want {'=, '.join(METRICS)}=")
    unknown = [k for k in limits if k not in METRICS]
    if unknown:
        near = get_close_matches(unknown[0], METRICS, 1)
        meant = f", did you mean {near[0]}?" if near else ""
        raise ValueError(f"memory_budget: got the metric {unknown[0]!r}, want one of {', '.join(METRICS)}{meant}")
    if not limits and on:
        limits = {"reserved": "100%"}  # it must fit that GPU
    if not limits:
        raise ValueError(f"memory_budget: got no limit, want {'=, '.join(METRICS)}=")
    try:
        return Budget(tuple(_limit(k, v) for k, v in limits.items()), _index(device))
    except ValueError as e:
        raise ValueError(f"memory_budget: {e}") from None


def _index(device: int | str | None) -> int | None:
    if isinstance(device, int):
        return device
    at = where.parse(device)
    if at is not None and at.kind != "cuda":
        raise ValueError(f"got device {device!r}, want a GPU: a number or cuda:N")
    return at.index if at else None


def budget_of(text: str) -> Budget:
    """A budget as options and ini files write it: allocated=1GiB leaked=0."""
    words = dict(word.partition("=")[::2] for word in text.replace(",", " ").split())
    return memory_budget(**words)


def closest(budgets: Iterable[Budget]) -> list[Budget]:
    """Of the budgets of a test, the closest first: on each device the closest that names a metric
    decides it."""
    out: dict[int | None, dict[str, Limit]] = {}
    for b in budgets:
        mine = out.setdefault(b.device, {})
        for x in b.limits:
            mine.setdefault(x.metric, x)
    return [Budget(tuple(limits.values()), device) for device, limits in out.items()]


MARKS: dict[str, Callable[..., Budget]] = {"memory_budget": memory_budget}


def message(name: str, place: str, budget: Budget, peaks: Peaks, facts: dict[str, str]) -> str:
    """The account of a broken budget, as memspec check gives it. facts: what else is said of it, by
    what it is."""
    broken = budget.broken(peaks)
    limit, got = broken[0]
    over = got - limit.bytes
    percent = f" (+{100 * over / limit.bytes:.1f}%)" if limit.bytes else ""
    what = f"peak {limit.metric}" if limit.metric in ("allocated", "reserved") else limit.metric
    out = [
        f"FAIL {name} on {peaks.device}: {what} {sizes.show(got)}, budget {sizes.show(limit.bytes)}: over by "
        f"{sizes.show(over)}{percent}"
    ]
    for i, (x, n) in enumerate(broken):
        out.append(f"  budget     {place}  memory_budget({x.metric}={x.text!r}) ({x.bytes} B)")
        if i:
            out.append(f"             {x.metric} {sizes.show(n)}: over by {sizes.show(n - x.bytes)}")
    leaked = f", {peaks.leaked} B left behind" if budget.wants("leaked") else ""
    out.append(
        f"  {'pretended' if where.pretended() else 'measured '}  {peaks.reserved} B reserved, {peaks.allocated} B "
        f"allocated, {peaks.delta} B of it by the test{leaked}"
    )
    for title, text in facts.items():
        if "\n" in text or title.endswith(":"):
            out += [f"  {title}", *("    " + line for line in text.splitlines())] if text else []
        else:
            out.append(f"  {title:10} {text}")
    return "\n".join(out)
