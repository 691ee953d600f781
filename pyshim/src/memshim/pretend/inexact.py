"""What a process on pretend GPUs asked for that is not exact: values that depend on what no kernel
computed, calls that failed, sizes that are not known."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memshim.pretend.gradients import Missing
from memshim.pretend.library import Library
from memshim.pretend.timing import Decided

if TYPE_CHECKING:
    from memshim.pretend.values import Values


class Read(NamedTuple):
    """A read of a value that is not known, with the line that asked."""

    file: str  # the user's line: the innermost that is neither PyTorch's nor an installed package's
    line: int
    function: str
    inner: str  # the innermost line that is not PyTorch's, file:line
    op: str
    bytes: int  # of the last one
    count: int  # type: ignore[assignment]  # hides a method of tuple
    assumed: float | int | bool | str | None  # what assume said it gives: a number, or which values
    given: str = ""  # in words, where that was neither zero nor what assume said
    kind: str = ""  # bool, int, float, or count (a size by value: nonzero, unique, nms); "" where it is not known
    value: float | int | bool | None = None  # what the last one gave; None for several values at once
    bounded: bool = True  # False: an integer whose range is not known: mode most is no upper end
    varied: bool = True  # False: it gives the same in every mode, so that repeating a run shows nothing
    endless: bool = False  # a loop at this line went on until it was given the opposite value: it has no known end


class Called(NamedTuple):
    name: str
    count: int  # type: ignore[assignment]  # hides a method of tuple


_CALLED = ("refused", "absent", "unsized", "estimated")


@dataclass(frozen=True)
class Report:
    """Of a process, so far. Lists are in the order in which things came first."""

    reads: list[Read]
    refused: list[Called]  # calls that are not replaced: they failed
    # functions that were asked for by name, and are not there; the program may have gone on without
    # them
    absent: list[Called]
    unsized: list[Called]  # replaced, though what they take of the device is not known
    estimated: list[Called]  # replaced, with a size that is not the real library's own answer: a note's id and why
    timed: list[Decided]  # what a measured time decides on a card; here the way that takes more was taken
    without_gradient: Missing | None = None  # parameters that require a gradient and had none after a training step

    @property
    def exact(self) -> bool:
        """Whether nothing was read that is not known and not stated, nothing taken that has no
        size or an estimated one, and nothing decided by a time."""
        return (
            not self.unsized
            and not self.estimated
            and not self.timed
            and all(r.assumed is not None for r in self.reads)
        )

    @property
    def mode(self) -> str:
        """Of the values that no kernel computed: balanced, least, most or skewed."""
        hook = _hook()
        return hook.chosen_mode if hook else "balanced"

    def as_json(self) -> dict[str, Any]:
        called = {k: [c._asdict() for c in getattr(self, k)] for k in _CALLED}
        return {
            "pid": os.getpid(),
            "exact": self.exact,
            "values": self.mode,
            "reads": [r._asdict() for r in self.reads],
            **called,
            "timed": [t._asdict() for t in self.timed],
            "without_gradient": self.without_gradient._asdict() if self.without_gradient else None,
        }


def _hook() -> Values | None:
    """What follows values in this process; None before torch is imported."""
    module = sys.modules.get("memshim.pretend.values")
    return module.installed() if module else None


def report() -> Report:
    """What this process asked for so far."""
    from memshim.pretend import gradients, timing, unbuilt

    notes = Library().notes()
    hook = _hook()
    found = list(hook.reads.found.values()) if hook else []
    reads = [
        Read(
            r.place.file,
            r.place.line,
            r.place.function,
            f"{r.inner.file}:{r.inner.line}",
            r.op,
            r.bytes,
            r.count,
            r.assumed,
            r.given,
            r.kind,
            r.value,
            r.bounded,
            r.varied,
            r.endless,
        )
        for r in found
    ]
    reads += [
        Read("", 0, "outside of PyTorch's operators", "", n.name, 0, n.count, None, varied=False)
        for n in notes
        if n.kind == "unfollowed"
    ]
    called = {kind: [Called(n.name, n.count) for n in notes if n.kind == kind] for kind in _CALLED}
    called["unsized"] += [Called(name, count) for name, count in unbuilt.used.items()]
    return Report(
        reads,
        **called,
        timed=timing.found(),
        without_gradient=gradients.found(),
    )


def read_reports(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """What the processes of a program wrote into the folder that MEMSPEC_PRETEND_REPORT named, in
    the order of their ids."""
    files = sorted(Path(folder).glob("*.json"), key=lambda f: int(f.stem))
    return [json.loads(f.read_text()) for f in files]
