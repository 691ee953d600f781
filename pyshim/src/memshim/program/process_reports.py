"""What the processes of a program left: each its report (observe.py), and the figures that the
library keeps whatever ends a process (native/figures.c)."""

from __future__ import annotations

import contextlib
import errno
import json
import signal
import struct
from pathlib import Path
from typing import Any, NamedTuple

from memshim.pretend.device import Device

FIGURES = "MEMSPEC_PRETEND_FIGURES"  # the folder
GPUS = 16  # native/pretend.h
HEAD = struct.Struct("=8sqii2Q240s")
GPU = struct.Struct("=128sq8Q")
MARK = b"memspec1"
RUNNING, EXITED, EXITED_AT_ONCE = range(3)  # native/figures.c, enum end

# An empty file PID.lost: the process could not write its report, as on a full disk.
LOST, NO_REPORT = ".lost", "no report"


class Card(NamedTuple):
    """One card as a process used it; bytes."""

    name: str
    index: int  # type: ignore[assignment]  # hides a method of tuple
    memory: int
    context: int
    used: int
    most: int  # the context among it
    allocated: int  # by PyTorch's caching allocator
    reserved: int
    managed: int
    managed_most: int


class Figures(NamedTuple):
    """What the library keeps of a process."""

    pid: int
    end: int
    status: int
    pinned: int  # the peak of the host's page-locked memory, bytes
    command: list[str]
    cards: list[Card]


def read_figures(path: Path) -> Figures | None:
    """None where the process had not written it yet."""
    data = path.read_bytes()
    if len(data) != HEAD.size + GPUS * GPU.size or data[:8] != MARK:
        return None
    _, pid, end, status, _, pinned, command = HEAD.unpack_from(data)
    rows = (GPU.unpack_from(data, HEAD.size + i * GPU.size) for i in range(GPUS))
    cards = [Card(_text(name), *numbers) for name, *numbers in rows if numbers[1]]
    return Figures(pid, end, status, pinned, [_text(w) for w in command.rstrip(b"\0").split(b"\0")], cards)


def _text(data: bytes) -> str:
    return data.split(b"\0")[0].decode(errors="replace")


def running(pid: int) -> bool:
    """Whether there is such a process; one that ended and that nobody asked for is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (OSError, IndexError):
        return False


def how(figures: Figures, status: int | None) -> tuple[str, int | None]:
    """How a process ended, in words, and its exit code as a shell has it; None where nobody knows.
    status: what waiting for it gave, if that is known."""
    if status is not None and status < 0:
        return _signal(-status), 128 - status
    if figures.end == EXITED_AT_ONCE:
        return "os._exit", figures.status & 0xFF
    if figures.end == EXITED:
        return "exit", figures.status & 0xFF
    if status is not None:
        return "exit", status
    return ("", None) if running(figures.pid) else ("a signal", None)


def _signal(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def read(folder: Path, pid: int, statuses: dict[int, int]) -> list[dict[str, Any]]:
    """The processes that imported torch or used a card, each as one report: its own where it left
    one, else the library's figures; the program's own process, pid, first. statuses: what waiting
    for processes gave. OSError where the folder is gone, and with it what they left."""
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "Removed while the program ran, so what it took is unknown", str(folder))
    reports = {
        p["figures"] or str(p["pid"]): p
        for f in sorted(folder.glob("*.json"))
        if (p := json.loads(f.read_text(encoding="utf-8")))
    }
    out = []
    for f in sorted(folder.glob("*.figures"), key=lambda f: [int(n) for n in f.name.split(".")[:2]]):
        figures = read_figures(f)
        if figures is None:
            continue
        # else exec put another program in its place
        last = not (folder / f"{figures.pid}.{int(f.name.split('.')[1]) + 1}.figures").exists()
        ended, code = how(figures, statuses.get(figures.pid)) if last else ("exec", 0)
        found = reports.pop(f.name, None)
        left = found is not None
        if found is None:
            found = _empty(figures.pid, figures.command[1:] or figures.command)
        _add(found, figures)
        quiet = left and not (code is None or code >= 128)  # its own report says how it ended
        failed = bool(code) or code is None and bool(found["devices"])
        out.append(found | {"ended": "" if quiet else ended or "still running", "code": code, "failed": failed})
    out += [
        p | {"host_pinned": None, "ended": "", "code": statuses.get(p["pid"]), "failed": bool(statuses.get(p["pid"]))}
        for p in reports.values()
    ]
    for p in out:
        del p["figures"]
    for f in sorted(folder.glob(f"*{LOST}")):
        lost = next((p for p in out if p["pid"] == int(f.stem)), None)
        if lost is None:
            out.append(lost := _empty(int(f.stem), []) | {"code": statuses.get(int(f.stem))})
        lost |= {"ended": NO_REPORT, "failed": True, "exact": False}
    return sorted(out, key=lambda p: (p["pid"] != pid, p["pid"]))


def _empty(pid: int, arguments: list[str]) -> dict[str, Any]:
    """The report of a process that left none."""
    return {
        "pid": pid,
        "arguments": arguments,
        "torch": "",
        "out_of_memory": "",
        "missing": "",
        "devices": [],
        "host_pinned": None,
        "exact": True,
        "reads": [],
        "refused": [],
        "absent": [],
        "unsized": [],
        "estimated": [],
        "timed": [],
        "files": [],
        "kept_back": [],
        "phases": [],
    }


def _add(report: dict[str, Any], figures: Figures) -> None:
    """What the library knows beside a process's own report: pinned and managed memory, and cards on
    which PyTorch's allocator has nothing."""
    report["figures"] = ""
    report["host_pinned"] = figures.pinned
    devices = {d["index"]: d for d in report["devices"]}
    for c in figures.cards:
        if c.index in devices:
            devices[c.index]["managed"] = c.managed_most
        elif c.most > c.context or c.managed_most:
            report["exact"] = False
            report["devices"].append(
                {
                    "index": c.index,
                    "name": c.name,
                    "memory": c.memory,
                    "context": c.most - c.reserved,
                    "allocated": c.allocated,
                    "reserved": c.reserved,
                    "total": c.most,
                    "managed": c.managed_most,
                    "iterations": [],
                    "ooms": 0,
                    "lines": None,
                    "table": "",
                }
            )
    report["devices"].sort(key=lambda d: d["index"])


def ranges(reports: list[dict[str, Any]], cards: list[Device]) -> list[dict[str, Any]]:
    """The reports with each device's total as a range: what the driver takes of a card is known
    within a range only, and the total has its least; what NCCL takes comes to it."""
    for d in (d for p in reports for d in p["devices"]):
        card = next((c for c in [*cards[d["index"] :], *cards] if c.driver == d["name"]), None)
        nccl = d.get("nccl") or {"low": 0, "high": 0}
        d["total_range"] = {
            "low": d["total"] + nccl["low"],
            "high": d["total"] + (card.uncertain if card else 0) + nccl["high"],
        }
    return reports
