"""The calls of samples once more, with each tensor's dimensions in memory in the opposite order: what
is copied then, and when, only a device shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parents[4] / "testdata" / "aten" / "2.15" / "samples"
MOST = 3  # calls of an overload


def lines() -> list[dict]:
    """All of them, in order. Calls that fail, with tensors that share a storage, with tensors of the
    host or with given values are left out."""
    out: dict[str, dict] = {}
    count: dict[tuple[str, str], int] = {}
    for file in sorted(SAMPLES.glob("*.jsonl")):
        for text in file.read_text().splitlines():
            sample = json.loads(text)
            key = sample["op"], sample.get("overload", "")
            line = {k: sample[k] for k in ("op", "overload", "args", "kwargs") if k != "overload" or sample.get(k)}
            given = list(tensors([line["args"], line["kwargs"]]))
            if sample.get("error") or sample.get("backend") == "cpu" or count.get(key, 0) >= MOST:
                continue
            if any("dev" in t or "v" in t for t in given) or len({t["sid"] for t in given}) < len(given):
                continue
            if turned := [t for t in given if turns(t)]:
                for t in turned:
                    t["st"] = reversed_strides(t["s"])
                written = json.dumps(line)
                if written not in out:
                    out[written] = line
                    count[key] = count.get(key, 0) + 1
    return list(out.values())


def tensors(value: Any) -> Any:
    """The tensors among arguments."""
    if isinstance(value, dict) and "sid" in value:
        yield value
    elif isinstance(value, (list, dict)):
        for v in value if isinstance(value, list) else value.values():
            yield from tensors(v)


def turns(t: dict) -> bool:
    """Whether a tensor is contiguous and has two dimensions to turn."""
    return "st" not in t and "o" not in t and 0 not in t["s"] and sum(n > 1 for n in t["s"]) > 1


def reversed_strides(sizes: list[int]) -> list[int]:
    out, step = [], 1
    for n in sizes:
        out.append(step)
        step *= n
    return out
