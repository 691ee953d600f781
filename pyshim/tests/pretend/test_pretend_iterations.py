"""Which iterations of a compiled program are steady, and what the first takes: as PyTorch alone
takes it."""

import importlib.util
import json
import os
import sys

import captured
import pytest
import warm

from memshim import binary
from memshim.pretend import build

BROKEN = """
import torch
from torch import nn


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 64), nn.Linear(64, 128)

    def forward(self, x):
        x = torch.relu(self.a(x))
        torch._dynamo.graph_break()
        return self.b(x)


def broken():
    return torch.compile(Broken())


def recorded():
    return torch.compile(nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10)), mode="reduce-overhead")
"""
ALONE = """
import json
import sys

import torch

import zoo

model, x = getattr(zoo, sys.argv[1])().cuda(), torch.zeros(8, 64, device="cuda")
optimizer = torch.optim.AdamW(model.parameters())
peaks = []
for _ in range(4):
    torch.cuda.reset_peak_memory_stats()  # right after a step, where a report's iterations end
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
    peaks.append(torch.cuda.max_memory_allocated())
print(json.dumps(peaks))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not importlib.util.find_spec("triton"):
        pytest.skip("no Triton here")
    try:
        build.compiler()
    except build.BuildError as e:
        pytest.skip(str(e))
    out = tmp_path_factory.mktemp("iterations")
    (out / "zoo.py").write_text(BROKEN)
    (out / "alone.py").write_text(ALONE)
    return out


def report(folder, recording):
    return binary.ask("estimate", str(folder / recording), "--device", "t4").json


def run(folder, name, code=0):
    """PyTorch's own peaks of a program's iterations, and the report of its recording."""
    command = [sys.executable, "-m", "memshim", "run", "--on", "t4", "--record", f"{name}.rec", "--", "alone.py", name]
    environ = os.environ | {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
    p = warm.run(command, cwd=folder, env=environ)
    assert p.returncode == code, p.stderr
    return json.loads(p.stdout.splitlines()[0]), report(folder, f"{name}.rec"), p.stderr + p.stdout


@pytest.fixture(scope="module")
def broken(folder):
    return run(folder, "broken")


@pytest.fixture(scope="module")
def recorded(folder):
    return run(folder, "recorded", code=3)  # what the driver takes for a CUDA graph is not known


def captured_step(folder, name):
    words = [f"zoo.py:{name}", "--input", "float32[8,64]", "--on", "t4"]
    p = captured.capture(folder, *words, "--mode", "training", "--optimizer", "AdamW", "-o", f"step_{name}.rec")
    assert p.returncode == 0, p.stderr
    return report(folder, f"step_{name}.rec")


def test_a_step_with_a_graph_break_takes_what_pytorch_takes(folder, broken):
    """The compiler's reference cycles hold gradients until the collector comes: capture leaves it
    on while code is compiled."""
    said = captured_step(folder, "broken")
    assert [p["peak"]["allocated"] for p in said["passes"]] == [broken[0][0], max(broken[0][1:])]


def test_what_is_compiled_is_labelled_so(folder, broken):
    assert broken[1]["runtime"] == "compiled"
    assert report(folder, "step_broken.rec")["runtime"] == "compiled"


def test_the_iteration_that_records_a_graph_is_not_steady(folder, recorded):
    """Warm-up, recording, then replays: the first replay is the first steady iteration."""
    alone, said, live = recorded
    replayed = max(alone[2:])
    assert max(alone[:2]) > replayed
    assert [p["peak"]["allocated"] for p in said["passes"]] == [max(alone[:2]), replayed]
    assert "first 2" in live and "(the most of 2 iterations)" in live


def test_an_inference_that_records_a_graph_runs_until_one_is_replayed(folder):
    p = captured.capture(folder, "zoo.py:recorded", "--input", "float32[8,64]", "--on", "t4", "-o", "inference.rec")
    assert p.returncode == 0, p.stderr
    first, steady = report(folder, "inference.rec")["passes"]
    assert first["peak"]["allocated"] - steady["peak"]["allocated"] > 8 << 20, (
        "cuBLAS's workspaces are recorded with the graph"
    )
