"""Liger-Kernel's published benchmarks of memory beside a pretend GPU's:
python -m truth liger [--limit SECONDS] [--record] [KERNEL…]

The rows are testdata/measured/liger.csv's: of each kernel its provider (Liger's Triton kernel, or the
one that it is compared with), and the median of the most memory allocated in ten calls. The benchmarks
are the authors' own scripts, unmodified, of the revision whose table the row is in, with that revision's
kernels. They do not state the release of torch: a row's is that of around its day, and the rows of the
torch that is installed are run. The table has the errors of each kernel in percent of what was measured.
--record writes what each row gave into the rows' file, column pretended. The totals at the end are of
all rows that have a result there, in the form of docs/accuracy-published.md.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import sources
import truth_frameworks as frameworks
from measured import summary

HERE = Path(__file__).resolve().parent
ROWS = HERE.parents[2] / "testdata" / "measured" / "liger.csv"
REPOSITORY = "linkedin/Liger-Kernel"
LIMIT = 3600  # seconds, of one script
ARGUMENTS = {"fused_moe": ([], ["--sweep-dim", "num_experts"])}  # of scripts that are run more than once
NAMES = ("kernel", "provider", "mode", "x", "config", "gpu", "revision")  # the columns that name a row
PAGE = """| measured | figure | their torch | torch here | rows | within | median, % | mean, % | worst, % |
|---|---|---|---|---:|---:|---:|---:|---:|"""

Row = dict[str, str]


def rows(torch: str | None = None, names: Iterable[str] = ()) -> list[Row]:
    """The rows of a release of torch, of these kernels; all where none is named."""
    with ROWS.open() as f:
        return [r for r in csv.DictReader(f) if torch in (None, r["torch"]) and (not names or r["kernel"] in names)]


def error(row: Row, size: float) -> float:
    """In percent of what was measured."""
    return 100 * (size / float(row["measured"]) - 1)


def record(found: Iterable[tuple[Row, float]]) -> None:
    """Write the MiB of these rows, which rows gave, into the rows' file."""
    sizes = {tuple(row[c] for c in NAMES): size for row, size in found}
    with ROWS.open() as f:
        reader = csv.DictReader(f)
        columns, every = reader.fieldnames or [], list(reader)
    for row in every:
        name = tuple(row[c] for c in NAMES)
        if name in sizes:
            row["pretended"] = str(sizes[name])
    with ROWS.open("w", newline="") as f:
        writer = csv.DictWriter(f, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(every)


def totals(every: Iterable[Row]) -> list[str]:
    """The lines of the page's table: of each release of torch the rows that have a result."""
    errors: dict[str, list[float]] = {}
    numbers: Counter[str] = Counter()
    kernels: dict[str, set[str]] = {}
    for row in every:
        numbers[row["torch"]] += 1
        if row["pretended"]:
            errors.setdefault(row["torch"], []).append(error(row, float(row["pretended"])))
            kernels.setdefault(row["torch"], set()).add(row["kernel"])
    return [
        summary(
            f"Liger-Kernel's authors, {len(kernels[torch])} kernels (`liger`, {len(of)} of {numbers[torch]} rows) | "
            f"allocated | not stated | {torch}",
            of,
        )
        for torch, of in errors.items()
    ]


def prepared(revision: str, into: Path) -> None:
    """The revision's benchmarks and kernels, without its table, and with the version that the
    benchmarks read of their package."""
    sources.extract(REPOSITORY, revision, into, "benchmark/scripts", "src", ":(glob)test/**/*.py")
    metadata = into / "src" / "liger_kernel-0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: liger-kernel\nVersion: 0+{revision}\n")
    (into / "benchmark" / "data").mkdir()


def key(row: Row) -> tuple[str, ...]:
    """What names a row in the authors' table and in the one that is written here."""
    named = ("kernel_name", "kernel_provider", "kernel_operation_mode", "x_value", "extra_benchmark_config_str")
    ours = ("kernel", "provider", "mode", "x", "config")
    return tuple(row[a] if a in row else row[b] for a, b in zip(named, ours, strict=True))


def run(script: str, revision: str, gpu: str, limit: int) -> tuple[dict[tuple[str, ...], float], str]:
    """MiB of each row that the script wrote, and why one may not be there."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        prepared(revision, root)
        program = [str(HERE / "liger" / "benchmark_of.py"), f"{root}/benchmark/scripts/benchmark_{script}.py"]
        for arguments in ARGUMENTS.get(script, ([],)):
            ran = frameworks.report_of(["--", *program, *arguments], gpu, limit)
        table = root / "benchmark" / "data" / "all_benchmark_data.csv"
        if not table.exists():
            return {}, frameworks.last_line(ran.printed)[:160] if ran else f"no end within {limit} s"
        with table.open() as f:
            found = {key(r): float(r["y_value_50"]) for r in csv.DictReader(f) if r["metric_name"] == "memory"}
        return found, "its script has no such row, or ended before it" if ran else f"no end within {limit} s"


def main() -> int:
    from importlib.metadata import version

    parser = argparse.ArgumentParser(prog="truth liger")
    parser.add_argument("--limit", type=int, default=LIMIT, metavar="SECONDS", help="of one script")
    parser.add_argument("--record", action="store_true", help="write what each row gave into the rows' file")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    given = parser.parse_args()
    torch = version("torch").partition("+")[0]
    wanted = rows(torch, given.kernels)
    if not wanted:
        print(
            f"truth liger: got {' '.join(given.kernels)}, want kernels that have rows of torch {torch}", file=sys.stderr
        )
        return 2
    verbose = bool(os.environ.get("MEMSPEC_TRUTH_LOG"))
    failed = False
    print(f"torch {torch}\n\n| kernel | GPU | rows | within 2 % | median, % | mean, % | worst, % |")
    print("|---|---|---:|---:|---:|---:|---:|", flush=True)
    for script, revision, gpu in dict.fromkeys((r["script"], r["revision"], r["gpu"]) for r in wanted):
        found, said = run(script, revision, gpu, given.limit)
        of_script = [r for r in wanted if (r["script"], r["revision"], r["gpu"]) == (script, revision, gpu)]
        for kernel in dict.fromkeys(r["kernel"] for r in of_script):
            of_kernel = [r for r in of_script if r["kernel"] == kernel]
            have = [(r, found[key(r)]) for r in of_kernel if key(r) in found]
            off = [error(r, size) for r, size in have]
            for r, size in have if verbose else ():
                print(*key(r), r["measured"], size, f"{error(r, size):+.2f}", file=sys.stderr, flush=True)
            if given.record:
                record(have)
            for r, size in have:
                r["pretended"] = str(size)
            print(summary(f"{kernel} | {gpu}", off), flush=True)
            if len(off) < len(of_kernel):
                failed = True
                print(f"| {kernel} | {gpu} | {len(of_kernel) - len(off)} not run: {said.replace('|', '/')} | | | | |")
    print(f"\n{PAGE}")
    print("\n".join(totals(rows() if given.record else wanted)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
