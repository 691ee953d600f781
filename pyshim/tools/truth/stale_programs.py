"""The programs of truth_stale.py: what is recorded of each, and the changes that must be found."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import NamedTuple


class Change(NamedTuple):
    what: str
    file: str = ""  # that is edited
    text: Callable[[str], str] = str  # what becomes of its text
    env: dict[str, str] | None = None  # variables at the check


class Program(NamedTuple):
    name: str
    files: dict[str, str]
    changes: list[Change]
    command: list[str] | None = None  # of memshim; None captures memspec.yaml
    leaves: tuple[str, ...] = ()  # folders that the run writes and nobody commits


def swap(old: str, new: str) -> Callable[[str], str]:
    def of(text: str) -> str:
        assert old in text, (old, text)
        return text.replace(old, new)

    return of


def pins(*names: str) -> str:
    found = []
    for name in names:
        try:
            found.append(f"{name}=={importlib.metadata.version(name)}\n")
        except importlib.metadata.PackageNotFoundError:
            pass
    return "".join(found)


def spec(inputs: str, more: str = "", source: str = "net.py:build") -> str:
    return (
        f"version: 1\nmodels:\n  net:\n    source: {source}\n    device: t4\n    inputs: {inputs}\n"
        f"    budget: {{allocated: 4GiB}}\n{more}"
    )


def release(name: str) -> Change:
    return Change(
        f"{name} in requirements.txt", "requirements.txt", lambda text: text.replace(f"{name}==", f"{name}==99.")
    )


SOURCE = Change("a line of the model's source", "net.py", lambda text: text + "\nLATER = 1\n")
RECORDED = (
    "version: 1\nmodels:\n  net: {artifact: net.rec, device: t4, allow: [value-read], budget: {allocated: 4GiB}}\n"
)

LLAMA = """
from transformers import LlamaConfig, LlamaForCausalLM

def build():
    return LlamaForCausalLM(LlamaConfig.from_json_file("config.json"))
"""
LLAMA_CONFIG = """{"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
 "vocab_size": 128}"""
BERT = """
import os
from transformers import BertConfig, BertModel

def build():
    wide = int(os.environ.get("WIDE", "64"))
    small = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64, "vocab_size": 99}
    return BertModel(BertConfig(hidden_size=wide, **small))

def loss(out, *_):
    return out.last_hidden_state.float().mean()
"""
GPT2 = """
from transformers import GPT2Config, GPT2LMHeadModel
from parts.sizes import WIDE

def build():
    return GPT2LMHeadModel(GPT2Config(n_embd=WIDE, n_layer=1, n_head=2, vocab_size=99, n_positions=32))
"""
VIT = """
from pathlib import Path
import yaml
from transformers import ViTConfig, ViTForImageClassification

def build():
    return ViTForImageClassification(ViTConfig(**yaml.safe_load(Path(__file__).with_name("vit.yaml").read_text())))
"""
TIMM = """
import timm

def build():
    return timm.create_model("resnet10t", num_classes=7)
"""
TIMM_JSON = """
import json
import timm

def build():
    with open("conf/model.json", encoding="utf-8") as f:
        return timm.create_model(**json.load(f))
"""
LIGHTNING = """
import pytorch_lightning as pl
import torch
import yaml

class Net(pl.LightningModule):
    def __init__(self, wide):
        super().__init__()
        self.save_hyperparameters()
        self.layers = torch.nn.Sequential(torch.nn.Linear(32, wide), torch.nn.ReLU(), torch.nn.Linear(wide, 8))

    def forward(self, x):
        return self.layers(x)

def build():
    with open("hparams.yaml") as f:
        return Net(**yaml.safe_load(f))
"""
TRAINER = """
import pytorch_lightning as pl
import torch
from net import Net

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.zeros(32), torch.zeros(8)

pl.Trainer(accelerator="cuda", devices=1, max_epochs=1, logger=False, enable_checkpointing=False,
           enable_progress_bar=False).fit(Net(64), torch.utils.data.DataLoader(Data(), batch_size=4))
"""
TRAINED = """
import pytorch_lightning as pl
import torch

class Net(pl.LightningModule):
    def __init__(self, wide):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(32, wide), torch.nn.ReLU(), torch.nn.Linear(wide, 8))

    def training_step(self, batch, index):
        x, y = batch
        return torch.nn.functional.mse_loss(self.layers(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())
"""
EXPORTED = """
import json
import os
import torch

def build():
    with open("sizes.json") as f:
        wide = json.load(f)["wide"]
    return torch.nn.Sequential(torch.nn.Linear(32, wide), torch.nn.Linear(wide, int(os.environ.get("OUT", "8"))))
"""
COMPOSED = """
import hydra
import torch

def build():
    with hydra.initialize(version_base=None, config_path="conf"):
        cfg = hydra.compose("config")
    return torch.nn.Sequential(*(torch.nn.Linear(cfg.model.wide, cfg.model.wide) for _ in range(cfg.model.deep)))
"""
HYDRA = """
import hydra
import torch

@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    net = torch.nn.Linear(cfg.model.wide, cfg.model.wide).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        net(torch.randn(8, cfg.model.wide, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

main()
"""
HYDRA_CONF = {
    "conf/config.yaml": "defaults: [model: small, _self_]\n",
    "conf/model/small.yaml": "{wide: 64, deep: 2}\n",
}
IMAGE, TOKENS = '["float32[1,3,32,32]"]', '["int64[1,16]"]'

PROGRAMS = [
    Program(
        "llama_config",
        {
            "net.py": LLAMA,
            "config.json": LLAMA_CONFIG,
            "memspec.yaml": spec(TOKENS),
            "requirements.txt": pins("transformers", "torch"),
        },
        [
            Change("config.json", "config.json", swap("64", "6400")),
            SOURCE,
            release("transformers"),
        ],
    ),
    Program(
        "bert_env",
        {
            "net.py": BERT,
            "memspec.yaml": spec(TOKENS, "    mode: training\n    optimizer: AdamW\n    loss: net.py:loss\n"),
        },
        [Change("the variable WIDE", env={"WIDE": "128"}), SOURCE],
    ),
    Program(
        "gpt2_parts",
        {"net.py": GPT2, "parts/__init__.py": "", "parts/sizes.py": "WIDE = 64\n", "memspec.yaml": spec(TOKENS)},
        [Change("a constant of an imported module", "parts/sizes.py", swap("64", "128")), SOURCE],
    ),
    Program(
        "vit_yaml",
        {
            "net.py": VIT,
            "vit.yaml": "{hidden_size: 32, num_hidden_layers: 1, num_attention_heads: 2, intermediate_size: 64, "
            "image_size: 32, patch_size: 8}\n",
            "memspec.yaml": spec(IMAGE),
        },
        [Change("vit.yaml", "vit.yaml", swap("hidden_size: 32", "hidden_size: 64"))],
    ),
    Program(
        "timm_pinned",
        {"net.py": TIMM, "requirements.txt": pins("timm", "torch"), "memspec.yaml": spec(IMAGE)},
        [release("timm"), release("torch"), SOURCE],
    ),
    Program(
        "timm_json",
        {
            "net.py": TIMM_JSON,
            "conf/model.json": '{"model_name": "resnet10t", "num_classes": 7}',
            "memspec.yaml": spec(IMAGE),
        },
        [Change("conf/model.json", "conf/model.json", swap("7", "700"))],
    ),
    Program(
        "lightning_hparams",
        {"net.py": LIGHTNING, "hparams.yaml": "wide: 64\n", "memspec.yaml": spec('["float32[4,32]"]')},
        [Change("hparams.yaml", "hparams.yaml", swap("64", "128")), SOURCE],
    ),
    Program(
        "lightning_trainer",
        {
            "net.py": TRAINED,
            "train.py": TRAINER,
            "memspec.yaml": RECORDED,
            "requirements.txt": pins("pytorch-lightning"),
        },
        [
            SOURCE,
            Change("train.py", "train.py", swap("Net(64)", "Net(128)")),
            release("pytorch-lightning"),
        ],
        ["run", "--on", "t4", "--record", "net.rec", "--", "train.py"],
        ("lightning_logs",),
    ),
    Program(
        "hydra_compose",
        {"net.py": COMPOSED, **HYDRA_CONF, "memspec.yaml": spec('["float32[4,64]"]')},
        [Change("conf/model/small.yaml", "conf/model/small.yaml", swap("deep: 2", "deep: 20")), SOURCE],
    ),
    Program(
        "hydra_main",
        {"train.py": HYDRA, **HYDRA_CONF, "memspec.yaml": RECORDED},
        [
            Change("conf/model/small.yaml", "conf/model/small.yaml", swap("wide: 64", "wide: 6400")),
            Change("conf/config.yaml", "conf/config.yaml", lambda text: text + "more: 1\n"),
        ],
        ["run", "--on", "t4", "--record", "net.rec", "--", "train.py"],
        ("outputs",),
    ),
    Program(
        "exported",
        {
            "net.py": EXPORTED,
            "sizes.json": '{"wide": 64}',
            "requirements.txt": pins("torch"),
            "memspec.yaml": "version: 1\nmodels:\n  net:\n    {artifact: net.pt2, device: t4, "
            "inputs: ['float32[4,32]'], budget: {allocated: 4GiB}}\n",
        },
        [
            Change("sizes.json", "sizes.json", swap("64", "640")),
            Change("the variable OUT", env={"OUT": "80"}),
            SOURCE,
            release("torch"),
        ],
        ["export", "net.py:build", "--input", "float32[4,32]", "-o", "net.pt2"],
    ),
]
