"""Training on several GPUs with the frameworks that the field uses, each program unmodified under
memshim run: python -m truth frameworks [--on DEVICE] [--world N] [NAME…]

The programs are those of frameworks/, of a tiny model each; make truth-frameworks makes an
environment with the frameworks. A row is a program, its arguments, and how it runs: "alone", the
first and the last rank of N, each in one process; or "launched", two processes that its own
launcher starts. A NAME is a part of a row, such as accelerate or "deepspeed_train 3 launched". The
table says whether it works, else the line that names what is missing; peaks are PyTorch's own, of
the rank that takes most, seconds are processor time with imports. The exit code is 1 where a
program failed.
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
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from truth_finetune import MIB, last_line

HERE = Path(__file__).parent
PROGRAMS = HERE / "frameworks"
LIMIT = 1800  # seconds, of one program
COUNT = 2  # processes of a launcher
ALONE, LAUNCHED = "alone", "launched"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(COUNT)]
ACCELERATE = ["-m", "accelerate.commands.launch", "--num_processes", str(COUNT), "--num_machines", "1"]
DEEPSPEED = ["-m", "deepspeed.launcher.runner", "--no_local_rank", "--num_gpus", str(COUNT)]
TRAINERS = (
    "{}",
    '{"fsdp": true, "fsdp_config": {"version": 2, "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}}',
)
TITAN = ["--model.name", "llama3", "--model.flavor", "debugmodel", "--model.hf_assets_path", "tests/assets/tokenizer"]
TITAN += ["--training.steps", "3", "--training.local_batch_size", "1", "--training.seq_len", "256"]
TITAN_OPTIONS = (
    [],
    ["--compile.enable"],
    ["--parallelism.tensor_parallel_degree", "2"],
    ["--model.converters", "quantize.linear.float8", "--quantize.linear.float8.emulate"],
)


class Row(NamedTuple):
    program: str
    arguments: list[str]
    launcher: list[str] | None  # before the program; None where it starts its processes itself


def rows() -> list[Row]:
    return [
        *(Row("accelerate_train", [s], ACCELERATE) for s in ("ddp", "fsdp1", "fsdp2")),
        *(Row("trainer_ranks", [a], TORCHRUN) for a in TRAINERS),
        *(
            Row("lightning_fit", [s, "N", *more], None)
            for more in ([], ["checkpoint"])
            for s in ("ddp", "fsdp", "model_parallel")
        ),
        *(
            Row("deepspeed_train", [stage, *place], DEEPSPEED)
            for stage, *place in (("1",), ("2",), ("3",), ("1", "offload"), ("2", "offload"), ("3", "offload"))
        ),
        *(Row("titan", [*TITAN, *options], TORCHRUN) for options in TITAN_OPTIONS),
        Row("megatron_train", [], TORCHRUN),
    ]


class Result(NamedTuple):
    works: bool
    said: str
    allocated: int  # bytes, at the peak; of several ranks the most
    reserved: int
    seconds: float  # of the processor


def command(row: Row, how: str, world: int) -> list[str]:
    """memshim run's options, and the program. N stands for the number of ranks."""
    program = [str(PROGRAMS / f"{row.program}.py")]
    arguments = [str(world if how == ALONE else COUNT) if a == "N" else a for a in row.arguments]
    if how == ALONE:
        return ["--world-size", str(world), "--rank", "first,last", "--", *program, *arguments]
    return ["--count", str(COUNT), "--", *(row.launcher or []), *program, *arguments]


def works(found: dict[str, Any], ranks: list[dict[str, Any]]) -> bool:
    """Whether the program ended well, by its own exit code, whatever the answer to whether it fits; and
    two ranks used a device."""
    return not any(r["exit"] for r in found.get("ranks") or [found]) and sum(r["reserved"] > 0 for r in ranks) >= COUNT


class Ran(NamedTuple):
    report: dict[str, Any]  # memshim run's, as JSON
    printed: str
    seconds: float  # of the processor
    host: int = 0  # bytes that its largest process had in the host's memory


def report_of(options: list[str], device: str, limit: int, variables: Mapping[str, str] | None = None) -> Ran | None:
    """What memshim run says of a program of PROGRAMS; None where it does not end within so many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        report, printed = Path(folder) / "report.json", Path(folder) / "printed"
        paths = [str(HERE / "finetune"), *filter(None, [os.environ.get("PYTHONPATH")])]
        with printed.open("wb") as out:
            p = subprocess.Popen(
                [sys.executable, "-m", "memshim", "run", "--on", device, "--json", str(report), *options],
                env=os.environ
                | {
                    "TMPDIR": folder,
                    "HF_HUB_OFFLINE": "1",
                    "TOKENIZERS_PARALLELISM": "false",
                    "PYTHONPATH": os.pathsep.join(paths),
                    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
                }
                | dict(variables or {}),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
            used = ended(p, limit)
        said = printed.read_text(errors="replace")
        if os.environ.get("MEMSPEC_TRUTH_LOG"):
            print(f"== {' '.join(options)}\n{said}", file=sys.stderr, flush=True)
        if used is None:
            return None
        found = json.loads(report.read_text()) if report.exists() else {"exit": 1, "processes": []}
        return Ran(found, said, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def without_ranks(printed: str) -> str:
    """The lines of ranks without what names the rank, [rank0]: at their beginning."""
    return re.sub(r"^\[rank\d+\]: ?", "", printed, flags=re.MULTILINE)


def ended(process: subprocess.Popen[bytes], limit: int) -> resource.struct_rusage | None:
    """What a process took, with all that it waited for, once it has ended; None where it took more than so
    many seconds, and was killed."""
    until = time.monotonic() + limit
    while True:
        found, status, used = os.wait4(process.pid, os.WNOHANG)
        if found:
            process.returncode = os.waitstatus_to_exitcode(status)
            return used
        if time.monotonic() > until:
            process.terminate()  # memshim run ends what it started
            process.wait()
            return None
        time.sleep(0.05)


def run(row: Row, how: str, device: str, world: int) -> Result:
    ran = report_of(command(row, how, world), device, LIMIT)
    if ran is None:
        return Result(False, f"no end within {LIMIT} s", 0, 0, 0)
    ranks = ran.report.get("ranks") or [d for p in ran.report["processes"] for d in p["devices"]]
    return Result(
        works(ran.report, ranks),
        last_line(without_ranks(ran.printed)),
        max((r["allocated"] for r in ranks), default=0),
        max((r["reserved"] for r in ranks), default=0),
        ran.seconds,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="truth frameworks")
    parser.add_argument("--on", default="h100-sxm-80gb", help="a device of memspec devices")
    parser.add_argument("--world", type=int, default=8, help="ranks, of which the first and the last run alone")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    every = [(f"{r.program} {' '.join(r.arguments)} {how}", r, how) for r in rows() for how in (ALONE, LAUNCHED)]
    wanted = [e for e in every if not given.names or any(n in e[0] for n in given.names)]
    if not wanted:
        print(f"truth frameworks: got {given.names[0]!r}, want a part of one of these:", file=sys.stderr)
        print("\n".join(name for name, _, _ in every), file=sys.stderr)
        return 2
    failed = 0
    print("| program | how | result | allocated, MiB | reserved, MiB | seconds |")
    print("|---|---|---|---:|---:|---:|", flush=True)
    for name, row, how in wanted:
        r = run(row, how, given.on, given.world)
        failed += not r.works
        sizes = f"{r.allocated / MIB:.2f} | {r.reserved / MIB:.0f}" if r.works else "- | -"
        result = "works" if r.works else r.said[:300].replace("|", "/")
        said = name.removesuffix(f" {how}").replace("|", "/")
        print(f"| {said} | {how} | {result} | {sizes} | {r.seconds:.0f} |", flush=True)
    print(f"\n{len(wanted) - failed} of {len(wanted)} work")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
