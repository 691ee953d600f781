"""Training peaks that xMem's authors measured on real GPUs, beside a pretend GPU's and the four
estimators' that their records have, and accelerate's: python pyshim/tools/truth/xmem.py [language] [convolutional]

The rows are testdata/measured/xmem.csv's (its README says where they come from): torch 2.6.0, the
device's used memory less its first sample. The pretend GPU's figure is the peak of reserved bytes
over four iterations, with what the records say and nothing fitted: every sequence has 128 tokens;
gradients are set to None where an iteration starts, if the place is not recorded. What libraries
load beside PyTorch's allocator is in the measured figure and not in this one. Run it with torch
2.6.0, torchvision 0.21.0 and transformers 4.51.3. A row takes seconds, in a separate process that
is forked from one that has imported all.

The cuDNN of torch 2.6.0 cannot be asked without a device. Where MEMSPEC_CUDNN names a newer one, that
answers for the convolutional rows, which are run by formula too; the last line says by how much
the two differ.
"""

from __future__ import annotations

import csv
import os
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import forked_rows

ROWS = Path(__file__).parents[3] / "testdata" / "measured" / "xmem.csv"
KINDS = ("language", "convolutional")
ESTIMATORS = ("xmem", "dnnmem", "schedtune", "llmem")
ACCELERATE = "accelerate"  # accelerate estimate-memory: four times the parameters, of training by Adam in float32
OURS, FORMULA = "pretend", "formula"
NEWER = "MEMSPEC_CUDNN"
ITERATIONS, TOKENS, SIDE = 4, 128, 86
WITHIN = 2.0  # percent
MIB = 1 << 20


def measured(kinds: Iterable[str]) -> list[dict[str, str]]:
    with ROWS.open() as f:
        return [r for r in csv.DictReader(f) if r["kind"] in kinds]


# ---- in the process on the pretend GPU ----


LANGUAGE: dict[str, tuple[str, dict[str, Any], str]] = {  # as the public configurations have them
    "distilbert/distilgpt2": ("GPT2Config", {"n_layer": 6}, "AutoModelForCausalLM"),
    "EleutherAI/gpt-neo-125M": (
        "GPTNeoConfig",
        {
            "hidden_size": 768,
            "num_layers": 12,
            "num_heads": 12,
            "attention_types": [[["global", "local"], 6]],
            "embed_dropout": 0.0,
            "attention_dropout": 0.0,
            "resid_dropout": 0.0,
        },
        "AutoModelForCausalLM",
    ),
    "facebook/opt-125m": ("OPTConfig", {}, "AutoModelForCausalLM"),
    "T5-small": ("T5Config", {"decoder_start_token_id": 0}, "AutoModelForSeq2SeqLM"),
    "Qwen/Qwen3-4B": (
        "Qwen3Config",
        {
            "vocab_size": 151936,
            "hidden_size": 2560,
            "intermediate_size": 9728,
            "num_hidden_layers": 36,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "max_position_embeddings": 40960,
            "rope_theta": 1e6,
            "tie_word_embeddings": True,
        },
        "AutoModelForCausalLM",
    ),
    "meta-llama/Llama-3.2-3B-Instruct": (
        "LlamaConfig",
        {
            "vocab_size": 128256,
            "hidden_size": 3072,
            "intermediate_size": 8192,
            "num_hidden_layers": 28,
            "num_attention_heads": 24,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "max_position_embeddings": 131072,
            "rope_theta": 5e5,
            "tie_word_embeddings": True,
        },
        "AutoModelForCausalLM",
    ),
}
VISION = {
    "ConvNeXtTiny": ("convnext_tiny", {}),
    "MobeNetV3Small": ("mobilenet_v3_small", {"num_classes": 10}),
    "MobileNetV2": ("mobilenet_v2", {}),
    "RegNetX400MF": ("regnet_x_400mf", {}),
    "ResNet101": ("resnet101", {}),
    "VGG16": ("vgg16", {}),
}


def forward(row: dict[str, str]) -> tuple[Any, Callable[[], Any]]:
    """The model, and a function that runs it on the next batch and gives its results and the loss,
    which the loop holds until the next ones are there."""
    import torch

    batch = int(row["batch"])
    if row["kind"] == "language":
        import transformers

        configuration, values, kind = LANGUAGE[row["model"]]
        config = getattr(transformers, configuration)(**values)
        model = getattr(transformers, kind).from_config(config, torch_dtype=torch.float32).cuda().train()

        def of_text() -> Any:
            tokens = torch.ones(batch, TOKENS, dtype=torch.int64)
            given = {"input_ids": tokens, "attention_mask": tokens, "labels": tokens}
            results = model(**{k: v.to("cuda") for k, v in given.items()})
            return results, results.loss

        return model, of_text
    import torchvision

    name, more = VISION[row["model"]]
    model = torchvision.models.get_model(name, **more).cuda().train()
    criterion = torch.nn.CrossEntropyLoss()

    def of_images() -> Any:
        images, classes = torch.zeros(batch, 3, SIDE, SIDE), torch.zeros(batch, dtype=torch.int64)
        results = model(images.to("cuda"))
        return results, criterion(results, classes.to("cuda"))

    return model, of_images


def train(row: dict[str, str]) -> dict[str, Any]:
    """What PyTorch's allocator had at its peak, bytes."""
    import torch

    from memshim import pretend

    model, step = forward(row)
    by_adam = row["optimizer"] in ("Adam", "AdamW")
    optimizer = getattr(torch.optim, row["optimizer"])(model.parameters(), lr=1e-3)
    for _ in range(ITERATIONS):
        if row["zero_grad"] in ("start", ""):
            optimizer.zero_grad()
        results, loss = step()
        if row["zero_grad"] == "before backward":
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if row["zero_grad"] == "end":
            optimizer.zero_grad()
    return {
        "reserved": torch.cuda.max_memory_reserved(),
        "allocated": torch.cuda.max_memory_allocated(),
        "notes": sorted({n.name for n in pretend.report().estimated}),
        ACCELERATE: by_adam * 4 * sum(p.nbytes for p in model.parameters()) or None,
    }


def serve() -> int:
    import torch  # noqa: F401  what every row needs is imported once
    import torchvision  # noqa: F401
    import transformers.models.gpt2.modeling_gpt2  # noqa: F401

    return forked_rows.serve(train)


# ---- the table ----


def off(row: dict[str, str], value: str | int | None) -> float | None:
    """In percent of what was measured."""
    return None if value in (None, "") else 100 * (int(value) / int(row["measured"]) - 1)


def shown(error: float | None) -> str:
    return "-" if error is None else f"{error:+.2f}"


def summary(kind: str, errors: dict[str, list[float]]) -> Iterator[str]:
    for name, values in errors.items():
        if not values:
            yield f"| {kind} | {name} | 0 | | | | |"
            continue
        size = sorted(map(abs, values))
        yield (
            f"| {kind} | {name} | {len(size)} | {sum(v <= WITHIN for v in size)} | {statistics.mean(size):.2f} | "
            f"{statistics.median(size):.2f} | {size[-1]:.2f} |"
        )


def runs(kind: str) -> Iterator[tuple[dict[str, str], dict[str, dict[str, Any]]]]:
    """Each row with its result, and with that by formula where another cuDNN answers."""
    both = kind == "convolutional" and NEWER in os.environ
    by_formula = forked_rows.results(__file__, measured([kind]), without=[NEWER])
    for row, measured_row in forked_rows.results(__file__, measured([kind])):
        yield row, {OURS: measured_row, **({FORMULA: next(by_formula)[1]} if both else {})}


def apart(pairs: list[tuple[int, int]]) -> str:
    """By how much the first of each pair, a peak by formula, differs from the second, with a newer
    cuDNN."""
    errors = [100 * (a / b - 1) for a, b in pairs]
    mean = statistics.mean(map(abs, errors))
    return (
        f"convolutional, {len(errors)} rows: reserved by formula is {min(errors):+.1f} to {max(errors):+.1f} % off "
        f"that with the cuDNN of {NEWER}, {mean:.1f} % in the mean"
    )


def main() -> int:
    if sys.argv[1:] == ["--serve"]:
        return serve()
    wanted = sys.argv[1:] or list(KINDS)
    if bad := [k for k in wanted if k not in KINDS]:
        print(f"truth xmem: got {bad[0]!r}, want {' or '.join(KINDS)}", file=sys.stderr)
        return 2
    sums: list[str] = []
    notes: set[str] = set()
    pairs: list[tuple[int, int]] = []
    for kind in wanted:
        ours = [OURS, FORMULA] if kind == "convolutional" and NEWER in os.environ else [OURS]
        errors: dict[str, list[float]] = {name: [] for name in (*ours, *ESTIMATORS, ACCELERATE)}
        print(f"{kind}: measured and pretended MiB; errors in % of what was measured")
        head = " ".join(f"{n:>9}" for n in errors)
        print(f"{'model, optimizer, batch':46} {'zero_grad':>15} {'GPU':>14} {'measured':>8} {'pretend':>8} {head}")
        for row, results in runs(kind):
            measured_row = results[OURS]
            given = {n: r.get("reserved") for n, r in results.items()} | {n: row[n] for n in ESTIMATORS}
            given[ACCELERATE] = measured_row.get(ACCELERATE)
            found = {n: off(row, v) for n, v in given.items()}
            for n, e in found.items():
                if e is not None:
                    errors[n].append(e)
            if given[OURS] and given.get(FORMULA):
                pairs.append((given[FORMULA], given[OURS]))
            notes.update(measured_row.get("notes", ()))
            name = f"{row['model']}, {row['optimizer']}, {row['batch']}"
            ours = f"{measured_row['reserved'] / MIB:8.0f}" if "reserved" in measured_row else measured_row["error"]
            size, place = int(row["measured"]) / MIB, row["zero_grad"] or "not recorded"
            cells = " ".join(f"{shown(e):>9}" for e in found.values())
            print(f"{name:46} {place:>15} {row['gpu']:>14} {size:8.0f} {ours} {cells}", flush=True)
        sums += summary(kind, errors)
        print()
    print("| rows | estimate | of | within 2 % | mean, % | median, % | worst, % |")
    print("|---|---|---:|---:|---:|---:|---:|")
    print("\n".join(sums))
    if pairs:
        print(apart(pairs))
    for n in sorted(notes):
        print(f"note: {n}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
