"""A program run once on pretend GPUs: its environment, and what its processes left."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from memshim import pretend
from memshim.case import compare_values
from memshim.pretend import communicators, writes
from memshim.pretend.device import Device
from memshim.pretend.value_reads import VALUES
from memshim.program import launch, other_values, process_reports
from memshim.program.observe import WANTED
from memshim.program.report import cut_short, report

STARTUP = str(Path(__file__).resolve().parent / "startup")


class Program(NamedTuple):
    """A program, the cards that it finds and what is wanted of its run."""

    words: list[str]  # of the command, as it can be run
    said: list[str]  # as the user has it
    cards: list[Device]
    on: list[str]
    top: int | None = None  # source lines of a table, None for all
    record: str = ""  # where its recording is to lie, or the page made of it; "" for neither
    command: tuple[str, ...] = ()  # that the recording names
    steps: int = 0  # of the optimizer, after which it ends; 0 for never
    values: str = ""
    check_values: bool = False  # run it with other values, too, where it read any
    allow_writes: bool = False
    send: bool = False  # to trackers and the Hub
    nccl: int | None = None  # bytes that NCCL takes, where that is stated
    assume: Mapping[str, Any] | None = None  # what reads of unknown values give, by line
    of_case: Mapping[str, Any] = MappingProxyType({})  # what its processes are given of a case

    @property
    def line(self) -> str:
        """The program and its arguments as the user has them after --."""
        return " ".join(self.said[1:] if self.said[:1] == ["--"] else self.said)

    def wanted(self, folder: Path) -> str:
        """What its processes are asked for, as JSON."""
        return json.dumps(
            {
                "folder": str(folder),
                "top": self.top,
                "record": os.path.abspath(self.record) if self.record else "",
                "command": list(self.command),
                "steps": self.steps,
                "parent": os.getpid(),
                **self.of_case,
            }
        )

    def environment(self, folder: Path) -> dict[str, str]:
        """The variables of its run; its processes leave their reports in the folder."""
        environ = {
            **os.environ,
            **pretend.environment(self.cards, assume=self.assume),
            WANTED: self.wanted(folder),
            process_reports.FIGURES: str(folder),
            communicators.STATED: json.dumps({"nvlink": [c.nvlink for c in self.cards], "stated": self.nccl}),
            **other_values.chosen(os.environ, self.values),
        }
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, [STARTUP, environ.get("PYTHONPATH", "")]))
        if self.allow_writes:
            environ[writes.ALLOW] = "1"
        if not self.send:
            environ |= {k: v for k, v in writes.OFFLINE.items() if k not in os.environ}
        return environ


def once(program: Program, words: list[str], environ: Mapping[str, str], folder: Path) -> tuple[dict[str, Any], int]:
    """Run it: what --json writes of it, and its process id. words: the command, in a sandbox
    perhaps."""
    pid, statuses = launch.run(words, dict(environ))
    code = 128 - statuses[pid] if statuses[pid] < 0 else statuses[pid]
    processes = process_reports.ranges(process_reports.read(folder, pid, statuses), program.cards)
    return report(code, processes, program.said, program.on) | {"values": environ[VALUES]}, pid


def with_ends(
    program: Program,
    words: list[str],
    environ: Mapping[str, str],
    folder: Path,
    beside: Callable[[str], Mapping[str, str]] = lambda values: {},
) -> tuple[dict[str, Any], list[bytes]]:
    """Run it, and with program.check_values also with other values, where it read such: what --json
    writes, and the recordings where program.record is set.

    beside: variables of a run with such values.
    """
    found, pid = once(program, words, environ, folder)
    again = program.check_values and not found["exit"] and other_values.lines(found)
    others = [v for v in (compare_values.BALANCED, *compare_values.OTHERS) if v != found["values"]] if again else []
    record = json.loads(environ[WANTED])["record"]
    runs = [other_values.repeat(words, {**environ, **beside(v)}, v, program.cards, record) for v in others]
    other_values.judge(found, [end for end, _ in runs])
    if others:
        found["fits"] = other_values.verdict(found)
    data = [f.read_bytes() for f in other_values.recorded(folder, pid)] if program.record else []
    if cut_short(found):  # a budget would be judged by a part of the run
        return found, data
    return found, other_values.merged(data, found, runs) if runs else data
