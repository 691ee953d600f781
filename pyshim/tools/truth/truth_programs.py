"""Peaks that libraries published of their own programs, beside a pretend GPU's: python -m truth programs
[SET[/ROW]…]

The rows are testdata/measured/programs.csv's. Each runs the authors' program unmodified, of the revision
that brought the row (programs/ has what takes the place of weights, tokens and data sets), and the
figure is the one that the program itself prints. Of a row of several ranks the first runs, alone. What
it needs besides is of the releases in .ci/requirements-published.txt. The table has each row's error in
percent of what was measured, with seconds of processor time.

torchao-generate: generation with a Llama, in several data types and sizes of its cache. torchao-optimizers:
a vision transformer fine-tuned with low-bit optimizers, or with the optimizer on the host. torchtune: its
recipes with the settings that its table adds one by one. litgpt: its scripts that fine-tune by LoRA and by
adapters, and generate, some with weights quantised by bitsandbytes or on several GPUs. cs336-sharded: a
Transformer of 3.4 billion weights on two GPUs, with AdamW whole and sharded, three phases of its first step.
"""

from __future__ import annotations

import csv
import functools
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import sources
import truth_frameworks as frameworks
from measured import summary

HERE = Path(__file__).resolve().parent
ROWS = HERE.parents[2] / "testdata" / "measured" / "programs.csv"
LIMIT = 7200  # seconds, of one row
OUT = "out of memory"  # in the place of what was measured

Row = dict[str, str]


class Program(NamedTuple):
    file: str  # in programs/
    figure: str  # a pattern of what the program prints of a {figure}, in the row's unit; the largest of them counts
    paths: tuple[
        str, ...
    ]  # in the row's repository, what is imported instead of the installed package; all of it where none


SETS = {
    "torchao-generate": Program("torchao_generate.py", r"Peak Memory Usage: ([\d.]+) GB", ("torchao",)),
    "torchao-optimizers": Program(
        "torchao_low_bit.py", r"Max memory used: ([\d.]+) GB", ("torchao", "benchmarks/benchmark_low_bit_adam.py")
    ),
    "cs336-sharded": Program(
        "cs336_sharded.py",
        r"{figure}: ([\d.]+)",
        ("cs336_systems", "cs336-basics"),
    ),
    "litgpt": Program("litgpt_script.py", r"Memory used: ([\d.]+) GB", ()),
    "torchtune": Program("torchtune_recipe.py", r"peak_memory_active:([\d.]+)", ("torchtune", "recipes")),
}


def rows(names: list[str]) -> list[Row]:
    """The rows of sets, and single ones, such as "torchtune/3b lora"; all where none is named."""
    with ROWS.open() as f:
        every = list(csv.DictReader(f))
    return [r for r in every if not names or r["set"] in names or f"{r['set']}/{r['row']}" in names]


def origin(row: Row) -> tuple[str, str]:
    """Repository and revision of a row, such as pytorch/ao and 317392d0."""
    place, _, revision = row["source"].rpartition(" @")
    return place.split()[0].removeprefix("github.com/"), revision


def largest(pattern: str, printed: str) -> float | None:
    """The largest figure that a program printed."""
    return max(map(float, re.findall(pattern, printed)), default=None)


@functools.cache
def printed(of: str, gpu: str, ranks: str, arguments: str, source: tuple[str, str]) -> tuple[str, float] | None:
    """What a program printed and seconds of the processor, run once for all figures of a row; None where it does
    not end."""
    program = SETS[of]
    with tempfile.TemporaryDirectory() as folder:
        sources.extract(*source, Path(folder), *program.paths)
        alone = ["--world-size", ranks, "--rank", "first"] if ranks else []
        command = [*alone, "--", str(HERE / "programs" / program.file), *shlex.split(arguments)]
        ran = frameworks.report_of(command, gpu, LIMIT, {"SOURCE": folder})
    return None if ran is None else (ran.printed, ran.seconds)


def run(row: Row) -> tuple[float | None, str, float]:
    """The figure in the row's unit, the last line of what was printed, and seconds of the processor."""
    ran = printed(row["set"], row["gpu"], row["ranks"], row["arguments"], origin(row))
    if ran is None:
        return None, f"no end within {LIMIT} s", LIMIT
    pattern = SETS[row["set"]].figure.replace("{figure}", re.escape(row["figure"]))
    return largest(pattern, ran[0]), frameworks.last_line(frameworks.without_ranks(ran[0]))[:200], ran[1]


def main() -> int:
    wanted = rows(sys.argv[1:])
    if not wanted or any(not rows([name]) for name in sys.argv[1:]):
        print(
            f"truth programs: got {' '.join(sys.argv[1:])}, want SET or SET/ROW, of {', '.join(SETS)}", file=sys.stderr
        )
        return 2
    errors: dict[str, list[float]] = {}
    failed = False
    too_large = [r for r in wanted if r["measured"] == OUT]
    agree = 0
    print("| set | row | figure | measured | pretended | error, % | seconds |")
    print("|---|---|---|---:|---:|---:|---:|", flush=True)
    for row in wanted:
        found, said, seconds = run(row)
        what = f"| {row['set']} | {row['row']} | {row['figure']} | {row['measured']} {row['unit']}".rstrip() + " |"
        if row in too_large:
            agree += (out := found is None and OUT in said)
            ran = said.replace("|", "/") if found is None else f"{found:g}"
            print(f"{what} {OUT if out else ran} | | {seconds:.0f} |", flush=True)
            continue
        if found is None:
            failed = True
            print(f"{what} {said.replace('|', '/')} | | {seconds:.0f} |", flush=True)
            continue
        error = 100 * (found / float(row["measured"]) - 1)
        errors.setdefault(row["set"], []).append(error)
        print(f"{what} {found:g} | {error:+.2f} | {seconds:.0f} |", flush=True)
    print("\n| set | rows | within 2 % | median, % | mean, % | worst, % |\n|---|---:|---:|---:|---:|---:|")
    print("\n".join(summary(s, e) for s, e in errors.items()))
    if too_large:
        print(f"\n{agree} of {len(too_large)} that ran out of memory there do so here")
    return 1 if failed or agree < len(too_large) else 0


if __name__ == "__main__":
    sys.exit(main())
