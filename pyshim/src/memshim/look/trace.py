"""Who held the peak, by source line.

    with memshim.trace():                        python -m memshim trace [--top N] script.py ARGUMENTS
        model(x)

On a GPU from the caching allocator's own history, at full speed; without one from CPU tensors, and labelled so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from memshim import sizes
from memshim.run.history import Line, Peak, at_peak, open_history

SCHEMA = 1


class trace:  # lower case: it is used as a function, `with memshim.trace() as t`
    """Records while it is entered and prints a table when it is left.

    device: cuda:1, cpu; else the current GPU, else CPU tensors. include, exclude: regular expressions of file:line (function); lines that they
    leave out are summed in one row. every_frame: the innermost frame counts, even inside PyTorch. file: where the table goes, None for nowhere.
    """

    def __init__(self, device: Any = None, *, top: int | None = 20, include: str | Iterable[str] = (), exclude: str | Iterable[str] = (),
                 every_frame: bool = False, file: TextIO | None | str = "stdout", json: str | None = None):
        self._device, self._top, self._every, self._file, self._json = device, top, every_frame, file, json
        self._include, self._exclude = _patterns(include), _patterns(exclude)
        self._history = None
        self.where, self.peak = "", Peak(0, 0, None, [])

    @classmethod
    def of(cls, history, **kw) -> trace:
        """What a history that has ended holds."""
        t = cls(**kw)
        t.where, t.peak = history.where, at_peak(history, t._every)
        return t

    def __enter__(self) -> trace:
        self._history = open_history(self._device).__enter__()
        self.where = self._history.where
        return self

    def __exit__(self, *error) -> None:
        self._history.__exit__(*error)
        self.peak = at_peak(self._history, self._every)
        self._history = None
        if self._json:
            with open(self._json, "w", encoding="utf-8") as f:
                json.dump(self.as_json(), f, indent=2)
                f.write("\n")
        if self._file is not None:
            print(self.table(), file=sys.stdout if self._file == "stdout" else self._file)

    def lines(self) -> tuple[list[Line], Line | None]:
        """The lines that the filters keep, and one that sums those they leave out."""
        keep = [x for x in self.peak.lines if self._keeps(_place(x.frame))]
        kept = set(map(id, keep))
        rest = [x for x in self.peak.lines if id(x) not in kept]
        return keep, Line(None, sum(x.mem for x in rest), sum(x.count for x in rest), 0) if rest else None

    def _keeps(self, place: str) -> bool:
        return (not self._include or any(p.search(place) for p in self._include)) and not any(p.search(place) for p in self._exclude)

    def rows(self) -> list[dict]:
        """As in the table: mem, cumulative, median, count, location, largest first; "untraced" is what was there before."""
        lines, rest = self.lines()
        named = [(x.mem, x.median, x.count, _place(x.frame), x.frame) for x in lines]
        if self.peak.untraced:
            named.append((self.peak.untraced, 0, 0, "untraced", None))
            named.sort(key=lambda r: -r[0])
        if rest:
            named.append((rest.mem, 0, rest.count, "filtered out", None))
        out, cumulative = [], 0
        for mem, median, count, location, frame in named:
            cumulative += mem
            out.append({"mem": mem, "cumulative": cumulative, "median": median, "count": count, "location": location,
                        "file": frame.file if frame else "", "line": frame.line if frame else 0, "function": frame.function if frame else ""})
        return out

    def as_json(self) -> dict:
        return {"schema": SCHEMA, "where": self.where, "peak": self.peak.total, "untraced": self.peak.untraced,
                "at": str(self.peak.at or ""), "rows": self.rows()}

    def table(self) -> str:
        what = "allocated on the GPU" if self.where == "cuda" else "CPU tensors, no GPU: not the allocator's numbers"
        out = [f"peak {sizes.show(self.peak.total)} ({what})" + (f", reached at {self.peak.at}" if self.peak.at else "")]
        rows = self.rows()
        shown = rows if not self._top else rows[: self._top]
        cells = [("Mem", "Cumulative Mem", "Median", "Count", "Location")]
        for r in shown:
            cells.append((sizes.show(r["mem"]), sizes.show(r["cumulative"]), sizes.show(r["median"]) if r["median"] else "",
                          str(r["count"] or ""), r["location"]))
        widths = [max(len(c[i]) for c in cells) for i in range(4)]
        out += ["  ".join([*(c[i].rjust(widths[i]) for i in range(4)), c[4]]) for c in cells]
        if len(rows) > len(shown):
            out.append(f"… {len(rows) - len(shown)} more, {sizes.show(sum(r['mem'] for r in rows[len(shown):]))}")
        return "\n".join(out)


def _place(frame) -> str:
    """Backward runs in threads that have no Python of their own."""
    return str(frame) if frame else "no Python line (backward, C++)"


def _patterns(given: str | Iterable[str]) -> list[re.Pattern]:
    return [re.compile(p) for p in ([given] if isinstance(given, str) else given)]


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(prog="python -m memshim trace", description="Run a script and show who held the most memory, by source line.")
    p.add_argument("--device", help="cuda:N or cpu; else the current GPU, else CPU tensors")
    p.add_argument("--top", type=int, default=20, metavar="N", help="rows shown (20), 0 for all")
    p.add_argument("--include", action="append", default=[], metavar="REGEXP", help="only lines whose file:line (function) has this; repeats")
    p.add_argument("--exclude", action="append", default=[], metavar="REGEXP", help="not these; repeats")
    p.add_argument("--every-frame", action="store_true", help="count the innermost frame, even inside PyTorch")
    p.add_argument("--json", metavar="FILE", help="write the rows there as well")
    p.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module's name")
    p.add_argument("script")
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    a = p.parse_args(arguments)
    if a.top < 0:
        p.error(f"argument --top: got {a.top}, want 0 or more")
    if not a.module and not os.path.isfile(a.script):
        print(f"memshim trace: {a.script}: no such file", file=sys.stderr)
        return 2
    try:
        t = trace(a.device, top=a.top, include=a.include, exclude=a.exclude, every_frame=a.every_frame, file=sys.stderr, json=a.json)
        t.__enter__()
    except (ValueError, RuntimeError, re.error) as e:
        print(f"memshim trace: {e}", file=sys.stderr)
        return 2
    sys.argv = [a.script, *a.arguments]
    code = 0
    try:
        if a.module:
            runpy.run_module(a.script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(a.script)))
            runpy.run_path(a.script, run_name="__main__")
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
        if isinstance(e.code, str):
            print(e.code, file=sys.stderr)
    finally:
        t.__exit__(None, None, None)
    return code
