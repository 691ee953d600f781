"""The run with other values in the place of those that it read and no kernel computed: whether it
takes the same, and what it takes where it does not (engine/recording/FORMAT.md, "values")."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from memshim.allocator import recording

BALANCED, OTHERS = "balanced", ("least", "most", "skewed")
READS = ".reads"  # beside what a run writes: the values that it read, JSON
READ, COMPARED = "value-read", "value-compared"
TAIL = 120  # characters of why a run failed


class Reads(NamedTuple):
    """What a run read that no kernel computed: by line, in the order of the first reads, and every
    read with the event that came next."""

    lines: list[dict[str, Any]] = []
    log: list[tuple[int, int]] = []

    @property
    def decisive(self) -> bool:
        """Whether a run with other values would read others."""
        return any(r["varied"] for r in self.lines)

    def place(self, i: int) -> tuple[Any, ...]:
        r = self.lines[self.log[i][0]]
        return r["file"], r["line"], r["function"]


class Run(NamedTuple):
    """What one run came to."""

    values: str
    parts: Parts | None = None
    reads: Reads = Reads()
    failed: str = ""


class Parts:
    """A .rec in its parts. Rows are [action, address, size, site, stream] with the words and sites
    themselves, so that those of two runs are compared."""

    def __init__(self, data: bytes):
        lines = iter(gzip.decompress(data).decode().splitlines())
        self.head: dict[str, Any] = json.loads(next(lines))

        def take(n: int) -> list[Any]:
            return [json.loads(next(lines)) for _ in range(n)]

        frames = [tuple(f) for f in take(self.head["frames"])]
        stacks = [tuple(frames[i] for i in s) for s in take(self.head["stacks"])]
        self.sites = [(*s[:3], stacks[s[3] - 1] if s[3] else ()) for s in take(self.head["sites"])]
        self.rows: list[tuple[Any, ...]] = []
        key = 0
        for action, delta, size, *more in take(self.head["events"]):
            key += delta
            site, stream = (*more, 0, 0)[:2]
            self.rows.append((self.head["actions"][action], key, size, self.sites[site - 1] if site else None, stream))

    @property
    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = self.head["record"]
        return record

    def ends(self) -> list[tuple[str, int]]:
        return [(p["name"], p["events"]) for p in self.record["phases"]]

    def taken(self) -> Iterator[tuple[Any, ...]]:
        """What each event does to memory, without addresses: action, size, stream, and the
        allocation that a free is of."""
        born: dict[int, int] = {}
        count = 0
        for action, key, size, _, stream in self.rows:
            if action == "alloc":
                born[key] = count = count + 1
            yield action, size, stream, born.get(key, 0) if action.startswith("free") else 0


def same(a: Parts, b: Parts) -> bool:
    """Whether two runs take the same."""
    return a.ends() == b.ends() and len(a.rows) == len(b.rows) and all(x == y for x, y in zip(a.taken(), b.taken()))


def merge(data: bytes, reads: Reads, runs: list[Run]) -> bytes:
    """A recording of balanced values with what the runs with other values came to."""
    base = Parts(data)
    own: list[tuple[str, Parts]] = [(BALANCED, base)]
    found_runs: list[dict[str, Any]] = []
    rows: list[list[tuple[Any, ...]]] = []
    for run in runs:
        if run.parts is None:
            found_runs.append({"values": run.values, "failed": run.failed})
            continue
        alike = next((name for name, other in own if same(other, run.parts)), None)
        if alike:
            found_runs.append({"values": run.values, "as": alike})
            continue
        own.append((run.values, run.parts))
        shared = next(
            (i for i, (x, y) in enumerate(zip(base.rows, run.parts.rows)) if x != y),
            min(len(base.rows), len(run.parts.rows)),
        )
        rows.append(run.parts.rows[shared:])
        found_runs.append(
            {
                "values": run.values,
                "phases": run.parts.record["phases"],
                "oom": run.parts.record["oom"],
                "shared": shared,
                "events": len(rows[-1]),
            }
        )
    record = base.record
    record["values"] = {"lines": lines(base, reads, runs), "runs": found_runs}
    if len(own) == 1 and not any(run.failed for run in runs):
        for r, note in zip(reads.lines, record["notes"]):
            if r["varied"] and note["id"] == READ:
                note["id"] = COMPARED
    _join_files(record, [run.parts.record for run in runs if run.parts])
    return _encode(base, rows)


def lines(base: Parts, reads: Reads, runs: list[Run]) -> list[dict[str, Any]]:
    """Those that may decide: after which a run takes otherwise before it reads again. Where a run
    failed, all that it and the recording read."""
    out: dict[tuple[Any, ...], dict[str, Any]] = {}

    def add(of: Reads, i: int) -> None:
        r = of.lines[of.log[i][0]]
        if not r["varied"]:
            return
        found = out.setdefault(of.place(i), {"file": r["file"], "line": r["line"], "function": r["function"]})
        if r["open"]:
            found["open"] = r["open"]

    if not reads.log:  # a program's reads have no moments: any of them may decide
        reads = Reads(reads.lines, [(i, 0) for i in range(len(reads.lines))])
        if any(run.failed or run.parts and not same(base, run.parts) for run in runs):
            for i in range(len(reads.log)):
                add(reads, i)
        return list(out.values())
    for run in runs:
        if run.failed:
            for of in (reads, run.reads):
                for i in range(len(of.log)):
                    add(of, i)
        elif run.parts and not same(base, run.parts):
            for i in _decide(base, reads, run.parts, run.reads):
                add(reads, i)
                add(run.reads, i)
    return list(out.values())


def _decide(a: Parts, of_a: Reads, b: Parts, of_b: Reads) -> list[int]:
    """The reads after which two runs do not ask for the same before the next read, up to where they
    read at other lines. If none, the first of all."""
    out = []
    for i in range(min(len(of_a.log), len(of_b.log))):
        if of_a.place(i) != of_b.place(i):
            break
        ends = [of.log[i + 1][1] if i + 1 < len(of.log) else len(parts.rows) for of, parts in ((of_a, a), (of_b, b))]
        if _asked(a, of_a.log[i][1], ends[0]) != _asked(b, of_b.log[i][1], ends[1]):
            out.append(i)
        if i + 1 < min(len(of_a.log), len(of_b.log)) and of_a.place(i + 1) != of_b.place(i + 1) and i not in out:
            out.append(i)
    return out or ([0] if of_a.log and of_b.log else [])


def _asked(parts: Parts, begin: int, end: int) -> list[tuple[int, int]]:
    return [(size, stream) for action, _, size, _, stream in parts.rows[begin:end] if action == "alloc"]


def _join_files(record: dict[str, Any], others: list[dict[str, Any]]) -> None:
    """Files that a run with other values alone imports count too."""
    if "made" not in record:
        return
    files = {f["path"]: f for other in others for f in other.get("made", {}).get("files", ())} | {
        f["path"]: f for f in record["made"]["files"]
    }
    record["made"]["files"] = [files[path] for path in sorted(files)]


def _encode(base: Parts, more: list[list[tuple[Any, ...]]]) -> bytes:
    """base with the events of further runs, and what places they have."""
    frames: dict[tuple[Any, ...], int] = {}
    stacks: dict[tuple[Any, ...], int] = {}
    sites: dict[tuple[Any, ...], int] = {}
    actions = {a: i for i, a in enumerate(base.head["actions"])}
    text: list[list[Any]] = []

    def number(site: tuple[Any, ...] | None) -> int:
        if site is None:
            return 0
        if site not in sites:
            if site[3] and site[3] not in stacks:
                stacks[site[3]] = len(stacks) + 1
                for f in site[3]:
                    frames.setdefault(f, len(frames))
            sites[site] = len(sites) + 1
        return sites[site]

    def put(rows: list[tuple[Any, ...]], key: int) -> None:
        for action, at, size, site, stream in rows:
            row = [actions.setdefault(action, len(actions)), at - key, size, number(site), stream]
            while len(row) > 3 and not row[-1]:
                row.pop()
            text.append(row)
            key = at

    put(base.rows, 0)
    shared = [run["shared"] for run in base.record["values"]["runs"] if "shared" in run]
    for rows, n in zip(more, shared, strict=True):
        put(rows, base.rows[n - 1][1] if n else 0)
    named = [[frames[f] for f in s] for s in stacks]
    head = base.head | {
        "actions": list(actions),
        "frames": len(frames),
        "stacks": len(named),
        "sites": len(sites),
        "events": len(base.rows),
    }
    return recording.compress(
        [head, *map(list, frames), *named, *([*s[:3], stacks.get(s[3], 0)] for s in sites), *text]
    )


def read_reads(out: str) -> Reads:
    """What a run that wrote out read."""
    path = Path(out + READS)
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"reads": [], "log": []}
    return Reads(kept["reads"], [tuple(x) for x in kept["log"]])


def short(error: BaseException) -> str:
    """Why a run failed, in a line."""
    text = " ".join(str(error).split())
    return text if len(text) <= TAIL else text[: TAIL - 1] + "…"
