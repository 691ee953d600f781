"""Who held the peak, by source line.

    with memshim.trace():                        python -m memshim trace [--top N] script.py ARGUMENTS
        model(x)

    @memshim.trace()                             t = memshim.trace(); t.start(); …; t.stop(); t.report()
    def step(x): ...

On a GPU from the caching allocator's own history, at full speed; without one from CPU tensors, and
labelled so.
"""

from __future__ import annotations

import argparse
import copy
import functools
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, Literal, TextIO

from memshim import sizes
from memshim.allocator import history
from memshim.allocator.history import Line, Peak, at_peak
from memshim.gpu import where
from memshim.look import run_script
from memshim.pretend import restart
from memshim.printed import say

SCHEMA = 2


class trace:  # lower case: it is used as a function, `with memshim.trace() as t`
    """Records while it is entered and prints a table when it is left.

    device: cuda:1, cpu; else the current GPU, else CPU tensors. include, exclude: regular
    expressions of file:line (function); lines that they leave out are summed in one row.
    every_frame: the innermost frame counts, even inside PyTorch. file: where the table goes, None
    for nowhere.
    json: a path where the figures go; it is opened at the start. One object records once at a time;
    as a decorator it is another at each call.
    """

    def __init__(
        self,
        device: Any = None,
        *,
        top: int | None = 20,
        include: str | Iterable[str] = (),
        exclude: str | Iterable[str] = (),
        every_frame: bool = False,
        file: TextIO | Literal["stdout"] | None = "stdout",
        json: str | os.PathLike[str] | None = None,
    ):
        where.parse(device)
        self._device, self._top, self._every, self._file, self._json = device, top, every_frame, file, json
        self._include, self._exclude = _patterns(include), _patterns(exclude)
        self._region: history.Region | None = None
        self.where, self.peak, self.compiled = "", _NOTHING, False

    @classmethod
    def of(cls, region: history.Region, since: int = 0, **kw: Any) -> trace:
        """What a region that has ended holds, its peak from event number since on."""
        t = cls(**kw)
        t.where, t.peak = where.words(region.where), at_peak(region, t._every, since)
        return t

    def start(self) -> trace:
        """Begin to record."""
        from memshim.attribution.forward_lines import Lines

        if self._region is not None:
            raise RuntimeError("this trace is recording already: another memshim.trace() records beside it")
        self._out = open(self._json, "w", encoding="utf-8") if self._json else None
        self._lines = Lines().__enter__()
        self._region = history.region(self._device).open()
        self.where = where.words(self._region.where)
        return self

    def stop(self) -> Peak:
        """End, write the JSON where that is wanted, and give the peak; without a call of report
        nothing is printed."""
        if self._region is None:
            raise RuntimeError("this trace is not recording: start it first")
        region, self._region = self._region, None
        region.close()
        self._lines.__exit__()
        self.peak, self.compiled = at_peak(region, self._every), getattr(region, "compiled", False)
        if self._out:
            with self._out as f:
                json.dump(self.as_json(), f, indent=2)
                f.write("\n")
        return self.peak

    def report(self) -> None:
        """Print the table."""
        if self._file is not None:
            say(self.table(), file=sys.stdout if self._file == "stdout" else self._file)

    def __enter__(self) -> trace:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()
        self.report()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """As a decorator: each call is recorded and reported by itself."""

        @functools.wraps(function)
        def traced(*args: Any, **kw: Any) -> Any:
            with copy.copy(self):
                return function(*args, **kw)

        return traced

    def lines(self, p: Peak | None = None) -> tuple[list[Line], Line | None]:
        """The lines that the filters keep, and one that sums those they leave out."""
        lines = (p or self.peak).lines
        keep = [x for x in lines if self._keeps(_place(x))]
        kept = set(map(id, keep))
        rest = [x for x in lines if id(x) not in kept]
        return keep, Line(None, sum(x.mem for x in rest), sum(x.count for x in rest), 0) if rest else None

    def _keeps(self, place: str) -> bool:
        return (not self._include or any(p.search(place) for p in self._include)) and not any(
            p.search(place) for p in self._exclude
        )

    def rows(self, p: Peak | None = None) -> list[dict[str, Any]]:
        """As in the table: mem, cumulative, median, count, location, largest first; "untraced" is
        what was there before. They add up to the peak, or to what was held at another moment."""
        p = p or self.peak
        lines, rest = self.lines(p)
        named = [(x, _place(x)) for x in lines]
        if p.before.mem:
            named.append((p.before, "untraced"))
        if p.rounding:
            named.append((Line(None, p.rounding, 0, 0), "rounding: blocks larger than what was asked for"))
        if p.unknown:
            named.append((Line(None, p.unknown, 0, 0), f"not in the history{': ' * bool(p.lost)}{p.lost}"))
        named.sort(key=lambda row: -row[0].mem)
        if rest:
            named.append((rest, "filtered out"))
        out, cumulative = [], 0
        for x, location in named:
            cumulative += x.mem
            out.append(
                {
                    "mem": x.mem,
                    "cumulative": cumulative,
                    "median": x.median,
                    "count": x.count,
                    "location": location,
                    "file": x.frame.file if x.frame else "",
                    "line": x.frame.line if x.frame else 0,
                    "function": x.frame.function if x.frame else "",
                    "backward": x.backward,
                }
            )
        return out

    def as_json(self) -> dict[str, Any]:
        p = self.peak
        oom = None
        if p.oom:
            then = p.oom.then or p
            oom = {
                "size": p.oom.size,
                "free": p.oom.free,
                "at": str(p.oom.at or ""),
                "held": then.total,
                "rows": self.rows(then),
            }
        return {
            "schema": SCHEMA,
            "where": self.where,
            "peak": p.total,
            "untraced": p.before.mem,
            "total_allocated": p.churn,
            "at": str(p.at or ""),
            "out_of_memory": oom,
            "incomplete": p.lost,
            "rows": self.rows(),
        }

    def table(self) -> str:
        p = self.peak
        head = f"peak {sizes.show(p.total)} ({where.LABELS[self.where]})" + (f", reached at {p.at}" if p.at else "")
        out = [f"{head}; {sizes.show(p.churn)} allocated in all"]
        if p.oom:
            out.append(
                f"out of memory: {sizes.show(p.oom.size)} asked for"
                + (f" at {p.oom.at}" if p.oom.at else "")
                + f", {sizes.show(p.oom.free)} free"
            )
        if p.lost:
            out.append(f"incomplete: {p.lost}")
        if self.compiled:
            out.append(
                "incomplete: what compiled code makes is counted when an operator is given it; on CPU tensors more is "
                "not to be seen"
            )
        out += self._rows(p)
        if p.oom and p.oom.then:
            out += [f"held when memory ran out: {sizes.show(p.oom.then.total)}", *self._rows(p.oom.then)]
        return "\n".join(out)

    def _rows(self, p: Peak) -> list[str]:
        rows = self.rows(p)
        shown = rows if not self._top else rows[: self._top]
        cells = [("Mem", "Cumulative Mem", "Median", "Count", "Location")]
        for r in shown:
            cells.append(
                (
                    sizes.show(r["mem"]),
                    sizes.show(r["cumulative"]),
                    sizes.show(r["median"]) if r["median"] else "",
                    str(r["count"] or ""),
                    r["location"],
                )
            )
        widths = [max(len(c[i]) for c in cells) for i in range(4)]
        out = ["  ".join([*(c[i].rjust(widths[i]) for i in range(4)), c[4]]) for c in cells]
        if len(rows) > len(shown):
            out.append(f"… {len(rows) - len(shown)} more, {sizes.show(sum(r['mem'] for r in rows[len(shown) :]))}")
        return out


_NOTHING = Peak(0, None, [], Line(None, 0, 0, 0))


def _place(x: Line) -> str:
    """Where PyTorch reports no line of the forward, its backward has none: its threads have no Python
    of their own."""
    return f"{x.frame}{', backward' * x.backward}" if x.frame else "no Python line (backward, C++)"


def _patterns(given: str | Iterable[str]) -> list[re.Pattern[str]]:
    return [re.compile(p) for p in ([given] if isinstance(given, str) else given)]


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(
        prog="python -m memshim trace", description="Run a script and show who held the most memory, by source line."
    )
    restart.add_arguments(p)
    p.add_argument("--device", help="cuda:N or cpu; else the current GPU, else CPU tensors")
    p.add_argument("--top", type=int, default=20, metavar="N", help="rows shown (20), 0 for all")
    p.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="REGEXP",
        help="only lines whose file:line (function) has this; repeats",
    )
    p.add_argument("--exclude", action="append", default=[], metavar="REGEXP", help="not these; repeats")
    p.add_argument("--every-frame", action="store_true", help="count the innermost frame, even inside PyTorch")
    p.add_argument("--json", metavar="FILE", help="write the rows there as well")
    p.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module's name")
    p.add_argument("script")
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    a = p.parse_args(arguments)
    if (code := restart.enter(a, "trace")) is not None:
        return code
    if a.top < 0:
        p.error(f"argument --top: got {a.top}, want 0 or more")
    if not a.module and not os.path.isfile(a.script):
        say(f"memshim trace: {a.script}: no such file", file=sys.stderr)
        return 2
    try:
        t = trace(
            a.device,
            top=a.top,
            include=a.include,
            exclude=a.exclude,
            every_frame=a.every_frame,
            file=sys.stderr,
            json=a.json,
        )
        if a.json:
            open(a.json, "w").close()  # before anything is run for it
    except (ValueError, OSError, re.error) as e:
        say(f"memshim trace: {e}", file=sys.stderr)
        return 2
    started: list[trace] = []
    try:
        code = run_script.code_of(
            lambda: run_script.run(a.script, a.arguments, a.module), lambda: started.append(t.start())
        )
    finally:
        if started:
            t.__exit__(None, None, None)
    if not started and code == 0:
        say("memshim trace: torch was never imported, nothing is recorded", file=sys.stderr)
    return code
