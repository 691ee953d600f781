"""What memshim advise found, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memshim import sizes

if TYPE_CHECKING:
    from memshim.judge.advise import Advice, Trial


def as_json(a: Advice) -> dict[str, Any]:
    return {
        "schema": 1,
        "case": a.case["name"],
        "device": a.case["device"]["name"],
        "runs": a.runs,
        "base": _figures(a.base),
        "advice": [_row(a.base, t) for t in a.single],
        "together": [_row(a.base, t) for t in a.together],
        "not_installed": a.absent,
        "failed": [{"what": t.what, "lines": t.lines, "why": t.why} for t in a.failed],
    }


def _figures(t: Trial) -> dict[str, Any]:
    return {"allocated": t.allocated, "reserved": t.reserved, "kept": t.kept, "ran_out": t.ran_out}


def _row(base: Trial, t: Trial) -> dict[str, Any]:
    return {
        "what": t.what,
        "kinds": [r.kind for r in t.remedies],
        "lines": t.lines,
        "code": [r.code for r in t.remedies],
        **_figures(t),
        "saved": {"allocated": base.allocated - t.allocated, "reserved": base.reserved - t.reserved},
        "gpus": max(r.gpus for r in t.remedies),
        "paid": dict(zip(("blocks", "bytes"), more)) | t.work(base) if (more := t.more(base)) else None,
    }


def text(a: Advice) -> str:
    """A table of what was run, what saves most first, and the lines to write."""
    base = a.base
    budgets = ", ".join(f"{b['metric']} {b['text'] or sizes.show(b['limit'])}" for b in a.case["budgets"])
    ended = "runs out of memory at " if base.ran_out else ""
    out = [
        f"{a.case['name']} on {a.case['device']['name']}: {ended}allocated {sizes.show(base.allocated)}, "
        f"reserved {sizes.show(base.reserved)}; {_limit(budgets, base.kept)}"
    ]
    order = [*sorted(a.single, key=lambda t: (t.load, t.what)), *a.together]
    if not order:
        return "\n".join([*out, "  nothing could be tried", *_failures(a)])
    rows = [("kept", "allocated", "saved", "reserved", "saved", "more per step", "change")]
    for t in order:
        rows.append(
            (
                "ran out" if t.ran_out else t.kept,
                sizes.show(t.allocated),
                _signed(base.allocated - t.allocated),
                sizes.show(t.reserved),
                _signed(base.reserved - t.reserved),
                _paid(base, t),
                t.what,
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [c.rjust(w) if 0 < i < 5 else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))]
        out.append("  " + "  ".join(cells).rstrip())
    out.append(f"  {a.runs} changes were run on a pretend GPU. What to write:")
    for r in dict.fromkeys(r for t in order for r in t.remedies):
        out += [f"    {r.what}", *(f"      memspec.yaml  {line}" for line in r.lines)]
        out += [f"      program       {code}" for code in r.code.splitlines()]
    out.append("  The recordings of these runs stay in .memspec/; memspec prune removes those of no case.")
    return "\n".join([*out, *_failures(a)])


def _limit(budgets: str, kept: str) -> str:
    wanted = f"the budget {budgets}" if budgets else "the card"
    return {"yes": f"{wanted} is kept", "no": f"{wanted} is not kept"}.get(
        kept, f"whether {wanted} is kept is not known"
    )


def _signed(n: int) -> str:
    return sizes.show(n) if n else "0"


def _paid(base: Trial, t: Trial) -> str:
    """What the last pass does more or less than before: +24 operators, +48 blocks, +96.0 MiB."""
    more = t.more(base)
    if more is None:
        return "not known"
    blocks, size = more
    work = t.work(base)
    parts = [f"{n:+} operators" for n in [work.get("operators")] if n]
    parts += [f"{blocks:+} blocks, {_more(size)}"] if blocks or size else []
    parts += [f"{_more(n)} copied" for n in [work.get("copied")] if n]
    if n := work.get("collectives"):
        parts.append(f"{n:+} collectives of {sizes.show(work['communicated'])}")
    return ", ".join(parts) or "the same"


def _more(size: int) -> str:
    return f"{'+' if size >= 0 else ''}{sizes.show(size)}"


def _failures(a: Advice) -> list[str]:
    lines = [f"  failed: {t.what}: {t.why}" for t in a.failed]
    return [*lines, *([f"  {a.absent}"] if a.absent else [])]
