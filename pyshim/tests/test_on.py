"""--on DEVICE: commands that look run on a pretend GPU, and say so."""

import json
import sys

import captured
import pytest
import warm

from memshim.case.record import SCHEMA_FILE

pytest.importorskip("torch")

ZOO = """
import torch

def net():
    return torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 8))
"""

SCRIPT = """
import torch
from zoo import net
model = net().cuda()
kept = model(torch.randn(256, 512, device="cuda"))
print("peak", torch.cuda.max_memory_allocated())
"""


pytestmark = pytest.mark.usefixtures("pretend_gpu")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "zoo.py").write_text(ZOO)
    (tmp_path / "use.py").write_text(SCRIPT)
    return tmp_path


def memshim(folder, *arguments):
    return warm.run([sys.executable, "-m", "memshim", *arguments], cwd=folder)


def test_trace(folder):
    p = memshim(folder, "trace", "--on", "t4", "--json", "t.json", "use.py", "--on", "nothing")
    assert p.returncode == 0, p.stderr
    printed = json.loads((folder / "t.json").read_text())
    assert printed["where"] == "pretend" and f"peak {printed['peak']}" in p.stdout, "the allocator's own peak"
    assert "(allocated on a pretend GPU), reached at use.py:5 (<module>)" in p.stderr


def test_values_are_followed(folder):
    """By the commands that look too, though they ask for torch's version before they import it."""
    (folder / "use.py").write_text("import torch\nprint('sum', int((torch.arange(5).cuda() + 1).sum()))\n")
    p = memshim(folder, "trace", "--on", "t4", "use.py")
    assert p.stdout.startswith("sum 15\n"), p.stdout + p.stderr


def test_track(folder):
    p = memshim(folder, "track", "--on", "t4", "--at", "5", "--at", "6", "use.py")
    assert p.returncode == 0, p.stderr
    assert "Total Allocated Memory: 2.0 MiB" in p.stdout and "| cuda:0" in p.stdout
    assert "Size:(256, 8) | Memory: 8.0 KiB" in p.stdout


def test_profile(folder):
    p = memshim(folder, "profile", "zoo.py:net", "--input", "float32[64,512]", "--on", "t4", "--optimizer", "Adam")
    assert p.returncode == 0, p.stderr
    assert (
        "(allocated on a pretend GPU)" in p.stdout
        and "optimizer state 4.1 MiB" in p.stdout
        and "workspace 8.1 MiB" in p.stdout
    ), p.stdout


@pytest.mark.parametrize(
    "arguments, text",
    [
        (
            ["trace", "--on", "toaster", "use.py"],
            "memshim trace: got device 'toaster', want a known device (all: memspec devices)",
        ),
        (
            ["track", "--count", "2", "--at", "3", "use.py"],
            "memshim track: got --memory or --count without --on, want --on DEVICE beside it",
        ),
    ],
)
def test_a_device_that_cannot_be(folder, arguments, text):
    p = memshim(folder, *arguments)
    assert (p.returncode, p.stderr) == (2, text + "\n")


SPEC = """
version: 1
defaults: {device: t4, runtime: eager}
models:
  net:
    source: zoo.py:net
    artifact: net.pt
    inputs: ["float32[B,512]"]
    cases:
      - dims: {B: [32, 256]}
        budget: {allocated: LIMIT}
"""


def test_check_runs_sources_beside_the_prediction(folder):
    """Without a GPU, by default; the two numbers agree, and either breaks the budget."""
    (folder / "memspec.yaml").write_text(SPEC.replace("LIMIT", "20MiB"))
    assert captured.memshim(folder, "export", "memspec.yaml", "--strip").returncode == 0
    p = memshim(folder, "check")
    assert p.returncode == 0, p.stdout + p.stderr
    assert p.stdout.splitlines()[-1] == "run on a pretend GPU, 2 cases: 2 pass"
    assert p.stdout.count("no GPU: a pretend Tesla T4, torch ") == 2 and "measured" not in p.stdout
    (folder / "memspec.yaml").write_text(SPEC.replace("LIMIT", "4MiB"))
    p = captured.memshim(folder, "check", "--on", "pretend", "--case", "net[B=256]")
    assert p.returncode == 1 and "broken     on a pretend GPU allocated " in p.stdout, p.stdout
    p = captured.memshim(folder, "check", "--on", "none", "--case", "net[B=32]")
    assert "pretend" not in p.stdout


def test_memory_that_ends_is_a_broken_budget(folder):
    """Of the run too, and no model's error; a model without a budget that it could break still does
    not fit."""
    card = "devices:\n  tiny: {memory: 24MiB, compute_capability: 7.5, sms: 20}\n"
    card += "defaults: {device: tiny, runtime: eager}\n"
    (folder / "memspec.yaml").write_text(
        SPEC.replace("defaults: {device: t4, runtime: eager}\n", card)
        .replace("LIMIT", "1GiB")
        .replace("[32, 256]", "8192")
    )
    assert captured.memshim(folder, "export", "memspec.yaml", "--strip").returncode == 0
    p = captured.memshim(folder, "check", "--on", "pretend", "--format", "json")
    (case,) = json.loads(p.stdout)["cases"]
    assert p.returncode == 1 and case["measured"]["outcome"] == "fail", p.stdout + p.stderr
    text = " ".join(captured.memshim(folder, "check", "--on", "pretend").stdout.split())
    assert (
        "broken on a pretend GPU out of memory in the first pass: CUDA out of memory. Tried to allocate 32.00 MiB"
        in text
    ), text


TRAINING = """
  training:
    source: zoo.py:net
    inputs: ["float32[8,512]"]
    mode: training
    optimizer: AdamW
    loss: sum
    budget: {}
"""


@pytest.mark.parametrize("case, passes", [("net[B=32]", 3), ("training", 4)])
def test_measure(folder, case, passes):
    """A record keeps its schema; by default training has three iterations after the baseline."""
    jsonschema = pytest.importorskip("jsonschema")
    (folder / "memspec.yaml").write_text(SPEC.replace("LIMIT", "20MiB") + TRAINING)
    p = captured.memshim(folder, "measure", "--on", "a10g", "--case", case, "-o", "records")
    assert p.returncode == 0, p.stderr
    record = json.loads((folder / "records" / f"{case}.eager.nvidia-a10g.json").read_text())
    assert (record["where"], record["device"]["compute_capability"]) == ("pretend", "8.6") and record["events"]
    assert len(record["phases"]) == passes
    jsonschema.validate(record, json.loads(SCHEMA_FILE.read_text()))
