"""A few calls that differ, out of many that do not."""

from __future__ import annotations

from typing import Any

from .spec import Call, Ten, contiguous_strides

# More of the larger tensors would say nothing new.
MAX_ELEMENTS = 1 << 22


def shape_of(x: Ten) -> str:
    """What kind of layout a tensor has."""
    if x.strides == contiguous_strides(x.sizes):
        kind = "dense"
    elif 0 in x.strides:
        kind = "expanded"
    elif list(x.strides) != sorted(x.strides, reverse=True):
        kind = "permuted"
    else:
        kind = "gaps"
    return kind + ("+offset" if x.offset else "") + ("+empty" if 0 in x.sizes else "")


def facts(where: str, v: Any) -> set[str]:
    """What a value shows, each under its argument's place."""
    if isinstance(v, Ten):
        ones = "one" if 1 in v.sizes else ""
        return {
            f"{where} rank {len(v.sizes)}",
            f"{where} {v.dtype}",
            f"{where} {shape_of(v)} {ones}",
            f"{where} {v.store.device}",
        }
    if isinstance(v, (list, tuple)):
        out = {f"{where} list of {min(len(v), 4)}"}
        for x in v:
            out |= facts(where + "[]", x)
        return out
    if isinstance(v, bool) or v is None or isinstance(v, str):
        return {f"{where} {v!r}"}
    if isinstance(v, int):
        return {f"{where} int {max(-3, min(v, 4))}"}
    if isinstance(v, float):
        return {f"{where} float {'>' if v > 0 else '<='}0"}
    return {f"{where} {v!r}"}


def all_facts(call: Call, overload: str) -> set[str]:
    out = {f"overload {overload}"}
    for i, a in enumerate(call.args):
        out |= facts(f"{overload} {i}", a)
    for k, v in call.kwargs.items():
        out |= facts(f"{overload} {k}", v) | {f"{overload} {k} given"}
    out.add(f"{overload} {len(call.args)} positional")
    return out


def order(calls: list[tuple[Call, str]]) -> list[Call]:
    """The calls, each next one showing the most that none before it showed; ties in the given
    order."""
    left = [(c, all_facts(c, o)) for c, o in calls]
    seen: set[str] = set()
    out: list[Call] = []
    while left:
        best = max(range(len(left)), key=lambda i: (len(left[i][1] - seen), -i))
        c, f = left.pop(best)
        if out and not f - seen:
            break
        seen |= f
        out.append(c)
    return out
