"""memshim fit and memshim sweep: memspec's search over sizes, with what it lacks made on the way.

    python -m memshim fit 'net[B=8]' --dim B
    python -m memshim fit --on t4 --vary N=1..512 -- train.py --batch {N}
    python -m memshim fit pretrain --world-size
    python -m memshim sweep 'net[B=8]' --dim B=1..64
    python -m memshim sweep --on t4 --vary N=8,16,32 -- train.py --batch {N}

memspec searches. It lists the cases that have no fresh recording (--missing); they are run on a
pretend GPU, and memspec searches again. Recordings stay in .memspec/, so that work that was
interrupted continues. cuDNN is queried likewise (workspace/answers.py).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from memshim import binary, progress
from memshim.case import process
from memshim.case.errors import TIMEOUT, USAGE, MeasureError
from memshim.case.measure import jobs as number_of_jobs
from memshim.printed import say
from memshim.workspace.answers import Queried

VARIED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(\d+)(?:\.\.(\d+))?")
SWEPT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(\d+)([.,].*)?")  # with a step or a list, too
RECORDINGS = 400  # that one search may ask for
WORLD = "--world-size"
ENGINE = "vllm"  # the first word of an engine's command


class Unusable(ValueError):
    """What is asked for cannot be searched. The text is for the user."""


class Recorder:
    """Records the cases that a command of memspec lacks, in warm processes."""

    def __init__(self, command: list[str], jobs: int = 1) -> None:
        self._command = command
        self._jobs = jobs
        self._runners: list[process.Fresh | process.Server] = []
        self._done: set[tuple[str, bool]] = set()  # recordings, and whether they were to be whole

    def close(self) -> None:
        for runner in self._runners:
            runner.close()

    def record(self, cases: list[dict[str, Any]]) -> None:
        """Errors: MeasureError; Unusable where the search has no end."""
        for case in cases:
            made = case["recording"], _whole(case)
            if made in self._done:
                why = case.get("stale") or "memspec does not find it"
                raise Unusable(f"{_named(case)}: got a recording that does not count as soon as it is made: {why}")
            if len(self._done) == RECORDINGS:
                raise Unusable(f"got more than {RECORDINGS} runs, want a narrower search (--most)")
            self._done.add(made)
        free: queue.SimpleQueue[process.Fresh | process.Server] = queue.SimpleQueue()
        while len(self._runners) < min(self._jobs, len(cases)):
            self._runners.append(process.runner(several=True))
        for runner in self._runners:
            free.put(runner)
        with progress.Progress(len(cases)) as bar:

            def one(case: dict[str, Any]) -> None:
                runner = free.get()
                try:
                    known = f", {case['bracket']}" if case.get("bracket") else ""
                    bar.start(f"recording {_named(case)}{known}")
                    self._record(case, runner)
                finally:
                    free.put(runner)

            if len(self._runners) == 1:
                for case in cases:
                    one(case)
                return
            with ThreadPoolExecutor(len(self._runners)) as pool:
                try:
                    list(pool.map(one, cases))
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    self.close()  # which ends what still runs
                    raise

    def _record(self, case: dict[str, Any], runner: process.Runner) -> None:
        settings = {"command": self._command, "alloc_conf": "", "memory_fraction": 0}
        try:
            runner.capture(case | settings, case["recording"], "pretend", TIMEOUT, whole=_whole(case))
        except MeasureError as e:
            raise type(e)(f"{_named(case)}: {e}") from None


def _whole(case: dict[str, Any]) -> bool:
    """Whether more of a run is wanted than fits its card: it is judged with more memory, or with other
    settings of the allocator. Else a value that does not fit is run once."""
    return bool(case.get("whole"))


def _named(case: dict[str, Any]) -> str:
    """net, B=4: a case and its sizes."""
    ranks = (case.get("program") or {}).get("ranks")
    world = [f"world_size={ranks['world_size']}"] if ranks else []
    return ", ".join([case["model"], *(f"{dim}={size}" for dim, size in case["dims"].items()), *world])


Ended = subprocess.CompletedProcess[str]


def run(name: str, arguments: list[str], command: list[str], to: int | None = None, jobs: int = 1) -> Ended:
    """Run a command of memspec until it lacks nothing that can be had; how it ended the last time.
    to: subprocess.PIPE to keep what it writes. jobs: recordings at a time."""
    with Queried() as queried, contextlib.closing(Recorder(command, jobs)) as recorder:

        def searched(more: list[str]) -> Ended:
            words = [binary.find(), name, *more, *arguments]
            ended = subprocess.run(words, stdout=to, stderr=to, text=True)
            while cases := queried.unrecorded():
                recorder.record(cases)
                ended = subprocess.run(words, stdout=to, stderr=to, text=True)
            return ended

        ended = queried.settle(searched)
        for line in queried.lines():
            say(f"memshim: {line}", file=sys.stderr)
        return ended


def largest(
    case: str = "",
    spec: str = "memspec.yaml",
    *,
    dim: str | Sequence[str] = (),
    program: Sequence[str] = (),
    on: str = "",
    vary: Mapping[str, tuple[int, int]] | None = None,
    world_size: tuple[int, int] | None = None,
    most: int = 0,
    multiple_of: int = 1,
    jobs: int = 1,
) -> dict[str, Any]:
    """The largest sizes that fit, as memspec fit --format json states them.

        memshim.fit("net[B=8]", dim="B")["dims"][0]["largest"]
        memshim.fit(program=["train.py", "--batch", "{N}"], on="t4", vary={"N": (1, 512)})
        memshim.fit("pretrain", world_size=(1, 512))["world_size"]["fewest"]

    dim: one or two of the case's. vary: the first and the last value of each name in the program's
    arguments. world_size: the first and the last number of GPUs, of which the fewest are searched.
    most, multiple_of: bound what is tried; 0 is memspec's own bound. jobs: runs at a time. Errors:
    ValueError with memspec's text; MeasureError where a run failed."""
    options = [*(w for d in ([dim] if isinstance(dim, str) else dim) for w in ("--dim", d))]
    options += [*(["--most", str(most)] if most else []), "--multiple-of", str(multiple_of), "--format", "json"]
    world = "{}..{}".format(*world_size) if world_size else ""
    options += [f"{WORLD}={world}"] if world and not program else []
    command = ["python", "-m", "memshim", "fit"]
    if program:
        varied = [f"{name}={first}..{last}" for name, (first, last) in (vary or {}).items()]
        command += ["--on", on, *(w for v in varied for w in ("--vary", v)), *([WORLD, world] if world else [])]
        command += ["--", *program]
        with of_program([on] if on else [], varied, list(program), world=world or None) as (name, own):
            ended = run("fit", [name, *own, *options], command, subprocess.PIPE, jobs)
    else:
        ended = run("fit", [case, spec, *options], [*command, case, spec, *options], subprocess.PIPE, jobs)
    if not ended.stdout:
        raise Unusable(ended.stderr.strip())
    return dict(json.loads(ended.stdout))


@contextlib.contextmanager
def of_program(
    on: list[str],
    varied: list[str],
    program: list[str],
    last: bool = False,
    world: str | None = None,
    nproc_per_node: int = 0,
    sweeps: bool = False,
) -> Iterator[tuple[str, list[str]]]:
    """A memspec.yaml of one case, the program with a dim for each --vary, while it is searched; and
    the options of fit, or of sweep. last: the dims have their last values, not their first. world:
    the world sizes to search, 1..64, or "" for memspec's own; None for one process."""
    if len(on) != 1:
        raise Unusable("got no --on, want a device of memspec devices" if not on else "got --on twice, want it once")
    if not program:
        raise Unusable("got no program, want -- train.py --batch {N}")
    dims, options = {}, []
    for text in varied:
        m = (SWEPT if sweeps else VARIED).fullmatch(text)
        if not m:
            more = ", or values such as N=1,2,4" if sweeps else ""
            raise Unusable(f"--vary: got {text!r}, want a range such as N=1..512{more}")
        if sweeps:
            dims[m[1]] = int(m[2])
            options += ["--dim", text] if m[3] else []  # memspec checks the values
            continue
        first, most = int(m[2]), int(m[3] or m[2])
        if not 1 <= first <= most:
            raise Unusable(f"--vary: got {text}, want a range such as N=1..512")
        dims[m[1]] = most if last else first
        options += ["--dim", m[1]] if m[3] else []
        if m[3]:
            options += ["--most", str(most)]
    model: dict[str, Any] = {"device": on[0], "args": program[1:], "dims": dims, "budget": {}}
    if world is not None:
        options.append(f"{WORLD}={world}" if world else WORLD)
    if program[0] == ENGINE:
        if nproc_per_node:
            raise Unusable(f"got --nproc-per-node beside {ENGINE}, want it without")
        model |= {"serve": program, "args": []}
    elif program[0] == "-m":
        model |= {"module": program[1], "args": program[2:]}
    else:
        model["program"] = program[0]
    if world is not None and program[0] != ENGINE:
        ranks = {"nproc_per_node": nproc_per_node} if nproc_per_node else {}
        model["ranks"] = {"world_size": nproc_per_node or 1, **ranks}  # any: each that is tried replaces it
    name = os.path.basename(model.get("module") or program[0]).removesuffix(".py")
    with tempfile.NamedTemporaryFile("w", prefix=".memspec-fit-", suffix=".yaml", dir=".", encoding="utf-8") as f:
        json.dump({"version": 1, "models": {name: model}}, f)  # JSON is YAML
        f.flush()
        yield name, [os.path.basename(f.name), *options]


def _search(name: str, arguments: list[str]) -> int:
    own, program = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        own, program = arguments[:at], arguments[at + 1 :]
    p = argparse.ArgumentParser(f"python -m memshim {name}", add_help=False, allow_abbrev=False)
    p.add_argument("--on", action="append", default=[])
    p.add_argument("--vary", action="append", default=[])
    p.add_argument("--jobs", type=number_of_jobs, default=1)
    if program:
        p.add_argument(WORLD, nargs="?", const="")
        p.add_argument("--nproc-per-node", type=number_of_jobs, default=0)
    a, rest = p.parse_known_args(own)
    command = ["python", "-m", "memshim", name, *arguments]
    try:
        if "-h" in rest or "--help" in rest:
            code = subprocess.run([binary.find(), name, "--help"]).returncode
            say(HELP.format(name=name, values="8,16,32" if name == "sweep" else "1..512"))
            return code
        if not a.vary and not program:
            on = [w for device in a.on for w in ("--on", device)]
            return run(name, [*rest, *on], command, jobs=a.jobs).returncode
        world = a.world_size if program else None
        node = a.nproc_per_node if program else 0
        found = of_program(a.on, a.vary, program, world=world, nproc_per_node=node, sweeps=name == "sweep")
        with found as (case, options):
            return run(name, [case, *options, *rest], command, jobs=a.jobs).returncode
    except (Unusable, binary.BinaryError, MeasureError, OSError) as e:
        say(f"memshim {name}: {e}", file=sys.stderr)
        return USAGE


HELP = """
python -m memshim {name} is memspec {name}. It records cases with source: or program: at the sizes
that are looked at, on a pretend GPU, and queries cuDNN for the workspace of convolutions where the
cuDNN of the release of torch is installed. For any program, with {{N}} in its arguments:

  python -m memshim {name} --on DEVICE --vary N={values} -- train.py --batch {{N}}

The fewest GPUs for a program that runs under torchrun:

  python -m memshim fit --on DEVICE --world-size 1..64 [--nproc-per-node 8] -- train.py

An engine that serves a model, its requests, its lengths, and its fewest GPUs (tensor parallelism):

  python -m memshim fit --on DEVICE --vary L=1024..65536 -- vllm serve MODEL --max-model-len {{L}}
  python -m memshim fit --on DEVICE --world-size 1..8 -- vllm serve MODEL

--jobs N runs N sizes at a time, where several are wanted."""


def fit(arguments: list[str]) -> int:
    return _search("fit", arguments)


def sweep(arguments: list[str]) -> int:
    return _search("sweep", arguments)
