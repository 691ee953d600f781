"""The report of single ranks of many, for people."""

from __future__ import annotations

from typing import Any

from memshim import sizes
from memshim.program import other_values, phases, places
from memshim.program.report import device_lines, host_lines, name_of, notes

SCHEMA = 1


def text(found: dict[str, Any]) -> str:
    """A row a rank, then the worst one's holders and what makes its figures less than exact."""
    rows, name = found["ranks"], name_of([w for w in found["program"] if w != "--"])
    worst = next(r for r in rows if r["rank"] == found["worst"])
    out = [
        f"memshim: {name}: {len(rows)} of {found['world_size']} ranks run, {found['nproc_per_node']} a node; the most "
        f"is taken by rank {worst['rank']}"
    ]
    out += ["  " + line for line in table(rows)]
    for d in rows[0]["differ"]:
        if d["why"].startswith(places.OUTSIDE):
            out.append(f"  outside          rank {d['ranks'][1]} and those after it are {d['why']}")
    for d in found["not_run"]:
        out.append(f"  not run          {len(d['ranks'])} ranks that differ ({d['why']}), the first: {d['ranks'][0]}")
    for p in worst["processes"]:
        for d in p["devices"]:
            out += device_lines(f"{name}, rank {worst['rank']}", p, d, bool(worst["exit"]), other_values.fits(worst))
        out += host_lines(p) + notes(p) if p["devices"] else []
    if worst["phases"]:
        missed = [phase for phase in phases.ALL if phase not in worst["phases"]]
        out.append(f"  phases seen      {', '.join(worst['phases'])}")
        out += [f"  not seen         {', '.join(missed)}: what they take is no part of the figures"] if missed else []
    out += other_values.text(worst)
    out += [
        f"memshim: undecided: rank {r['rank']} ended with {r['exit']}: its figures are of a part of its run"
        for r in rows
        if r["exit"] and not r["out_of_memory"]
    ]
    for p in (p for r in rows for p in r["processes"] if p["missing"]):
        out.append(f"memshim: {p['missing']}")
    return "\n".join(out)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The lines of the table: sizes are of PyTorch's allocator, but total."""
    head = ("rank", "place", "first step", "later steps", "allocated", "reserved", "total", "")
    cells: list[tuple[str, ...]] = [head]
    for r in rows:
        steps = [sizes.show(r[k]["allocated"]) if r[k] else "" for k in ("first", "later")]
        total = [sizes.show(r["total_range"][k]) for k in ("low", "high")]
        cells.append(
            (
                str(r["rank"]),
                place(r),
                *steps,
                sizes.show(r["allocated"]),
                sizes.show(r["reserved"]),
                total[0] if total[0] == total[1] else f"{total[0]} to {total[1]}",
                verdict(r),
            )
        )
    widths = [max(len(c[i]) for c in cells) for i in range(len(cells[0]))]
    return [
        "  ".join(c.rjust(w) if i != 1 else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip()
        for row in cells
    ]


def place(row: dict[str, Any]) -> str:
    """dp 0 of 2, tp 1 of 2."""
    dims = [f"{d['name']} {d['index']} of {d['size']}" for d in row["place"] if d["size"] > 1]
    if row["stages"]:
        dims.append(f"stage{'s'[: len(row['stages']) > 1]} {' and '.join(map(str, row['stages']))}")
    return ", ".join(dims)


def verdict(row: dict[str, Any]) -> str:
    if row["out_of_memory"]:
        return "does not fit"
    return f"ended with {row['exit']}" if row["exit"] else "" if row["fits"] else "undecided"
