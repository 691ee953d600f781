"""Writes a .rec: a recording, compressed, as engine/recording of the Go engine reads it (its doc
says every line). The same run gives the same bytes."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memshim.allocator.events import ACTIONS, Event
from memshim.files import open_regular, write_whole
from memshim.frames import Stacks, shorten

VERSION = 1
BASE, PAGE = 1 << 40, 2 << 20  # where the lowest address is put: where a process has it is chance
LONG = ("events", "stacks", "frames")  # a record's lists, which are no part of the header


class Site(NamedTuple):
    """Where an event is from. What is not known is empty."""

    op: str = ""  # aten::convolution; of what is loaded, what it is
    module: str = ""  # fully qualified
    category: str = "activation"  # engine/tensor's words
    stack: int = -1  # of the Stacks
    saver: tuple[str, str, int] | None = None  # node, module and stack of the operator that autograd saved it for


def encode(header: dict[str, Any], events: Sequence[Event], sites: Sequence[Site | None], stacks: Stacks) -> bytes:
    """header: the keys of a measurement record except its long lists, whose phases count in
    events. sites: one an event."""
    actions: dict[str, int] = {}
    numbers: dict[Site, int] = {}
    of_stack: dict[int, int] = {}
    frames: dict[int, int] = {}
    rows, sites_out, stacks_out = [], list[list[Any]](), []

    def number_of(site: Site) -> int:
        """Of a site, whose saver is one too, the number in the file."""
        if site in numbers:
            return numbers[site]
        saver = number_of(Site(site.saver[0], site.saver[1], stack=site.saver[2])) if site.saver else 0
        stack = 0
        if site.stack >= 0:
            stack = of_stack.get(site.stack, 0)
            if not stack:
                stack = of_stack[site.stack] = len(of_stack) + 1
                stacks_out.append([frames.setdefault(f, len(frames)) for f in stacks.stacks[site.stack]])
        sites_out.append([site.op, site.module, site.category, stack, *([saver] if saver else [])])
        numbers[site] = len(sites_out)
        return len(sites_out)

    key, moved = 0, BASE - min((e.key for e in events if e.action != "oom"), default=0) // PAGE * PAGE
    for e, site in zip(events, sites, strict=True):
        if e.action not in ACTIONS:
            raise ValueError(f"got an event {e.action}, want one of {', '.join(sorted(ACTIONS))}")
        number = number_of(site) if site is not None and site != Site() else 0
        at = e.key if e.action == "oom" else e.key + moved  # of an oom the key is how much was free
        row = [actions.setdefault(e.action, len(actions)), _signed(at - key), e.size, number, e.stream]
        while len(row) > 3 and not row[-1]:
            row.pop()
        rows.append(row)
        key = at
    own = [stacks.frames[f] for f in frames]
    frames_out = [[shorten(f.file), f.line, f.function] for f in own]
    head = {
        "rec": VERSION,
        "record": {k: v for k, v in header.items() if k not in LONG},
        "actions": list(actions),
        "frames": len(frames_out),
        "stacks": len(stacks_out),
        "sites": len(sites_out),
        "events": len(rows),
    }
    return compress([head, *frames_out, *stacks_out, *sites_out, *rows])


def compress(lines: Iterable[Any]) -> bytes:
    """Lines of JSON, compressed."""
    text = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, filename="", mtime=0) as z:
        z.write(text.encode())
    return out.getvalue()


MOST_HEADER = 64 << 20  # characters: memspec reads as many bytes


def header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Of a .rec of ours; of an engine's start all of it."""
    with open_regular(path) as file:
        plain = file.read(1) == b"{"
    if plain:
        return _plain(path)
    with open_regular(path) as file, gzip.open(file, "rt", encoding="utf-8") as f:
        line = f.readline(MOST_HEADER + 1)
    if len(line) > MOST_HEADER:
        raise ValueError(f"{os.fspath(path)}: got a first line of more than {MOST_HEADER} characters")
    record: dict[str, Any] = json.loads(line)["record"]
    return record


def _plain(path: str | os.PathLike[str]) -> dict[str, Any]:
    with open_regular(path) as file:
        text = file.read(MOST_HEADER + 1)
    if len(text) > MOST_HEADER:
        raise ValueError(f"{os.fspath(path)}: got more than {MOST_HEADER} bytes")
    found: dict[str, Any] = json.loads(text)
    return found


class Contents(NamedTuple):
    """A recording as it is read back: the header, each site once, and of each pass how many blocks
    were allocated in it and how many bytes, those of libraries' workspaces left out."""

    header: dict[str, Any]
    sites: list[Site]
    allocated: list[tuple[int, int]]


def read(path: str | os.PathLike[str]) -> Contents:
    """Of a .rec of ours."""
    with gzip.open(path, "rt", encoding="utf-8") as f:
        head = json.loads(f.readline())
        for _ in range(head["frames"] + head["stacks"]):
            f.readline()
        sites = [Site(*json.loads(f.readline())) for _ in range(head["sites"])]
        alloc = head["actions"].index("alloc") if "alloc" in head["actions"] else -1
        ends, out, at = [p["events"] for p in head["record"]["phases"]], [], 0
        for end in ends:
            sizes = []
            for _ in range(end - at):
                action, _, size, *more = json.loads(f.readline())
                library = bool(more and more[0]) and sites[more[0] - 1].category == "workspace"
                sizes += [size] if action == alloc and not library else []
            out.append((len(sizes), sum(sizes)))
            at = end
    return Contents(head["record"], sites, out)


def _signed(n: int) -> int:
    """As a number of 64 bits with a sign: addresses differ by less."""
    return (n + (1 << 63)) % (1 << 64) - (1 << 63)


def write(data: bytes, path: str | os.PathLike[str]) -> Path:
    """The file appears whole or not at all."""
    return write_whole(path, data)
