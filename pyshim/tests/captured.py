"""Running memshim capture, and reading what it wrote by its documented form."""

from __future__ import annotations

import atexit
import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm

from memshim import __main__
from memshim.case import process


class Shared(process.Server):
    """Lives as long as the tests: each case is forked from a process that has PyTorch loaded, as
    those of a memspec.yaml are. close gives it back."""

    idle: list[Shared] = []

    def close(self) -> None:
        self.idle.append(self)


def shared(several: bool = False) -> Shared:
    found = Shared.idle.pop() if Shared.idle else Shared()
    found._several = several
    return found


@atexit.register
def end() -> None:
    for server in Shared.idle:
        process.Server.close(server)


def memshim(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """A command in this process, and its cases and programs in those that are forked."""
    out, err, before = io.StringIO(), io.StringIO(), os.getcwd()
    os.chdir(folder)
    try:
        with (
            pytest.MonkeyPatch.context() as m,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warm.programs(),
        ):
            m.setattr(process, "Fresh", shared)
            m.setattr(process, "Server", shared)
            code = __main__.main(list(arguments))
    finally:
        os.chdir(before)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def capture(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    return memshim(folder, "capture", *arguments)


def capture_afresh(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """The command as a user starts it."""
    return subprocess.run(
        [sys.executable, "-m", "memshim", "capture", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def decode(path: Path) -> tuple[dict, list[dict]]:
    """A .rec: header, events with their sites, then those of runs with other values."""
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    head, rest = lines[0], lines[1:]
    cut = []
    for part in ("frames", "stacks", "sites", "events"):
        cut.append(rest[: head[part]])
        rest = rest[head[part] :]
    more = [r.get("events", 0) for r in head["record"].get("values", {}).get("runs", ())]
    assert len(rest) == sum(more)
    frames, stacks, sites, events = cut
    out, key = [], 0
    for action, delta, size, *more in events:
        key += delta
        site = sites[more[0] - 1] if more and more[0] else None
        where = [frames[i] for i in stacks[site[3] - 1]] if site and site[3] else []
        out.append(
            {
                "action": head["actions"][action],
                "key": key,
                "size": size,
                **dict(zip(("op", "module", "category"), site[:3] if site else ("",) * 3)),
                "lines": [(f[0], f[1]) for f in where],
            }
        )
    return head["record"], out
