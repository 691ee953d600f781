"""What memshim costs on a pretend GPU: prints a table, of the processor's time. Run it on a quiet
machine.

    python pyshim/tools/bench.py [--only NAME]...

Each figure is the least of several runs in their own processes. Source: this machine's PyTorch,
on a pretend T4.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from memshim import pretend
from memshim.program.ranks import Wanted

SPEC = """
version: 1
defaults: {device: t4, runtime: eager}
models:
  small:
    source: zoo.py:small
    inputs: ["float32[B,64]"]
    cases:
      - dims: {B: [%s]}
        budget: {allocated: 1GiB}
  resnet50:
    source: zoo.py:resnet50
    mode: training
    optimizer: AdamW
    loss: sum
    inputs: {x: "float32[8,3,224,224]"}
    budget: {allocated: 8GiB}
""" % ", ".join(str(n + 1) for n in range(200))
ZOO = """
import torch, torchvision
def small(): return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
def resnet50(): return torchvision.models.resnet50()
"""
# A training step: plain; looked at by each tool.
STEP = """
import io, json, sys, time, torch, torchvision, memshim
model = torchvision.models.resnet50().cuda()
optimizer = torch.optim.AdamW(model.parameters())

def step():
    optimizer.zero_grad()
    model(torch.empty(8, 3, 224, 224, device="cuda")).sum().backward()
    optimizer.step()

def least(n, do):
    out = []
    for _ in range(n):
        start = time.process_time()
        do()
        out.append(time.process_time() - start)
    return min(out)

recorded = []

def traced():
    with memshim.trace(file=None):
        recorded.append(least(1, step))

step(), step()
out = {"plain": least(10, step), "trace, and its table": least(5, traced)}
out["trace, the step itself"] = min(recorded)
with memshim.Profiler(model, print_period=0, file=io.StringIO()) as p:
    out["profiler"] = least(20, lambda: (step(), p.record_stats()))
with memshim.Profiler(model, print_period=0, file=io.StringIO()) as p:  # what is loaded once has been
    out |= {f"profiler, iteration {i + 1}": least(1, lambda: (step(), p.record_stats())) for i in range(4)}
print(json.dumps(out))
"""


def spent(command: list[str], environment: dict[str, str] | None = None, **kw) -> tuple[float, str]:
    """The processor's time of a process and all that it waited for, in seconds, and what it
    said."""
    before = os.times()
    p = subprocess.run(command, env=environment, capture_output=True, text=True, **kw)
    after = os.times()
    if p.returncode:
        raise SystemExit(f"{' '.join(command)}: {p.stderr}")
    return after.children_user + after.children_system - before.children_user - before.children_system, p.stdout


def imports() -> list[tuple[str, str]]:
    """What the device adds to import torch, of modules that are compiled, as they are once they
    have been imported."""
    with tempfile.TemporaryDirectory(prefix="memshim-bench-") as compiled:
        base = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {
            "PYTHONPYCACHEPREFIX": compiled
        }
        run = lambda more: spent([sys.executable, "-c", "import torch"], base | more)[0]
        kinds = {
            "import torch": {},
            "the device adds": pretend.environment("t4", values=False),
            "the device and values add": pretend.environment("t4"),
        }
        # alternately: the machine does other things too
        rounds = [{name: run(more) for name, more in kinds.items()} for _ in range(8)]
    best = {name: min(r[name] for r in rounds) for name in kinds}
    plain = best.pop("import torch")
    return [
        ("import torch", f"{1000 * plain:.0f} ms"),
        *((name, f"{1000 * (cost - plain):.0f} ms") for name, cost in best.items()),
    ]


def step() -> list[tuple[str, str]]:
    figures = [
        json.loads(spent([sys.executable, "-c", STEP], os.environ | pretend.environment("t4", values=False))[1])
        for _ in range(3)
    ]
    best = {k: min(t[k] for t in figures) for k in figures[0]}
    return [("resnet50, a training step", f"{1000 * best['plain']:.1f} ms")] + [
        (f"with {k}", f"{1000 * best[k]:.1f} ms, {100 * (best[k] / best['plain'] - 1):+.0f} %") for k in list(best)[1:]
    ]


# A net so small that PyTorch's own dispatch is most of it.
SMALL = """
import json, time, torch
from torch import nn
def block(i, o, stride): return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())
net = nn.Sequential(block(3, 16, 1), block(16, 32, 2), block(32, 64, 2), block(64, 64, 1),
                    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
optimizer, loss = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9), nn.CrossEntropyLoss()
x, y = torch.randn(4, 3, 32, 32).cuda(), torch.zeros(4, dtype=torch.long).cuda()

def step():
    optimizer.zero_grad()
    loss(net(x), y).backward()
    optimizer.step()

def forward():
    with torch.no_grad():
        net(x)

def least(do):
    out = []
    for _ in range(100):
        start = time.process_time()
        do()
        out.append(time.process_time() - start)
    return min(out)

out = {"a training step": least(step)}
net.eval()
print(json.dumps(out | {"a pass without gradients": least(forward)}))
"""


def values() -> list[tuple[str, str]]:
    """What it costs that values are followed."""
    figures = [
        [
            json.loads(spent([sys.executable, "-c", SMALL], os.environ | pretend.environment("t4", values=v))[1])
            for v in (False, True)
        ]
        for _ in range(4)
    ]
    out = []
    for what in figures[0][0]:
        without, followed = (1000 * min(t[v][what] for t in figures) for v in (0, 1))
        out.append(
            (
                f"a small net, {what}",
                f"{without:.2f} ms, with values {followed:.2f} ms ({followed / without:.1f} times)",
            )
        )
    return out


def project() -> tempfile.TemporaryDirectory:
    folder = tempfile.TemporaryDirectory(prefix="memshim-bench-")
    Path(folder.name, "zoo.py").write_text(ZOO)
    Path(folder.name, "memspec.yaml").write_text(SPEC)
    return folder


def cases() -> list[tuple[str, str]]:
    """200 small cases by one command, on CPU tensors and on a pretend GPU."""
    out = []
    with project() as folder:
        for where in ("cpu", "pretend"):
            start = time.monotonic()
            cost, _ = spent(
                [
                    sys.executable,
                    "-m",
                    "memshim",
                    "measure",
                    "--case",
                    "small*",
                    "--where",
                    where,
                    "--jobs",
                    "2",
                    "--stacks",
                    "python",
                    "-o",
                    "out",
                ],
                cwd=folder,
            )
            out.append(
                (
                    f"200 small cases measured, {where}",
                    f"{time.monotonic() - start:.1f} s, {cost:.1f} s of the processor",
                )
            )
    return out


def capture() -> list[tuple[str, str]]:
    """A training step as an artifact, and what the engine takes to read it."""
    with project() as folder:
        cost, said = spent(
            [sys.executable, "-m", "memshim", "capture", "memspec.yaml", "--case", "resnet50"], cwd=folder
        )
        return [
            (
                "resnet50's training step captured",
                f"{cost:.1f} s of the processor, {said.strip().rpartition('(')[2].rstrip(')')}",
            )
        ]


def large() -> list[tuple[str, str]]:
    """Llama's sizes: to build one, and a pass."""
    scene, out = Path(__file__).parents[1] / "tests" / "pretend" / "scenes" / "large.py", []
    for case, device, what in (
        ("forward_8b", "h100-sxm-80gb", "8 billion parameters, 4,096 tokens"),
        ("forward_70b", BIG, "70 billion parameters, 8,192 tokens"),
    ):
        figures = json.loads(
            spent([sys.executable, str(scene), case], os.environ | pretend.environment(device))[1]
            .strip()
            .rpartition("\n")[2]
        )[case]
        wall, process = min(figures["seconds"], key=lambda s: s[1])
        out.append(
            (
                what,
                f"built in {figures['built']:.1f} s; a pass {process:.2f} s of the processor, {wall:.2f} s; "
                f"{figures['host'] >> 20} MiB of the host",
            )
        )
    return out


# Llama 3's 8B: on a rank of 8 (FSDP2), with FSDP2 in a world of one, and without it. 10,000 collectives of a rank.
RANKS = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
import torch, torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn import functional as F
import large

alone, layers = "RANK" in os.environ, int(sys.argv[2])
start = time.process_time()
torch.cuda.set_device(0)
torch.set_default_dtype(torch.bfloat16)
if alone:
    dist.init_process_group("nccl")
sizes = list(large.SIZES["8b"])
sizes[2] = layers
with torch.device("meta"):
    model = large.Decoder(*sizes)
if alone:
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
model.to_empty(device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), foreach=True)

def step():
    ids = torch.zeros(1, 4096, dtype=torch.long, device="cuda")
    F.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()

def spent(act):
    start = time.process_time()
    act()
    return time.process_time() - start

step()
out = {"begun": time.process_time() - start, "step": min(spent(step) for _ in range(5))}
if alone:
    value = torch.zeros(1 << 20, device="cuda")
    out["collectives"] = min(spent(lambda: [dist.all_reduce(value) for _ in range(10000)]) for _ in range(2))
print(json.dumps(out))
"""


OF_ONE = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


def ranks() -> list[tuple[str, str]]:
    """A rank of 8, of a quarter of the layers of the model, beside the same program in a world of one,
    which is one process without another rank, and the same model without FSDP2; and what 10,000
    collectives cost."""
    scenes = str(Path(__file__).parents[1] / "tests" / "pretend" / "scenes")
    found: dict[str, list[dict[str, float]]] = {"a rank of 8": [], "a world of one": [], "without FSDP2": []}
    for _ in range(2):
        for kind, of in found.items():
            with tempfile.TemporaryDirectory(prefix="memshim-bench-") as folder:
                more = {
                    "a rank of 8": Wanted(8, 8).variables(0, "bench", Path(folder)),
                    "a world of one": OF_ONE,
                    "without FSDP2": {},
                }[kind]
                environ = os.environ | pretend.environment("h100-sxm-80gb") | {"OMP_NUM_THREADS": "1"} | more
                of.append(json.loads(spent([sys.executable, "-c", RANKS, scenes, "8"], environ)[1]))
    least = {kind: {k: min(f[k] for f in of) for k in of[0]} for kind, of in found.items()}
    rank, one, without = least.values()
    return [
        (
            f"8 layers of 8B, {what}",
            f"{rank[k]:.2f} s on a rank of 8; {one[k]:.2f} s in a world of one ({rank[k] / one[k]:.2f} times), "
            f"{without[k]:.2f} s without FSDP2 ({rank[k] / without[k]:.2f} times)",
        )
        for k, what in (("begun", "built, and a first step"), ("step", "a training step"))
    ] + [("10,000 collectives of a rank", f"{rank['collectives']:.2f} s of the processor")]


# A decoder of Llama's kind with a billion parameters, its training step in bfloat16, and a ResNet-50's.
FIT_SPEC = """
version: 1
defaults: {device: %s, mode: training, budget: {}}
models:
  resnet50:
    source: zoo.py:resnet50
    optimizer: SGD
    loss: mean
    inputs: {x: "float32[B,3,224,224]"}
    dims: {B: 1}
  small: {source: "zoo.py:small", optimizer: SGD, loss: mean, inputs: ["float32[B,64]"], dims: {B: 1}}
  decoder:
    source: zoo.py:decoder
    optimizer: AdamW
    loss: mean
    autocast: bfloat16
    inputs: {ids: "int64[B,1024]"}
    dims: {B: 1}
"""
FIT_ZOO = """
import sys, torch
sys.path.insert(0, %r)
def resnet50():
    import torchvision
    return torchvision.models.resnet50()
def small(): return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
def decoder():
    import large
    return large.Decoder(2048, 8192, 16, 32, 8, 32000)
"""


def fit() -> list[tuple[str, str]]:
    """The largest batch of a training step, imports included; and what a case costs beyond its run."""
    out = []
    for name, card, most in (("resnet50", "t4", 4096), ("decoder", "a100-sxm-80gb", 4096), ("small", "t4", 64)):
        with tempfile.TemporaryDirectory(prefix="memshim-bench-") as folder:
            Path(folder, "zoo.py").write_text(FIT_ZOO % str(Path(__file__).parents[1] / "tests" / "pretend" / "scenes"))
            Path(folder, "memspec.yaml").write_text(FIT_SPEC % card)
            words = ["fit", name, "--dim", "B", "--most", str(most), "--format", "json"]
            cost, said = spent([sys.executable, "-m", "memshim", *words], cwd=folder)
            found = json.loads(said)["dims"][0]
        out.append(
            (
                f"the largest batch of {name} on {card}",
                f"{found['largest']}, {found['tried']} sizes: {cost:.1f} s of the processor",
            )
        )
    return out


# Three layers of a transformer, 2 × 1,024 tokens: the program of docs/accuracy-training.md.
LAYERS = """
import json, time, torch
from torch import nn
layers = [nn.TransformerEncoderLayer(2048, 16, 8192, batch_first=True, dropout=0.0, dtype=torch.bfloat16, device="cuda")
          for _ in range(3)]
optimizer = torch.optim.AdamW(p for layer in layers for p in layer.parameters())
x = torch.zeros(2, 1024, 2048, dtype=torch.bfloat16, device="cuda")

def step():
    optimizer.zero_grad()
    out = x
    for layer in layers:
        out = layer(out)
    out.sum().backward()
    optimizer.step()

for _ in range(40):
    step()
spent = []
for _ in range(200):
    start = time.process_time()
    step()
    spent.append(time.process_time() - start)
print(json.dumps({"mean": sum(spent) / len(spent), "median": sorted(spent)[100]}), flush=True)
"""


def dispatch() -> list[tuple[str, str]]:
    """A step under memshim run beside PyTorch's own dispatch of it, alternately."""
    alone, observed = [], []
    with tempfile.TemporaryDirectory(prefix="memshim-bench-") as folder:
        program = Path(folder, "layers.py")
        program.write_text(LAYERS)
        for _ in range(5):
            plain = os.environ | pretend.environment("h100-sxm-80gb", values=False)
            alone.append(json.loads(spent([sys.executable, str(program)], plain)[1]))
            run = [sys.executable, "-m", "memshim", "run", "--on", "h100-sxm-80gb", str(program)]
            observed.append(json.loads(spent(run, cwd=folder)[1].splitlines()[0]))
    return [
        (
            f"three layers, {what} of 200 steps",
            ", ".join(f"{1000 * a[what]:.2f} and {1000 * b[what]:.2f}" for a, b in zip(alone, observed))
            + f" ms (the least of both: {min(b[what] for b in observed) / min(a[what] for a in alone):.2f} times)",
        )
        for what in alone[0]
    ]


BIG = {"name": "big", "memory": "186GiB", "compute_capability": 10.0, "sms": 148}
BENCHMARKS = {f.__name__: f for f in (imports, step, dispatch, values, cases, capture, fit, large, ranks)}


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--only", action="append", choices=list(BENCHMARKS), help="repeats")
    a = p.parse_args(arguments)
    for name in a.only or BENCHMARKS:
        for what, figure in BENCHMARKS[name]():
            print(f"{what:<40} {figure}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
