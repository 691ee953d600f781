"""bert-large as transformers' documents of 2022 train it, for `python -m truth measured bert`.

They print what a device has occupied after each of nine runs of Trainer. Three things were otherwise
then, and are so here: gradients were set to zero and stayed, attention was written out, and a softmax
kept what it was given as well as its result (until PyTorch 1.11, when its derivative took the data type
in the place of the tensor)."""

from __future__ import annotations

import contextlib
import functools
import sys
import tempfile
from typing import Any

STEPS, LENGTH = 4, 512

# Arguments of Trainer, by the name of a row.
FULL = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 4}
LEAST = {**FULL, "gradient_checkpointing": True, "fp16": True}
RUNS: dict[str, dict[str, Any]] = {
    "batch of 4": {},
    "accumulation": FULL,
    "checkpointing": {**FULL, "gradient_checkpointing": True},
    "float16": {"fp16": True},
    "float16, checkpointing": LEAST,
    "Adafactor": {"optim": "adafactor"},
    "Adafactor, float16, checkpointing": {**LEAST, "optim": "adafactor"},
    "8-bit Adam": {},
    "8-bit Adam, float16, checkpointing": LEAST,
}


def as_in_january_2022() -> None:
    import torch

    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, dim: int) -> Any:
            ctx.dim, out = dim, torch.softmax(x, dim)
            ctx.save_for_backward(x, out)
            return out

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            x, out = ctx.saved_tensors
            return torch._softmax_backward_data(gradient, out, ctx.dim, x.dtype), None

    def softmax(x: Any, dim: int) -> Any:
        return Softmax.apply(x.float() if torch.is_autocast_enabled() else x, dim)

    torch.nn.functional.softmax = softmax
    zero = torch.nn.Module.zero_grad
    torch.nn.Module.zero_grad = functools.partialmethod(zero, set_to_none=False)  # type: ignore[assignment]


def adam_8bit(model: Any, settings: Any) -> Any:
    """As the document makes it: no weight decay for biases and norms."""
    import bitsandbytes
    import torch
    from transformers.trainer_pt_utils import get_parameter_names

    decayed = {n for n in get_parameter_names(model, [torch.nn.LayerNorm]) if "bias" not in n}
    named = list(model.named_parameters())
    return bitsandbytes.optim.Adam8bit(
        [
            {"params": [p for n, p in named if n in decayed], "weight_decay": settings.weight_decay},
            {"params": [p for n, p in named if n not in decayed], "weight_decay": 0.0},
        ],
        betas=(settings.adam_beta1, settings.adam_beta2),
        eps=settings.adam_epsilon,
        lr=settings.learning_rate,
    )


def train(name: str) -> None:
    import torch
    import transformers

    as_in_january_2022()
    torch.ones((1, 1)).to("cuda")
    config = transformers.BertConfig(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
    )
    config._attn_implementation = "eager"
    model = transformers.BertForSequenceClassification(config).to("cuda")
    if name == "model":
        return
    tokens = {"input_ids": torch.randint(100, 30000, (LENGTH,)), "labels": torch.zeros((), dtype=torch.int64)}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):  # Trainer prints
        settings = transformers.TrainingArguments(
            **{
                "output_dir": folder,
                "per_device_train_batch_size": 4,
                "max_steps": STEPS,
                "optim": "adamw_hf",
                "report_to": "none",
                "save_strategy": "no",
                "disable_tqdm": True,
                **RUNS[name],
            }
        )
        optimizer = adam_8bit(model, settings) if name.startswith("8-bit") else None
        transformers.Trainer(
            model=model, args=settings, train_dataset=[tokens] * 64, optimizers=(optimizer, None)
        ).train()
