"""A measurement record: what one case took when it was really run. Its form is
schemas/measurement.schema.json; Go reads it too."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memshim import sizes
from memshim.allocator.events import ACTIONS, Event
from memshim.files import write_whole
from memshim.frames import Stacks, shorten

SCHEMA = 1
SCHEMA_FILE = Path(__file__).parents[1] / "schemas" / "measurement.schema.json"
METRICS = ("requested", "allocated", "reserved", "active", "inactive_split")
MAX_NAME = 150  # of a case in a file's name: file systems take 255 bytes in all
PHASES = ("baseline", "first", "steady")

# What a record says as the case said it.
FROM_CASE = tuple(
    """
    mode alloc_conf cublas_workspace memory_fraction flags grad autocast dtype inputs artifact source
    """.split()
)


class RecordError(Exception):
    """A file that is no record. The text is for the user."""


def phase(name: str, end: int, peaks: Mapping[str, int | None]) -> dict[str, Any]:
    """end is how many events there were when it was over."""
    return {"name": name, **{m: peaks.get(m) for m in METRICS}, "events": end}


def put_events(record: dict[str, Any], events: list[Event], stacks: Stacks) -> None:
    """The events with the stacks and frames that they have: stacks may be of more than this
    record."""
    kept = [e for e in events if e.action in ACTIONS]
    numbers: dict[int, int] = {}
    record["events"] = [_event(e, numbers.setdefault(e.stack, len(numbers)) if e.stack >= 0 else -1) for e in kept]
    frames: dict[int, int] = {}
    record["stacks"] = [[frames.setdefault(f, len(frames)) for f in stacks.stacks[n]] for n in numbers]
    record["frames"] = [stacks.frames[f]._replace(file=shorten(stacks.frames[f].file))._asdict() for f in frames]


def _event(e: Event, stack: int) -> dict[str, Any]:
    out: dict[str, Any] = {"action": e.action, "key": e.key, "size": e.size}
    for name, value, absent in (("stream", e.stream, 0), ("op", e.operator, ""), ("stack", stack, -1)):
        if value != absent:
            out[name] = value
    return out


def file_name(record: dict[str, Any]) -> str:
    """<case>.<runtime>.<gpu>.json, another for every case. For people; readers go by the fields."""
    gpu = re.sub(r"[^a-z0-9]+", "-", record["device"]["name"].lower()).strip("-") or "cpu"
    case = quote(record["case"], safe="[]=,+ ")
    if case.startswith("."):
        case = "%2E" + case[1:]  # no hidden file
    if len(case) > MAX_NAME:
        case = f"{case[: MAX_NAME - 10]}~{hashlib.sha256(case.encode()).hexdigest()[:9]}"
    return f"{case}.{record['runtime']}.{gpu}.json"


def dump(record: dict[str, Any]) -> str:
    """One line an event, a stack, a frame: small, and a change can be read in review."""
    lines = []
    for key, value in record.items():
        if isinstance(value, list) and value and key in ("phases", "events", "stacks", "frames"):
            items = ",\n    ".join(json.dumps(v, separators=(",", ":"), ensure_ascii=False) for v in value)
            lines.append(f'  "{key}": [\n    {items}\n  ]')
        else:
            lines.append(f'  "{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write(record: dict[str, Any], folder: str | os.PathLike[str]) -> Path:
    """The file appears whole or not at all."""
    return write_whole(Path(folder) / file_name(record), dump(record).encode())


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise RecordError(f"{path}: {e}") from e
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise RecordError(f"{path}: got no measurement record of schema {SCHEMA}")
    return record


def table(record: dict[str, Any]) -> str:
    """What people read of it: each phase's peaks, and how far the highest lies above the
    baseline."""
    device = record["device"]["name"]
    device_words = {"cuda": device, "pretend": f"a pretend {device}"}.get(record["where"], "CPU tensors, no GPU")
    cells = [("", *(p["name"] for p in record["phases"]), "above the baseline")]
    for m in METRICS:
        sizes_of = [p[m] for p in record["phases"]]
        if None not in sizes_of and sizes_of:
            cells.append((m, *map(sizes.show, sizes_of), sizes.show(max(sizes_of) - sizes_of[0])))
    widths = [max(map(len, column)) for column in zip(*cells)]
    out = [f"  {record['runtime']} on {device_words}: weights {sizes.show(record['weights'])}"]
    out += [
        "    " + "  ".join([c[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(c[1:], widths[1:]))]).rstrip()
        for c in cells
    ]
    if record["oom"]:
        out.append(f"    out of memory in {record['oom']['phase']}: {record['oom']['text']}")
    return "\n".join(out)


def peak(record: dict[str, Any], metric: str) -> int | None:
    """The most over the whole run; None where it was not measured."""
    values = [p[metric] for p in record["phases"]]
    return max(values) if values and None not in values else None
