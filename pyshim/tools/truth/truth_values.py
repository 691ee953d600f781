"""Sizes that depend on values, with real values on the CPU and in each mode of a pretend GPU:
python -m truth value-modes [CASE ...]

The cases are those of pyshim/tests/pretend/scenes/ends.py: mixtures of experts of transformers,
detectors of torchvision, generation, lengths, masks, branches. A line a size, printed when its case
is done: what real values give (a seed each), what the modes give, and whether every real one lies
between the ends. The exit code is 1 where one does not. A mode in which a program raises has no
end: its verdict is inconclusive. Needs transformers and torchvision.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from memshim import pretend

SCENE = Path(__file__).parents[2] / "tests" / "pretend" / "scenes" / "ends.py"
MODES = ("least", "balanced", "most", "skewed")


def rows(name: str, seen: dict[str, Any]) -> list[tuple[str, bool]]:
    errors = [f"{m}: {seen[m]['error']}" for m in MODES if isinstance(seen.get(m), dict) and "error" in seen[m]]
    if "error" in seen:
        return [(f"{name:40} {seen['error']}"[:200], False)]
    if errors:  # no end is known: a verdict is inconclusive
        return [(f"{name:40} no end: {'; '.join(errors)}"[:200], "error" not in seen["balanced"])]
    out = []
    for size in (s for s in seen["real"][0] if not s.startswith("_")):
        real, ends = [r[size] for r in seen["real"]], [seen[m][size] for m in MODES]
        held = all(min(ends) <= r <= max(ends) for r in real)
        out.append(
            (
                f"{name:40} {size:18} {' '.join(map(str, real)):>26}  {' '.join(f'{e:>9}' for e in ends)}  "
                f"{'held' if held else 'NOT HELD'}",
                held,
            )
        )
    if "_uneven" in seen["balanced"]:
        b = seen["balanced"]
        even = b["_uneven"] <= 1 and b["routed"] == b["_expected"]
        out.append(
            (
                f"{name:40} {'balanced':18} {b['routed']} of {b['_expected']} routed, shares differ by {b['_uneven']}  "
                f"{'held' if even else 'NOT HELD'}",
                even,
            )
        )
    return out


def main() -> int:
    env = os.environ | pretend.environment("a100-sxm-40gb")
    command = [sys.executable, str(SCENE), "--lines", *(sys.argv[1:] or ["--all"])]
    print(f"{'case':40} {'size':18} {'real values':>26}  {' '.join(f'{m:>9}' for m in MODES)}", flush=True)
    good = True
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as p:
        for found in p.stdout or ():
            if not found.startswith("{"):
                continue  # a library's own words
            ((name, seen),) = json.loads(found).items()
            for line, held in rows(name, seen):
                print(line, flush=True)
                good = good and held
    return p.returncode or (0 if good else 1)


if __name__ == "__main__":
    sys.exit(main())
