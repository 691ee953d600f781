"""What an allocator did, event by event."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from memshim.frames import Stacks

MAX_EVENTS = 10_000_000  # of the allocator's ring buffer, which grows as it fills

# Those that a record keeps: not what reading the history leaves in it (snapshot), nor what changes
# no memory (annotate).
ACTIONS = frozenset(
    tuple(
        """
        alloc free_requested free_completed segment_alloc segment_free segment_map segment_unmap oom
        """.split()
    )
)
ANNOTATE = "annotate"


class Event(NamedTuple):
    """On CUDA the actions and sizes of TraceEntry (sizes as asked for, key an address); on CPU
    alloc and free_completed of a storage's number.

    forward is the stack of the forward operator whose backward this is, -1 where none is known. tag
    is what the thread that did it called its work.
    """

    action: str
    key: int
    size: int
    stream: int = 0
    operator: str = ""
    stack: int = -1
    forward: int = -1
    tag: str = ""
    time: int = 0  # microseconds, of the allocator's clock


def read_entries(entries: list[dict[str, Any]], stacks: Stacks) -> list[Event]:
    """The allocator's trace entries of one device
    (torch.cuda.memory._snapshot()["device_traces"][i])."""
    listed: dict[int, int] = {}  # PyTorch gives one traceback one list in a snapshot: of a block's alloc and free
    known: dict[tuple[int, ...], int] = {}  # and one frame one dict
    places: dict[int, tuple[str, int, str]] = {}  # of these dicts, by their ids
    nodes: dict[tuple[str, ...], int] = {}  # and a node of the graph allocates more than once
    out = []
    for e in entries:
        action = e["action"]
        if action not in ACTIONS and action != ANNOTATE:
            continue
        stack, frames = -1, e.get("frames")
        if frames:
            stack = listed.get(id(frames), -2)
            if stack == -2:
                ids = tuple(map(id, frames))
                stack = known.get(ids, -2)
                if stack == -2:
                    for i, f in zip(ids, frames):
                        if i not in places:
                            places[i] = f["filename"], f["line"], f["name"]
                    stack = known[ids] = stacks.add([places[i] for i in ids])
                listed[id(frames)] = stack
        origin, lines_forward = -1, e.get("forward_frames")
        if lines_forward:
            texts = tuple(lines_forward)
            origin = nodes.get(texts, -2)
            if origin == -2:
                origin = nodes[texts] = stacks.add(forward_frames(lines_forward))
        out.append(
            Event(
                action,
                e.get("addr", e.get("device_free", 0)),
                e["size"],
                e.get("stream", 0),
                "",
                stack,
                origin,
                e.get("user_metadata", ""),
                e.get("time_us", 0),
            )
        )
    return out


def forward_frames(lines_forward: list[str]) -> list[tuple[str, int, str]]:
    """The frames that a node says of, innermost first: written by attribution/forward_lines.py, or
    by PyTorch where the program itself looks for anomalies."""
    if lines_forward and lines_forward[0].startswith("  File "):
        lines_forward = [" ".join(text.splitlines()[:1]) for text in reversed(lines_forward)]
    else:
        lines_forward = [line for text in lines_forward for line in text.splitlines()]
    return [place for place in map(_place, lines_forward) if place]


@lru_cache(maxsize=1 << 16)
def _place(text: str) -> tuple[str, int, str] | None:
    m = _PLACE.match(text)
    return (m["file"], int(m["line"]), m["name"]) if m else None


_PLACE = re.compile(r'(?:  File ")?(?P<file>.*?)(?:", line |:)(?P<line>\d+)(?:, in |:)(?P<name>[^\n]*)')
