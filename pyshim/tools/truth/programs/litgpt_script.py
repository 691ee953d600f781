"""A script of the litgpt in the folder that SOURCE names: SCRIPT MODEL [OPTION=VALUE…], such as
finetune/lora.py phi-1_5 length=1044 micro_batch_size=2 quantize=bnb.nf4. Options are arguments of the
script's entry, or the figures at its head, which its users edit. Weights, tokenizer and data are made up: weights
that nobody wrote, in bfloat16, a token a word, and samples of which one has `length` tokens. What is measured
comes in the first iteration, which takes the longest sample. Two steps of the optimizer are run, of two
batches each where the authors accumulate more, and two batches of the validation."""

import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

SAMPLES, SHORT = 64, 128
ENTRIES = {"finetune": "setup", "generate": "main"}


class Tokenizer:
    """A token a word."""

    bos_id, eos_id = 1, -1

    def __init__(self, _: Any) -> None:
        """Of any checkpoint."""

    def encode(self, text: str, device: Any = None, **_: Any) -> torch.Tensor:
        return torch.tensor([100 + i for i, _ in enumerate(text.replace(",", " ,").split())], device=device)

    def decode(self, _: torch.Tensor) -> str:
        return ""


def samples(length: int) -> list[dict[str, torch.Tensor]]:
    """As the project prepares Alpaca: tokens and labels, one sample of this length and the others short."""
    made = [torch.arange(1, n + 1) for n in (length, *[SHORT] * (SAMPLES - 1))]
    return [{"input_ids": tokens, "labels": tokens.clone()} for tokens in made]


def checkpoint(name: str) -> dict[str, torch.Tensor]:
    """The weights of a model, on the host."""
    from lit_gpt.config import Config
    from lit_gpt.model import GPT

    with torch.device("meta"):
        made = GPT(Config.from_name(name)).state_dict()
    return {k: torch.empty(v.shape, dtype=torch.bfloat16) for k, v in made.items()}


def begin(name: str, length: int) -> None:
    """The folders that the scripts read, and what takes the place of weights and words."""
    import lit_gpt
    import lit_gpt.tokenizer
    import lit_gpt.utils
    from lit_gpt.config import name_to_config

    folder = Path("checkpoints", "made", name)
    folder.mkdir(parents=True)
    for file in ("lit_model.pth", "tokenizer.json", "tokenizer_config.json"):
        (folder / file).touch()
    (folder / "lit_config.json").write_text(json.dumps(name_to_config[name]))
    data = Path("data/alpaca")
    data.mkdir(parents=True)
    for file in ("train.pt", "test.pt"):
        torch.save(samples(length), data / file)
    lit_gpt.Tokenizer = lit_gpt.tokenizer.Tokenizer = Tokenizer
    lit_gpt.utils.lazy_load = lambda _: checkpoint(name)
    load = torch.load
    torch.load = lambda file, *a, **k: checkpoint(name) if str(file).endswith("lit_model.pth") else load(file, *a, **k)


def with_bitsandbytes_of_2023() -> None:
    """Two things that bitsandbytes 0.41 did otherwise: a product with a quantised weight kept its input for the
    backward pass, which needs the weight alone, and a weight's quantisation was a list with the shape at 1, by which
    litgpt counts parameters."""
    from bitsandbytes.autograd._functions import MatMul4Bit
    from bitsandbytes.functional import QuantState

    QuantState.__getitem__ = lambda self, i: (self.absmax, self.shape, self.dtype)[i]
    multiply = MatMul4Bit.forward

    def multiply_and_keep(ctx: Any, given: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        ctx.given = given if any(ctx.needs_input_grad[:2]) else None
        return multiply(ctx, given, *args, **kwargs)

    MatMul4Bit.forward = staticmethod(multiply_and_keep)


def settle(script: ModuleType, given: dict[str, Any]) -> dict[str, Any]:
    """Put the figures at a script's head; the options that are left are arguments of its entry."""
    script.devices = given.pop("devices", 1)
    if hasattr(script, "micro_batch_size"):
        micro = script.micro_batch_size = given.pop("micro_batch_size")
        script.batch_size, script.gradient_accumulation_iters, script.max_iters = 2 * micro, 2, 4
        script.eval_iters = 2
    return given


if __name__ == "__main__":
    sys.path.insert(0, os.environ["SOURCE"])
    path, model, *options = sys.argv[1:]
    named = dict(o.split("=", 1) for o in options)
    numbers = {k: int(v) if v.isdecimal() else v for k, v in named.items()}
    with_bitsandbytes_of_2023()
    begin(model, numbers.pop("length", SHORT))
    package, name = Path(path).with_suffix("").parts
    script = importlib.import_module(f"{package}.{name}")
    given = settle(script, numbers)
    torch.set_float32_matmul_precision("high")
    entry = getattr(script, ENTRIES[package])
    entry(checkpoint_dir=Path("checkpoints", "made", model), precision="bf16-true", **given)
