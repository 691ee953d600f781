"""Check a memspec.yaml: the memspec binary predicts and judges; each case is run too, on its GPU or
on a pretend one, and the two are compared.

    python -m memshim check [memspec.yaml] [--case NAME] [--on pretend|real|none] [--measure] [--require-gpu]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from memshim import binary, progress
from memshim.case import capture, measure, memspec_yaml, pickles, process, record
from memshim.gpu import devices
from memshim.judge import report
from memshim.printed import say
from memshim.workspace import answers

RECORDED = "recorded"
EXIT = {"fail": 1, "error": 2, "inconclusive": 3}  # the worst of many, in this order


class Options(NamedTuple):
    """auto: on this machine's GPU where it is the case's, else on a pretend one where the case has
    a source. real: the first alone. pretend: the second alone, of every case. A case whose
    prediction is a recording of a pretend GPU is not run on one again, unless its record is wanted.
    always: where there is no GPU, on CPU tensors. never."""

    when: str = "auto"
    require_gpu: bool = False
    output: str | None = None  # the folder for records
    timeout: float = measure.TIMEOUT
    extra: tuple[str, ...] = ()  # arguments of memspec check that memspec verify has too
    jobs: int = 1


class Measured(NamedTuple):
    """What running a case came to. outcome is pass, warn, fail, error, inconclusive, or skipped;
    text is for the user. where is pretend for a run that failed on a pretend GPU, which left no
    record, and RECORDED for a case that was not run because its prediction is such a run."""

    outcome: str
    text: str
    record: dict[str, Any] | None = None
    comparison: report.Comparison | None = None
    where: str = ""

    def as_json(self) -> dict[str, Any]:
        c = self.comparison
        return {
            "outcome": self.outcome,
            "text": self.text,
            "where": self.record["where"] if self.record else self.where,
            "rows": c.rows if c else [],
            "findings": c.findings if c else [],
            "events": c.events if c else None,
        }


def skipped(why: str, o: Options, name: str) -> Measured:
    """A clean skip, unless a GPU's word was required."""
    return Measured(
        "inconclusive" if o.require_gpu else "skipped",
        f"{'INCONCLUSIVE' if o.require_gpu else 'NOT MEASURED'} {name}: {why}",
    )


def verify(
    spec: str, case: dict[str, Any], seen: devices.Seen, o: Options, run: Callable[..., dict[str, Any]] | None = None
) -> Measured:
    """Run one case of a memspec.yaml and compare. case is of memspec cases, seen what this machine
    has, run what measures (measure.measure)."""
    name = case["name"]
    if case.get("program"):
        if o.require_gpu:
            return skipped("a program is recorded on a pretend GPU, and not measured", o, name)
        return Measured("skipped", f"NOT RUN {name}: its prediction is a recording of a pretend GPU", where=RECORDED)
    device, why = (None, "") if o.when == "pretend" else report.device_for(case, seen)
    pretending = (
        device is None and not o.require_gpu and (o.when == "pretend" or o.when == "auto" and pretendable(case))
    )
    if device is None and not pretending and (o.when != "always" or o.require_gpu):
        return skipped(why, o, name)
    if pretending and not o.output and case.get("recording") and capture.fresh(case["recording"], case):
        return Measured("skipped", f"NOT RUN {name}: its prediction is a recording of a pretend GPU", where=RECORDED)
    case = case | {"visible": device["uuid"] if device and len(seen.devices) > 1 else ""}
    at = "cuda" if o.require_gpu else "pretend" if pretending else "auto"
    try:
        got = (run or measure.measure)(case, at, o.timeout, "all" if o.output else "python")
    except (measure.NoGPU, measure.NothingToRun) as e:
        return skipped(str(e), o, name)
    except measure.MeasureError as e:
        return Measured(
            "error",
            f"ERROR {name} {'run on a pretend GPU' if pretending else 'measured'}: {e}",
            where="pretend" if pretending else "",
        )
    if o.output:
        record.write(got, o.output)
    if got["where"] != ("pretend" if pretending else "cuda"):
        return Measured("skipped", report.recorded_line(got), got)
    c = report.compare(spec, got, list(o.extra))
    if c.why_not:
        return skipped(c.why_not, o, name)._replace(record=got)
    return Measured(c.outcome, c.text, got, c)


def pretendable(case: dict[str, Any]) -> bool:
    """Whether a case is run on a pretend GPU of itself: it says what to run, and on which card."""
    return bool((case["source"] or case.get("program")) and case["device"]["memory"])


def exit_code(outcomes: list[str]) -> int:
    return next((code for outcome, code in EXIT.items() if outcome in outcomes), 0)


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(
        prog="python -m memshim check",
        description="Check the budgets of a memspec.yaml; where this machine has the "
        "GPU of a case, run it for real and compare. It runs the code that source: and program: name: give it only "
        "code that you would run anyway. "
        "--on none runs nothing.",
        epilog="Exit codes: 0 all pass, 1 a budget is broken or prediction and "
        "measurement disagree, 2 wrong usage or unreadable input, 3 could not say.",
    )
    p.add_argument("spec", nargs="?", default="memspec.yaml")
    p.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="NAME",
        help="only this case: its exact name, else with * and ?; repeats",
    )
    p.add_argument("--workspace", metavar="FILE", help="a workspace profile, for memspec check")
    p.set_defaults(when="auto")
    when = p.add_mutually_exclusive_group()
    when.add_argument(
        "--on",
        dest="when",
        choices=("pretend", "real", "none"),
        default="auto",
        help="where cases are run: on a pretend GPU, on this machine's where it "
        "is the case's, not at all (the machine's where it is the case's, else a pretend one where the case has a "
        "source:)",
    )
    when.add_argument(
        "--measure",
        dest="when",
        action="store_const",
        const="always",
        default="auto",
        help="run every case, on CPU tensors where there is no GPU (recorded, never compared)",
    )
    when.add_argument("--no-measure", dest="when", action="store_const", const="never", help="run none")
    p.add_argument("--require-gpu", action="store_true", help="exit 3 where a case was not measured on its GPU")
    p.add_argument("-o", "--output", metavar="FOLDER", help="keep the records there")
    p.add_argument(
        "--jobs",
        type=measure.jobs,
        default=1,
        metavar="N",
        help="cases run at a time (1); on a GPU one at a time in any event",
    )
    pickles.add_argument(p)
    p.add_argument(
        "--timeout",
        type=measure.seconds,
        default=measure.TIMEOUT,
        metavar="SECONDS",
        help=f"for running one case ({measure.TIMEOUT:g})",
    )
    p.add_argument("--format", choices=("text", "json"), default="text")
    a = p.parse_args(arguments)
    a.when = "never" if a.when == "none" else a.when
    if a.require_gpu and a.when in ("never", "pretend"):
        p.error(
            f"got --require-gpu beside {'--on pretend' if a.when == 'pretend' else '--no-measure or --on none'}, want "
            f"one of them"
        )
    try:
        return _check(a)
    except memspec_yaml.SpecError as e:
        say(e, file=sys.stderr)
    except binary.BinaryError as e:
        say(f"memshim: {e}", file=sys.stderr)
    return EXIT["error"]


def _check(a: argparse.Namespace) -> int:
    with answers.Queried() as asked:
        return _judge(a, asked)


def _judge(a: argparse.Namespace, asked: answers.Queried) -> int:
    extra = ["--workspace", a.workspace] if a.workspace else []
    checked = memspec_yaml.check(a.spec, a.case, extra, asked)
    if a.when not in ("never", "real") and _captures(a):
        checked = memspec_yaml.check(a.spec, a.case, extra, asked)
    for line in asked.lines():
        say(f"memshim: {line}", file=sys.stderr)
    if asked.count:
        say(
            f"memshim: cuDNN answered {asked.count} calls that no workspace profile has; python -m memshim workspace "
            f"{shlex.quote(a.spec)} keeps the "
            "answers for memspec check",
            file=sys.stderr,
        )
    extra += asked.arguments
    if a.format == "text":
        text, said, _ = binary.call("check", *memspec_yaml.selected(a.spec, a.case), *extra)
        say(text, end="")
        if said:
            say(said, file=sys.stderr)
    outcomes = [c["outcome"] for c in checked["cases"]]
    results = _measure(a, extra)
    outcomes += [r.outcome for r in results]
    code = exit_code(outcomes)
    if a.format == "json":
        padded: list[Measured | None] = [*results] or [None] * len(checked["cases"])
        for c, r in zip(checked["cases"], padded):
            c["measured"] = r.as_json() if r else None
            for f in c["findings"]:
                # what a pretend GPU says is in c["measured"], which says where
                if r and r.comparison and r.record and r.record["where"] == "cuda":
                    f["measured"] = r.comparison.peak(f["metric"])
        say(
            json.dumps(
                {"schema": checked["schema"], "exit": code, "cases": checked["cases"]}, indent=2, ensure_ascii=False
            )
        )
    elif results := [r for r in results if r.where != RECORDED]:
        count = {
            o: sum(r.outcome == o for r in results)
            for o in ("pass", "warn", "fail", "error", "inconclusive", "skipped")
        }
        where = {at for r in results if (at := r.record["where"] if r.record else r.where)}
        how = (
            "run on a pretend GPU"
            if where == {"pretend"}
            else "run for real"
            if "pretend" not in where
            else "run, some on a pretend GPU"
        )
        say(
            f"{how}, {len(results)} case{'s'[: len(results) != 1]}: "
            + ", ".join(f"{n} {o}" for o, n in count.items() if n)
        )
    return code


def _captures(a: argparse.Namespace) -> bool:
    """Capture the recordings that are missing or stale; whether there were any."""
    found = memspec_yaml.load(a.spec, a.case)
    if all(capture.fresh(c["recording"], c) for c in capture.of_spec(a.spec, found)):
        return False
    with contextlib.closing(process.runner()) as runner:
        for line in capture.refresh(a.spec, found, runner, a.timeout):
            say(line, file=sys.stderr)
    return True


def _measure(a: argparse.Namespace, extra: list[str]) -> list[Measured]:
    o = Options(a.when, a.require_gpu, a.output, a.timeout, tuple(extra), a.jobs)
    if o.when == "never":
        return []
    seen = devices.Seen() if o.when == "pretend" else devices.look()
    all_cases = memspec_yaml.load(a.spec, a.case)
    if (
        not seen.devices
        and (o.when == "real" or o.when == "auto" and not any(map(pretendable, all_cases)))
        and not o.require_gpu
    ):
        say(
            f"not measured: {seen.why} (--measure runs the cases on CPU tensors, --require-gpu makes this exit 3)",
            file=sys.stderr,
        )
        return []
    if a.output:
        Path(a.output).mkdir(parents=True, exist_ok=True)  # before anything is run for it
    results = []
    with progress.Progress(len(all_cases)) as bar:

        def one(case: dict[str, Any], run: Callable[..., dict[str, Any]]) -> Measured:
            bar.start(case["name"])
            return verify(a.spec, case, seen, o, run)

        with contextlib.closing(process.measure_all(all_cases, o.jobs, one)) as measured:
            for got in measured:
                results.append(got)
                if got.where == RECORDED:
                    continue
                bar.say(got.text, sys.stderr if a.format == "json" else sys.stdout)
    return results
