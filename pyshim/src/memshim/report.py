"""Predicted against measured: the table, and what it comes to."""

from __future__ import annotations

import re
from typing import NamedTuple

from memshim import record, sizes

JUDGED = ("allocated", "reserved")  # the peaks that must agree
NAMES = {"baseline": "baseline", "first": "first pass", "steady": "steady pass"}


class Row(NamedTuple):
    what: str  # "first pass allocated"
    predicted: int
    measured: int

    @property
    def difference(self) -> int:
        return self.measured - self.predicted


class Finding(NamedTuple):
    """A budget, or the agreement, that does not hold."""

    metric: str
    text: str
    level: str  # fail, warn
    under: bool = False  # predicted too little: the worse kind of disagreement


class Comparison(NamedTuple):
    case: str
    device: str
    rows: list[Row]
    findings: list[Finding]

    @property
    def outcome(self) -> str:
        levels = {f.level for f in self.findings}
        return "fail" if "fail" in levels else "warn" if levels else "pass"


def why_not(case: dict, measured: dict) -> str:
    """Why a record cannot be held against a case's prediction; empty where it can."""
    if measured["where"] != "cuda":
        return "measured on CPU tensors: no allocator to compare with"
    parts = [why_other_device(case, measured["device"]), _why_other_torch(case, measured["torch"])]
    parts += [f"{k} {measured[k]!r}, the case says {case[k]!r}" for k in record.FROM_CASE if k not in ("artifact", "source") and measured[k] != case[k]]
    if case["runtime"] and measured["runtime"] != case["runtime"]:
        parts.append(f"runtime {measured['runtime']}, the case says {case['runtime']}")
    parts = [p for p in parts if p]
    return "measured with " + "; ".join(parts) if parts else ""


def why_other_device(case: dict, device: dict) -> str:
    """A GPU is the case's if compute capability and memory agree; drivers report memory a little differently."""
    wanted = case["device"]
    same = wanted["compute_capability"] == device["compute_capability"] and (
        not wanted["memory"] or abs(wanted["memory"] - device["total"]) <= 0.04 * wanted["memory"])
    return "" if same else f"{device['name']}, the case is for {wanted['name']}"


def _why_other_torch(case: dict, torch: str) -> str:
    wanted = case["torch"].split(".")
    got = re.match(r"[\d.]*", torch).group().split(".")
    return "" if got[: len(wanted)] == wanted else f"torch {torch}, the case says {case['torch']}"


def value(measured: dict, metric: str) -> int | None:
    """A budget's metric as measured; None where it was not."""
    if metric == "weights":
        return measured["weights"]
    peak = record.peak(measured, "reserved" if metric == "total" else "allocated" if metric == "delta" else metric)
    if metric == "delta":
        base = measured["phases"][0]["allocated"]
        return None if peak is None or base is None else peak - base
    if metric == "total":
        return None if peak is None or measured["context"] is None else peak + measured["context"]
    return peak


def compare(case: dict, predicted: dict, measured: dict) -> Comparison:
    """case as memspec cases tells it, predicted as memspec check reports it."""
    before = {"baseline": predicted["baseline"], **{p["name"]: p["peak"] for p in predicted["passes"]}}
    rows = [Row(f"{NAMES[p['name']]} {m}", before[p["name"]][m], p[m])
            for m in ("requested", *JUDGED) for p in measured["phases"] if p["name"] in before]
    findings = []
    if measured["oom"]:
        findings.append(Finding("reserved", f"out of memory in the {NAMES[measured['oom']['phase']]}: {measured['oom']['text']}", "fail"))
    for b in case["budgets"]:
        got = value(measured, b["metric"])
        if got is not None and got > b["limit"]:
            findings.append(Finding(b["metric"], f"measured {b['metric']} {sizes.show(got)}, budget {sizes.show(b['limit'])} ({b['spec']}): over by "
                                    f"{sizes.show(got - b['limit'])}{percent(got - b['limit'], b['limit'])}", b["level"]))
    for m in JUDGED:
        want, got = predicted["peak"][m], record.peak(measured, m)
        if abs(got - want) > case["tolerance"] * want:
            kind = "under-estimated" if got > want else "over-estimated"
            findings.append(Finding(m, f"measured {m} {sizes.show(got)}, predicted {sizes.show(want)}: {kind} by {sizes.show(abs(got - want))}"
                                    f"{percent(got - want, want)}, tolerance {case['tolerance']:.3g}", "fail", got > want))
    return Comparison(case["name"], f"{measured['device']['name']}, torch {measured['torch']}", rows, findings)


def percent(part: int, whole: int) -> str:
    return f" ({100 * part / whole:+.1f}%)" if whole else ""


def table(c: Comparison) -> str:
    """The account of one comparison; the worse kind of difference is marked."""
    head = f"{c.outcome.upper()} {c.case} measured on {c.device}"
    out = [head + (f": {c.findings[0].text}" if c.findings else "")]
    out += [f"  {f.text}" for f in c.findings[1:]]
    cells = [("", "predicted", "measured", "difference")]
    for r in c.rows:
        mark = "  UNDER-ESTIMATED" if r.difference > 0 else ""
        cells.append((r.what, f"{r.predicted} B", f"{r.measured} B", f"{r.difference:+d} B{percent(r.difference, r.predicted)}{mark}"))
    widths = [max(len(row[i]) for row in cells) for i in range(3)]
    out += ["  " + "  ".join([row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2]), row[3]]) for row in cells]
    return "\n".join(out)


def cpu_line(measured: dict) -> str:
    """What a record on CPU tensors may say."""
    peaks = ", ".join(f"{NAMES[p['name']]} {sizes.show(p['requested'])}" for p in measured["phases"])
    return f"RECORDED {measured['case']} on CPU tensors (no GPU): {peaks}; never compared with the allocator's numbers"
