"""Runs cases for real and records what they take, each in a separate process.

    python -m memshim measure [memspec.yaml] [--case NAME] [-o FOLDER]

On a GPU the peaks are the caching allocator's; without one the same is done on CPU tensors, whose
shapes, sizes and lifetimes are recorded and labelled so.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memshim import binary, pretend, progress, workdir
from memshim.case import memspec_yaml, pickles, process, record, request
from memshim.case.errors import (
    TIMEOUT,
    TORCH_MISSING,
    UNSURE,
    USAGE,
    CaseError,
    MeasureError,
    ModelError,
    NoGPU,
    NothingToRun,
    NoTorch,
)
from memshim.gpu.where import pretended
from memshim.printed import say

__all__ = [
    "CaseError",
    "MeasureError",
    "ModelError",
    "NoGPU",
    "NoTorch",
    "NothingToRun",
    "TIMEOUT",
    "TORCH_MISSING",
    "measure",
]


def measure(
    case: dict[str, Any], where: str = "auto", timeout: float = TIMEOUT, stacks: str = "python"
) -> dict[str, Any]:
    """The record of one case (as memspec cases states it), measured in a fresh process. where: auto,
    cuda or cpu. Errors: MeasureError."""
    return process.Fresh().measure(case, where, timeout, stacks)


def seconds(text: str) -> float:
    """A time limit."""
    n = float(text)
    if not n > 0:
        raise ValueError(text)
    return n


def jobs(text: str) -> int:
    """How many at a time."""
    if not text.isdecimal() or not (n := int(text)):
        raise argparse.ArgumentTypeError(f"got {text!r}, want a whole number from 1")
    return n


def _answer(text: str, a: argparse.Namespace) -> int:
    """In this process, or where it is to be on a pretend GPU and is not, in one that is."""
    if a.where != "pretend" or pretended():
        return request.answer(text, a)
    try:
        environ = process.pretended(json.loads(text), "pretend")
    except NoGPU as e:
        say(f"memshim: {e}", file=sys.stderr)
        return UNSURE
    command = [
        *workdir.module("memshim"),
        "measure",
        "--request",
        "-",
        "--output",
        a.output,
        "--where",
        "pretend",
        "--stacks",
        a.stacks,
        "--timeout",
        str(a.timeout),
        *(["--recording", a.recording] if a.recording else []),
    ]
    return subprocess.run(command, input=text, text=True, env={**os.environ, **environ}).returncode


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(
        prog="python -m memshim measure",
        description="Run cases of a memspec.yaml for real and record what they take. "
        "It runs the code that source: names: give it only code that you would run anyway.",
    )
    p.add_argument("spec", nargs="?", default="memspec.yaml")
    p.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="NAME",
        help="only this case: its exact name, else with * and ?; repeats",
    )
    p.add_argument(
        "--where",
        choices=("auto", "cuda", "pretend", "cpu"),
        default="auto",
        help="auto: on the GPU where there is one, else on CPU "
        "tensors; pretend: on a pretend GPU, the device of each case",
    )
    p.add_argument("--on", metavar="DEVICE", help="every case on this device, pretended (--where pretend: on its own)")
    p.add_argument(
        "-o",
        "--output",
        default="measured",
        metavar="FOLDER",
        help="where records go (measured); with --request, the file",
    )
    p.add_argument(
        "--stacks", choices=("all", "python"), default="all", help="of each event on a GPU: with C++ frames, or without"
    )
    p.add_argument(
        "--jobs", type=jobs, default=1, metavar="N", help="cases at a time (1); of a GPU one at a time in any event"
    )
    pickles.add_argument(p)
    p.add_argument(
        "--timeout",
        type=seconds,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"for one case, from when it has the GPU ({TIMEOUT:g})",
    )
    p.add_argument(
        "--request",
        metavar="FILE",
        help="measure one case in this process, as memspec cases --format json prints it; - is standard input",
    )
    p.add_argument(
        "--recording",
        default="",
        metavar="FILE.rec",
        help="with --request, write a recording that is to lie there, not a record",
    )
    a = p.parse_args(arguments)
    if a.request:
        return _answer(sys.stdin.read() if a.request == "-" else Path(a.request).read_text(encoding="utf-8"), a)
    try:
        found = memspec_yaml.load(a.spec, a.case)
        if a.on:
            a.where, card = "pretend", pretend.find(a.on)
            found = [c | {"device": {"name": card.name, "memory": card.memory}} for c in found]
    except memspec_yaml.SpecError as e:
        say(e, file=sys.stderr)
        return USAGE
    except (binary.BinaryError, pretend.UnknownDevice) as e:
        say(f"memshim: {e}", file=sys.stderr)
        return USAGE
    code = 0
    Path(a.output).mkdir(parents=True, exist_ok=True)  # before anything is run for it
    with progress.Progress(len(found)) as bar:

        def one(case: dict[str, Any], measure: Callable[..., dict[str, Any]]) -> dict[str, Any] | MeasureError:
            bar.start(case["name"])
            try:
                return measure(case, a.where, a.timeout, a.stacks)
            except MeasureError as e:
                return e

        with contextlib.closing(process.measure_all(found, a.jobs, one)) as measured:
            for case, got in zip(found, measured):
                if isinstance(got, MeasureError):
                    bar.say(f"memshim: {case['name']}: {got}", sys.stderr)
                    code = USAGE if code == USAGE or not isinstance(got, NoGPU) else UNSURE
                else:
                    bar.say(f"{record.write(got, a.output)}\n{record.table(got)}", sys.stdout)
    return code
