"""One start of an engine on pretend GPUs, until its figures are there: how it is run, and what its
processes left."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memshim import pretend
from memshim.files import temporary_folder
from memshim.origin.dependencies import hashed_value
from memshim.origin.reads import kept
from memshim.pretend.activate import as_devices
from memshim.pretend.device import Device
from memshim.program import launch
from memshim.serving import driver_memory, larger, report, watch

STARTUP = str(Path(__file__).resolve().parent / "startup")
LOG = "engine.log"
CLI = "vllm.entrypoints.cli.main"
AT_START = "memory at start"  # a stage: the card has what the engine may use in use already
LONGEST = 240  # characters of an engine's error in a line
LAST = 12  # lines of the engine's log that are shown where nothing else says why it ended


class Unusable(ValueError):
    """What is asked for cannot be run. The text is for the user."""


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


def parallel(program: list[str]) -> list[int]:
    """What the engine's words say of each of PARALLEL: 1 where they do not. Of a word that comes twice,
    the engine takes the last."""
    found = dict.fromkeys(PARALLEL, 1)
    for i, word in enumerate(program):
        name, _, value = word.partition("=")
        for names in PARALLEL:
            if name.replace("_", "-") in names:
                value = value or next(iter(program[i + 1 : i + 2]), "")
                found[names] = max(int(value), 1) if value.isdecimal() else 1
    return list(found.values())


def gpus(program: list[str]) -> int:
    """How many GPUs the engine's words ask for."""
    return math.prod(parallel(program))


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


CACHES = {"VLLM_CACHE_ROOT": "vllm", "TORCHINDUCTOR_CACHE_DIR": "inductor"}  # of what is compiled: folders


def environment(
    cards: list[Device],
    folder: Path,
    charged: list[int],
    environ: Mapping[str, str],
    recording: dict[str, Any] | None = None,
    generate: int = 0,
) -> dict[str, str]:
    """The variables of the engine's processes. charged: bytes for the driver, as watch.WANTED
    has them. recording: what Recording.wanted says. generate: tokens of each request. Caches are
    empty, unless the user names them: what an earlier run compiled or tuned is not measured again."""
    own = {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "0"}  # with 1, vLLM refuses torch.compile
    caches = {name: environ.get(name) or str(folder / at) for name, at in CACHES.items()}
    found = {
        **environ,
        **pretend.activate.variables(cards, {**environ, **own, **caches}),
        **pretend.activate.options(True, None),
        watch.WANTED: json.dumps(
            {"folder": str(folder), "charged": charged, "recording": recording, "generate": generate}
        ),
        **caches,
    }
    quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
    found |= {k: v for k, v in quiet.items() if k not in environ}
    found["PYTHONPATH"] = os.pathsep.join(filter(None, [STARTUP, found.get("PYTHONPATH", "")]))
    return found


class Wanted(NamedTuple):
    """An engine's start as the command line has it."""

    program: list[str]
    device: Device | str
    memory: str | None
    number: int | None
    recording: Recording | None
    generate: int = 0  # tokens of each request, once the KV cache is made


class Start(NamedTuple):
    """What a start came to: the figures as JSON, its errors, the one that counts first, the engine's exit
    code and log, and of a recording what it was made from."""

    found: dict[str, Any]
    errors: list[dict[str, Any]]
    code: int
    log: bytes
    made: dict[str, Any] | None
    asked: dict[str, Any] = {}  # what the engine's arguments say of memory (larger.py)

    def larger(self) -> Device | None:
        """Another card, where this one's memory does not hold the model."""
        if self.found["fits"] is not False or self.found["error"]["stage"] == AT_START:
            return None
        of = self.found["device"]
        return larger.card(self.found["model"], of["count"], self.asked, of["memory"])

    def why(self) -> str:
        """One line: why the engine has no KV cache. Where nothing is known, the end of its log."""
        found, errors, code = self.found, self.errors, self.code
        if found["fits"] is False:
            return report.unfit(found)
        if errors and errors[0]["moved"]:
            return (
                f"got vLLM {found['engine']['release']}, which has no {errors[0]['text']}: its internals have moved; "
                f"want one of {', '.join(report.TRIED)}"
            )
        if errors:
            at = f" ({errors[0]['stage']})" if errors[0]["stage"] else ""
            return f"the engine did not start on {_card(found)}{at}: {errors[0]['kind']}: {short(errors[0]['text'])}"
        if not code:
            return "the program ended and started no engine"
        lines = self.log.decode(errors="replace").rstrip().splitlines()[-LAST:]
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        return "\n".join([f"the engine ended with {ended} before it had a KV cache; its last lines:", *lines])


def short(text: str) -> str:
    """The beginning of a line that is long, such as one that lists every architecture."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"


def _card(found: dict[str, Any]) -> str:
    """The card with what engines and their kernels choose by."""
    name = found["device"]["name"]
    major, minor = pretend.device.find(name).compute_capability
    return f"{name}, of compute capability {major}.{minor}"


def start(asked: Wanted, version: str) -> Start:
    """Start the engine, of a release, with as many GPUs as it asks for."""
    command = words(asked.program)
    fixed = asked.number is not None
    count = gpus(asked.program) if asked.number is None else asked.number
    recorded = asked.recording.wanted(asked.program) if asked.recording else None
    while True:
        cards = as_devices(asked.device, count, asked.memory)
        charged = [driver_memory.of(version, cards[0].driver, *n).bytes for n in ((1, 1), (2, 2), (2, 1))]
        with temporary_folder("memshim-serve-") as folder:
            environ = environment(cards, folder, charged, os.environ, recorded, asked.generate)
            code = run(command, environ, folder, count, fixed)
            needs = asks(folder)
            if fixed or needs in (0, count):
                return left(folder, code, version, asked, cards)
        count, fixed = needs, True


def asks(folder: Path) -> int:
    """How many GPUs the engine's own arguments ask for; 0 where it has not said."""
    file = folder / watch.ARGUMENTS
    return int(_json(file)["gpus"]) if file.exists() else 0


def engines(folder: Path) -> list[dict[str, Any]]:
    """The figures of each replica, the least tokens first; none until all are there."""
    file = folder / watch.ARGUMENTS
    found = list(folder.glob(watch.ENGINES))
    if not file.exists() or len(found) < int(_json(file)["replicas"]):
        return []
    return sorted(map(_json, found), key=lambda e: int(e["tokens"]))


def run(command: list[str], environ: dict[str, str], folder: Path, count: int, fixed: bool) -> int:
    """Run the engine until its figures are there or it ended, or, unless the number of GPUs is fixed,
    asks for another one; its exit code, less than 0 for a signal."""

    def done() -> bool:
        return bool(engines(folder)) or not fixed and asks(folder) not in (0, count)

    with (folder / LOG).open("wb") as log:
        pid, statuses = launch.run(command, environ, output=log, until=done)
    return statuses[pid]


def unbuilt(workers: list[dict[str, Any]]) -> bool:
    """Whether functions that do nothing stood for kernels in a worker, whose figures do not keep it."""
    return any([w.pop(watch.UNBUILT, False) for w in workers])


def left(folder: Path, code: int, version: str, asked: Wanted, cards: list[Device]) -> Start:
    """What the engine's processes left."""
    workers = [_json(f) for f in sorted(folder.glob(watch.WORKERS))]
    errors = sorted((_json(f) for f in folder.glob(watch.ERRORS)), key=lambda e: (not e["unfit"], e["time"]))
    arguments = _json(folder / watch.ARGUMENTS) if (folder / watch.ARGUMENTS).exists() else {}
    if unbuilt(workers):
        arguments["made_up"] = sorted([*arguments["made_up"], "kernels"])
    made, replicas = folder / watch.MADE, engines(folder)
    engine = report.replicated(replicas) if replicas else None
    tensor = engine["tensor_parallel_size"] if engine else None
    taken = driver_memory.of(version, cards[0].driver, len(workers) // (len(replicas) or 1) or 1, tensor)
    if engine and engine["captured"] and (graphs := report.graphs_in_budget(workers)):
        captured = engine["captured"]
        estimated = driver_memory.graphs(graphs, captured["experts"], cards[0].driver)
        taken = driver_memory.together(taken, driver_memory.sampled(estimated, captured["sizes"]))
    found = report.figures(
        version,
        importlib.metadata.version("torch"),
        asked.program,
        cards,
        taken,
        arguments,
        workers,
        engine,
        errors[0] if errors and not engine else None,
        _json(folder / watch.GENERATED) if (folder / watch.GENERATED).exists() else None,
    )
    recorded = _json(made) if made.exists() else None
    return Start(found, errors, code, (folder / LOG).read_bytes(), recorded, arguments.get("asked", {}))


def _json(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_bytes())
    return found
