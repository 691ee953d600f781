"""A program under `memshim run`, repeated with other values in the place of those that it read and
no kernel computed: what it takes at both ends."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memshim import sizes
from memshim.case import compare_values
from memshim.files import temporary_folder
from memshim.frames import shorten
from memshim.pretend.device import Device
from memshim.pretend.value_reads import VALUES
from memshim.program import launch, process_reports
from memshim.program.observe import WANTED


def lines(found: Mapping[str, Any]) -> list[str]:
    """The lines that read values on which memory may depend, as far as one run shows."""
    out = []
    for p in found["processes"]:
        for r in p["reads"]:
            if r["assumed"] is None:
                out.append(f"{shorten(r['file'])}:{r['line']} ({r['function']})" if r["file"] else r["function"])
    return list(dict.fromkeys(out))


def repeat(
    words: list[str], environ: Mapping[str, str], values: str, cards: list[Device], record: str = ""
) -> tuple[dict[str, Any], list[bytes]]:
    """The program once more, without its output: how it ended, and the peaks of each device of each
    process, in order.

    With the path where the program's recording is to lie also the run's recordings, in the order of
    recorded().
    """
    with temporary_folder("memshim-run-") as folder:
        wanted = json.dumps(json.loads(environ[WANTED]) | {"folder": str(folder), "top": 1, "record": record})
        pid, statuses = launch.run(
            words, {**environ, WANTED: wanted, process_reports.FIGURES: str(folder), VALUES: values}, quiet=True
        )
        reports = process_reports.ranges(process_reports.read(folder, pid, statuses), cards)
        recordings = [f.read_bytes() for f in recorded(folder, pid)]
    code = 128 - statuses[pid] if statuses[pid] < 0 else statuses[pid]
    sure = all(d["total_range"]["high"] <= d["memory"] and not p["unsized"] for p in reports for d in p["devices"])
    fits = False if any(p["out_of_memory"] for p in reports) else True if sure else None
    return {
        "values": values,
        "exit": code,
        "fits": fits,
        "failed": bool(code) and fits is not False or any(p["failed"] and not p["out_of_memory"] for p in reports),
        "peaks": peaks(reports),
    }, recordings


def recorded(folder: Path, pid: int) -> list[Path]:
    """The recordings that processes left in a folder: one for each device of each process, the
    program's own first."""
    return sorted(
        folder.glob("*.rec"), key=lambda f: (int(f.name.split(".")[0]) != pid, [int(n) for n in f.name.split(".")[:2]])
    )


def merged(data: list[bytes], found: Mapping[str, Any], ends: list[tuple[dict[str, Any], list[bytes]]]) -> list[bytes]:
    """Recordings with what the runs with other values came to, as a capture keeps it.

    found has the reads of the processes that the recordings are of, in the same order; ends has the
    runs with their recordings.
    """
    of = [p for p in found["processes"] for _ in p["devices"]]
    if found["values"] != compare_values.BALANCED or len(of) != len(data):
        return data
    out = []
    for i, (one, process) in enumerate(zip(data, of, strict=True)):
        runs = []
        for end, recordings in ends:
            failed = f"ended with {end['exit']}" if end["failed"] or len(recordings) != len(data) else ""
            runs.append(
                compare_values.Run(
                    end["values"], None if failed else compare_values.Parts(recordings[i]), failed=failed
                )
            )
        out.append(compare_values.merge(one, compare_values.Reads([_read(r) for r in process["reads"]]), runs))
    return out


def _read(r: Mapping[str, Any]) -> dict[str, Any]:
    why = (
        "a loop that ends by such a value"
        if r.get("endless")
        else ""
        if r.get("bounded", True)
        else "an integer of no known range"
    )
    return {
        "file": shorten(r["file"]) if r["file"] else "",
        "line": r["line"],
        "function": r["function"],
        "varied": r.get("varied", True) and r["assumed"] is None,
        "open": why,
    }


def peaks(reports: list[dict[str, Any]]) -> list[dict[str, int]]:
    return [{m: d[m] for m in ("allocated", "reserved", "total")} for p in reports for d in p["devices"]]


def judge(found: dict[str, Any], ends: list[dict[str, Any]]) -> None:
    """What the figure is worth: exact, an estimate, or a bound with two ends. The ends stand beside
    it."""
    read, own = lines(found), peaks(found["processes"])
    unvaried = any(r["assumed"] is None and not r.get("varied", True) for p in found["processes"] for r in p["reads"])
    if ends:
        found["ends"] = ends
    if not read:
        found["quality"] = "exact" if found["exact"] else "estimate"
    elif not ends or unvaried or any(e["failed"] for e in ends) or _open(found):
        found["quality"] = "estimate"
    elif any(e["peaks"] != own or e["fits"] is False for e in ends):
        found["quality"] = "bound"
    else:
        others = any(p["timed"] or p["unsized"] or p.get("estimated") for p in found["processes"])
        found["quality"] = "estimate" if others else "exact"


def _open(found: Mapping[str, Any]) -> bool:
    return any(
        r["assumed"] is None and (r.get("endless") or not r.get("bounded", True))
        for p in found["processes"]
        for r in p["reads"]
    )


def text(found: Mapping[str, Any]) -> list[str]:
    """What people read of it."""
    read, ends = lines(found), found.get("ends")
    if not read or not any(p["devices"] for p in found["processes"]):
        return []
    if not ends:
        named = ", ".join(read[:4]) + (f", {len(read) - 4} more" if len(read) > 4 else "")
        return [
            f"  estimate         values that no kernel computed may decide, read at {named}; --check-values runs it "
            f"with others"
        ]
    own = peaks(found["processes"])
    if found["quality"] == "exact":
        return ["  values           with other values the peaks are the same"]
    out = []
    for e in ends:
        if e["failed"]:
            out.append(f"  values {e['values']:9} ended with {e['exit']}: no end is known")
        elif e["fits"] is False:
            out.append(f"  values {e['values']:9} does not fit")
        else:
            out += [
                f"  values {e['values']:9} allocated {sizes.show(p['allocated'])}, reserved {sizes.show(p['reserved'])}"
                for p in e["peaks"]
                if e["peaks"] != own
            ]
    return [
        f"  {found['quality']:16} values that no kernel computed decide"
        if found["quality"] == "bound"
        else "  estimate         no end is known of values that no kernel computed",
        *out,
    ]


def fits(found: Mapping[str, Any]) -> str:
    """What a report says of a program whose total its device has: where it read values that no kernel
    computed, that holds for the values that the reads were given."""
    if found.get("ends") and found["fits"] is None:
        return "undecided"
    return "fits, as an estimate" if found.get("quality") == "estimate" and lines(found) else "fits"


def verdict(found: Mapping[str, Any]) -> bool | None:
    """Whether the program fits with all values that were tried; None where the ends disagree, or
    are not known."""
    fits = [found["fits"], *(e["fits"] for e in found.get("ends", ()))]
    if found["fits"] is None or any(e["failed"] for e in found.get("ends", ())):
        return None
    return fits[0] if all(f == fits[0] for f in fits) else None


def chosen(environ: Mapping[str, str], values: str) -> dict[str, str]:
    """The variables of a run with these values."""
    return {VALUES: values} if values else {VALUES: os.environ.get(VALUES) or compare_values.BALANCED}
