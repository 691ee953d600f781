"""Calls that PyTorch's kernels for CPU refuse and the engine accepts
(engine/ops/*/testdata/accepted.txt): each has a reason, and PyTorch shows it."""

import json
from pathlib import Path

import pretended
import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]

CALLS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import torch
import dump_refused

for call in json.load(open(sys.argv[2])):
    device = call["device"]
    op = getattr(getattr(torch.ops.aten, call["op"].split("::")[1]), call.get("overload") or "default")
    storages = {}
    values = lambda pairs: {k: dump_refused.value(v, device, storages) for k, v in pairs}
    args, kwargs = values(enumerate(call["args"])), values(call["kwargs"].items())
    if call["regular"]:
        x = args[0]
        x.copy_(torch.eye(*x.shape[-2:], dtype=x.dtype).expand_as(x))
    try:
        op(*args.values(), **kwargs)
        print("accepts")
    except Exception as e:
        print(type(e).__name__)
"""


def accepted() -> dict[str, str]:
    """The reason of each call."""
    out = {}
    for path in sorted(ROOT.glob("engine/ops/*/testdata/accepted.txt")):
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                reason, _, names = line.partition(": ")
                out |= dict.fromkeys(names.split(), reason)
    return out


def recorded(names: dict[str, str]) -> dict[str, dict]:
    out, number = {}, {}
    for line in (ROOT / "testdata/aten/2.15/refused.jsonl").open():
        call = json.loads(line)
        number[call["op"]] = number.get(call["op"], 0) + 1
        if (name := f"{call['op']}/{number[call['op']]}") in names:
            out[name] = call
    return out


def test_what_the_engine_accepts_a_gpu_accepts_or_values_decide(tmp_path: Path) -> None:
    if not torch.__version__.startswith("2.15."):
        pytest.skip("recorded with torch 2.15")
    if why := pretended.missing():
        pytest.skip(why)
    reasons = accepted()
    calls = recorded(reasons)
    assert calls.keys() == reasons.keys()
    asked = []
    for name, call in calls.items():
        on_gpu = reasons[name].startswith("a GPU accepts it")
        asked.append(call | {"device": "cuda" if on_gpu else "cpu", "regular": not on_gpu})
    (tmp_path / "calls.json").write_text(json.dumps(asked))
    p = pretended.run(CALLS, str(ROOT / "pyshim/tools/truth"), str(tmp_path / "calls.json"), device="h100-sxm-80gb")
    assert p.returncode == 0, p.stderr
    assert dict(zip(calls, p.stdout.split(), strict=True)) == dict.fromkeys(calls, "accepts")
