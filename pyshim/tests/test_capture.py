"""python -m memshim capture: what it writes is what the allocator did, with who did it, and memspec
reads it."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter

import pretended
import pytest
import warm
from captured import capture as memshim
from captured import capture_afresh, decode

from memshim import binary
from memshim.allocator.recording import read

pytest.importorskip("torch")

ZOO = """
import os
import sys

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
        self.stem, self.blocks = nn.Conv2d(3, 8, 3), nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(8, 10)

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

def averaged():
    model = nn.Linear(64, 64).cuda()
    ema = torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=ema, use_buffers=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.zeros(32, 64, device="cuda")

    def iteration():
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update_parameters(model)

    return iteration

def too_big():
    return nn.Linear(100000, 100000, device="meta").to_empty(device="cuda")

def raises():
    raise ValueError("no such weights")

def hangs():
    while True:
        pass

def ends():
    os._exit(0)

def exits():
    sys.exit(0)

def crashes():
    os.kill(os.getpid(), 11)

number = 7
"""


pytestmark = pytest.mark.usefixtures("pretend_gpu")


TRAINED = [
    "zoo.py:net",
    "--input",
    "float32[4,3,34,34]",
    "--on",
    "t4",
    "--mode",
    "training",
    "--optimizer",
    "Adam",
    "-o",
    "net.rec",
]


@pytest.fixture(scope="module")
def training(folder):
    if pretended.missing():
        pytest.skip("no pretend GPU")
    p = capture_afresh(folder, *TRAINED)
    assert p.returncode == 0 and p.stdout.startswith("net.rec ("), p.stderr
    return folder / "net.rec"


def line_of(text):
    return next(i for i, line in enumerate(ZOO.splitlines(), 1) if text in line)


def test_a_training_step(training):
    header, events = decode(training)
    assert (header["where"], header["mode"], header["device"]["name"], header["source"]) == (
        "pretend",
        "training",
        "Tesla T4",
        "zoo.py:net",
    )
    names = [p["name"] for p in header["phases"]]
    assert names == ["baseline", "first", "steady", "steady"]
    assert [q["name"] for q in header["phases"][1]["phases"]] == ["forward", "backward", "step"]
    assert header["phases"][2]["allocated"] > header["phases"][1]["allocated"], (
        "the first iteration has no optimizer state yet"
    )
    end, first = header["phases"][0]["events"], header["phases"][1]
    starts = {q["name"]: q["events"] for q in first["phases"]}
    held = [e for e in events[:end] if e["action"] == "alloc"]
    assert [e["op"] for e in held].count("parameter") == 10 and [e["op"] for e in held].count("input") == 1, (
        "of loaded state, what it is"
    )
    assert [e["category"] for e in held].count("buffer") == 6
    assert header["training"] == {
        "optimizer": "Adam",
        "arguments": {},
        "loss": "sum",
        "accumulate": 1,
        "clip": None,
        "checkpoint": None,
        "iterations": 3,
    }
    forward, backward, step = (
        events[end : starts["backward"]],
        events[starts["backward"] : starts["step"]],
        events[starts["step"] : first["events"]],
    )
    conv = [
        e for e in forward if e["action"] == "alloc" and e["op"] == "aten::conv2d" and e["category"] == "activation"
    ]
    assert [e["module"] for e in conv] == ["stem", "blocks.0.conv", "blocks.1.conv"]
    line = line_of("the block's line")
    gradients = [e for e in backward if e["action"] == "alloc" and e["category"] == "gradient"]
    assert len(gradients) == 10, "one a parameter"
    of_block = [e for e in gradients if e["module"] == "blocks.0.conv"]
    assert len(of_block) == 1 and of_block[0]["op"] == "aten::convolution_backward" and of_block[0]["lines"][-3:] != []
    assert any(f.endswith("zoo.py") and n == line for f, n in of_block[0]["lines"]), "the line of its forward"
    state = [e for e in step if e["action"] == "alloc" and e["category"] == "optimizer_state"]
    assert len(state) == 20 and {e["op"] for e in state} == {"aten::zeros_like"}
    assert [
        e["op"] for e in forward if e["action"] == "alloc" and e["category"] == "workspace" and e["size"] >= 1 << 20
    ] == ["aten::linear"]


HELD = """
  held at the allocated peak, by module:
       flat  flat%    sum%        cum    cum%  where          what
    8.1 MiB  92.0%   92.0%    8.1 MiB   92.0%  head           workspaces ×1,
                                                              optimizer states
                                                              ×4, parameters ×2,
                                                              temporaries ×2,
                                                              gradients ×1
  135.5 KiB   1.5%   93.5%  135.5 KiB    1.5%  blocks.0.conv  activations ×1,
                                                              optimizer states
                                                              ×2, parameters ×1
  135.5 KiB   1.5%   95.0%  135.5 KiB    1.5%  blocks.1.conv  activations ×1,
                                                              optimizer states
                                                              ×2, parameters ×1
  132.5 KiB   1.5%   96.4%  132.5 KiB    1.5%  stem           activations ×1,
                                                              optimizer states
                                                              ×4, parameters ×2
  128.0 KiB   1.4%   97.8%  269.0 KiB    3.0%  blocks.0       activations ×1
  128.0 KiB   1.4%   99.3%  269.0 KiB    3.0%  blocks.1       activations ×1
   56.0 KiB   0.6%   99.9%    8.8 MiB  100.0%  (root)         inputs ×1,
                                                              activations ×2,
                                                              temporaries ×1
    5.5 KiB   0.1%   99.9%    5.5 KiB    0.1%  blocks.0.bn    buffers ×3,
                                                              activations ×2,
                                                              optimizer states
                                                              ×4, parameters ×2
    5.5 KiB   0.1%  100.0%    5.5 KiB    0.1%  blocks.1.bn    buffers ×3,
                                                              activations ×2,
                                                              optimizer states
                                                              ×4, parameters ×2
        0 B   0.0%  100.0%  538.0 KiB    5.9%  blocks
"""


def test_what_a_step_keeps_is_of_the_module_that_has_the_parameter(training):
    _, events = decode(training)
    kept = Counter()
    for e in events:
        if e["action"] == "alloc":
            kept[e["category"], e["module"]] += 1
    parameters = {"stem": 2, "head": 2}
    for block in "01":
        parameters |= {f"blocks.{block}.conv": 1, f"blocks.{block}.bn": 2}
    for module, count in parameters.items():
        assert kept["parameter", module] == count
        assert kept["gradient", module] == 3 * count, "of each iteration"
        assert kept["optimizer_state", module] == 2 * count, "its steps are on the host"
    for category, whose in (("parameter", parameters), ("gradient", parameters), ("optimizer_state", parameters)):
        assert {m for c, m in kept if c == category} == set(whose)
    assert {m for c, m in kept if c == "buffer"} == {"blocks.0.bn", "blocks.1.bn"}
    said = binary.call("explain", str(training), "--device", "t4")
    assert HELD.strip("\n") in said.out, said.out


def test_what_autograd_saved_names_what_it_saved_it_for(training):
    sites = read(training).sites
    stem = next(s for s in sites if s.saver and s.module == "stem")
    assert sites[stem.saver - 1][:2] == ("ConvolutionBackward0", "blocks.0.conv")
    assert "  ConvolutionBackward0 " in binary.call("explain", str(training), "--by", "saver").out


def test_what_it_was_made_from(training, folder):
    made = decode(training)[0]["made"]
    assert made["files"] == [{"path": "zoo.py", "sha256": hashlib.sha256(ZOO.encode()).hexdigest()}]
    assert (
        made["parameters"][0] == ["stem.weight", "float32", [8, 3, 3, 3]]
        and ["head.bias", "float32", [10]] in made["parameters"]
    )
    assert made["command"][:5] == ["python", "-m", "memshim", "capture", "zoo.py:net"] and made["versions"]["torch"]


def test_memspec_replays_it_to_the_byte(training, folder):
    said, _, code = binary.call("replay", str(training))
    assert code == 0 and "simulation and recording agree" in said, said


def test_the_same_run_gives_the_same_bytes(training, folder):
    """In a separate process and in one that is forked."""
    before, when = training.read_bytes(), training.stat().st_mtime_ns
    p = memshim(folder, *TRAINED, "--fresh")
    assert p.returncode == 0, p.stderr
    assert training.read_bytes() == before
    assert training.stat().st_mtime_ns > when, "it was written again"


PLAIN = """
import json, sys
import torch
from memshim.allocator.recorder import CUDARegion
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
"""


def test_autocast_frees_in_one_order(folder):
    """PyTorch's own order is that of addresses on the host, another in every process."""
    one, other = (folder / name for name in ("one.rec", "other.rec"))
    for to in (one, other):
        p = memshim(
            folder,
            "zoo.py:net",
            "--input",
            "x=float32[4,3,34,34]",
            "--on",
            "t4",
            "--mode",
            "training",
            "--optimizer",
            "SGD",
            "--loss",
            "sum",
            "--autocast",
            "float16",
            "-o",
            str(to),
            "--name",
            "half",
        )
        assert p.returncode == 0, p.stderr
    headers, events = zip(*map(decode, (one, other)))
    assert events[0] == events[1]
    frees = [
        [e["key"] for e in events[0][i : i + 8] if e["action"] == "free_requested"] for i, e in enumerate(events[0])
    ]
    assert any(len(f) == 4 for f in frees), "copies of weights go together"


def test_attribution_moves_no_allocation(training, folder):
    """The events of the same step in a plain loop, without marks, hooks and C++ stacks."""
    p = warm.run([sys.executable, "-c", PLAIN], cwd=folder, env=pretended.environment("t4"))
    plain = json.loads(p.stdout)
    _, events = decode(training)
    assert [[e["action"], e["size"]] for e in events] == plain[: len(events)]


def test_a_module_with_its_inputs(folder):
    p = memshim(folder, "zoo.py:with_inputs", "--on", "t4", "-o", "linear.rec")
    assert p.returncode == 0, p.stderr
    header, events = decode(folder / "linear.rec")
    assert [(e["size"], e["category"]) for e in events if e["action"] == "alloc"][:3] == [
        (8192, "parameter"),
        (128, "parameter"),
        (32768, "input"),
    ]
    assert header["weights"] == 8320


def test_a_callable_is_taken_as_it_is(folder):
    p = memshim(folder, "zoo.py:loop", "--on", "t4", "--mode", "training", "--iterations", "4", "-o", "loop.rec")
    assert p.returncode == 0, p.stderr
    header, events = decode(folder / "loop.rec")
    assert [q["name"] for q in header["phases"]] == ["baseline", "first", "steady", "steady", "steady"]
    assert [q["name"] for q in header["phases"][2]["phases"]] == ["forward", "backward", "step"]
    assert sum(e["category"] == "optimizer_state" for e in events if e["action"] == "alloc") == 2


def test_what_a_callable_keeps_is_reported_for_what_it_is(folder):
    """An average of its weights is parameters and its data input, though no module is given; what
    it makes in an iteration is neither."""
    p = memshim(folder, "zoo.py:averaged", "--on", "t4", "-o", "averaged.rec", "--mode", "training")
    assert p.returncode == 0, p.stderr
    header, events = decode(folder / "averaged.rec")
    loaded = [
        (e["category"], e["op"], e["size"]) for e in events[: header["phases"][0]["events"]] if e["action"] == "alloc"
    ]
    weight, bias = 64 * 64 * 4, 64 * 4
    assert sorted(loaded) == sorted(
        [("parameter", "parameter", n) for n in (weight, bias) * 2] + [("input", "input", 32 * 64 * 4)]
    )
    said = binary.call("estimate", "--device", "t4", str(folder / "averaged.rec"))
    assert f"weights    33.0 KiB ({2 * (weight + 512)} B)" in said.out, said.out
    assert {e["size"] for e in events if e["action"] == "alloc" and e["category"] == "gradient"} == {weight, bias}


def test_lbfgs_searches_as_far_as_it_may(folder):
    """With losses and gradients of zero it would stop at once and keep nothing; the note has no
    line of ours."""
    p = memshim(
        folder,
        "zoo.py:net",
        "--input",
        "x=float32[4,3,34,34]",
        "--on",
        "t4",
        "--mode",
        "training",
        "--optimizer",
        "LBFGS(max_iter=4, max_eval=9)",
        "--loss",
        "sum",
        "-o",
        "lbfgs.rec",
    )
    assert p.returncode == 0, p.stderr
    header, events = decode(folder / "lbfgs.rec")
    weights = sum(e["size"] for e in events if e["action"] == "alloc" and e["category"] == "parameter")
    state = [
        e["size"]
        for e in events
        if e["action"] == "alloc" and e["category"] == "optimizer_state" and e["size"] == weights
    ]
    assert len(state) == 2 * 11 + 2, (
        "three iterations of four: after the first of all, each keeps a direction and a step; direction and gradient "
        "of the last"
    )
    (note,) = header["notes"]
    assert (
        "in memspec's own step, and was given what lets LBFGS search as far as it may" in note["text"]
        and "file" not in note
    )


def test_a_module_that_does_not_fit_is_recorded_whole(folder):
    """On a card with room, so that another size of memory can be judged; with --memory, on that
    card."""
    p = memshim(folder, "zoo.py:too_big", "--input", "float32[1,100000]", "--on", "t4", "-o", "huge.rec")
    assert p.returncode == 0, p.stderr
    header, _ = decode(folder / "huge.rec")
    assert (
        header["oom"] is None
        and header["device"]["total"] == 4 << 40
        and header["phases"][2]["allocated"] > 40_000_000_000
    )
    p = memshim(
        folder, "zoo.py:too_big", "--input", "float32[1,100000]", "--on", "t4", "--memory", "1GiB", "-o", "big.rec"
    )
    assert p.returncode == 0, p.stderr
    header, events = decode(folder / "big.rec")
    assert header["oom"]["phase"] == "baseline" and header["oom"]["text"].startswith(
        "CUDA out of memory. Tried to allocate 37.25 GiB."
    )
    assert [e["size"] for e in events if e["action"] == "oom"] == [40000000000]
    assert [(type(q["events"]), q["events"]) for q in header["phases"]] == [(int, 1)], "a number, which memspec reads"


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["zoo.py:absent"], "zoo.py: got no absent"),
        (["absent.py:net"], "absent.py: no such file"),
        (
            ["zoo.py:number"],
            "zoo.py:number: gives int, want a torch.nn.Module, a tuple of one and its inputs, or a callable",
        ),
        (["zoo.py:raises"], "ValueError: no such weights (zoo.py:"),
        (["zoo.py:net", "--input", "float32[4,3"], "input "),
        (
            ["zoo.py:net", "--input", "float32[4,3,34,34]", "--mode", "training"],
            "got no optimizer, want one of torch.optim (",
        ),
        (
            ["zoo.py:net", "--input", "float32[4,3,34,34]", "--optimizer", "Adam"],
            "got --optimizer in inference, want --mode training beside it",
        ),
        (
            ["zoo.py:net", "--mode", "training", "--optimizer", "SGD(lr)"],
            "got optimizer 'SGD(lr)', want one such as AdamW or SGD(lr=0.1, momentum=0.9)",
        ),
        (["zoo.py:net", "--on", "toaster"], "got device 'toaster'"),
        (["zoo.py:net", "--input", "input=float32[4,3,34,34]"], "got inputs input; want those of Net.forward(x)"),
        (
            ["zoo.py:net", "--mode", "training", "--optimizer", "SGD(lr=0.1)"],
            "got inputs none; want those of Net.forward(x)",
        ),
        (
            ["zoo.py:loop", "--input", "float32[4]"],
            "zoo.py:loop: gives a callable that does one iteration, want no inputs in the case",
        ),
        (["zoo.py:hangs", "--timeout", "8"], "not done after 8 s (zoo.py:"),
        (["zoo.py:ends"], "the process ended without a record, as after os._exit(0)"),
        (["zoo.py:exits"], "SystemExit: 0 (zoo.py:"),
        (["zoo.py:crashes"], "the process ended by signal 11"),
    ],
)
def test_what_cannot_be_captured(folder, arguments, text):
    p = memshim(folder, *(arguments if "--on" in arguments else [*arguments, "--on", "t4"]), "-o", "none.rec")
    assert p.returncode == 2 and p.stderr.strip().splitlines()[-1].startswith(f"memshim capture: {text}"), p.stderr
    assert not (folder / "none.rec").exists()


def test_what_is_ended_leaves_nothing(folder, tmp_path):
    """By a signal, as timeout and a CI send it."""
    p = subprocess.Popen(
        [sys.executable, "-m", "memshim", "capture", "zoo.py:hangs", "--on", "t4", "-o", "never.rec"],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    began = time.monotonic()
    while not list(tmp_path.glob("memshim-*")) and p.poll() is None and time.monotonic() - began < 60:
        time.sleep(0.05)
    assert list(tmp_path.glob("memshim-*")), "it is at the case"
    p.terminate()
    assert p.wait(60) == 128 + 15
    assert not list(tmp_path.glob("memshim-*"))
