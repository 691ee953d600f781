"""Programs that train with what the field trains with, unmodified, under memshim run --on: each
runs to its end, and the report is of what it did."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import warm

torch = pytest.importorskip("torch")
KIB, MIB = 1 << 10, 1 << 20

LANGUAGE_MODEL = """
import torch, transformers
transformers.logging.set_verbosity_error()
config = transformers.GPT2Config(n_layer=2, n_head=4, n_embd=128, vocab_size=1000, n_positions=64)
model = transformers.GPT2LMHeadModel(config)
data = [{"input_ids": torch.arange(64), "labels": torch.arange(64)} for _ in range(12)]
"""

TRAINER = (
    LANGUAGE_MODEL
    + """
arguments = transformers.TrainingArguments("out", max_steps=3, per_device_train_batch_size=4, report_to=[],
                                          save_strategy="no", logging_strategy="no", disable_tqdm=True)
trainer = transformers.Trainer(model, arguments, train_dataset=data)
assert trainer.train().global_step == 3
print("parameters", sum(p.nbytes for p in model.parameters()),
      "trained", sum(p.nbytes for p in model.parameters()))
"""
)

LORA = (
    LANGUAGE_MODEL
    + """
import peft
model = peft.get_peft_model(model.cuda(), peft.LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
ids = torch.arange(64).repeat(4, 1).cuda()
for _ in range(3):
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("parameters", sum(p.nbytes for p in model.parameters()),
      "trained", sum(p.nbytes for p in model.parameters() if p.requires_grad))
"""
)

LIGHTNING = """
import logging, warnings, torch
warnings.simplefilter("ignore")
try:
    import lightning
except ImportError:
    import pytorch_lightning as lightning
class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 8))
    def training_step(self, batch, i):
        return self.l(batch).sum()
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())
model = Net()
trainer = lightning.Trainer(max_steps=3, accelerator="gpu", devices=1, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, torch.utils.data.DataLoader(torch.zeros(12, 256), batch_size=4))
assert trainer.global_step == 3
print("parameters", sum(p.nbytes for p in model.parameters()), "trained", sum(p.nbytes for p in model.parameters()))
"""


pytestmark = pytest.mark.usefixtures("pretend_gpu")


def run(folder, text, *options, command=("train.py",)):
    """The program's output, and the report."""
    (folder / "train.py").write_text(text)
    p = warm.run(
        [sys.executable, "-m", "memshim", "run", "--on", "t4", "--json", "report.json", *options, "--", *command],
        cwd=folder,
        timeout=600,
    )
    assert p.returncode == 0, p.stdout + p.stderr
    return p.stdout, json.loads((folder / "report.json").read_text()), p.stderr


@pytest.mark.parametrize(
    "library, program",
    [("transformers", TRAINER), ("peft", LORA), ("lightning", LIGHTNING)],
    ids=["trainer", "lora", "lightning"],
)
def test_the_loops_of_libraries(tmp_path, library, program):
    """Iterations are distinguished, and what the optimizer keeps is there from the second on: twice
    what is trained, and no more."""
    if importlib.util.find_spec(library) is None and not (
        library == "lightning" and importlib.util.find_spec("pytorch_lightning")
    ):
        pytest.skip(f"no {library} here")
    said, found, _ = run(tmp_path, program)
    words = said.split()
    parameters, trained = int(words[words.index("parameters") + 1]), int(words[words.index("trained") + 1])
    assert found["fits"] is True
    (process,) = [p for p in found["processes"] if p["devices"]]
    (device,) = process["devices"]
    first, *later = [i["allocated"] for i in device["iterations"]]
    assert len(later) == 2 and first > parameters
    assert all(device["allocated"] >= n >= parameters + 3 * trained for n in later), (
        "weights, gradients, and two values a weight that is trained"
    )
    assert sum(r["mem"] for r in device["lines"]["rows"]) == device["lines"]["peak"] == device["allocated"]
    if library == "lightning":  # whose Trainer turns PyTorch's anomaly mode off, which forward lines come from
        assert not any(r["location"].startswith("no Python line") for r in device["lines"]["rows"])


LOOP = """
import torch
from torch.utils.data import DataLoader

@torch.library.custom_op("mine::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x])[: x.shape[0]] * 2  # an operator of one's own

double.register_autograd(lambda ctx, g: g * 2)

class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(4096, 256), torch.nn.Linear(256, 4096, bias=False)
        self.head.weight = self.embed.weight
    def forward(self, ids):
        return self.head(double(self.embed(ids)))

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, i):
        assert torch.utils.data.get_worker_info() is not None
        return torch.full((16,), i)

if __name__ == "__main__":
    model = Tied().cuda()
    weight = model.embed.weight.nbytes
    assert torch.cuda.memory_allocated() == weight, "tied, so once"
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    assert 2 * weight <= torch.cuda.memory_allocated() <= 2 * weight + 512
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for ids in DataLoader(Data(), batch_size=4, num_workers=2, pin_memory=True):
        assert ids.is_pinned()
        model(ids.cuda(non_blocking=True)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update_parameters(model)
    print(weight)
"""


def test_workers_tied_weights_an_average_and_an_operator_of_ones_own(tmp_path):
    said, found, text = run(tmp_path, LOOP)
    weight = int(said)
    (process,) = [p for p in found["processes"] if p["devices"]]
    (device,) = process["devices"]
    assert len(device["iterations"]) == 3
    assert 4 * weight <= device["iterations"][2]["allocated"] < 7 * weight, (
        "weights, average, momentum, gradients, and no copy of what is tied"
    )
    assert all(not p["devices"] for p in found["processes"] if p is not process), (
        "a loader's workers took nothing of the GPU"
    )
    assert (
        "train.py:7 (double)" in "\n".join(r["location"] for r in device["lines"]["rows"])
        or device["lines"]["peak"] > 4 * weight
    ), text


DISTRIBUTED = """
import os, torch
import torch.distributed as dist
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(512, 512).cuda(), device_ids=[rank])
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.zeros(64 * (rank + 1), 512, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
"""


COMPILED = """
import sys, torch
torch.manual_seed(0)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(256, 1024), torch.nn.Linear(1024, 256)

    def forward(self, x):
        x = torch.nn.functional.gelu(self.up(x))
        print("a graph ends here", file=sys.stderr)
        return self.down(x).relu()

model = torch.compile(Net().cuda(), dynamic=True)
optimizer = torch.optim.AdamW(model.parameters())
for n in (64, 96, 128):
    loss = model(torch.randn(n, 256, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_compiled_model_of_any_size_with_a_graph_break(tmp_path):
    """Trained: what inductor reads for itself while it compiles is no value of the program's, and
    nothing of memshim's is reported as a warning."""
    if not importlib.util.find_spec("triton"):
        pytest.skip("no Triton here")
    _, found, errors = run(tmp_path, COMPILED)
    (device,) = [d for p in found["processes"] for d in p["devices"]]
    first, *later = [i["allocated"] for i in device["iterations"]]
    parameters = 4 * (2 * 256 * 1024 + 1024 + 256)
    assert found["exact"] is True and first > 2 * parameters and all(n > 4 * parameters for n in later)
    assert sum(r["mem"] for r in device["lines"]["rows"]) == device["lines"]["peak"] == device["allocated"]
    after_the_break = [
        r for r in device["lines"]["rows"] if "(torch_dynamo_resume_in_forward" in r["location"] and r["backward"]
    ]
    assert sum(r["mem"] for r in after_the_break) > 2 * parameters, "gradients, by the line of their forward"
    assert errors.count("a graph ends here") == 3 and "dynamo_pgo" not in errors


def test_torchrun(tmp_path):
    """Each rank is reported by its process and its device."""
    _, found, text = run(
        tmp_path,
        DISTRIBUTED,
        "--count",
        "2",
        command=("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"),
    )
    ranks = sorted((d["index"], len(d["iterations"]), d["allocated"]) for p in found["processes"] for d in p["devices"])
    assert [r[:2] for r in ranks] == [(0, 2), (1, 2)] and ranks[1][2] - ranks[0][2] >= 64 * 512 * 4, (
        "its batch is larger"
    )
    assert "on a pretend Tesla T4 1: " in text


KERNELS = """
import torch
from memshim.pretend import values
hook = values.installed()
library = torch.library.Library("mine", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.define("twice.more(Tensor x, int n) -> Tensor")
library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
library.impl("twice.more", lambda x, n: x + n, "CompositeImplicitAutograd")
assert "mine::twice" not in hook.direct, "its fallback comes first"
library.impl("mine::twice", lambda x: x * 2, "CUDA")
library.impl(torch.ops.mine.twice.more, lambda x, n: x * n, "CUDA")
assert {"mine::twice", "mine::twice.more"} <= hook.direct
there = set(hook.direct)
hook.register()
assert hook.direct == there, "each kernel was followed when it came"
print(torch.ops.mine.twice(torch.ones(4, device="cuda")).numel(), torch.ops.mine.twice(torch.ones(4)).numel())
"""


def test_an_operator_with_two_kernels_is_followed_once_it_has_both(tmp_path):
    said, _, _ = run(tmp_path, KERNELS)
    assert said == "4 4\n"


EXTENSION = """
#include <ATen/ops/empty.h>
#include <torch/library.h>
at::Tensor widened(const at::Tensor& x) { return at::empty({x.size(0), 4 * x.size(1)}, x.options()); }
TORCH_LIBRARY(compiled, m) { m.def("widened(Tensor x) -> Tensor"); }
at::Tensor other(const at::Tensor& x) { return at::empty({1}, x.options()); }
TORCH_LIBRARY_IMPL(compiled, CompositeExplicitAutograd, m) { m.impl("widened", other); }
TORCH_LIBRARY_IMPL(compiled, CUDA, m) { m.impl("widened", widened); }
"""
USES = """
import torch
LOAD("./widened.so")
x = torch.zeros(1024, 1024, device="cuda")
y = torch.ops.compiled.widened(x)
print(y.device, tuple(y.shape))
"""


def test_a_compiled_extension(tmp_path):
    if not shutil.which("c++"):
        pytest.skip("no C++ compiler here")
    (tmp_path / "widened.cpp").write_text(EXTENSION)
    folder = Path(torch.__file__).parent
    include = [f"-I{folder / 'include'}", f"-I{folder / 'include' / 'torch' / 'csrc' / 'api' / 'include'}"]
    subprocess.run(
        [
            "c++",
            "-shared",
            "-fPIC",
            "-O0",
            "-std=c++20",
            "-w",
            *include,
            "widened.cpp",
            "-o",
            "widened.so",
            f"-L{folder / 'lib'}",
            "-ltorch_cpu",
            "-lc10",
            f"-Wl,-rpath,{folder / 'lib'}",
        ],
        cwd=tmp_path,
        check=True,
    )
    # a Python extension's library registers its kernels as it is loaded, and nobody calls load_library
    for load in ("torch.ops.load_library", "__import__('ctypes').CDLL"):
        said, found, _ = run(tmp_path, USES.replace("LOAD", load))
        assert said == "cuda:0 (1024, 4096)\n", "CUDA's kernel, not the composite one"
    (device,) = found["processes"][0]["devices"]
    assert device["allocated"] == 20 * MIB and {r["line"]: r["mem"] for r in device["lines"]["rows"]}[5] == 16 * MIB
