"""Liger-Kernel's published benchmarks of memory beside a pretend GPU's: python -m truth liger [KERNEL…]

The rows are testdata/measured/liger.csv's: of each kernel its provider (Liger's Triton kernel, or the
one that it is compared with), and the median of the most memory allocated in ten calls. The benchmarks
are the authors' own scripts, unmodified, of the revision whose table the row is in, with that revision's
kernels. They do not state the release of torch: a row's is that of around its day, and the rows of the
torch that is installed are run. The table has the errors of each kernel in percent of what was measured.
"""

from __future__ import annotations

import csv
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import sources
import truth_frameworks as frameworks
from measured import summary

HERE = Path(__file__).resolve().parent
ROWS = HERE.parents[2] / "testdata" / "measured" / "liger.csv"
REPOSITORY = "linkedin/Liger-Kernel"
LIMIT = 3600  # seconds, of one script
MIB = 1 << 20

Row = dict[str, str]


def rows(torch: str, names: Iterable[str]) -> list[Row]:
    """The rows of a release of torch, of these kernels, or of all where none is named."""
    with ROWS.open() as f:
        return [r for r in csv.DictReader(f) if r["torch"] == torch and (not names or r["kernel"] in names)]


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


def run(script: str, revision: str, gpu: str) -> tuple[dict[tuple[str, ...], float], str]:
    """MiB of each row that the script wrote, and why one may not be there."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        prepared(revision, root)
        program = [str(HERE / "liger" / "benchmark_of.py"), f"{root}/benchmark/scripts/benchmark_{script}.py"]
        ran = frameworks.report_of(["--", *program], gpu, LIMIT)
        table = root / "benchmark" / "data" / "all_benchmark_data.csv"
        if not table.exists():
            return {}, frameworks.last_line(ran.printed)[:160] if ran else f"no end within {LIMIT} s"
        with table.open() as f:
            found = {key(r): float(r["y_value_50"]) for r in csv.DictReader(f) if r["metric_name"] == "memory"}
        return found, "its script has no such row, or ended before it"


def main() -> int:
    from importlib.metadata import version

    torch = version("torch").partition("+")[0]
    wanted = rows(torch, sys.argv[1:])
    if not wanted:
        print(
            f"truth liger: got {' '.join(sys.argv[1:])}, want kernels that have rows of torch {torch}", file=sys.stderr
        )
        return 2
    verbose = bool(os.environ.get("MEMSPEC_TRUTH_LOG"))
    errors: list[float] = []
    failed = False
    print(f"torch {torch}\n\n| kernel | GPU | rows | within 2 % | median, % | mean, % | worst, % |")
    print("|---|---|---:|---:|---:|---:|---:|", flush=True)
    for script, revision, gpu in dict.fromkeys((r["script"], r["revision"], r["gpu"]) for r in wanted):
        found, said = run(script, revision, gpu)
        of_script = [r for r in wanted if (r["script"], r["revision"], r["gpu"]) == (script, revision, gpu)]
        for kernel in dict.fromkeys(r["kernel"] for r in of_script):
            of_kernel = [r for r in of_script if r["kernel"] == kernel]
            off = []
            for r in of_kernel:
                if key(r) not in found:
                    continue
                off.append(100 * (found[key(r)] / float(r["measured"]) - 1))
                if verbose:
                    print(*key(r), r["measured"], found[key(r)], f"{off[-1]:+.2f}", file=sys.stderr, flush=True)
            errors += off
            print(summary(f"{kernel} | {gpu}", off), flush=True)
            if len(off) < len(of_kernel):
                failed = True
                print(f"| {kernel} | {gpu} | {len(of_kernel) - len(off)} not run: {said.replace('|', '/')} | | | | |")
    print(summary("all | ", errors))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
