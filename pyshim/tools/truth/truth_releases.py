"""The static engine compared with the PyTorch of this Python on a pretend T4: python -m truth releases
[--cache DIR] [-o FILE] [CATALOG…]

Allocated and reserved at the baseline, in the first and in the second pass, of 21 models of
torchvision (the five of docs/accuracy.md among them) and ten of transformers, batch 1; those of
transformers, which are traced, from torch 2.11 on also with the sidecar of memshim export.
`make truth-releases` runs it with each PyTorch in a separate environment. Where MEMSPEC_CUDNN names a
cuDNN that answers in the place of the release's own, both sides ask that.

Prints a row for each catalog, and below it what is not equal, with the cause. Exit code 1: something
is called exact and is not, or is beyond what its report says.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from oracle import table
from oracle.sweep import Sweep, holds

from memshim.pretend import support

ROOT = Path(__file__).parents[3]
DEVICE = "t4"
EXPORTS = (2, 11)  # the first PyTorch of memshim export
MEASURED = ("alexnet", "mobilenet_v3_small", "resnet50", "resnet101", "vgg16")  # docs/accuracy.md's five
VISION = (
    "vit_b_16",
    "swin_t",
    "densenet121",
    "resnet18",
    "resnet34",
    "googlenet",
    "squeezenet1_1",
    "mobilenet_v2",
    "mnasnet0_5",
    "shufflenet_v2_x0_5",
    "efficientnet_b0",
    "regnet_y_400mf",
    "convnext_tiny",
    "resnext50_32x4d",
    "wide_resnet50_2",
    "maxvit_t",
)
HUB = ("Bert", "GPT2", "Llama", "Qwen2", "OPT", "GPTNeoX", "DistilBert", "Roberta", "ViT", "Gemma")


class Part(NamedTuple):
    models: tuple[str, ...]
    settings: tuple[str, ...]
    sidecars: bool


CATALOGS = {
    "torchvision": Part(MEASURED + VISION, ("float32",), False),
    "transformers": Part(tuple(f"hf.{n}" for n in HUB), ("float32", "autocast"), True),
}
WHOSE = {"profile": "cuDNN {}", "stand-in": "cuDNN {} in the place of the release's", "rule": "by formula"}
HEAD = """| torch | workspace of convolutions | models | settings | called exact: equal | off | estimates: equal, \
within | beyond | without a figure |
|---|---|---|---|---:|---:|---:|---:|---:|
"""


def answered(rows: Sequence[table.Row]) -> str:
    """Whose workspaces the convolutions of the reports have."""
    found = {
        (w["basis"], w.get("version", "")) for r in rows for x in r.reports.values() for w in x.get("workspace", ())
    }
    return ", ".join(WHOSE[basis].format(version) for basis, version in sorted(found)) or "-"


def line(torch: str, catalog: str, rows: Sequence[table.Row]) -> str:
    """A row of the table."""
    counts: Counter[str] = Counter()
    for r in rows:
        for v in r.verdicts().values():
            kind = "none" if v.word == "none" else "exact" if v.quality == "exact" else "estimate"
            counts[kind if kind == "none" else f"{kind} {v.word if v.word in table.HOLDS else 'off'}"] += 1
    return (
        f"| {torch} | {answered(rows)} | {len(rows)} of {catalog} | {', '.join(CATALOGS[catalog].settings)} | "
        f"{counts['exact equal']} | {counts['exact off']} | {counts['estimate equal']}, {counts['estimate within']} | "
        f"{counts['estimate off']} | {counts['none']} |"
    )


def main() -> int:
    p = argparse.ArgumentParser(
        prog="python -m truth releases", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("catalogs", nargs="*", metavar="CATALOG", help=f"of {', '.join(CATALOGS)}; both unless named")
    p.add_argument("--cache", type=Path, default=ROOT / ".cache" / "releases")
    p.add_argument("-o", "--output", type=Path)
    a = p.parse_args()
    if bad := [c for c in a.catalogs if c not in CATALOGS]:
        p.error(f"got {bad[0]!r}, want one of {', '.join(CATALOGS)}")
    os.environ.setdefault("PYTHONHASHSEED", "0")
    here = support.torch_here()
    torch = here.version.partition("+")[0]
    lines: list[str] = []
    off: list[str] = []
    good = True
    for catalog in a.catalogs or CATALOGS:
        part = CATALOGS[catalog]
        sidecars = part.sidecars and here.release >= EXPORTS
        sweep = Sweep(catalog, a.cache / torch, part.models, (DEVICE,), part.settings, (1,), sidecars)
        rows = []
        for row in sweep.rows():
            rows.append(row)
            print(row.line(), file=sys.stderr, flush=True)
        lines.append(line(torch, catalog, rows))
        off += [x for r in rows for x in r.off()]
        good = good and holds(rows)
    text = HEAD + "\n".join(lines) + "\n" + "".join(f"\n- {x}" for x in off) + ("\n" if off else "")
    print(text, end="")
    if a.output:
        a.output.write_text(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
