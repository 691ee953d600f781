"""Runs a model or a training step and keeps what the allocator did, as an artifact that memspec
reads with nothing but Go.

    python -m memshim capture models/zoo.py:resnet50 --input 'x=float32[8,3,224,224]' \
        --on t4 -o resnet50.rec
    python -m memshim capture models/zoo.py:resnet50 --input 'x=float32[8,3,224,224]' \
        --on t4 --mode training --optimizer AdamW -o step.rec
    python -m memshim capture memspec.yaml [--case NAME]
        its cases that have a program:, or a source: and no artifact:, each into .memspec/
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memshim import binary, progress, sizes
from memshim.allocator import recording
from memshim.case import inputs, memspec_yaml, pickles, process, program_case
from memshim.case.build import BuildError
from memshim.case.errors import TIMEOUT, UNSURE, USAGE, MeasureError, NoGPU
from memshim.case.measure import jobs
from memshim.case.step import parse_optimizer
from memshim.origin import provenance
from memshim.origin.dependencies import Depends
from memshim.pretend import restart, support
from memshim.printed import say

TRAINING, INFERENCE = 3, 2  # iterations where the case does not say


def case_of(a: argparse.Namespace) -> dict[str, Any]:
    """A case as memspec reports one, of the command line's words."""
    dims, lengths = inputs.parse_dims(a.dim), inputs.parse_lengths(a.lengths)
    count = len(next(iter(lengths.values()), ()))
    if count and a.iterations not in (0, count):
        raise BuildError(f"got {count} lengths beside --iterations {a.iterations}, want as many")
    if unused := [name for name in lengths if not any(name in _names(text) for text in a.input)]:
        raise BuildError(f"got --lengths for {unused[0]}, which no --input names")
    each = [inputs.bound(a.input, dims | {name: sizes[i] for name, sizes in lengths.items()}) for i in range(count)]
    texts = inputs.bound(a.input, {name: max(sizes) for name, sizes in lengths.items()} | dims)
    artifact = a.source if a.source.endswith((".pt", ".pt2")) else ""
    return {
        "name": a.name or os.path.basename(a.output).removesuffix(".rec"),
        "source": "" if artifact else a.source,
        "artifact": artifact,
        "dir": ".",
        "mode": a.mode,
        "grad": a.grad,
        "dtype": a.dtype,
        "autocast": a.autocast,
        "inputs": texts,
        "lengths": lengths,
        "iteration_inputs": each,
        "alloc_conf": a.alloc_conf,
        "cublas_workspace": a.cublas_workspace,
        "memory_fraction": 0,
        "runtime": "eager",
        "iterations": a.iterations or count,
        "flags": {"tf32_matmul": False, "tf32_cudnn": True, "benchmark": False, "deterministic": False},
        "training": training_of(a, count),
        "command": [
            *compiling(os.environ),
            "python",
            "-m",
            "memshim",
            "capture",
            *(w for w in a.words if w != "--fresh"),
        ],
    }


# how inductor, dynamo and Triton are reported otherwise
COMPILING = ("TORCHINDUCTOR_", "TORCHDYNAMO_", "TORCH_COMPILE_", "AOT_INDUCTOR_", "TRITON_")
PRETENDING = ("TRITON_LIBCUDA_PATH", "TORCHINDUCTOR_FORCE_DISABLE_CACHES")  # pretend/activate.py sets them itself


def compiling(environ: Mapping[str, str]) -> list[str]:
    """What of the environment says how to compile, as a command begins with it. Where caches lie is
    none of it."""
    found = [
        f"{k}={v if v.isprintable() else ascii(v)}"
        for k, v in sorted(environ.items())
        if k.startswith(COMPILING) and not k.endswith("_CACHE_DIR") and k not in PRETENDING
    ]
    return ["env", *found] if found else []


def _names(text: str) -> list[str]:
    """The names in an input's sizes."""
    return re.findall(r"[A-Za-z_]\w*", text.partition("[")[2])


def training_of(a: argparse.Namespace, lengths: int = 0) -> dict[str, Any] | None:
    """The training step of the command line. lengths: how many iterations have their sizes."""
    given = [name for name in ("optimizer", "loss", "accumulate", "clip", "checkpoint") if getattr(a, name)]
    if a.mode != "training":
        if given:
            raise BuildError(f"got --{given[0]} in inference, want --mode training beside it")
        return None
    optimizer, arguments = parse_optimizer(a.optimizer) if a.optimizer else ("", {})
    modules = [m.strip() for m in a.checkpoint.removeprefix("reentrant:").split(",") if m.strip()]
    return {
        "optimizer": optimizer,
        "arguments": arguments,
        "loss": a.loss or "sum",
        "accumulate": a.accumulate or 1,
        "clip": a.clip or None,
        "checkpoint": {"modules": modules, "reentrant": a.checkpoint.startswith("reentrant:")} if modules else None,
        "iterations": a.iterations or lengths or TRAINING,
    }


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m memshim capture",
        description="Run a model or a training step and keep what the allocator did as an "
        "artifact: memspec check, estimate, explain, diff, replay and dump read it. "
        "It runs the code that source: and program: name: give it only code that you would run anyway.",
    )
    p.add_argument(
        "source",
        help="FILE.py:NAME of a module, of a function that makes one, of a module with its inputs, or of a callable "
        "that does one "
        "iteration; an archive (.pt, .pt2); or a memspec.yaml",
    )
    p.add_argument("-o", "--output", metavar="FILE.rec")
    p.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="NAME",
        help="of a memspec.yaml; its exact name, else with * and ?; repeats",
    )
    p.add_argument(
        "--shard",
        default="",
        metavar="K/N",
        help="of a memspec.yaml: only one part of its cases, such as 2/8, as memspec check --shard has it",
    )
    p.add_argument(
        "--jobs", type=jobs, default=1, metavar="N", help="of a memspec.yaml: how many cases are recorded at a time (1)"
    )
    p.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="INPUT",
        help="such as 'x=float32[B,3,224,224]'; repeats, without a name in order",
    )
    p.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="a dimension's value; repeats")
    p.add_argument(
        "--lengths",
        action="append",
        default=[],
        metavar="NAME=SIZE,SIZE,…",
        help="a dimension's size in each iteration, such as T=128,120,128; repeats",
    )
    restart.add_arguments(p)
    p.add_argument("--name", default="", help="the case's name (the file's)")
    p.add_argument("--mode", choices=("inference", "training"), default="inference")
    p.add_argument(
        "--iterations",
        type=int,
        default=0,
        metavar="N",
        help=f"how many, from 2 ({TRAINING} in training, else {INFERENCE})",
    )
    p.add_argument(
        "--optimizer",
        default="",
        metavar="TEXT",
        help="in training, such as 'AdamW(lr=0.001, fused=True)', FILE.py:NAME, or none",
    )
    p.add_argument(
        "--loss",
        default="",
        metavar="TEXT",
        help="sum (of the results), mean, output, a function of torch.nn.functional, or FILE.py:NAME (sum)",
    )
    p.add_argument("--accumulate", type=int, default=0, metavar="N", help="forward and backward passes a step (1)")
    p.add_argument("--clip", type=float, default=0, metavar="NORM", help="clip the norm of the gradients")
    p.add_argument(
        "--checkpoint",
        default="",
        metavar="MODULES",
        help="activation checkpointing of modules: 'layers.*, head', 'reentrant: layers.*'",
    )
    p.add_argument("--autocast", choices=("float16", "bfloat16"), default="")
    p.add_argument("--dtype", choices=("float16", "bfloat16", "float32", "float64"), default="")
    p.add_argument("--grad", choices=("no_grad", "inference_mode"), default="no_grad")
    p.add_argument("--alloc-conf", default="", metavar="TEXT", help="PYTORCH_CUDA_ALLOC_CONF")
    p.add_argument("--cublas-workspace", default="", metavar="TEXT", help="CUBLAS_WORKSPACE_CONFIG")
    p.add_argument(
        "--fresh",
        action="store_true",
        help="run it again, though its recording is of this very run and nothing that it depends on has changed",
    )
    pickles.add_argument(p)
    p.add_argument("--timeout", type=float, default=TIMEOUT, metavar="SECONDS", help=f"for one case ({TIMEOUT:g})")
    return p


def main(arguments: list[str]) -> int:
    p = parser()
    a = p.parse_args(arguments)
    a.words = arguments
    if a.iterations and a.iterations < 2:
        p.error(f"argument --iterations: got {a.iterations}, want 2 or more: the first, and a steady one")
    try:
        if a.source.endswith((".yaml", ".yml")):
            return _of_spec(a)
        for flag, given in (("--case", a.case), ("--shard", a.shard), ("--jobs", a.jobs != 1)):
            if given:
                p.error(f"got {flag} beside {a.source}, want it beside a memspec.yaml")
        if not a.output:
            p.error("got no -o FILE, want the recording to write")
        return _of_source(a)
    except restart.Unusable as e:
        say(f"memshim capture: {e}", file=sys.stderr)
    except (BuildError, inputs.InputError, memspec_yaml.SpecError, binary.BinaryError) as e:
        say(f"memshim capture: {e}", file=sys.stderr)
    return USAGE


def _of_source(a: argparse.Namespace) -> int:
    environment = restart.environment(a)
    case = case_of(a)
    if a.on:
        case["device"] = restart.case_device(a)
        if not a.fresh and up_to_date(a.output, case):
            say(_up_to_date(a.output))
            return 0
    # a run on a pretend GPU may be repeated
    with contextlib.closing(process.runner() if a.on else process.Fresh()) as runner:
        return _say(
            [
                _captured(
                    runner,
                    case,
                    a.output,
                    "pretend" if a.on else "cuda",
                    a,
                    environment if a.memory or a.count != 1 else None,
                )
            ],
            {},
        )


def _up_to_date(output: str) -> str:
    size = sum(map(os.path.getsize, program_case.files(output)))
    return f"{output} is up to date ({sizes.show(size)}); --fresh runs it again"


def _captured(
    runner: process.Runner,
    case: dict[str, Any],
    output: str,
    at: str,
    a: argparse.Namespace,
    extra: dict[str, str] | None = None,
) -> Any:
    """Where it is written, with its size; or a MeasureError."""
    try:
        return f"{output} ({sizes.show(runner.capture(case, output, at, a.timeout, extra))})"
    except MeasureError as e:
        return e


def _say(results: list[Any], names: dict[int, str]) -> int:
    code = 0
    for i, got in enumerate(results):
        if isinstance(got, MeasureError):
            say(f"memshim capture: {names[i] + ': ' if i in names else ''}{got}", file=sys.stderr)
            code = USAGE if code == USAGE or not isinstance(got, NoGPU) else UNSURE
        else:
            say(got)
    return code


def of_spec(spec: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the cases of a memspec.yaml, those whose recordings are captured: they name where
    (recording), each file once. What a replay chooses, the settings of the allocator and how much
    of the memory there is, is left to it."""
    out: dict[str, dict[str, Any]] = {}
    for c in found:
        if c.get("recording"):
            command = ["python", "-m", "memshim", "capture", os.path.basename(spec), "--case", c["name"]]
            out.setdefault(c["recording"], c | {"command": command, "alloc_conf": "", "memory_fraction": 0})
    return list(out.values())


UNREADABLE = (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError)  # or no recording of ours


def up_to_date(file: str, case: dict[str, Any]) -> bool:
    """Whether a recording is there that the same command made: of these source files, with this
    PyTorch and Python, and by memshim as it is. Of an archive, whose weights are no text, none is.
    """
    try:
        return all(_up_to_date_file(one, case) for one in program_case.files(file))
    except UNREADABLE:
        return False


def _up_to_date_file(file: str, case: dict[str, Any]) -> bool:
    try:
        recorded = recording.header(file)["made"]
        return (
            _of_the_source(recorded, file, case)
            and recorded["command"] == case["command"]
            and recorded["versions"] == provenance.versions(support.torch_here().version)
            and os.path.getmtime(file) > _changed()
            and fresh(file, case)
        )
    except UNREADABLE:
        return False


def _of_the_source(recorded: dict[str, Any], file: str, case: dict[str, Any]) -> bool:
    """Whether a recording holds the file of the case's source. A program's may be an installed module."""
    if case.get("program"):
        return True
    source = case["source"].rpartition(":")[0]
    here = os.path.realpath(os.path.join(case["dir"], source))
    files = {os.path.realpath(os.path.join(os.path.dirname(file), f["path"])) for f in recorded["files"]}
    return here in files if source.endswith(".py") else bool(source and files)


def _changed() -> float:
    """When a file of memshim was last written."""
    return max(
        f.stat().st_mtime for f in Path(process.__file__).parents[1].rglob("*") if f.suffix in (".py", ".c", ".h")
    )


def fresh(file: str, case: dict[str, Any]) -> bool:
    """Whether a recording is there, or those of all ranks, and what it was made from is as it was."""
    try:
        return not any(
            provenance.differences(
                one, recording.header(one)["made"] | {"parameters": []}, None, case["dir"], Depends.of(case)
            )
            for one in program_case.files(file)
        )
    except UNREADABLE:
        return False


def refresh(spec: str, found: list[dict[str, Any]], runner: process.Runner, timeout: float = TIMEOUT) -> list[str]:
    """Capture what of the cases' recordings is missing or stale; what could not be, a line each."""
    out = []
    wanted = [c for c in of_spec(spec, found) if not fresh(c["recording"], c)]
    with progress.Progress(len(wanted)) as bar:
        for case in wanted:
            bar.start(f"capturing {case['name']}")
            try:
                runner.capture(case, case["recording"], "pretend", timeout)
            except MeasureError as e:
                out.append(f"memshim: {case['name']} cannot be captured: {e}")
    return out


def _of_spec(a: argparse.Namespace) -> int:
    given = [
        w
        for w, v in (
            ("-o", a.output),
            ("--input", a.input),
            ("--dim", a.dim),
            ("--lengths", a.lengths),
            ("--memory", a.memory),
            ("--count", a.count != 1),
            ("--mode", a.mode != "inference"),
        )
        if v
    ]
    if given:
        raise BuildError(
            f"got {given[0]} beside a memspec.yaml, want none: the cases say how they run (--on DEVICE records them on "
            f"another card)"
        )
    if len(a.on or []) > 1:
        raise BuildError(f"got --on {len(a.on)} times beside a memspec.yaml, want it once: a case has one device")
    found = of_spec(a.source, memspec_yaml.load(a.source, a.case, a.on[0] if a.on else "", a.shard))
    if a.shard and not found:
        say(f"{a.source}: no case to capture is in part {a.shard}")
        return 0
    if not found:
        raise BuildError(
            f"{a.source}: got no case with a program:, or with a source: and without an artifact:, want one to capture"
        )
    with progress.Progress(len(found)) as bar:

        def one(case: dict[str, Any], runner: process.Runner) -> Any:
            bar.start(case["name"])
            if not a.fresh and up_to_date(case["recording"], case):
                return _up_to_date(case["recording"])
            return _captured(runner, case, case["recording"], "pretend", a)

        with contextlib.closing(process.each(found, a.jobs, one, repeats=True)) as captured:
            results = list(captured)
    return _say(results, {i: c["name"] for i, c in enumerate(found)})
