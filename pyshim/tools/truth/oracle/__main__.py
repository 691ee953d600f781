"""The static engine compared with PyTorch on pretend GPUs: python -m truth oracle CATALOG --cache DIR
[MODEL…]

Archives of each model are made once, runs and cuDNN's answers are kept in the cache, so that it
goes on where it was stopped; predictions are made anew.
Exit code 1: something is called exact and is not, or is beyond what its report says. timm and
transformers have to be installed for the catalogs of that name. Prints a line for every model and
writes the table where -o says.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from oracle import table
from oracle.catalog import CATALOGS
from oracle.configuration import BATCHES, DEVICES, SETTINGS
from oracle.sweep import Sweep, holds


def main() -> int:
    p = argparse.ArgumentParser(
        prog="python -m truth oracle", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("catalog", help="torchvision, detection, timm or transformers")
    p.add_argument("models", nargs="*")
    p.add_argument("--cache", type=Path, required=True)
    p.add_argument("--device", action="append", default=[])
    p.add_argument("--setting", action="append", default=[])
    p.add_argument("--batch", action="append", type=int, default=[])
    p.add_argument("--limit", type=int, default=0, help="only so many models")
    p.add_argument(
        "--sidecar",
        action="store_true",
        help="traced archives also with the sidecar of memshim export, which takes seconds a model",
    )
    p.add_argument("--kept", action="store_true", help="run nothing: only what the cache has")
    p.add_argument("-o", "--output", type=Path)
    p.add_argument("-v", action="store_true", help="a line for every configuration that is not equal")
    a = p.parse_intermixed_args()
    names = a.models or [m.name for m in CATALOGS[a.catalog]()]
    if a.limit:
        names = names[: a.limit]
    sweep = Sweep(
        a.catalog, a.cache, names, a.device or DEVICES, a.setting or SETTINGS, a.batch or BATCHES, a.sidecar, a.kept
    )
    rows = []
    for row in sweep.rows():
        rows.append(row)
        print(row.line(), flush=True)
        if a.v:
            for text in row.off():
                print("   ", text, flush=True)
    print(table.total(rows))
    if a.output:
        a.output.write_text(table.text(rows))
    return 0 if holds(rows) else 1


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main())
