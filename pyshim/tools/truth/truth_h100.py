"""Peaks that were recorded on an H100 for this project, beside a pretend H100's:
python -m truth h100 [models] [programs] [NAME…]

The rows are testdata/measured/h100-models.csv's and h100-programs.csv's, and NAME is one of theirs.
make truth-h100 makes an environment with the releases that the card had. Peaks are PyTorch's own, of
a process each. A figure is equal to the byte or its error is printed, in bytes and in
percent of what was recorded. The exit code is 1 where a row has no result.
"""

from __future__ import annotations

import csv
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import forked_rows

HERE = Path(__file__).parent
MEASURED = HERE.parents[2] / "testdata" / "measured"
SCENES = HERE.parents[1] / "tests" / "pretend" / "scenes"
GPU = "h100-sxm-80gb"
SETS = {"models": "model", "programs": "program"}  # with the name of the first column
FIGURES = ("allocated", "reserved")
LIMIT = 900  # seconds, of one program


def peaks() -> dict[str, Any]:
    import torch

    return {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}


def run_model(row: forked_rows.Row) -> dict[str, Any]:
    import models_of_h100

    models_of_h100.run(row["model"])
    return peaks()


def run_program(file: str, *arguments: str) -> int:
    """In this process; the last line on standard output has the peaks."""
    sys.argv = [file, *arguments]
    sys.path.insert(0, str(Path(file).parent))
    runpy.run_path(file, run_name="__main__")
    print("\n" + json.dumps(peaks()), flush=True)
    return 0


def file_of(program: str) -> Path:
    return SCENES / "compiled.py" if program == "compiled" else HERE / "finetune" / f"{program}.py"


def programs(rows: list[forked_rows.Row]) -> Iterator[tuple[forked_rows.Row, dict[str, Any]]]:
    environment = forked_rows.environment(GPU, ())
    for row in rows:
        program, _, argument = row["program"].partition(" ")
        with tempfile.TemporaryDirectory() as folder:
            found: dict[str, Any] = {"error": f"no end within {LIMIT} s"}
            try:
                p = subprocess.run(
                    [sys.executable, __file__, "--program", str(file_of(program)), *filter(None, [argument])],
                    env=environment | {"TMPDIR": folder, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=LIMIT,
                )
                last = (p.stdout.strip() or "{").splitlines()[-1]
                said = (p.stderr.strip() or "nothing was said").splitlines()[-1]
                found = json.loads(last) if p.returncode == 0 else {"error": said[:160]}
            except subprocess.TimeoutExpired:
                pass
        yield row, found


def recorded(name: str) -> list[forked_rows.Row]:
    with (MEASURED / f"h100-{name}.csv").open() as f:
        return [r | {"gpu": GPU} for r in csv.DictReader(f)]


def compared(row: forked_rows.Row, found: dict[str, Any], figure: str) -> str:
    want, got = int(row[figure]), found[figure]
    return f"{want} | equal" if got == want else f"{want} | {got - want:+} ({100 * (got / want - 1):+.2f} %)"


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--serve"]:
        import models_of_h100  # noqa: F401  imported once
        import torchvision  # noqa: F401  transformers is not: what it imports makes a context, which no fork has

        return forked_rows.serve(run_model)
    if arguments[:1] == ["--program"]:
        return run_program(*arguments[1:])
    rows = {name: recorded(name) for name in SETS}
    known = {*SETS, *(r[SETS[name]] for name, of in rows.items() for r in of)}
    if bad := [a for a in arguments if a not in known]:
        print(f"truth h100: got {bad[0]!r}, want models, programs or the name of a row", file=sys.stderr)
        return 2
    failed = False
    totals = []
    for name, column in SETS.items():
        wanted = [r for r in rows[name] if not arguments or name in arguments or r[column] in arguments]
        if not wanted:
            continue
        print(f"| {column} | allocated | | reserved | |\n|---|---:|---:|---:|---:|", flush=True)
        equal = {f: 0 for f in (*FIGURES, "both")}
        for row, found in programs(wanted) if name == "programs" else forked_rows.results(__file__, wanted):
            if "error" in found:
                failed = True
                print(f"| {row[column]} | {found['error'].replace('|', '/')} | | | |", flush=True)
                continue
            print(f"| {row[column]} | {' | '.join(compared(row, found, f) for f in FIGURES)} |", flush=True)
            same = [found[f] == int(row[f]) for f in FIGURES]
            for figure, is_equal in zip(equal, (*same, all(same))):
                equal[figure] += is_equal
        print(flush=True)
        totals.append(
            f"{name}: {equal['both']} of {len(wanted)} have both peaks equal, {equal['allocated']} allocated, "
            f"{equal['reserved']} reserved"
        )
    print("\n".join(totals))
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main(sys.argv[1:]))
