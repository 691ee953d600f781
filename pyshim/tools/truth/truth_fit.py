"""The largest batch that memshim fit finds, beside what PyTorch does on the same pretend GPU:
python -m truth fit [--on CARD]… [--near 16] [NAME…]

A program is a model of fit/ with its training step. fit records few batches, and memspec replays
them. The other side is a hand-written loop, run for every batch within 16 of the answer and for
eight spread below it, each in a fresh process of PyTorch on that card: it runs out of memory or it
does not. An answer is right where it fits and no larger batch of those does. Smaller ones that do
not fit are holes, which are no error: fit names those that it ran.

python -m truth fit finders runs what people use on real GPUs, the finders of accelerate, Lightning
and DeepSpeed, and compares their answers with that of memshim fit for the same script.

make truth-fit makes an environment with the libraries. Seconds are processor time. The exit code is
1 where an answer is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import forked_rows

PROGRAMS = Path(__file__).parent / "fit"
CARDS = ("t4", "a100-sxm-40gb", "a100-sxm-80gb")
NEAR, SPREAD = 16, 8
ITERATIONS = 3
MOST_BATCH = 1024  # of the finders' programs
IMAGE, TOKENS = {"x": "float32[B,3,224,224]"}, {"input_ids": "int64[B,512]", "labels": "int64[B,512]"}


class Program(NamedTuple):
    source: str  # FILE:NAME below fit/
    inputs: dict[str, str]
    loss: str = "mean"  # of the result; or output, a loss that the model computes
    optimizer: str = "AdamW"
    autocast: str = ""


TABLE = {
    "resnet18": Program("of_torchvision:resnet18", IMAGE, optimizer="SGD"),
    "mobilenet": Program("of_torchvision:mobilenet", IMAGE),
    "squeezenet": Program("of_torchvision:squeezenet", IMAGE, autocast="float16"),
    "vgg11": Program("of_torchvision:vgg11", IMAGE, optimizer="SGD"),
    "vit": Program("of_torchvision:vit", IMAGE),
    "swin": Program("of_torchvision:swin", IMAGE, autocast="bfloat16"),
    "timm-resnet10t": Program("of_timm:resnet10t", IMAGE),
    "timm-convnext": Program("of_timm:convnext", IMAGE, autocast="float16"),
    "timm-mixer": Program("of_timm:mixer", IMAGE),
    "timm-vit": Program("of_timm:vit_tiny", IMAGE, optimizer="SGD"),
    "gpt2": Program("of_transformers:gpt2", TOKENS, "output"),
    "llama": Program("of_transformers:llama", TOKENS, "output", autocast="bfloat16"),
    "bert": Program("of_transformers:bert", TOKENS, "output"),
    "t5": Program("of_transformers:t5", TOKENS, "output"),
    "lora": Program("of_peft:lora", TOKENS, "output"),
    "dora": Program("of_peft:dora", TOKENS, "output", autocast="bfloat16"),
    "unet": Program("of_diffusers:unet", {"x": "float32[B,3,64,64]"}),
    "unet-of-text": Program("of_diffusers:unet_of_text", {"x": "float32[B,4,32,32]", "text": "float32[B,77,128]"}),
    "lightning-segmenter": Program("of_lightning:Segmenter", {"x": "float32[B,3,128,128]"}, "output"),
    "lightning-classifier": Program("of_lightning:Classifier", IMAGE, "output"),
}


class Finder(NamedTuple):
    file: str
    word: str = ""  # that it is started with
    of_batch: str = ""  # that the same script with a batch has, so that it begins as a try does


FINDERS = {
    "accelerate": Finder("accelerate_finder.py"),
    "accelerate-emptied": Finder("accelerate_finder.py", "emptied"),
    "lightning": Finder("lightning_finder.py", of_batch="begun"),
    "deepspeed": Finder("deepspeed_finder.py"),
}


def spec(names: list[str], card: str) -> dict[str, Any]:
    """The memspec.yaml of programs."""
    models = {}
    for name in names:
        p = TABLE[name]
        file, _, function = p.source.partition(":")
        model = {
            "source": f"{file}.py:{function}",
            "inputs": p.inputs,
            "dims": {"B": 1},
            "mode": "training",
            "loss": p.loss,
            "optimizer": p.optimizer,
            "device": card,
            "budget": {},
        }
        models[name] = model | ({"autocast": p.autocast} if p.autocast else {})
    return {"version": 1, "models": models}


def to_run(answer: int, near: int) -> list[int]:
    """The batches to run: all within near of the answer, and eight spread below it."""
    close = range(max(1, answer - near), answer + near + 1)
    spread = (answer * i // (SPREAD + 1) for i in range(1, SPREAD + 1))
    return sorted({*close, *(v for v in spread if v > 0)})


class Compared(NamedTuple):
    wrong: list[int]  # batches that speak against the answer
    named: list[int]  # holes that fit names
    unnamed: list[int]


def compare(answer: int, holes: list[int], fits: dict[int, bool]) -> Compared:
    wrong = [v for v, ok in fits.items() if (ok if v > answer else v == answer and not ok)]
    wrong += [v for v in holes if fits.get(v)]
    below = [v for v, ok in fits.items() if v < answer and not ok]
    return Compared(wrong, [v for v in below if v in holes], [v for v in below if v not in holes])


@functools.cache
def make(name: str) -> Any:
    """A program's model on the host. A process that is forked after has it: nothing is on the GPU yet."""
    import torch

    torch.set_num_threads(1)  # those of a pool would not be there in a forked process
    file, _, function = TABLE[name].source.partition(":")
    return getattr(importlib.import_module(file), function)()


def step(row: dict[str, Any]) -> dict[str, Any]:
    """Whether training runs at a batch, in a process that ends after it."""
    import torch

    p = TABLE[row["program"]]
    model = make(row["program"]).train()
    sizes = {k: re.sub(r"\bB\b", str(row["value"]), text) for k, text in p.inputs.items()}
    kinds = {k: getattr(torch, text.partition("[")[0]) for k, text in sizes.items()}
    precise = torch.autocast("cuda", getattr(torch, p.autocast)) if p.autocast else contextlib.nullcontext()
    scaler = torch.amp.GradScaler("cuda") if p.autocast == "float16" else None
    try:
        model.to("cuda")
        shapes = {k: json.loads(text[text.index("[") :]) for k, text in sizes.items()}
        inputs = {k: torch.zeros(shapes[k], dtype=kinds[k], device="cuda") for k in sizes}
        optimizer = getattr(torch.optim, p.optimizer)(model.parameters(), lr=1e-3)

        def loss_of(out: Any) -> Any:
            return out.mean() if p.loss == "mean" else getattr(out, "loss", out)

        def iteration() -> None:
            with precise:
                loss = loss_of(model(**inputs))  # no name holds the result while the backward runs
            if scaler:
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            else:
                loss.backward()
                optimizer.step()
            optimizer.zero_grad()

        for _ in range(ITERATIONS):
            iteration()
        torch.cuda.synchronize()
    except torch.cuda.OutOfMemoryError:
        return {"fits": False}
    return {"fits": True, "reserved": torch.cuda.max_memory_reserved()}


def children() -> float:
    """Processor seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def found(name: str, cards: list[str], folder: str) -> dict[str, dict[str, Any]]:
    """What memshim fit answers of a program, by card. The programs are copied beside memspec.yaml: a
    recording of files elsewhere counts as stale."""
    shutil.copytree(PROGRAMS, folder, dirs_exist_ok=True)
    file = Path(folder) / f"{name}.json"
    file.write_text(json.dumps(spec([name], cards[0])))  # JSON is YAML
    words = ["fit", name, file.name, "--dim", "B", "--devices", ",".join(cards), "--format", "json"]
    p = subprocess.run([sys.executable, "-m", "memshim", *words], cwd=folder, capture_output=True, text=True)
    if not p.stdout:
        raise RuntimeError(p.stderr.strip().splitlines()[-1])
    return {d["device"]: d for d in json.loads(p.stdout)["devices"]}


def judge(names: list[str], cards: list[str], near: int) -> int:
    """Print a row of each program and card; how many are wrong."""
    print(
        "| program | card | answer | runs of fit | batches run | wrong | smaller that do not fit: named, others | s |"
    )
    print("|---|---|---:|---:|---:|---|---|---:|", flush=True)
    wrong = 0
    for name in names:
        before = children()
        with tempfile.TemporaryDirectory() as folder:
            try:
                answers = found(name, cards, folder)
            except RuntimeError as e:
                print(f"| {name} | | {str(e)[:300].replace('|', '/')} | | | | | |", flush=True)
                wrong += 1
                continue
        searched = children() - before
        for card in cards:
            a = answers[card]
            answer = int(a["largest"])
            rows = [{"gpu": card, "program": name, "value": str(v)} for v in to_run(answer, near)]
            fits, errors = {}, []
            p = TABLE[name]  # GradScaler reads values, and models of text may; no other loop does
            values = p.autocast == "float16" or p.inputs is TOKENS
            for row, got in forked_rows.results(__file__, rows, arguments=[name], values=values):
                if "fits" in got:
                    fits[int(row["value"])] = got["fits"]
                else:
                    errors.append(f"{row['value']}: {got['error']}")
            c = compare(answer, a.get("holes", []), fits)
            bad = [*map(str, c.wrong), *errors]
            wrong += bool(bad)
            print(
                f"| {name} | {card} | {answer} | {a['tried']} | {len(fits)} | {'; '.join(bad) or 'none'} "
                f"| {len(c.named)}, {len(c.unnamed)} | {searched:.0f} |",
                flush=True,
            )
            searched = 0.0
    return wrong


def run_finder(name: str, card: str) -> int:
    """The answer of a finder on a pretend GPU."""
    f = FINDERS[name]
    command = [sys.executable, "-m", "memshim", "run", "--on", card, "--", str(PROGRAMS / f.file)]
    p = subprocess.run([*command, *([f.word] if f.word else [])], capture_output=True, text=True)
    answer = re.search(r"^found (\d+)$", p.stdout, re.M)
    if not answer:
        raise RuntimeError((p.stderr.strip().splitlines() or ["it printed no answer"])[-1])
    return int(answer[1])


def agrees(name: str, theirs: int, ours: int) -> bool:
    """Whether an answer is the same, as far as a finder looks: accelerate tries 1,024, and nine tenths
    of it each time. As it is the tries before decide too, so that it may differ (docs/accuracy-training.md)."""
    if name in ("lightning", "deepspeed"):  # they halve to the end
        return theirs == ours
    tried = MOST_BATCH
    while tried > ours:
        tried = int(tried * 0.9)
    return theirs == tried


def judge_finders(names: list[str], cards: list[str]) -> int:
    """Print a row of each finder and card; how many disagree."""
    print(
        "| finder | card | its answer | memshim fit | agree | seconds of each |\n|---|---|---:|---:|---|---|",
        flush=True,
    )
    wrong = 0
    for name in names:
        for card in cards:
            before = children()
            theirs, between = run_finder(name, card), children()
            with tempfile.TemporaryDirectory() as folder:
                f = FINDERS[name]
                program = [str(PROGRAMS / f.file), "{N}", *([f.of_batch] if f.of_batch else [])]
                words = ["--on", card, "--vary", f"N=1..{MOST_BATCH}", "--format", "json", "--", *program]
                p = subprocess.run(
                    [sys.executable, "-m", "memshim", "fit", *words], cwd=folder, capture_output=True, text=True
                )
            if not p.stdout:
                raise RuntimeError(p.stderr.strip().splitlines()[-1])
            ours = json.loads(p.stdout)["dims"][0]["largest"]
            same = agrees(name, theirs, ours)
            wrong += not same
            seconds = f"{between - before:.0f}, {children() - between:.0f}"
            print(f"| {name} | {card} | {theirs} | {ours} | {'yes' if same else 'no'} | {seconds} |", flush=True)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="truth fit")
    parser.add_argument("--on", action="append", default=[], metavar="CARD", help=f"repeats ({', '.join(CARDS)})")
    parser.add_argument("--near", type=int, default=NEAR, help=f"run every batch within so many of the answer ({NEAR})")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a program, or finders")
    given = parser.parse_args()
    if bad := [n for n in given.names if n not in TABLE and n not in FINDERS and n != "finders"]:
        print(f"truth fit: got {bad[0]!r}, want one of {', '.join([*TABLE, 'finders', *FINDERS])}", file=sys.stderr)
        return 2
    cards = given.on or list(CARDS)
    finders = list(FINDERS) if "finders" in given.names else [n for n in given.names if n in FINDERS]
    programs = [n for n in given.names if n in TABLE] if given.names else list(TABLE)
    wrong = judge_finders(finders, cards) if finders else 0
    return 1 if wrong + (judge(programs, cards, given.near) if programs else 0) else 0


if __name__ == "__main__":
    sys.path.insert(0, str(PROGRAMS))
    if sys.argv[1:2] == ["--serve"]:
        # torch.cuda.is_available() of an import would keep the processes that are forked from CUDA
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
        make(sys.argv[2])
        sys.exit(forked_rows.serve(step))
    sys.exit(main())
