"""python -m memshim capture: what it writes is what the allocator did, with who did it, and memspec reads it."""

import gzip
import json
import os
import subprocess
import sys

import pytest

import pretended
from memshim import binary
from memshim.run import capture as capturing

pytest.importorskip("torch")

ZOO = '''
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)) + x)  # the block's line

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.blocks, self.head = nn.Conv2d(3, 8, 3), nn.ModuleList(Block() for _ in range(2)), nn.Linear(8, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))

def net():
    torch.manual_seed(0)
    return Net()

def with_inputs():
    return nn.Linear(64, 32), [torch.zeros(128, 64)]

def loop():
    model = nn.Linear(64, 64).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.zeros(32, 64, device="cuda")

    def iteration():
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return iteration

def too_big():
    return nn.Linear(20000, 20000)

def raises():
    raise ValueError("no such weights")

number = 7
'''


@pytest.fixture(autouse=True)
def possible():
    if why := pretended.missing():
        pytest.skip(why)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("capture")
    (path / "zoo.py").write_text(ZOO)
    return path


def memshim(folder, *arguments):
    return subprocess.run([sys.executable, "-m", "memshim", "capture", *arguments], cwd=folder, capture_output=True, text=True, timeout=300)


def decode(path):
    """A .rec by its documented form: header, events with their sites."""
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    head, rest = lines[0], lines[1:]
    cut = []
    for part in ("frames", "stacks", "sites", "events"):
        cut.append(rest[:head[part]])
        rest = rest[head[part]:]
    assert not rest
    frames, stacks, sites, events = cut
    out, key = [], 0
    for action, delta, size, *more in events:
        key += delta
        site = sites[more[0] - 1] if more and more[0] else None
        where = [frames[i] for i in stacks[site[3] - 1]] if site and site[3] else []
        out.append({"action": head["actions"][action], "key": key, "size": size, **dict(zip(("op", "module", "category"), site[:3] if site else ("",) * 3)),
                    "lines": [(f[0], f[1]) for f in where]})
    return head["record"], out


@pytest.fixture(scope="module")
def training(folder):
    if pretended.missing():
        pytest.skip("no pretend GPU")
    p = memshim(folder, "zoo.py:net", "--input", "float32[4,3,34,34]", "--on", "t4", "--mode", "training", "--optimizer", "Adam", "-o", "net.rec")
    assert p.returncode == 0 and p.stdout.startswith("net.rec ("), p.stderr
    return folder / "net.rec"


def line_of(text):
    return next(i for i, line in enumerate(ZOO.splitlines(), 1) if text in line)


def test_a_training_step(training):
    header, events = decode(training)
    assert (header["where"], header["mode"], header["device"]["name"], header["source"]) == ("pretend", "training", "Tesla T4", "zoo.py:net")
    names = [p["name"] for p in header["phases"]]
    assert names == ["baseline", "first", "steady", "steady"]
    assert [q["name"] for q in header["phases"][1]["phases"]] == ["forward", "backward", "step"]
    assert header["phases"][2]["allocated"] > header["phases"][1]["allocated"], "the first iteration has no optimizer state yet"
    end, first = header["phases"][0]["events"], header["phases"][1]
    starts = {q["name"]: q["events"] for q in first["phases"]}
    held = [e for e in events[:end] if e["action"] == "alloc"]
    assert [e["category"] for e in held].count("parameter") == 10 and [e["category"] for e in held].count("input") == 1
    forward, backward, step = events[end:starts["backward"]], events[starts["backward"]:starts["step"]], events[starts["step"]:first["events"]]
    conv = [e for e in forward if e["action"] == "alloc" and e["op"] == "aten::conv2d" and e["category"] == "activation"]
    assert [e["module"] for e in conv] == ["stem", "blocks.0.conv", "blocks.1.conv"]
    line = line_of("the block's line")
    gradients = [e for e in backward if e["action"] == "alloc" and e["category"] == "gradient"]
    assert len(gradients) == 10, "one a parameter"
    of_block = [e for e in gradients if e["module"] == "blocks.0.conv"]
    assert len(of_block) == 1 and of_block[0]["op"] == "aten::convolution_backward" and of_block[0]["lines"][-3:] != []
    assert any(f.endswith("zoo.py") and n == line for f, n in of_block[0]["lines"]), "the line of its forward"
    state = [e for e in step if e["action"] == "alloc" and e["category"] == "optimizer_state"]
    assert len(state) == 20 and {e["op"] for e in state} == {"aten::zeros_like"}
    assert [e["op"] for e in forward if e["action"] == "alloc" and e["category"] == "workspace" and e["size"] >= 1 << 20] == ["aten::linear"]


def test_memspec_replays_it_to_the_byte(training, folder):
    said, _, code = binary.call("replay", str(training))
    assert code == 0 and "simulation and recording agree" in said, said


def test_the_same_run_gives_the_same_bytes(training, folder):
    p = memshim(folder, "zoo.py:net", "--input", "float32[4,3,34,34]", "--on", "t4", "--mode", "training", "--optimizer", "Adam", "--name", "net",
                "-o", "again.rec")
    assert p.returncode == 0, p.stderr
    assert (folder / "again.rec").read_bytes() == training.read_bytes()


PLAIN = '''
import json, sys
import torch
from memshim.run.recorder import CUDARegion
from zoo import net
torch.cuda.init()
torch.manual_seed(0)
region = CUDARegion(0, stacks="").open()
model = net().cuda().train()
x = torch.randn(4, 3, 34, 34).cuda()
optimizer = torch.optim.Adam(model.parameters())
def step():
    def backward():
        loss = model(x).float().sum()
        loss.backward()
        return loss
    backward()
    optimizer.step()
    optimizer.zero_grad()
for _ in range(3):
    step()
region.mark()
print(json.dumps([[e.action, e.size] for e in region.events]))
'''


def test_attribution_moves_no_allocation(training, folder):
    """The events of the same step in a plain loop, without marks, hooks and C++ stacks."""
    p = subprocess.run([sys.executable, "-c", PLAIN], cwd=folder, env=pretended.environment("t4"), capture_output=True, text=True)
    plain = json.loads(p.stdout)
    _, events = decode(training)
    assert [[e["action"], e["size"]] for e in events] == plain[:len(events)]


def test_a_module_with_its_inputs(folder):
    p = memshim(folder, "zoo.py:with_inputs", "--on", "t4", "-o", "linear.rec")
    assert p.returncode == 0, p.stderr
    header, events = decode(folder / "linear.rec")
    assert [(e["size"], e["category"]) for e in events if e["action"] == "alloc"][:3] == [(8192, "parameter"), (128, "parameter"), (32768, "input")]
    assert header["weights"] == 8320


def test_a_callable_is_taken_as_it_is(folder):
    p = memshim(folder, "zoo.py:loop", "--on", "t4", "--mode", "training", "--iterations", "4", "-o", "loop.rec")
    assert p.returncode == 0, p.stderr
    header, events = decode(folder / "loop.rec")
    assert [q["name"] for q in header["phases"]] == ["baseline", "first", "steady", "steady", "steady"]
    assert [q["name"] for q in header["phases"][2]["phases"]] == ["forward", "backward", "step"]
    assert sum(e["category"] == "optimizer_state" for e in events if e["action"] == "alloc") == 2


def test_what_does_not_fit_is_kept(folder):
    p = memshim(folder, "zoo.py:too_big", "--input", "float32[1,20000]", "--on", "t4", "--memory", "1GiB", "-o", "big.rec")
    assert p.returncode == 0, p.stderr
    header, events = decode(folder / "big.rec")
    assert header["oom"]["phase"] == "baseline" and header["oom"]["text"].startswith("CUDA out of memory. Tried to allocate 1.49 GiB.")
    assert [e["size"] for e in events if e["action"] == "oom"] == [1600000000]


@pytest.mark.parametrize("arguments, code, text", [
    (["zoo.py:absent"], 2, "memshim capture: zoo.py: got no absent"),
    (["absent.py:net"], 2, "memshim capture: absent.py: no such file"),
    (["zoo.py:number"], 2, "memshim capture: zoo.py:number: gives int, want a torch.nn.Module, a tuple of one and its inputs, or a callable"),
    (["zoo.py:raises"], 2, "memshim: ValueError: no such weights (zoo.py:"),
    (["zoo.py:net", "--input", "float32[4,3"], 2, "memshim capture: input"),
    (["zoo.py:net", "--input", "float32[4,3,34,34]", "--mode", "training"], 2, "memshim capture: got optimizer '', want one such as AdamW"),
    (["zoo.py:net", "--on", "toaster"], 2, "memshim capture: got device 'toaster'"),
])
def test_what_cannot_be_captured(folder, arguments, code, text):
    p = memshim(folder, *(arguments if "--on" in arguments else [*arguments, "--on", "t4"]), "-o", "none.rec")
    assert p.returncode == code and text in p.stderr.strip().splitlines()[-1], p.stderr
    assert not (folder / "none.rec").exists()


STEPS = '''
import json, sys
import torch
from memshim.run import step
from memshim.run.build import BuildError
import zoo

CASE = {"mode": "training", "source": "zoo.py:net", "dir": ".", "artifact": "", "dtype": "", "autocast": "", "grad": "no_grad", "optimizer": "SGD"}
move = lambda v: torch.utils._pytree.tree_map(lambda t: t.cuda() if isinstance(t, torch.Tensor) else t, v)
out = {}
for name, options in json.loads(sys.argv[1]).items():
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    try:
        work = step.prepare(CASE | options, [torch.randn(4, 3, 34, 34, dtype=getattr(torch, options.get("dtype", "float32")))], {}, "cuda:0", move)
        base = torch.cuda.memory_allocated()
        tops = []
        for _ in range(2):
            torch.cuda.reset_peak_memory_stats()
            work.iterate()
            tops.append(torch.cuda.max_memory_allocated())
        out[name] = {"weights": sum(p.numel() * p.element_size() for p in work.model.parameters()), "base": base, "held": torch.cuda.memory_allocated(),
                     "first": tops[0], "steady": tops[1]}
        del work
    except BuildError as e:
        out[name] = str(e)
print(json.dumps(out))
'''


def test_training_steps(folder):
    """Optimizers hold the state that they have, and options do what they say."""
    cases = {
        "SGD": {}, "momentum": {"optimizer": "SGD(lr=0.1, momentum=0.9)"}, "none": {"optimizer": "none"},
        "Adam": {"optimizer": "adam"}, "fused": {"optimizer": "AdamW(fused=True)"}, "single": {"optimizer": "AdamW(foreach=False)"},
        "capturable": {"optimizer": "Adam(capturable=True)"}, "Adafactor": {"optimizer": "Adafactor"}, "LBFGS": {"optimizer": "LBFGS(max_iter=2)"},
        "accumulate": {"accumulate": 2}, "clip": {"clip": 1.0}, "half": {"autocast": "float16"}, "bfloat16": {"dtype": "bfloat16"},
        "checkpoint": {"checkpoint": "blocks.*"}, "reentrant": {"checkpoint": "reentrant: blocks.*"},
        "mean": {"loss": "mean"}, "cross entropy": {"loss": "cross_entropy"}, "function": {"loss": "zoo.py:own_loss"},
        "unknown optimizer": {"optimizer": "Adamm"}, "no call": {"optimizer": "SGD(lr)"}, "no option": {"optimizer": "SGD(speed=3)"},
        "unknown loss": {"loss": "hinge"}, "no module": {"checkpoint": "layers.*"}, "not offered": {"checkpoint": "true"},
        "kind": {"checkpoint": "partly: blocks.*"},
    }
    (folder / "zoo.py").write_text(ZOO + "\ndef own_loss(out):\n    return out.square().sum()\n")
    p = subprocess.run([sys.executable, "-c", STEPS, json.dumps(cases)], cwd=folder, env=pretended.environment("t4"), capture_output=True, text=True)
    (folder / "zoo.py").write_text(ZOO)
    assert p.returncode == 0, p.stderr[-3000:]
    got = json.loads(p.stdout)
    rounded = got["SGD"]["base"]  # weights and inputs in blocks
    state = {name: round((g["held"] - g["base"]) / 512) for name, g in got.items() if isinstance(g, dict)}
    blocks = 8 * 3 * 9 * 4 // 512 + 1, 2 * (8 * 8 * 9 * 4 // 512 + 1)
    weights = state["momentum"]
    assert rounded and blocks and weights >= 10, "one block a parameter or more"
    assert state["Adam"] == state["capturable"] >= 2 * weights and state["single"] == 2 * weights == state["fused"] - 10, state
    assert state["SGD"] == state["none"] == state["accumulate"] == state["clip"]
    assert got["checkpoint"]["steady"] < got["SGD"]["steady"]
    assert got["unknown optimizer"].startswith("got optimizer 'Adamm', want one of torch.optim: ASGD, ")
    assert got["no call"].startswith("got optimizer 'SGD(lr)', want one such as AdamW or SGD(lr=0.1, momentum=0.9), or none")
    assert "speed" in got["no option"]
    assert got["unknown loss"] == "got loss 'hinge', want one of sum, mean, cross_entropy, or FILE.py:NAME of a function"
    assert got["no module"] == "got checkpoint 'layers.*', and no module of the model has such a name"
    assert got["not offered"].startswith("got checkpoint: true, but Net has no gradient_checkpointing_enable")
    assert got["kind"].startswith("got checkpoint 'partly: blocks.*', want names of modules")
