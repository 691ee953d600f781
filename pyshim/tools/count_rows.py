"""Write testdata/scratch/rows.json: what cuDNN answers to a table of convolutions, as counts and digests.

    PYTHONPATH=pyshim/src python pyshim/tools/count_rows.py TABLE.csv [--cudnn DIR]

The table has one convolution on one device class a row (columns sm, dtype, layout, x, w, stride, pad, dilation, groups, path). Rows whose
path is native never reach cuDNN.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
from pathlib import Path
from typing import Iterator

from memshim import cudnn, query, scratchfile, torchwheel

OUT = Path(__file__).parents[2] / "testdata" / "scratch" / "rows.json"


def rows(table: Path) -> Iterator[tuple[dict, dict]]:
    """Each row with its call."""
    with open(table, newline="") as f:
        for r in csv.DictReader(f):
            x, w = ([int(n) for n in r[c].split("x")] for c in ("x", "w"))
            last = r["layout"] == "channels_last"
            yield r, {
                "op": "conv",
                "direction": {"fwd": "forward"}[r["op"]],
                "dtype": r["dtype"],
                "input": x,
                "input_strides": cudnn.strides(x, last),
                "weight": w,
                "weight_strides": cudnn.strides(w, last),
                **{name: [int(r[column])] * 2 for name, column in (("padding", "pad"), ("stride", "stride"), ("dilation", "dilation"))},
                "groups": int(r["groups"]),
                "allow_tf32": True,
            }


def digest(answers: list[tuple[str, str, int, int]]) -> dict:
    """Counts and a digest by group of (group, key, bytes, engine)."""
    groups: dict[str, list] = {}
    for group, call, size, engine in answers:
        groups.setdefault(group, []).append((call, size, engine))
    return {
        group: {
            "calls": len(lines),
            "bytes": sum(size for _, size, _ in lines),
            "sha256": hashlib.sha256("".join(f"{c} {b} {e}\n" for c, b, e in sorted(lines)).encode()).hexdigest(),
        }
        for group, lines in sorted(groups.items())
    }


def group(row: dict) -> str:
    return f"sm{row['sm']} {row['dtype']} {row['layout']}"


def ask(table: Path, folder: str, cublaslt: str) -> list[tuple[str, str, int, int]]:
    """The library's own answers to the rows that reach it."""
    processes: dict[str, query.Process] = {}
    out = []
    for r, call in rows(table):
        if r["path"] == "cudnn":
            name = "sm" + r["sm"]
            if name not in processes:
                processes[name] = query.Process(folder, cublaslt, name)
            a = processes[name].ask(call)
            out.append((group(r), scratchfile.key(call), a["bytes"], a["engine"]))
    for p in processes.values():
        p.close()
    return out


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("table", type=Path)
    p.add_argument("--cudnn", action="append", default=[])
    a = p.parse_args()
    folder, places = next(torchwheel.folders(a.cudnn, Path.home() / ".cache" / "memspec"))
    version, cuda = torchwheel.probe(str(folder))
    known = json.loads(OUT.read_text()) if OUT.exists() else {}
    known[torchwheel.dotted(version)] = digest(ask(a.table, str(folder), torchwheel.cublaslt(cuda, places)))
    OUT.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
