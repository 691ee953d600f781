"""Peaks that others published of real clusters, beside the same rank alone on a pretend GPU: python -m
truth clusters [--release RELEASE] [ROW…]

The rows are testdata/measured/clusters.csv's: a world, the arguments of torchtitan's train.py, and the
most memory reserved, which torchtitan logs as its memory. A release is torchtitan's, of a version or of
a month. Rows of 0.2.2 take the environment of make truth-frameworks; those of a month take that of make
truth-clusters, and the train.py of the revision that was measured, with its own configurations. Each
row's first rank runs for three steps, unless the row names others. A ROW is a row's name or a part of it. The
table has the error in percent of what was measured, seconds of the processor for all its ranks, and the
memory of the host that the largest process had.
"""

from __future__ import annotations

import argparse
import csv
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import truth_frameworks as frameworks

HERE = Path(__file__).resolve().parent
ROWS = HERE.parents[2] / "testdata" / "measured" / "clusters.csv"
CACHE = HERE.parents[2] / ".cache"
TORCHTITAN = "https://github.com/pytorch/torchtitan"
GIB = 1 << 30
LIMIT = 7200  # seconds, of one row
PACKAGE = "0.2.2"  # torchtitan's version that is installed as a package


class Release(NamedTuple):
    """An earlier torchtitan: its revision, and the arguments that each of its rows has."""

    revision: str
    arguments: str


RELEASES = {
    "2024-12": Release(
        "9dec370ad26b5f8e9a7333a0e36165018262644b",
        "--model.tokenizer_path tests/assets/tokenizer.model --training.dataset c4_test --training.steps 3",
    ),
    "2025-06": Release(
        "e7c0cae934df78d6e9c2835f42ff1f757dc3fddc",
        "--model.tokenizer_path tests/assets/tokenizer.model --training.dataset c4_test --training.steps 3",
    ),
}
ALL = "--model.hf_assets_path tests/assets/tokenizer --training.dataset c4_test --training.steps 3"


class Row(NamedTuple):
    row: str
    release: str
    gpu: str
    world: int
    rank: str
    arguments: str
    measured: float  # GiB
    source: str
    allocator: str = ""  # PYTORCH_CUDA_ALLOC_CONF


def rows() -> list[Row]:
    with ROWS.open() as f:
        return [
            Row(**r | {"world": int(r["world"]), "measured": float(r["measured"])})  # type: ignore[arg-type]
            for r in csv.DictReader(f)
        ]


def variables(row: Row) -> dict[str, str]:
    found = {} if row.release == PACKAGE else {"TITAN": str(folder(row.release))}
    return found | ({"PYTORCH_CUDA_ALLOC_CONF": row.allocator} if row.allocator else {})


def program(row: Row) -> list[str]:
    """torchtitan's train.py with the row's arguments. CONFIGS stands for the revision's configurations."""
    if row.release == PACKAGE:
        return [str(frameworks.PROGRAMS / "titan.py"), *shlex.split(ALL), *shlex.split(row.arguments)]
    found = folder(row.release)
    configs = next((c for c in found.glob("**/train_configs") if "experiments" not in c.parts), found)
    arguments = shlex.split(row.arguments.replace("CONFIGS", str(configs)))
    return [str(HERE / "clusters" / "titan_of.py"), *arguments, *shlex.split(RELEASES[row.release].arguments)]


def options(row: Row) -> list[str]:
    """memshim run's options, and the program."""
    ranks = ["--world-size", str(row.world), "--nproc-per-node", "8", "--rank", row.rank]
    return [*ranks, "--", *program(row)]


def folder(release: str) -> Path:
    """Where torchtitan's source of a release lies."""
    return CACHE / f"torchtitan-{RELEASES[release].revision[:9]}"


def fetch(release: str) -> None:
    """The source of a release, from its repository."""
    into = folder(release)
    if into.exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as made:  # what a failed fetch leaves is no source
        git = ["git", "-C", made]
        revision = RELEASES[release].revision
        for words in (["init"], ["fetch", "--depth", "1", TORCHTITAN, revision], ["checkout", "FETCH_HEAD"]):
            subprocess.run([*git, *words, "--quiet"], check=True)
        shutil.copytree(made, into, ignore=shutil.ignore_patterns(".git"))


def error(row: Row, reserved: int) -> float:
    """In percent of what was measured."""
    return 100 * (reserved / GIB / row.measured - 1)


def is_named(row: Row, name: str, every: list[Row]) -> bool:
    """Whether a name on the command line is the row's, or a part of it where no row has that name."""
    return row.row == name if any(r.row == name for r in every) else name in row.row


def main() -> int:
    parser = argparse.ArgumentParser(prog="truth clusters")
    parser.add_argument("--release", default=PACKAGE, choices=[PACKAGE, *RELEASES])
    parser.add_argument("names", nargs="*", metavar="ROW")
    given = parser.parse_args()
    every = [r for r in rows() if r.release == given.release]
    wanted = [r for r in every if not given.names or any(is_named(r, n, every) for n in given.names)]
    if not wanted:
        print(f"truth clusters: got {given.names[0]!r}, want a part of one of these:", file=sys.stderr)
        print("\n".join(r.row for r in every), file=sys.stderr)
        return 2
    if given.release != PACKAGE:
        fetch(given.release)
    failed = False
    print("| row | measured, GiB | rank alone, GiB | error, % | worst rank | ranks | seconds | host, GiB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for row in wanted:
        ran = frameworks.report_of(options(row), row.gpu, LIMIT, variables(row))
        ranks = ran.report.get("ranks", []) if ran else []
        if ran is None or not ranks or any(r["exit"] for r in ranks):
            failed = True
            said = frameworks.last_line(ran.printed)[:300] if ran else f"no end within {LIMIT} s"
            print(f"| {row.row} | {row.measured} | {said.replace('|', '/')} | | | | | |", flush=True)
            continue
        worst = max(ranks, key=lambda r: r["reserved"])
        most = worst["reserved"]
        print(
            f"| {row.row} | {row.measured} | {most / GIB:.2f} | {error(row, most):+.2f} | {worst['rank']} "
            f"| {len(ranks)} | {ran.seconds:.0f} | {ran.host / GIB:.2f} |",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
