"""Finds what each causal language model of transformers has for parameters and keeps of a sequence, as rules.

    python pyshim/tools/configs FOLDER [MODEL_TYPE ...]

For each model_type FOLDER/MODEL_TYPE.json gets the rules, what they were compared with, or why there are none.
Files that exist are kept, so that several processes and several calls can share the work.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

warnings.filterwarnings("ignore")

import caches
import torch
from learn import sub_expressions
from probes import MODELS, Built, build, config_class, defaults, small, undeclared, variable
from rules import Rules, learn


def written(rules: Rules, fresh: list[Built]) -> dict[str, Any]:
    return {
        "rows": [[r.name, list(r.dims), r.dtype, r.layers, r.times, r.condition] for r in rules.rules],
        "numbers": rules.numbers,
        "lists": rules.lists,
        "changed": rules.changed,
        "fixed": sorted(set(variable(rules.model_type, {})) - rules.varied),
        "compared": [[b.given, b.elements] for b in fresh],
    }


def reason(e: Exception) -> str:
    return f"{type(e).__name__}: {e}".replace("\n", " ")[:300]


def found(model_type: str) -> dict[str, Any]:
    cls = config_class(model_type)
    out: dict[str, Any] = {"class": MODELS[model_type], "aliases": dict(cls.attribute_map)}
    sizes: frozenset[str] = frozenset()
    try:
        out["defaults"] = {k: v for k, v in (defaults(cls) | undeclared(model_type)).items() if not isinstance(v, dict)}
        rules, fresh = learn(model_type, build, small(model_type), 2, 5)
        out["parameters"] = written(rules, fresh)
        sizes = frozenset(sub_expressions(d for r in rules.rules for d in r.dims))
    except Exception as e:
        out["parameters"] = {"unknown": reason(e)}
    try:
        base = caches.tiny(model_type)
        optional = [n for n, v in out["defaults"].items() if v is None]
        sizes |= caches.sizes(list(out["defaults"]), optional)
        rules, fresh = learn(model_type, caches.measured, base, 1, 4, sizes)
        out["cache"] = written(rules, fresh)
    except Exception as e:
        out["cache"] = {"unknown": reason(e)}
    return out


def main(folder: Path, names: list[str]) -> None:
    torch.set_num_threads(1)
    folder.mkdir(exist_ok=True)
    for name in names or list(MODELS):
        path = folder / f"{name}.json"
        try:
            with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY), "w") as f:
                start = time.monotonic()
                result = found(name)
                json.dump(result, f, indent=1, default=str)
        except FileExistsError:
            continue
        states = [result[k].get("unknown", f"{len(result[k].get('rows', []))} rows") for k in ("parameters", "cache")]
        print(f"{name}: {time.monotonic() - start:.0f} s: {' | '.join(states)}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
