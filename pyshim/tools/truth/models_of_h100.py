"""The models whose peaks testdata/measured/h100-models.csv has, each run as it was on the card.

A name says all: "torchvision/resnet18 eager float32 B=8 training opt=adamw". Weights and inputs are
made on the host and moved. Inference is two passes, four of what is scripted or traced, with the
result dropped in between; training three iterations of AdamW with the gradients set to None; decode
twice a prefill and four tokens. One more of them follows, as the card's last one named operators.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

MIB = 1 << 20
SIZES: dict[str, dict[str, int]] = {
    "bert-base": {},
    "gpt2": {},
    "llama-1b": {
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "vocab_size": 128256,
        "max_position_embeddings": 8192,
        "tie_word_embeddings": True,
    },
}


class Case(NamedTuple):
    source: str  # torchvision, transformers or synthetic
    model: str
    runtime: str  # eager, script, trace or export
    dtype: torch.dtype
    batch: int
    mode: str  # inference, training or decode
    more: dict[str, str]


def parse(name: str) -> Case:
    model, runtime, dtype, batch, mode, *more = name.split()
    source, _, model = model.partition("/")
    return Case(
        source,
        model,
        runtime,
        getattr(torch, dtype),
        int(batch.removeprefix("B=")),
        mode,
        dict(m.split("=", 1) for m in more),
    )


def run(name: str) -> None:
    case = parse(name)
    if conf := case.more.get("conf"):
        torch._C._accelerator_setAllocatorSettings(conf)
    if case.source == "synthetic":
        drill(random.Random(int(case.more["seed"])))
    elif case.source == "torchvision":
        classify(case)
    else:
        write(case)


def drill(draw: random.Random) -> None:
    """Tensors of all sizes made and dropped at random, with the cache emptied after half of them."""
    sizes: list[Callable[[], int]] = [
        lambda: draw.randint(1, 4096),
        lambda: draw.randint(1, MIB),
        lambda: draw.randint(MIB, 12 * MIB),
        lambda: draw.randint(8 * MIB, 80 * MIB),
        lambda: draw.choice((MIB, MIB + 1, 10 * MIB, 10 * MIB - 1, 11 * MIB)),
    ]
    held = []
    for part, dropped in enumerate((0.4, 0.55, 0.45, 0.6)):
        for _ in range(250):
            if held and draw.random() < dropped:
                held.pop(draw.randrange(len(held)))
            else:
                held.append(torch.empty(draw.choice(sizes)(), dtype=torch.uint8, device="cuda"))
        if part == 1:
            torch.cuda.empty_cache()


def loaded(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...], runtime: str) -> tuple[Any, Any]:
    """The model on the device, as one who has the saved file gets it there, and what is held with it."""
    if runtime == "eager":
        return model.to("cuda"), None
    with torch.no_grad():
        if runtime == "export":
            from torch.export.passes import move_to_device_pass

            program = move_to_device_pass(torch.export.export(model, inputs, strict=False), "cuda")
            return program.module(), program  # which has the example's inputs, on the device too
        if runtime == "script":
            archive = torch.jit.script(model)
        else:
            archive = torch.jit.trace(model, inputs, check_trace=False, strict=False)
    file = io.BytesIO()
    torch.jit.save(archive, file)
    file.seek(0)
    return torch.jit.load(file, map_location="cuda"), None


def classify(case: Case) -> None:
    import torchvision

    training = case.mode == "training"
    model = torchvision.models.get_model(case.model, weights=None).train(training).to(case.dtype)
    images = torch.rand(case.batch, 3, 224, 224, dtype=case.dtype)
    labels = torch.randint(0, 1000, (case.batch,))
    placed, kept = loaded(model, (images,), case.runtime)
    del model  # of an archive what it was made of is on the host
    images = images.to("cuda")
    if training:
        train(placed, images, labels.to("cuda"))
    else:
        infer(lambda: placed(images), 2 if case.runtime in ("eager", "export") else 4)
    del kept


def infer(forward: Callable[[], Any], passes: int) -> None:
    for _ in range(passes + 1):
        with torch.no_grad():
            result = forward()
        del result


def train(model: Any, images: torch.Tensor, labels: torch.Tensor) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(4):
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        del loss


def write(case: Case) -> None:
    """Of transformers: one pass over tokens, or tokens written one by one with a cache."""
    import transformers

    kind = case.model.partition("-")[0]
    config = transformers.AutoConfig.for_model(kind, **SIZES[case.model])
    auto = transformers.AutoModel if kind == "bert" else transformers.AutoModelForCausalLM
    model = auto.from_config(config, dtype=case.dtype, attn_implementation=case.more["attn"]).eval().to("cuda")
    tokens = torch.randint(3, config.vocab_size, (case.batch, int(case.more["seq"]))).to("cuda")
    mask = torch.ones_like(tokens, device="cpu").to("cuda")
    if case.mode == "inference":
        return infer(lambda: model(input_ids=tokens, attention_mask=mask), 2)
    for _ in range(3):
        out = first(model, tokens)
        for _ in range(4):
            out = further(model, out)
        del out


@torch.no_grad()
def first(model: Any, tokens: torch.Tensor) -> Any:
    return model(input_ids=tokens, use_cache=True, logits_to_keep=1)


@torch.no_grad()
def further(model: Any, out: Any) -> Any:
    token = out.logits[:, -1:].argmax(-1)
    return model(input_ids=token, use_cache=True, past_key_values=out.past_key_values, logits_to_keep=1)
