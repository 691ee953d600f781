"""What would make a case fit: changes that people try, each run on a pretend GPU.

    python -m memshim advise CASE [memspec.yaml]
    python -m memshim advise --on t4 --vary N=8..64 -- train.py --batch {N}

A change is lines of memspec.yaml (remedies.py). The case is recorded with these lines in it, by the
server that forks a process for each run, and memspec check judges it. The peaks are those of the
run itself: PyTorch's own statistics. A source runs once, on its card with more memory, so that what
it takes is known where it does not fit. Over several GPUs the first rank runs (sharded.py), and its
peaks are compared with the case's budgets and its card.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from importlib.util import find_spec
from typing import Any, NamedTuple

from memshim import binary, progress
from memshim.allocator import recording
from memshim.case import capture, memspec_yaml, process, program_case
from memshim.case.errors import TIMEOUT, USAGE, MeasureError
from memshim.case.step import OWN_ITERATION
from memshim.judge import advise_report, remedies, search, sharded
from memshim.judge.remedies import Remedy
from memshim.printed import say

RUNS = 12
TOGETHER = 3  # runs that are left for changes together
BESIDE = 2  # of them those that larger cards and several GPUs leave, too
CARDS = 3  # larger ones that are tried
MORE = ("device", "many GPUs")  # kinds of changes that want other hardware: no other stands beside them
KEPT, BROKEN, UNDECIDED = "yes", "no", "undecided"
# notes of a recording that leave its peaks open
OPEN = ("value-read", "timing-decides", "workspace-unknown", "gradient-missing")


class Unusable(ValueError):
    """What is asked for cannot be answered. The text is for the user."""


class Trial(NamedTuple):
    """What a run came to. load: of the figure that is nearest to its limit, what share of it."""

    remedies: tuple[Remedy, ...]
    kept: str
    allocated: int
    reserved: int
    load: float
    contents: recording.Contents
    why: str = ""  # the run failed: its last words

    @property
    def lines(self) -> list[str]:
        return [line for r in self.remedies for line in r.lines]

    @property
    def what(self) -> str:
        return " + ".join(r.what for r in self.remedies)

    @property
    def ran_out(self) -> bool:
        """Whether the run ended for want of memory: its peaks are what it reached."""
        return bool(self.contents.header.get("oom"))

    def more(self, base: Trial) -> tuple[int, int] | None:
        """How many blocks and bytes a steady pass allocates more than that of another run; None where
        one of them did not come to its end."""
        if self.ran_out or base.ran_out or not self.contents.allocated or not base.contents.allocated:
            return None
        (blocks, size), (had, of) = self.contents.allocated[-1], base.contents.allocated[-1]
        return blocks - had, size - of

    def work(self, base: Trial) -> dict[str, int]:
        """What a steady pass costs beside memory more than that of another run; empty where it was
        not counted."""
        own, of = self.contents.header.get("work"), base.contents.header.get("work")
        return {k: own[k] - of[k] for k in own} if own and of else {}


NOTHING = recording.Contents({}, [], [])


class Trials:
    """The runs of one case."""

    def __init__(self, spec: str, name: str, command: list[str], runner: process.Runner):
        self._spec, self._name, self._command, self._runner = spec, name, command, runner
        self.count = 0
        self._own = False  # the case does its own iteration

    def case(self, lines: list[str]) -> dict[str, Any]:
        """The case with further lines, as memspec cases states it."""
        found = memspec_yaml.ask("cases", *memspec_yaml.selected(self._spec, [self._name]), *_set(lines))["cases"]
        if len(found) != 1:
            raise Unusable(f"got {len(found)} cases of the name {self._name}, want one")
        case: dict[str, Any] = found[0]
        return case

    def run(self, *tried: Remedy) -> Trial:
        """The case with what these write in it. Errors: MeasureError."""
        lines = [line for r in tried for line in r.lines]
        case = self.case(lines) | {"command": self._command, "counts": True}
        path = case["recording"]
        for one in tried:
            if one.gpus > 1:
                return self._sharded(tried, one, case)
        if not capture.fresh(path, case) or not case["program"] and _lacks(path):
            self._record(case | {"alloc_conf": "", "memory_fraction": 0}, path)
        contents = recording.read(program_case.files(path)[0])
        judged = memspec_yaml.ask("check", *memspec_yaml.selected(self._spec, [self._name]), *_set(lines))["cases"][0]
        if judged["report"] is None:
            raise Unusable(judged["error"])
        if not case["program"] and (
            case["alloc_conf"] or case["memory_fraction"] or _emptied(contents.header, judged["report"], case)
        ):
            contents = contents._replace(header=self._as_set(case))
        return _trial(tried, contents, judged, case)

    def _record(self, case: dict[str, Any], path: str) -> None:
        """Record it to its end. One iteration of the user's own runs on the card itself: it may end
        otherwise where there is more memory."""
        room = None if case["program"] or self._own else process.pretended(case, "pretend", process.ROOM)
        self._runner.capture(case, path, "pretend", TIMEOUT, room)
        if room and recording.header(path)["built"] == OWN_ITERATION:
            self._own = True
            self._runner.capture(case, path, "pretend", TIMEOUT)

    def _sharded(self, tried: tuple[Remedy, ...], over: Remedy, case: dict[str, Any]) -> Trial:
        """The run of one rank of several."""
        path = sharded.path(case["recording"], over.gpus)
        if not capture.fresh(path, case) or _lacks(path):
            sharded.record(case, over.gpus, over.sharded, path)
        return _of_rank(tried, recording.read(path), case)

    def _as_set(self, case: dict[str, Any]) -> dict[str, Any]:
        """The header of a run with the case's settings of the allocator, which are no part of the
        recording that is kept."""
        with tempfile.TemporaryDirectory(prefix="memshim-") as folder:
            out = os.path.join(folder, "run.rec")
            self._runner.capture(case, out, "pretend", TIMEOUT, process.pretended(case, "pretend"))
            return recording.header(out)

    def attempt(self, *tried: Remedy) -> Trial:
        """As run; a run that fails says why."""
        self.count += 1
        try:
            return self.run(*tried)
        except (MeasureError, memspec_yaml.SpecError, Unusable) as e:
            return Trial(tried, BROKEN, 0, 0, 0, NOTHING, " ".join(str(e).split()))


def _set(lines: list[str]) -> list[str]:
    return [word for line in lines for word in ("--set", line)]


def _emptied(header: dict[str, Any], report: dict[str, Any], case: dict[str, Any]) -> bool:
    """Whether a run took more than the card holds, and memspec's replay fits it, as PyTorch does that
    empties its cache: the run on the card itself shows it."""
    room = (case["device"]["memory"] or 0) - (case["device"]["context"] or 0)
    reserved = max(p["reserved"] or 0 for p in header["phases"])
    return not header["oom"] and not report.get("oom") and 0 < room < reserved


def _lacks(path: str) -> bool:
    """Whether a recording has not all that is reported: it was made for something else."""
    header = recording.header(path)
    cut = header["oom"] and header["built"] == "source" and header["device"]["total"] < process.ROOM
    return bool(cut or not header["oom"] and not header.get("work"))


def _of_rank(tried: tuple[Remedy, ...], contents: recording.Contents, case: dict[str, Any]) -> Trial:
    """Judged by the peaks of the run itself. Other metrics, and what leaves the peaks open, leave it
    undecided."""
    header = contents.header
    peaks = {m: max(p[m] or 0 for p in header["phases"]) for m in ("allocated", "reserved")}
    known = [b for b in case["budgets"] if b["metric"] in peaks and b["limit"]]
    loads = [peaks[b["metric"]] / b["limit"] for b in known]
    kept = KEPT
    if header["oom"] or any(load > 1 for load in loads):
        kept = BROKEN
    elif len(known) < len(case["budgets"]) or any(n["id"] in OPEN for n in header.get("notes") or ()):
        kept = UNDECIDED
    room = (case["device"]["memory"] or 0) - (case["device"]["context"] or 0)
    if room > 0:
        loads.append(peaks["reserved"] / room)
    return Trial(tried, kept, peaks["allocated"], peaks["reserved"], max(loads, default=0.0), contents)


def _trial(tried: tuple[Remedy, ...], contents: recording.Contents, judged: dict[str, Any], case: Any) -> Trial:
    peaks = {m: max(p[m] or 0 for p in contents.header["phases"]) for m in ("allocated", "reserved")}
    report, out = judged["report"], judged["outcome"]
    # of a run that did not fit the recording is of a larger card: memspec says where it ended
    oom = bool(report.get("oom") or contents.header["oom"])
    same = oom or all(report["peak"][m] == peaks[m] for m in peaks)
    kept = {"pass": KEPT, "fail": BROKEN}.get(out, UNDECIDED)
    if oom:
        kept = BROKEN
    elif not same:
        kept = UNDECIDED  # the replay is not the run
    elif kept == UNDECIDED and not case["budgets"] and report["quality"] == "exact":
        kept = KEPT  # the card alone is the limit, and the figure is certain
    loads = [f["predicted"] / f["limit"] for f in judged["findings"] if f["predicted"] and f["limit"]]
    room = (case["device"]["memory"] or 0) - (case["device"]["context"] or 0)
    if room > 0:
        loads.append(peaks["reserved"] / room)
    return Trial(tried, kept, peaks["allocated"], peaks["reserved"], max(loads, default=0.0), contents)


class Advice(NamedTuple):
    """What a search found: the case as it is, single changes, and changes together."""

    case: dict[str, Any]
    base: Trial
    single: list[Trial]
    together: list[Trial]
    failed: list[Trial]
    runs: int
    absent: str = ""  # what would have to be installed for a change that was not tried


def advise(trials: Trials, runs: int = RUNS, least: dict[str, int] | None = None) -> Advice:
    """Try single changes, then changes together. least: of a program's dims. Errors: MeasureError,
    Unusable."""
    case = trials.case([])
    if not case["source"] and not case["program"]:
        raise Unusable(f"{case['name']}: got an artifact, want a case with a source: or a program:")
    if case["artifact"]:
        raise Unusable(f"{case['name']}: got an artifact: beside the source:, want the source alone")
    base = trials.run()
    many: list[Remedy] = []
    if case["program"]:
        singles = remedies.of_program(case, least or {})
    elif not base.contents.header["built"].endswith("own iteration"):
        singles = remedies.of_source(case, base.contents, _batch(trials, case))
        many = remedies.of_many_gpus(case, base.contents)
    else:
        singles = remedies.of_own_iteration(case)
    tried = []
    with progress.Progress(runs) as bar:

        def attempt(*of: Remedy) -> Trial:
            bar.start(" + ".join(r.what for r in of))
            tried.append(trials.attempt(*of))
            return tried[-1]

        larger = _cards(case, base)
        first = max(1, runs - TOGETHER - bool(larger) - bool(many))
        for remedy in singles[:first]:
            attempt(remedy)
        for further in (larger, many):  # each until one keeps all
            for one in further[: max(0, runs - BESIDE - trials.count)]:
                if attempt(one).kept == KEPT:
                    break
        done = [t for t in tried if not t.why]
        together = []
        if base.kept != KEPT and not any(t.kept == KEPT for t in done if t.remedies[0].kind not in MORE):
            together = _greedy(attempt, base, done, runs - trials.count - bool(many))
        if base.kept != KEPT and many and not any(t.kept == KEPT for t in tried):
            together += _over_gpus(attempt, base, done, together, many, runs - trials.count)
        for remedy in singles[first:][: max(0, runs - trials.count)]:
            done += [t for t in (attempt(remedy),) if not t.why]
    return Advice(case, base, done, together, [t for t in tried if t.why], trials.count, _absent(case))


def _absent(case: dict[str, Any]) -> str:
    """What would have to be installed for an optimizer of 8 bits."""
    name = (case["training"] or {}).get("optimizer") or ""
    package = remedies.of_8_bits(name)
    if case["program"] or not package or find_spec(package):
        return ""
    return f"{name} of 8 bits was not tried: pip install {package}"


def _greedy(attempt: Any, base: Trial, done: list[Trial], runs: int) -> list[Trial]:
    """From the change that saves most, add the next that can stand beside it while that lowers the
    load, until all is kept."""
    out: list[Trial] = []
    order = sorted((t for t in done if t.load < base.load and t.remedies[0].kind not in MORE), key=lambda t: t.load)
    if not order:
        return []
    best = order[0]
    for other in order[1:]:
        if len(out) >= runs or best.kept == KEPT:
            break
        remedy = other.remedies[0]
        if all(remedy.beside(r) for r in best.remedies):
            got = attempt(*best.remedies, remedy)
            if not got.why and got.load < best.load:
                out.append(got)
                best = got
            else:
                runs -= 1
    return out


def _over_gpus(
    attempt: Any, base: Trial, done: list[Trial], together: list[Trial], many: list[Remedy], runs: int
) -> list[Trial]:
    """Over the most GPUs, with what saves most beside it and runs there, and over fewer as long as all is
    kept."""
    singles = sorted((t for t in done if t.load < base.load and t.remedies[0].kind not in MORE), key=lambda t: t.load)
    sets = [[r for r in t.remedies if r.beside(many[0])] for t in (*together[-1:], *singles)]
    out: list[Trial] = []
    last = runs
    for beside in filter(None, sets):
        for over in reversed(many):
            if last == 0:
                return out
            got = attempt(*beside, over)
            last -= 1
            if got.why:
                break
            out.append(got)
            if got.kept != KEPT:
                return out
        if out:
            return out
    return out


def _batch(trials: Trials, case: dict[str, Any]) -> str:
    """The dim that is the first size of every input and of nothing else; "" for none."""
    for dim, value in case["dims"].items():
        if value > 1:
            try:
                other = trials.case([f"dims: {remedies.flow({dim: value - 1})}"])
            except memspec_yaml.SpecError:
                continue
            if case["inputs"] and all(
                after == before.replace(f"[{value}", f"[{value - 1}", 1) != before
                for before, after in zip(case["inputs"], other["inputs"])
            ):
                return str(dim)
    return ""


def _cards(case: dict[str, Any], base: Trial) -> list[Remedy]:
    """Up to three cards with more memory, the least first, where the card is what is in the way: with as
    much as the case took, where it came to its end."""
    of_card = base.ran_out or not case["budgets"] or any("%" in b["text"] for b in case["budgets"])
    if base.kept == KEPT or not of_card or not case["device"]["memory"]:
        return []
    rows = memspec_yaml.ask("devices")["devices"]
    wanted = base.load * case["device"]["memory"]
    return remedies.cards([d for d in rows if (d["memory"] or 0) >= wanted], case)[:CARDS]


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m memshim advise",
        description="What would make a case fit: the changes that people try, each run on a pretend GPU. "
        "For a program: python -m memshim advise --on DEVICE --vary N=8..64 -- train.py --batch {N}",
        allow_abbrev=False,
    )
    p.add_argument("case", nargs="?", default="", metavar="CASE", help="a case with a source: or a program:")
    p.add_argument("spec", nargs="?", default="memspec.yaml", help="(memspec.yaml)")
    p.add_argument(
        "--on", action="append", default=[], metavar="DEVICE", help="of a program: a name of memspec devices"
    )
    p.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="N=8..64",
        help="of a program: what is tried for {N}; the last is wanted",
    )
    p.add_argument("--runs", type=int, default=RUNS, metavar="N", help=f"the most changes that are run ({RUNS})")
    p.add_argument("--format", choices=("text", "json"), default="text")
    p.add_argument("--json", dest="format", action="store_const", const="json", help="--format json")
    return p


def main(arguments: list[str]) -> int:
    own, program = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        own, program = arguments[:at], arguments[at + 1 :]
    p = parser()
    a = p.parse_args(own)
    if a.runs < 1:
        p.error(f"argument --runs: got {a.runs}, want 1 or more")
    if bool(program or a.vary or a.on) == bool(a.case):
        p.error("got both a CASE and a program, want one" if a.case else "got no CASE, want one, or -- train.py")
    command = ["python", "-m", "memshim", "advise", *arguments]
    try:
        if not a.case:
            return _of_program(a, program, command)
        return _say(_found(a, a.spec, a.case, command, {}), a.format)
    except (Unusable, search.Unusable, binary.BinaryError, memspec_yaml.SpecError, MeasureError, OSError) as e:
        say(f"memshim advise: {e}", file=sys.stderr)
        return USAGE


def _of_program(a: argparse.Namespace, program: list[str], command: list[str]) -> int:
    with search.of_program(a.on, a.vary, program, last=True) as (name, options):
        least = {m[1]: int(m[2]) for v in a.vary if (m := search.VARIED.fullmatch(v))}
        return _say(_found(a, options[0], name, command, least), a.format)


def _found(a: argparse.Namespace, spec: str, name: str, command: list[str], least: dict[str, int]) -> Advice:
    with contextlib.closing(process.runner(several=True)) as runner:
        return advise(Trials(spec, name, command, runner), a.runs, least)


def _say(advice: Advice, form: str) -> int:
    """0 where a change that was run keeps every budget and the card, or nothing has to change; else 1."""
    if form == "json":
        say(json.dumps(advise_report.as_json(advice), indent=2, ensure_ascii=False))
    else:
        say(advise_report.text(advice))
    return 0 if any(t.kept == KEPT for t in (advice.base, *advice.single, *advice.together)) else 1


__all__ = ["Advice", "Trial", "Trials", "advise", "main"]
