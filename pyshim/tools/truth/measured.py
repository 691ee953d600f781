"""Peaks that others published of real GPUs, beside a pretend GPU's: python -m truth measured [SET[/ROW]…]

The rows are testdata/measured/published.csv's: what the sources state of each run, and what they
measured. The loops here are written from what the sources' own scripts do; nothing is fitted. Run it
with the release of torch that a set had where that installs (torch 2.6 or newer), and torchvision's
of it. The table has each row's error in percent of what was measured.

attention, attention-compiled: softmax(q k / √d) v in float32, what is allocated after the forward
pass, beside q, k, v, the output's gradient and the output of the warm-up. vit: ViT-L/16 of
torchvision fine-tuned with Adam, the most reserved. scripted, traced: a classifier scripted or
traced, saved and loaded again beside the first, one pass. flux: FLUX.2 fine-tuned by a method of
PEFT; it takes diffusers and peft (adapters_of_flux.py). tutorial: GPT-2 trained by PyTorch's tutorial on
Mosaic, without and with gradient checkpointing, the most allocated above what the model took before:
the tutorial's table has activations, gradients and the optimizer's states, and no parameters. bert: bert-large
trained by transformers' Trainer as its documents of 2022 do (trained_bert.py), the most reserved; it takes accelerate
and bitsandbytes. sdxl: an image by Stable Diffusion XL (made_sdxl.py), the most allocated; it takes diffusers.
"""

from __future__ import annotations

import csv
import gc
import io
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forked_rows

ROWS = Path(__file__).parents[3] / "testdata" / "measured" / "published.csv"
UNITS = {"B": 1, "MiB": 1 << 20, "GiB": 1 << 30, "GB": 10**9}
STEPS = 4
WITHIN = 2.0  # percent


def attention(row: forked_rows.Row) -> None:
    import torch

    def softmax(x: Any) -> Any:
        e = torch.exp(x - torch.max(x, dim=-1, keepdim=True)[0])
        return e / torch.sum(e, dim=-1, keepdim=True)

    def attend(q: Any, k: Any, v: Any) -> Any:
        weights = softmax(torch.einsum("bqd,bkd->bqk", q, k) / q.shape[-1] ** 0.5)
        return torch.einsum("bqk,bkd->bqd", weights, v)

    if row["set"] == "attention-compiled":
        torch._functorch.config.donated_buffer = False
        attend = torch.compile(attend)
    sizes = [int(n) for n in row["row"].split(" x ")]
    q, k, v = (torch.randn(sizes, device="cuda", requires_grad=True) for _ in range(3))
    gradient = torch.randn_like(q)
    for _ in range(5):
        kept = attend(q, k, v)
        kept.backward(gradient)
        q.grad = k.grad = v.grad = None
    gc.collect()
    torch.cuda.empty_cache()
    attend(q, k, v)
    torch.cuda.reset_peak_memory_stats()
    again = attend(q, k, v)
    row["allocated"] = str(torch.cuda.memory_allocated())
    del again


def as_in_june_2023() -> None:
    """Two things that PyTorch of vit's source did otherwise. Adam added eps out of place, and so held
    one more copy of the weights (until pytorch/pytorch#104780, July 2023). FlashAttention 1 packed
    batch and sequence, so that its output was another tensor than the one in the layout of
    MultiheadAttention, which the projection behind it keeps; version 2 writes the query's layout."""
    import torch

    update, attend = torch._foreach_addcdiv_, torch.nn.functional.scaled_dot_product_attention

    def update_apart(weights: Any, by: Any, denominators: Any, scales: Any) -> None:
        update(weights, by, torch._foreach_add(denominators, 0.0), scales)

    def attend_packed(*args: Any) -> Any:
        out = attend(*args)
        return (
            out
            if out.dtype == torch.float32
            else out.transpose(1, 2).clone(memory_format=torch.contiguous_format).transpose(1, 2)
        )

    torch._foreach_addcdiv_ = update_apart
    torch.nn.functional.scaled_dot_product_attention = attend_packed


def vit(row: forked_rows.Row) -> None:
    import torch
    import torchvision

    as_in_june_2023()
    precision, batch, *how = row["row"].split()
    dtype = getattr(torch, precision.removeprefix("autocast-"))
    model = torchvision.models.vit_l_16()
    if how == ["built"]:
        model.to("cuda").to(torch.float16) if precision == "float32" else model.to(dtype).to("cuda")
        return
    model.heads.head = torch.nn.Linear(1024, 10)
    mixed = precision.startswith("autocast-")
    model = (model if mixed else model.to(dtype)).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-5)
    scaler = torch.amp.GradScaler("cuda", enabled=mixed)
    accumulated = how == ["accumulated"]
    for i in range(2 * STEPS if accumulated else STEPS):
        model.train()
        features = torch.zeros(int(batch), 3, 224, 224).to("cuda")
        targets = torch.zeros(int(batch), dtype=torch.int64).to("cuda")
        with torch.autocast("cuda", dtype, enabled=mixed):
            logits = model(features if mixed else features.to(dtype)).float()
        loss = torch.nn.functional.cross_entropy(logits, targets) / (4 if accumulated else 1)
        if not accumulated:
            optimizer.zero_grad()
        scaler.scale(loss).backward()
        if not accumulated or i % 4 == 0:
            scaler.step(optimizer)
            scaler.update()
        if accumulated and i % 4 == 0:
            optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        for _ in range(2):
            features = torch.zeros(int(batch), 3, 224, 224).to("cuda")
            with torch.autocast("cuda", dtype, enabled=mixed):
                model(features if mixed else features.to(dtype))


def scripted(row: forked_rows.Row) -> None:
    import torch
    import torchvision

    name, batch = row["row"].split()
    model = torchvision.models.get_model(name).to("cuda").eval()
    example = torch.randn(1, 3, 224, 224, device="cuda") if row["set"] == "traced" else None  # whatever the batch
    with torch.no_grad():
        script = torch.jit.script(model) if example is None else torch.jit.trace(model, example)
    file = io.BytesIO()
    torch.jit.save(script, file)
    file.seek(0)
    model = torch.jit.load(file, map_location="cuda").eval()
    x = torch.randn(int(batch), 3, 224, 224, device="cuda")
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    with torch.no_grad():
        model(x)


def flux(row: forked_rows.Row) -> None:
    import adapters_of_flux

    held, reserved = adapters_of_flux.train(row["row"])
    row["allocated"] = str(held)
    row["reserved"] = str(max(reserved))


def bert(row: forked_rows.Row) -> None:
    import trained_bert

    trained_bert.train(row["row"])


def sdxl(row: forked_rows.Row) -> None:
    import made_sdxl

    made_sdxl.draw()


def tutorial(row: forked_rows.Row) -> None:
    import torch
    import transformers

    model = transformers.GPT2LMHeadModel(transformers.GPT2Config())
    if row["row"] == "checkpointing":
        model.gradient_checkpointing_enable()
    model = model.to("cuda").train()
    start = torch.cuda.memory_allocated()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for _ in range(5):
        tokens = torch.zeros(4, 512, dtype=torch.int64)
        given = {k: v.to("cuda") for k, v in {"input_ids": tokens, "labels": tokens.clone()}.items()}
        optimizer.zero_grad()
        outputs = model(**given)
        loss = outputs.loss
        loss.backward()
        optimizer.step()
        loss.item()
    row["allocated"] = str(torch.cuda.max_memory_allocated() - start)


SETS: dict[str, Callable[[forked_rows.Row], None]] = {
    "attention": attention,
    "attention-compiled": attention,
    "vit": vit,
    "scripted": scripted,
    "traced": scripted,
    "flux": flux,
    "bert": bert,
    "sdxl": sdxl,
    "tutorial": tutorial,
}


def published(names: list[str]) -> list[forked_rows.Row]:
    """The rows of sets, and single ones, such as flux/vera."""
    with ROWS.open() as f:
        return [r for r in csv.DictReader(f) if r["set"] in names or f"{r['set']}/{r['row']}" in names]


def run(row: forked_rows.Row) -> dict[str, Any]:
    """What PyTorch's allocator had, bytes."""
    import torch

    from memshim import pretend

    SETS[row["set"]](row)
    return {
        "allocated": int(row.get("allocated", torch.cuda.max_memory_allocated())),
        "reserved": int(row.get("reserved", torch.cuda.max_memory_reserved())),
        "notes": sorted({n.name for n in pretend.report().estimated}),
    }


def error(row: forked_rows.Row, size: int) -> float:
    """In percent of what was measured."""
    return 100 * (size / (float(row["measured"]) * UNITS[row["unit"]]) - 1)


def summary(name: str, errors: list[float]) -> str:
    if not errors:
        return f"| {name} | 0 | | | | |"
    size = sorted(map(abs, errors))
    return (
        f"| {name} | {len(size)} | {sum(v <= WITHIN for v in size)} | {statistics.median(size):.2f} | "
        f"{statistics.mean(size):.2f} | {max(errors, key=abs):+.2f} |"
    )


def main() -> int:
    if sys.argv[1:] == ["--serve"]:
        import warnings

        import torchvision  # noqa: F401  imported once

        warnings.simplefilter("ignore")

        return forked_rows.serve(run)
    wanted = sys.argv[1:] or list(SETS)
    if bad := [w for w in wanted if not published([w])]:
        print(f"truth measured: got {bad[0]!r}, want SET or SET/ROW, of {', '.join(SETS)}", file=sys.stderr)
        return 2
    from importlib.metadata import version

    errors: dict[str, list[float]] = {w.partition("/")[0]: [] for w in wanted}
    notes: set[str] = set()
    failed = False
    print(f"torch {version('torch')}\n\n| set | row | figure | measured | pretended | error, % |")
    print("|---|---|---|---:|---:|---:|")
    figures = published(wanted)
    runs = {(r["set"], r["row"]): r for r in figures}  # one of a row, whatever number of figures it has
    for ran, found in forked_rows.results(__file__, runs.values()):
        notes.update(found.get("notes", ()))
        for row in (r for r in figures if (r["set"], r["row"]) == (ran["set"], ran["row"])):
            what = f"| {row['set']} | {row['row']} | {row['figure']} | {row['measured']} {row['unit']} |"
            if "error" in found:
                failed = True
                print(f"{what} {found['error']} | |", flush=True)
                continue
            size = found[row["figure"]]
            errors[row["set"]].append(error(row, size))
            print(f"{what} {size / UNITS[row['unit']]:.3f} | {errors[row['set']][-1]:+.2f} |", flush=True)
    print("\n| set | rows | within 2 % | median, % | mean, % | worst, % |\n|---|---:|---:|---:|---:|---:|")
    print("\n".join(summary(s, e) for s, e in errors.items()))
    for n in sorted(notes):
        print(f"note: {n}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
