"""Fine-tuning with the libraries that the field uses, each program unmodified under memshim run:
python -m truth finetune [--on DEVICE] [NAME…]

The programs are those of finetune/, of a tiny model each; make truth-finetune makes an environment
with the libraries. A NAME is a program's, with or without its arguments, such as qlora or
"qlora nf4". The table says whether it works, else the last line of what was said; peaks are
PyTorch's own, seconds are processor time with imports. The exit code is 1 where a program failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

PROGRAMS = Path(__file__).parent / "finetune"
MIB = 1 << 20
LIMIT = 900  # seconds, of one program
PROGRAM_ARGUMENTS = {
    "bnb_layers": ("nf4", "fp4", "double", "int8"),
    "bnb_optimizers": (
        "Adam8bit",
        "AdamW8bit",
        "PagedAdamW8bit",
        "PagedAdamW32bit",
        "PagedAdamW",
        "Lion8bit",
        "PagedLion8bit",
        "SGD8bit",
        "RMSprop8bit",
        "AdEMAMix8bit",
    ),
    "qlora": ("nf4", "int8", "dora"),
    "peft_adapters": (
        "lora",
        "rslora",
        "dora",
        "pissa",
        "loftq",
        "ia3",
        "prompt",
        "prefix",
        "p-tuning",
        "oft",
        "boft",
        "loha",
        "lokr",
        "adalora",
        "vera",
        "ln",
    ),
    "peft_merged": ("",),
    "trl_sft": ("plain", "packed", "wrapped", "padding-free", "assistant", "qlora", "liger", "offload"),
    "trl_preferences": ("dpo", "dpo-adapter", "orpo", "kto", "cpo", "reward"),
    "trl_grpo": ("",),
    "torchao_weights": ("int8", "int8-dynamic", "float8", "float8-dynamic", "int4"),
    "torchao_training": ("float8", "int8-mixed", "int8-weights", "qat"),
    "torchao_optimizers": ("offload", "AdamW8bit", "AdamW4bit", "AdamWFp8"),
    "qlora_8b": ("",),
    "hqq_layers": ("load-4", "own-4", "own-2", "lora-4"),
    "quantised_models": ("W4A16", "W8A8", "FP8", "gptq", "awq"),
    "liger": ("patched", "loss"),
    "attention_kernels": ("xformers", "flash-attn"),
    "own_kernels": ("flex", "flex-compiled", "triton", "triton-autotuned"),
    "lightning_trainer": (
        "fabric",
        '{"precision": "bf16-mixed"}',
        '{"precision": "16-mixed"}',
        '{"precision": "bf16-true"}',
        '{"accumulate_grad_batches": 2}',
        '{"gradient_clip_val": 1.0}',
    ),
    "accelerate_loop": ("bf16", "fp16", "accumulate", "find", "cpu_offload", "disk_offload", "dispatch"),
    "diffusers_pipeline": (
        "sd-plain",
        "sd-slicing",
        "sd-tiling",
        "sd-model",
        "sdxl-plain",
        "sdxl-sequential",
        "sd3-plain",
        "sd3-model",
        "flux-plain",
        "flux-sequential",
        "flux-group",
    ),
    "diffusers_training": ("lora", "ema"),
    "sentence_embeddings": ("ranking", "cached", "matryoshka", "encode"),
    "timm_training": ("adamw", "muon", "checkpointing"),
    "timm_train": ("amp", "compiled"),
    "trainer": (
        '{"bf16": true}',
        '{"fp16": true}',
        '{"gradient_checkpointing": true}',
        '{"optim": "adafactor"}',
        '{"optim": "adamw_torch_4bit"}',
        '{"optim": "adamw_torch_8bit"}',
        '{"optim": "paged_lion_32bit"}',
        '{"do_eval": true, "bf16_full_eval": true}',
        '{"do_eval": true, "eval_accumulation_steps": 1}',
        '{"auto_find_batch_size": true}',
        '{"train_sampling_strategy": "group_by_length"}',
        '{"gradient_accumulation_steps": 2}',
        '{"use_liger_kernel": true}',
        '{"torch_empty_cache_steps": 1}',
        '{"torch_compile": true}',
    ),
}


class Result(NamedTuple):
    works: bool
    said: str
    allocated: int  # bytes, at the peak; of several processes the most
    reserved: int
    pinned: int  # of the host
    seconds: float  # of the processor


def chosen(names: list[str]) -> dict[str, list[str]]:
    """The arguments of each program that is wanted."""
    wanted = {
        p: [a for a in arguments if not names or p in names or f"{p} {a}".strip() in names]
        for p, arguments in PROGRAM_ARGUMENTS.items()
    }
    return {p: arguments for p, arguments in wanted.items() if arguments}


def last_line(output: str) -> str:
    """The line that names what failed: an exception's where there is one, else the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit|NotFound\w*|Unsupported)\b", line)]
    asked = [line for line in lines if line.startswith("memspec: ") and line.endswith("it fails")]
    return next(reversed(asked or errors or lines), "nothing was said")


def run(program: str, argument: str, device: str) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            p = subprocess.run(
                [sys.executable, "-m", "memshim", "run", "--on", device, "--json", str(report), "--"]
                + [str(PROGRAMS / f"{program}.py"), *filter(None, [argument])],
                env=os.environ | {"TMPDIR": folder, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired:
            return Result(False, f"no end within {LIMIT} s", 0, 0, 0, 0)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if os.environ.get("MEMSPEC_TRUTH_LOG"):
            print(f"== {program} {argument}\n{p.stdout}", file=sys.stderr, flush=True)
        found: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {"exit": 1, "processes": []}
        processes: list[dict[str, Any]] = found["processes"]
        devices = [d for process in processes for d in process["devices"]]
        return Result(
            found["exit"] == 0 and bool(devices),  # the program's own; that of run says whether it fits
            last_line(p.stdout),
            max((d["allocated"] for d in devices), default=0),
            max((d["reserved"] for d in devices), default=0),
            max((process["host_pinned"] or 0 for process in processes), default=0),
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="truth finetune")
    parser.add_argument("--on", default="rtx-4090", help="a device of memspec devices")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    wanted = chosen(given.names)
    if not wanted:
        print(f"truth finetune: got {given.names[0]!r}, want one of {', '.join(PROGRAM_ARGUMENTS)}", file=sys.stderr)
        return 2
    count = failed = 0
    print("| program | result | allocated, MiB | reserved, MiB | host pinned, MiB | seconds |")
    print("|---|---|---:|---:|---:|---:|", flush=True)
    for program, arguments in wanted.items():
        for argument in arguments:
            r = run(program, argument, given.on)
            count, failed = count + 1, failed + (not r.works)
            sizes = f"{r.allocated / MIB:.2f} | {r.reserved / MIB:.0f} | {r.pinned / MIB:.2f}"
            result = "works" if r.works else r.said[:300].replace("|", "/")
            row = f"{program} {argument}".strip()
            print(f"| {row} | {result} | {sizes if r.works else '- | - | -'} | {r.seconds:.0f} |", flush=True)
    print(f"\n{count - failed} of {count} work")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
