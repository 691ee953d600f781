"""One rank of many, each in one process: `memshim run --world-size N`.

The program is started as torchrun would start it, once for each rank of interest. No other rank
runs: pretend/absent answers for them. Rank 0 runs first, since it shows which others differ and
leaves what it sent to them.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memshim.allocator import recording
from memshim.files import temporary_folder, write_whole
from memshim.pretend import absent
from memshim.pretend.absent.launchers import FOUND
from memshim.printed import say
from memshim.program import launch, page, places, ranks_report
from memshim.program.once import Program, with_ends
from memshim.program.report import undecided

BROKEN, USAGE, UNDECIDED = 1, 2, 3
MOST = 16  # ranks that run where nobody says which
LAUNCHERS = {  # what starts ranks itself
    "torchrun": "torchrun",
    "deepspeed": "deepspeed",
    "accelerate launch": "accelerate launch",
    "mpirun": "mpirun",
    "srun": "srun",
    "-m torch.distributed.run": "torchrun",
    "-m torch.distributed.launch": "torchrun",
    "-m accelerate.commands.launch": "accelerate launch",
    "-m deepspeed.launcher.runner": "deepspeed",
}
SLURM = re.compile(r"(SLURM|PMI|PMIX|OMPI|FLUX|LSB|JSM)_")  # a scheduler's, whose ranks are other processes


class Unusable(ValueError):
    """What is asked for cannot be run. The text is for the user."""


class Wanted(NamedTuple):
    """The world, and which of its ranks run."""

    world_size: int
    nproc_per_node: int
    ranks: str = ""  # numbers, first, last, stages, all, with commas between; "" for those that differ
    jobs: int = 1

    def numbers(self) -> list[int] | None:
        """The ranks that are named; None where rank 0's run has to show them."""
        found: set[int] = set()
        for word in filter(None, (w.strip() for w in self.ranks.split(","))):
            if word == "all":
                found.update(range(self.world_size))
            elif word == "first":
                found.add(0)
            elif word == "last":
                found.add(self.world_size - 1)
            elif word.isdecimal() and int(word) < self.world_size:
                found.add(int(word))
            elif word != "stages":
                raise Unusable(
                    f"got --rank {word}, want numbers from 0 to {self.world_size - 1}, first, last, stages or all"
                )
        return sorted(found) if found else None

    @property
    def stages(self) -> bool:
        return "stages" in self.ranks

    def variables(self, rank: int, program: str, folder: Path) -> dict[str, str]:
        """torchrun's, and which rank it is."""
        local = self.nproc_per_node
        one = absent.Rank(rank, self.world_size, str(folder), program)
        return {
            "RANK": str(rank),
            "WORLD_SIZE": str(self.world_size),
            "LOCAL_RANK": str(rank % local),
            "LOCAL_WORLD_SIZE": str(local),
            "GROUP_RANK": str(rank // local),
            "GROUP_WORLD_SIZE": str(self.world_size // local),
            "NODE_RANK": str(rank // local),
            "ROLE_RANK": str(rank),
            "ROLE_WORLD_SIZE": str(self.world_size),
            "ROLE_NAME": "default",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": "29500",
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
            "TORCHELASTIC_RUN_ID": "memshim",
            "TORCHELASTIC_RESTART_COUNT": "0",
            "TORCHELASTIC_MAX_RESTARTS": "0",
            "TORCHELASTIC_USE_AGENT_STORE": "False",
            "TORCH_NCCL_ENABLE_MONITORING": "0",  # a thread that asks the store, which is Python's
            absent.VARIABLE: json.dumps(one._asdict()),
        }


def add_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument("--world-size", type=int, default=0, metavar="N", help="run single ranks of N, each in one process")
    p.add_argument("--nproc-per-node", type=int, default=0, metavar="M", help="ranks, and GPUs, of a node (8, or N)")
    p.add_argument(
        "--rank",
        default="",
        metavar="RANKS",
        help="which: numbers, first, last, stages, all; else each whose place in the program's meshes changes memory",
    )
    p.add_argument("--jobs", type=int, default=1, metavar="N", help="ranks that run at once, after the first (1)")


def wanted(a: argparse.Namespace) -> Wanted | None:
    """The world that the command line asks for; None for none."""
    if not a.world_size:
        for name, given in (("--rank", a.rank), ("--nproc-per-node", a.nproc_per_node)):
            if given:
                raise Unusable(f"got {name} without --world-size, want both")
        return None
    local = a.nproc_per_node or min(8, a.world_size)
    if a.world_size < 1 or local < 1 or a.world_size % local:
        raise Unusable(f"got --world-size {a.world_size} and {local} ranks a node, want a multiple of them")
    for name, given in (("--count", a.count != 1), ("--sandbox", a.sandbox)):
        if given:
            raise Unusable(f"got {name} with --world-size, want one of them")
    if a.jobs < 1:
        raise Unusable(f"got --jobs {a.jobs}, want 1 or more")
    found = Wanted(a.world_size, local, a.rank, a.jobs)
    found.numbers()
    words = a.program[1:] if a.program[:1] == ["--"] else a.program
    for starts, launcher in LAUNCHERS.items():
        its = starts.split()
        begins = [os.path.basename(w) for w in words[: len(its)]] == its
        if begins or words[1 : 1 + len(its)] == its and not words[0].endswith(".py"):  # a script's own argument
            raise Unusable(
                f"got {launcher}, which starts ranks, under --world-size, want it without: memshim run --on {a.on[0]} "
                f"--count {local} -- {' '.join(words)}"
            )
    return found


def run_ranks(
    program: Program, wanted: Wanted, announce: Callable[[str], None] = lambda text: None
) -> tuple[dict[str, Any], dict[int, bytes]]:
    """Run the ranks of interest: what --json writes, and each rank's recording where program.record
    is set.

    announce is called with a line before each rank runs.
    """
    named = wanted.numbers()
    with temporary_folder("memshim-ranks-") as folder:

        def run(rank: int) -> tuple[dict[str, Any], bytes]:
            own = folder / str(rank)
            own.mkdir()
            environ = {k: v for k, v in program.environment(own).items() if not SLURM.match(k)}
            environ |= wanted.variables(rank, program.line, folder)

            def beside(values: str) -> dict[str, str]:
                """What the rank sends with other values is for no other."""
                aside = folder / f"{rank}.{values}"
                aside.mkdir()
                for file in folder.glob("*.pickle"):
                    if file.name.split(".")[1] != str(rank):
                        shutil.copy(file, aside)
                if (folder / absent.FIRST).read_text(encoding="ascii") != str(rank):
                    for file in (folder / absent.FIRST, *folder.glob("*.sent")):
                        shutil.copy(file, aside)
                return wanted.variables(rank, program.line, aside)

            found, data = with_ends(program, program.words, environ, own, beside)
            if (folder / FOUND).exists():
                raise Unusable(launcher_inside(program, wanted, (folder / FOUND).read_text(encoding="utf-8")))
            return row(rank, found), data[0] if data else b""

        ranks = named or [0]
        announce(f"rank {ranks[0]} of {wanted.world_size}")
        done = {ranks[0]: run(ranks[0])}
        differ = done[ranks[0]][0]["differ"]
        if named is None or wanted.stages:
            ranks = of_interest(ranks, differ, wanted.stages)
        for i, rank in enumerate(ranks[1:], 2) if wanted.jobs == 1 else ():
            announce(f"rank {rank} of {wanted.world_size} ({i} of {len(ranks)})")
            done[rank] = run(rank)
        if wanted.jobs > 1 and ranks[1:]:
            announce(f"ranks {', '.join(map(str, ranks[1:]))} of {wanted.world_size}, {wanted.jobs} at once")
            done |= side_by_side(run, ranks[1:], wanted.jobs, folder)
    rows = {r: done[r][0] for r in sorted(done)}
    recordings = {r: done[r][1] for r in sorted(done) if done[r][1]}
    return summary(program, wanted, list(rows.values()), missing(differ, rows)), recordings


def side_by_side(
    run: Callable[[int], tuple[dict[str, Any], bytes]], ranks: list[int], jobs: int, folder: Path
) -> dict[int, tuple[dict[str, Any], bytes]]:
    """What run gives of each rank, in so many forks of this process at once. RuntimeError where one
    ends without an answer."""
    waiting, running = list(ranks), dict[int, int]()
    while waiting or running:
        while waiting and len(running) < jobs:
            rank = waiting.pop(0)
            parent, pid = os.getpid(), os.fork()
            if not pid:
                launch.end_with_parent(parent)
                try:
                    (folder / f"{rank}.done").write_bytes(pickle.dumps(run(rank)))
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(0)
            running[pid] = rank
        for pid in [p for p in running if os.waitpid(p, os.WNOHANG)[0]]:
            del running[pid]
        time.sleep(0.02)
    if lost := [r for r in ranks if not (folder / f"{r}.done").exists()]:
        raise RuntimeError(f"got no answer of rank {lost[0]}")
    return {r: pickle.loads((folder / f"{r}.done").read_bytes()) for r in ranks}


def launcher_inside(program: Program, wanted: Wanted, launcher: str) -> str:
    return (
        f"got {launcher}, which starts ranks, under --world-size, want it without: memshim run --on {program.on[0]} "
        f"--count {wanted.nproc_per_node} -- {program.line}"
    )


def of_interest(ranks: list[int], differ: list[dict[str, Any]], stages: bool) -> list[int]:
    """The ranks to run: those named, and those that differ by the first one's run, stages in order;
    at most MOST, the first and the last of each group first."""
    found = list(ranks)
    groups = [d["ranks"] for d in differ if not stages or d["why"] == places.STAGE]
    for group in groups:
        new = [r for r in group if r not in found]
        room = MOST - len(found)
        found += new if len(new) <= room else [*new[: room - 1], new[-1]] if room > 0 else []
    return found


def missing(differ: list[dict[str, Any]], rows: Mapping[int, Any]) -> list[dict[str, Any]]:
    """The ranks that differ and did not run."""
    out = [{"why": d["why"], "ranks": [r for r in d["ranks"] if r not in rows]} for d in differ]
    return [d for d in out if d["ranks"]]


def row(rank: int, found: dict[str, Any]) -> dict[str, Any]:
    """A rank's part of what --json writes: the process that took most of a device is the rank."""
    used = [(d, p) for p in found["processes"] for d in p["devices"]]
    device: dict[str, Any] = max((d for d, _ in used), key=lambda d: int(d["reserved"]), default={})
    said: dict[str, Any] = next((p["rank"] for p in found["processes"] if p.get("rank")), {})
    steps = device.get("iterations", [])
    first = 1 + max((i for i, s in enumerate(steps) if s.get("compiled")), default=0)
    return {
        "rank": rank,
        "place": said.get("place", []),
        "stages": said.get("stages", []),
        "differ": said.get("differ", []),
        "phases": next((p["phases"] for p in found["processes"] if device in p["devices"]), []),
        "first": most(steps[:first]),
        "later": most(steps[first:]),
        **{k: device.get(k, 0) for k in ("allocated", "reserved", "total", "memory", "context")},
        "total_range": device.get("total_range", {"low": 0, "high": 0}),
        "exit": found["exit"],
        "fits": found["fits"],
        "quality": found["quality"],
        "out_of_memory": found["out_of_memory"],
        **({"ends": found["ends"]} if "ends" in found else {}),
        "undecided": undecided(found),
        "processes": found["processes"],
    }


def most(steps: list[dict[str, int]]) -> dict[str, int] | None:
    """The highest peaks of steps, bytes; None of no step."""
    return {m: max(s[m] for s in steps) for m in ("allocated", "reserved")} if steps else None


def summary(
    program: Program, wanted: Wanted, rows: list[dict[str, Any]], missing: list[dict[str, Any]]
) -> dict[str, Any]:
    """What --json writes of all."""
    worst = max(rows, key=lambda r: (bool(r["out_of_memory"]), r["reserved"], r["total"], -r["rank"]))
    fits = [r["fits"] for r in rows]
    qualities = [r["quality"] for r in rows] + (["estimate"] if missing else [])
    return {
        "schema": ranks_report.SCHEMA,
        "where": "pretend",
        "on": program.on,
        "program": program.said,
        "world_size": wanted.world_size,
        "nproc_per_node": wanted.nproc_per_node,
        "steps": program.steps,
        "ranks": rows,
        "worst": worst["rank"],
        "not_run": missing,
        "fits": False if False in fits else None if None in fits else True,
        "quality": next((q for q in ("estimate", "bound") if q in qualities), "exact"),
        "exit": exit_code(rows),
    }


def exit_code(rows: Iterable[Mapping[str, Any]]) -> int:
    """The worst rank's: a program's own failure, then memory that does not suffice, then what is
    not decided."""
    rows = list(rows)
    if failed := [r["exit"] for r in rows if r["exit"]]:
        return int(failed[0])
    return BROKEN if any(r["fits"] is False for r in rows) else UNDECIDED if any(r["undecided"] for r in rows) else 0


def keep(recordings: Mapping[int, bytes], to: str) -> list[str]:
    """Write the recordings of ranks to NAME.rank0.rec and so on, where `to` is NAME.rec."""
    return [
        str(recording.write(data, f"{to.removesuffix('.rec')}.rank{rank}.rec")) for rank, data in recordings.items()
    ]


def main(program: Program, wanted: Wanted, to: str | None, record: str = "", html: str = "") -> int:
    """The command: run the ranks, report, and write JSON, recordings and the page; the exit code."""
    try:
        found, recordings = run_ranks(program, wanted, lambda line: say(f"memshim: {line}", file=sys.stderr))
    except (Unusable, OSError) as e:
        say(f"memshim run: {e}", file=sys.stderr)
        return USAGE
    sys.stdout.flush()
    say(ranks_report.text(found), file=sys.stderr)
    code: int = found["exit"]
    try:
        for file in keep(recordings, record) if record else []:
            say(f"  recording        {file}", file=sys.stderr)
        if html:
            named = {f"rank {rank}": data for rank, data in recordings.items()}
            say(f"  page             {page.write(named, html, program.record)}", file=sys.stderr)
        if to:
            write_whole(to, (json.dumps(found, indent=2) + "\n").encode())
    except OSError as e:
        say(f"memshim run: {e}", file=sys.stderr)
        return code or USAGE
    return code
