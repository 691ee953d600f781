"""python -m memshim serve: how many tokens of KV cache an engine has left on a card.

    python -m memshim serve --on h100-sxm-80gb [-o FILE.rec] -- vllm serve MODEL --max-model-len 8192
    python -m memshim serve --on h100-sxm-80gb -- program.py    (which makes an LLM(...))

The engine starts unmodified on a pretend GPU, to the point where its KV cache is made. Its figures
are read from its objects. Exit codes: 0 it starts, 1 it does not fit, 2 wrong usage or an engine
that does not start, 3 the weights cannot be made up.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memshim import binary, pretend
from memshim.case import program_case
from memshim.files import check_writable, temporary_folder, write_whole
from memshim.origin.dependencies import hashed_value
from memshim.origin.reads import kept
from memshim.pretend.activate import as_devices
from memshim.pretend.device import Device
from memshim.printed import say
from memshim.program import launch
from memshim.serving import driver_memory, model_folder, report, watch

UNFIT, USAGE, UNDECIDED = 1, 2, 3
STARTUP = str(Path(__file__).resolve().parent / "startup")
LOG = "engine.log"
CLI = "vllm.entrypoints.cli.main"
LAST = 12  # lines of the engine's log that are shown where nothing else says why it ended


class Unusable(ValueError):
    """What is asked for cannot be run. The text is for the user."""


def installed() -> str:
    """The release of vLLM in this Python; "" for none."""
    try:
        return importlib.metadata.version("vllm") if importlib.util.find_spec("vllm") else ""
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return ""


def words(program: list[str]) -> list[str]:
    """The engine's command, run by this Python: vllm, a script, -m and a module, -c and code."""
    if not program:
        raise Unusable("got no command, want -- vllm serve MODEL … or -- program.py")
    if program[0] == "vllm":
        return [sys.executable, "-m", CLI, *program[1:]]
    if program[0] in ("-m", "-c"):
        return [sys.executable, *program]
    if program[0] in ("python", "python3"):
        return [sys.executable, *program[1:]]
    if not program[0].endswith(".py"):
        raise Unusable(f"got {program[0]}, want vllm, a script (.py), -m MODULE or -c CODE")
    if not Path(program[0]).is_file():
        raise Unusable(f"{program[0]}: no such file")
    return [sys.executable, *program]


# The engine's words for how many GPUs it takes, which multiply.
PARALLEL = (
    ("--tensor-parallel-size", "-tp"),
    ("--pipeline-parallel-size", "-pp"),
    ("--data-parallel-size", "-dp"),
)


def gpus(program: list[str]) -> int:
    """How many GPUs the engine's words ask for: 1 where they do not say."""
    found = 1
    for i, word in enumerate(program):
        name, _, value = word.partition("=")
        if any(name.replace("_", "-") in names for names in PARALLEL):
            value = value or next(iter(program[i + 1 : i + 2]), "")
            found *= max(int(value), 1) if value.isdecimal() else 1
    return found


class Recording(NamedTuple):
    """What is to be recorded: its file, where paths start from, the command that makes it again, and
    what the case says of its dependencies and its environment."""

    file: str
    folder: str
    command: list[str]
    depends: list[list[str]]
    stated: Iterable[str] = ()  # variables that the case states

    def wanted(self, program: list[str]) -> dict[str, Any]:
        """For the engine's processes (watch.py)."""
        script = os.path.abspath(program[0]) if program[0].endswith(".py") else ""
        return {
            "file": os.path.abspath(self.file),
            "script": script,
            "folder": self.folder,
            "command": self.command,
            "depends": self.depends,
        }

    def variables(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The engine's own variables that are set, but those that decide where it keeps and says things."""
        own = [n for n in environ if n.startswith("VLLM_") and not n.startswith(ELSEWHERE) and kept(n)]
        return {n: hashed_value(n, environ[n]) for n in own if n not in self.stated}


ELSEWHERE = tuple(
    "VLLM_" + name
    for name in """
    CACHE_ROOT CONFIG_ROOT ASSETS_CACHE LOGGING_ LOG_ NO_USAGE_STATS USAGE_ DO_NOT_TRACK HOST PORT RPC_ DEBUG_ TRACE_
    """.split()
)


def environment(
    cards: list[Device],
    folder: Path,
    charged: list[int],
    environ: Mapping[str, str],
    recording: dict[str, Any] | None = None,
) -> dict[str, str]:
    """The variables of the engine's processes. charged: bytes for the driver, of one GPU and of each
    of several. recording: what Recording.wanted says. Caches are empty: what an earlier run compiled or
    tuned would not be measured again."""
    own = {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "0"}  # with 1, vLLM refuses torch.compile
    found = {
        **environ,
        **pretend.activate.variables(cards, {**environ, **own, "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor")}),
        **pretend.activate.options(True, None),
        watch.WANTED: json.dumps({"folder": str(folder), "charged": charged, "recording": recording}),
        "VLLM_CACHE_ROOT": str(folder / "vllm"),
    }
    quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
    found |= {k: v for k, v in quiet.items() if k not in environ}
    found["PYTHONPATH"] = os.pathsep.join(filter(None, [STARTUP, found.get("PYTHONPATH", "")]))
    return found


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m memshim serve",
        description="Start a serving engine (vLLM) on a pretend GPU until its KV cache is made, and report the memory "
        "that is loaded, the activations, and how many tokens of KV cache are left, by the engine's own figures.",
        usage="python -m memshim serve --on DEVICE [--count N] [--memory SIZE] [-o FILE] [--json FILE] [--log FILE] "
        "-- (vllm serve MODEL | program.py | -m MODULE) ARGUMENTS",
    )
    p.add_argument("--on", required=True, metavar="DEVICE", help="a device of memspec devices")
    p.add_argument("--count", type=int, metavar="N", help="so many of it (as many as the engine's words ask for)")
    p.add_argument("--memory", metavar="SIZE", help="another size of memory, such as 40GiB")
    p.add_argument("-o", "--output", metavar="FILE", help="record the start, for memspec estimate and memspec.yaml")
    p.add_argument("--json", metavar="FILE", help="write the figures there as well")
    p.add_argument("--log", metavar="FILE", help="keep what the engine prints")
    p.add_argument(program_case.OF_CASE, metavar="FILE", help=argparse.SUPPRESS)
    p.add_argument("program", nargs=argparse.REMAINDER, help="after --")
    return p


class Wanted(NamedTuple):
    """An engine's start as the command line has it."""

    program: list[str]
    device: Device | str
    memory: str | None
    number: int | None
    recording: Recording | None


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
    return Wanted(program, case.device if case else a.on, a.memory, a.count, recording)


def main(arguments: list[str]) -> int:
    a = parser().parse_args(arguments)
    try:
        asked = wanted(a, arguments)
        command = words(asked.program)
        count = asked.number or gpus(asked.program)
        as_devices(asked.device, count, asked.memory)
        for file in filter(None, (a.json, a.log, a.output)):
            check_writable(file)  # before anything is run for it
        version = installed()
        if not version:
            tried = report.TRIED
            raise Unusable(
                f"got no vLLM in {sys.executable}, want one of {', '.join(tried)} there: pip install vllm=={tried[-1]}"
            )
        while True:
            with temporary_folder("memshim-serve-") as folder:
                cards = as_devices(asked.device, count, asked.memory)
                charged = [driver_memory.of(version, cards[0].driver, n).bytes for n in (1, 2)]
                recorded = asked.recording.wanted(asked.program) if asked.recording else None
                fixed = asked.number is not None
                code = start(command, environment(cards, folder, charged, os.environ, recorded), folder, count, fixed)
                needs = asks(folder)
                if not fixed and needs != count and needs > 0:
                    count, fixed = needs, True
                    asked = asked._replace(number=needs)
                    continue
                if a.log:
                    write_whole(a.log, (folder / LOG).read_bytes())
                return judge(folder, code, version, asked, cards, a)
    except (ValueError, pretend.Unsupported, pretend.BuildError, binary.BinaryError, OSError) as e:
        say(f"memshim serve: {e}", file=sys.stderr)
        return USAGE


def asks(folder: Path) -> int:
    """How many GPUs the engine's own arguments ask for; 0 where it has not said."""
    file = folder / watch.ARGUMENTS
    return int(_json(file)["gpus"]) if file.exists() else 0


def start(command: list[str], environ: dict[str, str], folder: Path, count: int, fixed: bool) -> int:
    """Run the engine until its figures are there or it ended, or, unless the number of GPUs is fixed,
    asks for another one; its exit code, less than 0 for a signal."""

    def done() -> bool:
        return (folder / watch.ENGINE).exists() or not fixed and asks(folder) not in (0, count)

    with (folder / LOG).open("wb") as log:
        pid, statuses = launch.run(command, environ, output=log, until=done)
    return statuses[pid]


def judge(
    folder: Path,
    code: int,
    version: str,
    asked: Wanted,
    cards: list[Device],
    to: argparse.Namespace,
) -> int:
    """Report what the engine's processes left; the exit code."""
    workers = [_json(f) for f in sorted(folder.glob(watch.WORKERS))]
    errors = sorted((_json(f) for f in folder.glob(watch.ERRORS)), key=lambda e: (not e["unfit"], e["time"]))
    engine = folder / watch.ENGINE
    found = report.figures(
        version,
        importlib.metadata.version("torch"),
        asked.program,
        cards,
        driver_memory.of(version, cards[0].driver, len(workers) or 1),
        _json(folder / watch.ARGUMENTS) if (folder / watch.ARGUMENTS).exists() else {},
        workers,
        _json(engine) if engine.exists() else None,
        errors[0] if errors and not engine.exists() else None,
    )
    if to.json:
        write_whole(to.json, (json.dumps(found, indent=2) + "\n").encode())
    if to.output and asked.recording and found["fits"] is not None:
        made = _json(folder / watch.MADE)
        made["variables"] = dict(sorted((made["variables"] | asked.recording.variables(os.environ)).items()))
        made["packages"] = dict(sorted((made["packages"] | {"vllm": version}).items()))
        write_whole(to.output, (json.dumps(found | {"made": made}, indent=1) + "\n").encode())
    if found["fits"]:
        say(report.text(found))
        if to.output:
            say(f"  {'recording':<16} {to.output}")
        return 0
    say(f"memshim serve: {why(found, errors, code, folder / LOG)}", file=sys.stderr)
    if found["fits"] is False:
        return UNFIT
    return UNDECIDED if errors and errors[0]["kind"] == model_folder.Unclear.__name__ else USAGE


def why(found: dict[str, Any], errors: list[dict[str, Any]], code: int, log: Path) -> str:
    """One line: why the engine has no KV cache. Where nothing is known, the end of its log."""
    if found["fits"] is False:
        return report.unfit(found)
    if errors and errors[0]["moved"]:
        return (
            f"got vLLM {found['engine']['release']}, which has no {errors[0]['text']}: its internals have moved; "
            f"want one of {', '.join(report.TRIED)}"
        )
    if errors:
        at = f" ({errors[0]['stage']})" if errors[0]["stage"] else ""
        return f"the engine did not start{at}: {errors[0]['kind']}: {errors[0]['text']}"
    if not code:
        return "the program ended and started no engine"
    lines = log.read_text(errors="replace").rstrip().splitlines()[-LAST:]
    ended = f"signal {-code}" if code < 0 else f"exit code {code}"
    return "\n".join([f"the engine ended with {ended} before it had a KV cache; its last lines:", *lines])


def _json(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_bytes())
    return found
