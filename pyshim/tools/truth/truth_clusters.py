"""Peaks that others published of real clusters, beside the same rank alone on a pretend GPU: python -m
truth clusters [ROW…]

The rows are testdata/measured/clusters.csv's: a world, the arguments of torchtitan's train.py, and the
most memory reserved, which torchtitan logs as its memory. make truth-frameworks makes an environment
for it. Each row's first rank runs for three steps, unless the row names another. A ROW is a part of
a row's name. The table has the error in percent of what was measured, and seconds of the processor.
"""

from __future__ import annotations

import csv
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import truth_frameworks as frameworks

ROWS = Path(__file__).parents[3] / "testdata" / "measured" / "clusters.csv"
GIB = 1 << 30
LIMIT = 3600  # seconds, of one row
ALL = "--model.hf_assets_path tests/assets/tokenizer --training.dataset c4_test --training.steps 3"


class Row(NamedTuple):
    row: str
    gpu: str
    world: int
    rank: str
    arguments: str
    measured: float  # GiB
    source: str


def rows() -> list[Row]:
    with ROWS.open() as f:
        return [
            Row(**r | {"world": int(r["world"]), "measured": float(r["measured"])})  # type: ignore[arg-type]
            for r in csv.DictReader(f)
        ]


def options(row: Row) -> list[str]:
    """memshim run's options, and the program."""
    program = [str(frameworks.PROGRAMS / "titan.py"), *shlex.split(ALL), *shlex.split(row.arguments)]
    ranks = ["--world-size", str(row.world), "--nproc-per-node", "8", "--rank", row.rank]
    return [*ranks, "--", *program]


def error(row: Row, reserved: int) -> float:
    """In percent of what was measured."""
    return 100 * (reserved / GIB / row.measured - 1)


def main() -> int:
    every = rows()
    wanted = [r for r in every if not sys.argv[1:] or any(n in r.row for n in sys.argv[1:])]
    if not wanted:
        print(f"truth clusters: got {sys.argv[1]!r}, want a part of one of these:", file=sys.stderr)
        print("\n".join(r.row for r in every), file=sys.stderr)
        return 2
    failed = False
    print("| row | measured, GiB | rank alone, GiB | error, % | seconds |\n|---|---:|---:|---:|---:|", flush=True)
    for row in wanted:
        ran = frameworks.report_of(options(row), row.gpu, LIMIT)
        ranks = ran.report.get("ranks", []) if ran else []
        if ran is None or not ranks or any(r["exit"] for r in ranks):
            failed = True
            said = frameworks.last_line(ran.printed)[:300] if ran else f"no end within {LIMIT} s"
            print(f"| {row.row} | {row.measured} | {said.replace('|', '/')} | | |", flush=True)
            continue
        most = max(r["reserved"] for r in ranks)
        print(
            f"| {row.row} | {row.measured} | {most / GIB:.2f} | {error(row, most):+.2f} | {ran.seconds:.0f} |",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
