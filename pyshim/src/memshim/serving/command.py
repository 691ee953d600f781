"""python -m memshim serve: how many tokens of KV cache an engine has left on a card.

    python -m memshim serve --on h100-sxm-80gb [-o FILE.rec] -- vllm serve MODEL --max-model-len 8192
    python -m memshim serve --on h100-sxm-80gb -- program.py    (which makes an LLM(...))

The engine starts unmodified on a pretend GPU, to the point where its KV cache is made. Its figures
are read from its objects. Exit codes: 0 it starts, 1 it does not fit, 2 wrong usage or an engine
that does not start, 3 something of the model cannot be made up.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import sys
from typing import Any

from memshim import binary, pretend
from memshim.case import program_case
from memshim.files import check_writable, write_whole
from memshim.pretend.activate import as_devices
from memshim.printed import say
from memshim.serving import advice, larger, model_folder, report
from memshim.serving.start import Recording, Start, Unusable, Wanted, gpus, start, words

UNFIT, USAGE, UNDECIDED = 1, 2, 3
ADVISE = "; --advise tries what would fit"


def installed() -> str:
    """The release of vLLM in this Python; "" for none."""
    try:
        return importlib.metadata.version("vllm") if importlib.util.find_spec("vllm") else ""
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return ""


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m memshim serve",
        description="Start a serving engine (vLLM) on a pretend GPU until its KV cache is made, and report the memory "
        "that is loaded, the activations, and how many tokens of KV cache are left, by the engine's own figures.",
        usage="python -m memshim serve --on DEVICE [--count N] [--memory SIZE] [-o FILE] [--json FILE] [--log FILE] "
        "[--generate N] [--advise] -- (vllm serve MODEL | program.py | -m MODULE) ARGUMENTS",
    )
    p.add_argument("--on", required=True, metavar="DEVICE", help="a device of memspec devices")
    p.add_argument("--count", type=int, metavar="N", help="so many of it (as many as the engine's words ask for)")
    p.add_argument("--memory", metavar="SIZE", help="another size of memory, such as 40GiB")
    p.add_argument("-o", "--output", metavar="FILE", help="record the start, for memspec estimate and memspec.yaml")
    p.add_argument("--json", metavar="FILE", help="write the figures there as well")
    p.add_argument(
        "--advise",
        action="store_true",
        help="start the engine again with what could leave more tokens of KV cache, and report each",
    )
    p.add_argument(
        "--generate",
        type=int,
        default=0,
        metavar="N",
        help="then run max_num_seqs requests of N tokens each, and report whether they take more than the profile run",
    )
    p.add_argument("--log", metavar="FILE", help="keep what the engine prints")
    p.add_argument(program_case.OF_CASE, metavar="FILE", help=argparse.SUPPRESS)
    p.add_argument("program", nargs=argparse.REMAINDER, help="after --")
    return p


def wanted(a: argparse.Namespace, arguments: list[str]) -> Wanted:
    """What the command line asks for. The environment becomes the case's."""
    program = a.program[1:] if a.program[:1] == ["--"] else a.program
    case = program_case.read(a.of_case) if a.of_case else None
    if case:
        case.enter()
    recording = None
    if a.output:
        command = ["python", "-m", "memshim", "serve", *arguments]
        recording = Recording(a.output, os.getcwd(), command, [[], []])
    if case and recording:
        of = case.wanted()
        stated = program_case.variables(case.case)
        recording = Recording(of["record"], of["dir"], of["command"], [list(p) for p in of["depends"]], stated)
    return Wanted(program, case.device if case else a.on, a.memory, a.count, recording, a.generate)


def check_outputs(files: dict[str, str | None]) -> None:
    """Errors: ValueError where two of the options name one file; OSError where one cannot be written."""
    seen: dict[str, str] = {}
    for option, file in files.items():
        if not file:
            continue
        first = seen.setdefault(os.path.realpath(file), option)
        if first != option:
            raise ValueError(f"got {first} and {option} of one file, {file}, want two files")
        check_writable(file)


def main(arguments: list[str]) -> int:
    a = parser().parse_args(arguments)
    try:
        if a.generate < 0:
            raise ValueError(f"--generate: got {a.generate}, want a number of tokens")
        asked = wanted(a, arguments)
        words(asked.program)
        as_devices(asked.device, gpus(asked.program) if asked.number is None else asked.number, asked.memory)
        check_outputs({"-o": a.output, "--json": a.json, "--log": a.log})  # before anything is run for it
        version = installed()
        if not version:
            tried = report.TRIED
            raise Unusable(
                f"got no vLLM in {sys.executable}, want one of {', '.join(tried)} there: pip install vllm=={tried[-1]}"
            )
        began = start(asked, version)
        code = report_start(began, a, asked, version)
        if a.advise and code in (0, UNFIT):
            say(advice.text(began.found, advice.trials(began.found, asked, version)))
        return code
    except (ValueError, pretend.Unsupported, pretend.BuildError, binary.BinaryError, OSError) as e:
        say(f"memshim serve: {e}", file=sys.stderr)
        return USAGE


def report_start(began: Start, to: argparse.Namespace, asked: Wanted, version: str) -> int:
    """Report a start; the exit code."""
    found = began.found
    if to.log:
        write_whole(to.log, began.log)
    if to.json:
        write_whole(to.json, (json.dumps(found, indent=2) + "\n").encode())
    if to.output and asked.recording and began.made and found["fits"] is not None:
        recorded = found | {"made": complete(began.made, asked.recording, version)}
        write_whole(to.output, (json.dumps(recorded, indent=1) + "\n").encode())
    if found["fits"]:
        say(report.text(found))
        if to.output:
            say(f"  {'recording':<16} {to.output}")
        return 0
    if found["fits"] is False:
        larger_card = larger.text(began.larger())
        say(f"memshim serve: {began.why()}{larger_card}{'' if to.advise else ADVISE}", file=sys.stderr)
        return UNFIT
    say(f"memshim serve: {began.why()}", file=sys.stderr)
    return UNDECIDED if began.errors and began.errors[0]["kind"] == model_folder.Unclear.__name__ else USAGE


def complete(made: dict[str, Any], recording: Recording, version: str) -> dict[str, Any]:
    """What an engine was made from, with its own variables and its release."""
    variables = made["variables"] | recording.variables(os.environ)
    packages = made["packages"] | {"vllm": version}
    return made | {"variables": dict(sorted(variables.items())), "packages": dict(sorted(packages.items()))}
