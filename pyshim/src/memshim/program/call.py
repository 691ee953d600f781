"""memshim.run: what `python -m memshim run` does, from Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast, overload

from memshim import files
from memshim.program import command, ranks
from memshim.program.figures import RanksRun, Run
from memshim.program.once import with_ends
from memshim.program.report import cut_short


@overload
def run(
    program: Sequence[str], *, on: str | Sequence[str], memory: str | int | None = ..., count: int = ...,
    steps: int = ..., nccl: str | int | None = ..., top: int = ..., record: str | None = ..., values: str = ...,
    check_values: bool = ..., allow_writes: bool = ...,
) -> Run: ...  # fmt: skip
@overload
def run(
    program: Sequence[str], *, on: str | Sequence[str], world_size: int, nproc_per_node: int = ...,
    rank: str | int | Sequence[str | int] = ..., jobs: int = ..., memory: str | int | None = ..., steps: int = ...,
    nccl: str | int | None = ..., top: int = ..., record: str | None = ..., values: str = ...,
    check_values: bool = ..., allow_writes: bool = ...,
) -> RanksRun: ...  # fmt: skip


def run(
    program: Sequence[str],
    *,
    on: str | Sequence[str],
    memory: str | int | None = None,
    count: int = 1,
    world_size: int = 0,
    nproc_per_node: int = 0,
    rank: str | int | Sequence[str | int] = "",
    jobs: int = 1,
    steps: int = 0,
    nccl: str | int | None = None,
    top: int = 20,
    record: str | None = None,
    values: Literal["", "balanced", "least", "most", "skewed"] | str = "",
    check_values: bool = False,
    allow_writes: bool = False,
) -> Run | RanksRun:
    """Run a program on pretend GPUs, and return what it took: what `memshim run --json` writes.

        found = memshim.run(["train.py", "--batch", "8"], on="h100-sxm-80gb", world_size=64, nproc_per_node=8)
        found["fits"], found["worst"], [r["reserved"] for r in found["ranks"]]

    program: the words after `--`: a script, `-m` and a module, or a command. The other arguments are
    the command's options; on and rank take one or several, sizes are a number of bytes or a text such
    as "40GiB". With world_size single ranks run, and the result has a row for each.

    Its output is its own, and nothing else is printed. ValueError: the arguments are not usable; its
    text says what is wanted. A program that fails, or whose memory does not suffice, is no exception:
    `exit`, `fits` and `out_of_memory` say so.
    """
    if isinstance(program, str):
        raise ranks.Unusable(f"got the program {program!r}, want a list of words")
    which = [rank] if isinstance(rank, str | int) else rank
    options: dict[str, Any] = {
        "--memory": memory,
        "--count": count if count != 1 else None,
        "--world-size": world_size or None,
        "--nproc-per-node": nproc_per_node or None,
        "--rank": ",".join(map(str, which)) or None,
        "--jobs": jobs,
        "--steps": steps,
        "--nccl": nccl,
        "--top": top,
        "--record": record,
        "--values": values or None,
    }
    words = [w for card in ([on] if isinstance(on, str) else on) for w in ("--on", card)]
    words += [w for name, value in options.items() if value is not None for w in (name, str(value))]
    words += ["--check-values"] * check_values + ["--allow-writes"] * allow_writes
    words += ["--", *map(str, program)]
    wanted, of_ranks = command.prepared(command.parser(command.Parser).parse_args(words), words)
    if of_ranks:
        found, recordings = ranks.run_ranks(wanted, of_ranks)
        ranks.keep(recordings, wanted.record)
        return cast(RanksRun, found)
    with files.temporary_folder("memshim-run-") as folder:
        found, data = with_ends(wanted, wanted.words, wanted.environment(folder), folder)
        if data and not cut_short(found):
            command.keep(data, wanted.record)
        return cast(Run, found)


__all__ = ["RanksRun", "Run", "run"]
