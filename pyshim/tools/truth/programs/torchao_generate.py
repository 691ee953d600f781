"""torchao's benchmark of generation with a Llama, torchao/_models/llama/generate.py in the folder that
SOURCE names, unmodified: the arguments are its own but for --model, which names one of its configurations.
Weights and tokenizer are made up: weights that nobody wrote, of the sizes of the configuration, and a
token a word. A checkpoint is read as it would be from a file that is mapped into memory."""

import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import torch

sys.path.insert(0, os.environ["SOURCE"])
import torchao._models.llama.model as llama
import torchao._models.llama.tokenizer as tokenizers

TOKENS = {"Llama-2": 32000, "Meta-Llama-3": 128256}


def checkpoint(name: str) -> dict[str, torch.Tensor]:
    """The state dict of a model in bfloat16, on the host."""
    with torch.device("meta"):
        made = llama.Transformer.from_name(name).bfloat16().state_dict()
    return {k: torch.empty(v.shape, dtype=v.dtype) for k, v in made.items()}


def words(text: str) -> list[int]:
    return [100 + i for i, _ in enumerate(text.replace(",", " ,").split())]


at = sys.argv.index("--model")
name = sys.argv[at + 1]
del sys.argv[at : at + 2]
folder = Path("checkpoints", name)
folder.mkdir(parents=True, exist_ok=True)
for file in ("model.pth", "tokenizer.model"):
    (folder / file).touch()
load = torch.load
torch.load = lambda file, *a, **k: checkpoint(name) if str(file).endswith("model.pth") else load(file, *a, **k)
tokenizers.get_tokenizer = lambda *_: SimpleNamespace(
    encode=words, decode=lambda _: "", bos_id=lambda: 1, eos_id=lambda: 2
)
script = Path(llama.__file__).with_name("generate.py")
sys.argv = [str(script), "--checkpoint_path", str(folder / "model.pth"), *sys.argv[1:]]
runpy.run_path(str(script), run_name="__main__")
