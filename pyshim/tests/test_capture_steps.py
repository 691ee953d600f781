"""Training steps that a case may ask for: optimizers, losses, checkpoints, clipping."""

import json
import sys

import pretended
import pytest
import warm
from test_capture import ZOO

pytestmark = pytest.mark.usefixtures("pretend_gpu")


OWN = """
def own_loss(out, x):
    return out.square().sum() / len(x)

def own_optimizer(parameters):
    return torch.optim.SGD(parameters, lr=0.1)
"""


STEPS = """
import gc, json, sys
import torch
from memshim.case import step
from memshim.case.build import BuildError
import zoo

CASE = {"mode": "training", "source": "zoo.py:net", "dir": ".", "artifact": "", "dtype": "",
        "autocast": "", "grad": "no_grad"}
STEP = {"optimizer": "SGD", "arguments": {}, "loss": "sum", "accumulate": 1, "clip": None, "checkpoint": None}
move = lambda v: torch.utils._pytree.tree_map(lambda t: t.cuda() if isinstance(t, torch.Tensor) else t, v)
out = {}
for name, options in json.loads(sys.argv[1]).items():
    gc.collect()
    try:
        case = CASE | {k: options.pop(k) for k in ("dtype", "autocast") if k in options}
        kwargs = {"target": torch.zeros(4, dtype=torch.long)} if options.pop("target", False) else {}
        x = torch.randn(4, 3, 34, 34, dtype=getattr(torch, case["dtype"] or "float32"))
        work = step.prepare(case | {"training": STEP | options}, [x], kwargs, "cuda:0", move)
        base = torch.cuda.memory_allocated()
        tops = []
        for _ in range(2):
            torch.cuda.reset_peak_memory_stats()
            work.iterate()
            tops.append(torch.cuda.max_memory_allocated())
        out[name] = {"weights": sum(p.numel() * p.element_size() for p in work.model.parameters()),
                     "base": base, "held": torch.cuda.memory_allocated(),
                     "first": tops[0], "steady": tops[1]}
        del work
    except BuildError as e:
        out[name] = str(e)
print(json.dumps(out))
"""


def test_training_steps(folder):
    """Optimizers hold the state that they have, and options do what they say."""
    half = {"modules": ["blocks.*"], "reentrant": False}
    cases = {
        "SGD": {},
        "momentum": {"arguments": {"lr": 0.1, "momentum": 0.9}},
        "none": {"optimizer": "none"},
        "Adam": {"optimizer": "Adam"},
        "fused": {"optimizer": "AdamW", "arguments": {"fused": True}},
        "single": {"optimizer": "AdamW", "arguments": {"foreach": False}},
        "capturable": {"optimizer": "Adam", "arguments": {"capturable": True}},
        "Adafactor": {"optimizer": "Adafactor"},
        "LBFGS": {"optimizer": "LBFGS", "arguments": {"max_iter": 2}},
        "own": {"optimizer": "zoo.py:own_optimizer"},
        "accumulate": {"accumulate": 2},
        "clip": {"clip": 1.0},
        "half": {"autocast": "float16"},
        "bfloat16": {"dtype": "bfloat16"},
        "checkpoint": {"checkpoint": half},
        "reentrant": {"checkpoint": half | {"reentrant": True}},
        "mean": {"loss": "mean"},
        "output": {"loss": "output"},
        "cross entropy": {"loss": "cross_entropy", "target": True},
        "function": {"loss": "zoo.py:own_loss"},
        "unknown optimizer": {"optimizer": "Adamm"},
        "no option": {"optimizer": "SGD", "arguments": {"speed": 3}},
        "unknown loss": {"loss": "hinge"},
        "no target": {"loss": "cross_entropy"},
        "no module": {"checkpoint": {"modules": ["layers.*"], "reentrant": False}},
    }
    (folder / "zoo.py").write_text(ZOO + OWN)
    p = warm.run([sys.executable, "-c", STEPS, json.dumps(cases)], cwd=folder, env=pretended.environment("t4"))
    (folder / "zoo.py").write_text(ZOO)
    assert p.returncode == 0, p.stderr[-3000:]
    got = json.loads(p.stdout)
    state = {name: (g["held"] - g["base"]) // 512 for name, g in got.items() if isinstance(g, dict)}
    weights = state["momentum"]
    assert weights == 10 + 9, "one block of 512 bytes a parameter, or more"
    assert state["Adam"] == state["single"] == 2 * weights, "its step counters are on the host"
    assert state["capturable"] == state["fused"] == 2 * weights + 10, "and here on the device"
    assert state["LBFGS"] > weights and 0 < state["Adafactor"] < 2 * weights
    assert {
        state[n]
        for n in (
            "SGD",
            "none",
            "accumulate",
            "clip",
            "own",
            "mean",
            "cross entropy",
            "function",
            "checkpoint",
            "reentrant",
        )
    } == {0}
    assert got["half"]["held"] - got["half"]["base"] <= 2048, "the scaler's scale and its counts"
    assert got["checkpoint"]["steady"] < got["SGD"]["steady"] > got["reentrant"]["steady"]
    assert got["bfloat16"]["base"] < got["SGD"]["base"]
    assert got["unknown optimizer"].startswith("got optimizer 'Adamm', want one of torch.optim (ASGD, ")
    assert "speed" in got["no option"]
    assert got["output"] == "got a loss of shape [4, 10], want one number"
    assert (
        got["unknown loss"]
        == "got loss 'hinge', want sum, mean, output, a function of torch.nn.functional, or FILE.py:NAME"
    )
    assert got["no target"] == "got loss cross_entropy without a target, want an input named target"
    assert got["no module"] == "got checkpoint 'layers.*', and no module of the model has such a name"
