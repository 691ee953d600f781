"""What a program under `memshim run` took, as JSON and as people read it."""

from __future__ import annotations

import re
import sys
from typing import Any

from memshim import sizes
from memshim.program import other_values
from memshim.program.process_reports import NO_REPORT

SCHEMA = 1


def report(code: int, processes: list[dict[str, Any]], words: list[str], on: list[str]) -> dict[str, Any]:
    """What --json writes. The first process is the program itself, where it reported anything."""
    used = [p for p in processes if p["devices"]]
    oom = next((p["out_of_memory"] for p in processes if p["out_of_memory"]), "")
    sure = all(d["total_range"]["high"] <= d["memory"] and not p["unsized"] for p in used for d in p["devices"])
    fits = False if oom else True if used and code == 0 and sure and not any(p["failed"] for p in processes) else None
    return {
        "schema": SCHEMA,
        "where": "pretend",
        "on": on,
        "program": words,
        "exit": code,
        "fits": fits,
        "out_of_memory": oom,
        "exact": all(p["exact"] for p in used),
        "processes": processes,
    }


def cut_short(found: dict[str, Any]) -> bool:
    """Whether a process failed for another reason than memory, so that its recording is of a part of
    the run."""
    return not found["out_of_memory"] and bool(found["exit"] or any(p["failed"] for p in found["processes"]))


def undecided(found: dict[str, Any]) -> bool:
    """Whether nobody can say if it fits; what uses no GPU and does not fail is no question."""
    return found["fits"] is None and any(p["devices"] or p["failed"] for p in found["processes"])


def text(found: dict[str, Any], name: str) -> str:
    """The report for people."""
    used = [p for p in found["processes"] if p["devices"]]
    if not used:
        why = "" if found["processes"] else ": torch was never imported"
        took = f"{name} took nothing of the pretend GPU{why}"
        if any(p["ended"] == NO_REPORT for p in found["processes"]):
            took = f"what {name} took of the pretend GPU is unknown"
        return "\n".join([f"memshim: {took}", *_failed(found, name), *_missing(found)])
    out, fits = [], other_values.fits(found)
    for p in used:
        who = name if len(used) == 1 else f"{name}, process {p['pid']} ({' '.join(p['arguments'][:2])})"
        for d in p["devices"]:
            failed = any(q["failed"] or q["out_of_memory"] for q in found["processes"])
            out += device_lines(who, p, d, failed, fits)
        out += host_lines(p) + notes(p)
    out += other_values.text(found)
    return "\n".join(out + _files(found) + _failed(found, name) + _missing(found))


FILES = 10  # that are named


def _files(found: dict[str, Any]) -> list[str]:
    """What the program wrote and would have sent: none of it holds computed values."""
    files = {f["path"]: f["bytes"] for p in found["processes"] for f in p["files"]}
    out = [
        f"  new file         {name} ({sizes.show(size)}); its tensors hold no computed values"
        for name, size in sorted(files.items())[:FILES]
    ]
    if len(files) > FILES:
        out.append(f"  new files        {len(files) - FILES} more; --json names all")
    held = [u for p in found["processes"] for u in p["kept_back"]]
    return out + (
        [f"  not pushed       {len(held)} calls to the Hub, the first: {held[0]}; --allow-writes sends them"]
        if held
        else []
    )


def _failed(found: dict[str, Any], name: str) -> list[str]:
    """The processes that failed beside a program that did not."""
    if found["exit"]:
        return []
    return [
        f"memshim: undecided: process {p['pid']} of {name}{_words(p)} {_ended(p)}"
        for p in found["processes"]
        if p["failed"]
    ]


def _words(p: dict[str, Any]) -> str:
    return f" ({' '.join(p['arguments'][:2])})" if p["arguments"] else ""


def _ended(p: dict[str, Any]) -> str:
    """How a process ended."""
    if p["ended"] == "still running":
        return "is still running"
    if p["ended"] == NO_REPORT:
        return "could not write its report"
    by = f" by {p['ended']}" if p["ended"] else ""
    return f"ended{by}" + (f" with {p['code']}" if p["code"] and p["code"] < 128 else "")


def _missing(found: dict[str, Any]) -> list[str]:
    """What ended a process and can be installed: last, below PyTorch's own pages about it."""
    return [f"memshim: {said}" for said in dict.fromkeys(p["missing"] for p in found["processes"]) if said]


def device_lines(who: str, process: dict[str, Any], d: dict[str, Any], failed: bool, fit: str) -> list[str]:
    """fit: what is said where the total is no more than the device has, by other_values.fits."""
    at = d["name"] + (f" {d['index']}" if d["index"] or len(process["devices"]) > 1 else "")
    if process["out_of_memory"] and d["ooms"]:
        verdict = f"does not fit: {_two_sentences(process['out_of_memory'])}"
    else:
        verdict = f"total {_total(d)} of {sizes.show(d['memory'])}"
        fits = (
            f"{fit}{_uncounted(process)}: "
            if d["total_range"]["high"] <= d["memory"]
            else "may not fit, as what "
            f"{'the driver and NCCL take' if d.get('nccl') else 'the driver takes'} is not known: "
        )
        verdict = (
            f"{_ended(process)}: " if process["ended"] or process["failed"] else "undecided: " if failed else fits
        ) + verdict
        if d["ooms"]:
            verdict += f"; memory ran out {d['ooms']} time{'s'[: d['ooms'] != 1]} and the program went on"
    out = [
        f"memshim: {who} on a pretend {at}: {verdict}",
        f"  peak             {sizes_text(d)}, total {_total(d)}"
        f" (of it {_span(*(d['total_range'][k] - d['reserved'] for k in ('low', 'high')))} outside of PyTorch's "
        f"allocator)",
    ]
    if nccl := d.get("nccl"):
        of = f"{nccl['communicators']} communicator{'s'[: nccl['communicators'] != 1]}"
        out.append(
            f"  NCCL             {_span(nccl['low'], nccl['high'])} of the total, for {of}"
            + ("; --nccl states it" if nccl["low"] != nccl["high"] else "")
        )
    if d.get("managed"):
        out.append(
            f"  managed          {sizes.show(d['managed'])} (cudaMallocManaged; it moves between the card and the "
            f"host, and is no part of the total)"
        )
    if d["lines"] is None:
        out.append("  no lines: these figures are the pretend GPU's own")
    steps = d["iterations"]
    # up to the last that compiled something
    first = 1 + max((i for i, s in enumerate(steps) if s.get("compiled")), default=0)
    if steps:
        name = f"first {first}" if first > 1 else "first iteration"
        out.append(f"  {name:<15}  {sizes_text(most(steps[:first]))}")
    if steps[first:]:
        many = len(steps) - first
        out.append(
            f"  steady           {sizes_text(most(steps[first:]))} (the most of {many} iteration{'s'[: many != 1]})"
        )
    return out + ["  " + line for line in d["table"].splitlines()]


def _uncounted(process: dict[str, Any]) -> str:
    """What the total lacks, as its size is not known: " without what is not known (cuSOLVER's workspace)"."""
    names = dict.fromkeys(c["name"].partition(": ")[0] for c in process["unsized"])
    return f" without what is not known ({', '.join(names)})" if names else ""


HOST_PINNED_SHOWN = 1 << 20  # bytes; a number that is read to the host pins a block of its size


def host_lines(process: dict[str, Any]) -> list[str]:
    """What a process took of the host, where it is known and at least 1 MiB."""
    if (process["host_pinned"] or 0) < HOST_PINNED_SHOWN:
        return []
    pinned = sizes.show(process["host_pinned"])
    return [f"  host pinned      {pinned} (the peak of page-locked memory of the host; no part of the total)"]


def _two_sentences(said: str) -> str:
    """What ran out and what was asked for. The rest of PyTorch's text stands in the program's own
    output."""
    return " ".join(re.split(r"(?<=\.) ", said)[:2])


def most(steps: list[dict[str, int]]) -> dict[str, int]:
    return {m: max(s[m] for s in steps) for m in ("allocated", "reserved")}


def _total(d: dict[str, Any]) -> str:
    return _span(d["total_range"]["low"], d["total_range"]["high"])


def _span(low: int, high: int) -> str:
    """11.83 GiB to 12.01 GiB."""
    return sizes.show(low) if low == high else f"{sizes.show(low)} to {sizes.show(high)}"


def sizes_text(peaks: dict[str, int]) -> str:
    return f"allocated {sizes.show(peaks['allocated'])}, reserved {sizes.show(peaks['reserved'])}"


def notes(process: dict[str, Any]) -> list[str]:
    """What makes the numbers less than exact."""
    from memshim.frames import shorten
    from memshim.pretend import gradients

    out = []
    for r in process["reads"]:
        place = f"{shorten(r['file'])}:{r['line']} ({r['function']})" if r["file"] else r["function"]
        # a library's, several of which may be behind one line
        if r["inner"] and r["inner"] != f"{r['file']}:{r['line']}":
            place += f", in {shorten(r['inner'])}"
        given = f"read as {r['given'] or 'zero'}" if r["assumed"] is None else f"assumed to be {r['assumed']}"
        out.append(
            f"  value-read: {place}: {r['op']} read {r['count']} value{'s'[: r['count'] != 1]} that no kernel "
            f"computed, {given}"
        )
    for t in process["timed"]:
        place = f"{shorten(t['file'])}:{t['line']}: " if t["file"] else ""
        out.append(f"  timing-decides: {place}on a card a measured time decides {t['what']} (×{t['count']})")
    if process.get("without_gradient"):
        out.append("  gradient-missing: " + gradients.Missing(**process["without_gradient"]).text())
    for kind, what in (
        ("refused", "is not emulated, and failed"),
        ("unsized", "is emulated, but what it takes of the device is not known"),
    ):
        out += [f"  {kind}: {c['name']} {what} ({c['count']} call{'s'[: c['count'] != 1]})" for c in process[kind]]
    out += [f"  {c['name']}" for c in process.get("estimated", ())]
    return out


def name_of(words: list[str]) -> str:
    """What people call the program."""
    rest = words[1:] if words[0] == sys.executable else words
    return {"-m": " ".join(rest[:2]), "-c": "python -c"}.get(rest[0], rest[0])
