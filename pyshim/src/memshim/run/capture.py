"""Runs a model or a training step and keeps what the allocator did, as an artifact that memspec reads with nothing but Go.

    python -m memshim capture models/zoo.py:resnet50 --input 'x=float32[8,3,224,224]' --on t4 -o resnet50.rec
    python -m memshim capture models/zoo.py:resnet50 --input 'x=float32[8,3,224,224]' --on t4 --mode training --optimizer AdamW -o step.rec
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import sys
from typing import Any

from memshim import pretend, sizes
from memshim.run import gpu, inputs, on, rec, record, where
from memshim.run.attribution import Attribution, Reading
from memshim.run.build import BuildError
from memshim.run.failure import out_of_memory
from memshim.run.forward import Lines
from memshim.run.measure import _apply as apply_settings
from memshim.run.measure import _set_flags as set_flags
from memshim.run.recorder import CUDARegion
from memshim.run.step import Work, prepare
from memshim.run.storages import nbytes, storages

TRAINING, INFERENCE = 3, 2  # iterations where the case does not say


def capture(case: dict) -> bytes:
    """The .rec of a case, run in this process, which should be fresh and have a GPU, real or pretended."""
    import torch

    torch.cuda.init()
    torch.manual_seed(0)
    set_flags(case, True)
    if 0 < case["memory_fraction"] < 1:
        torch.cuda.set_per_process_memory_fraction(case["memory_fraction"])
    args, kwargs = inputs.make(case["inputs"], dtype=case["dtype"])
    with Lines():
        region = CUDARegion(0, stacks="alloc").open()
        marks = Attribution(0)
        start = marks.count()
        run = Run(case, region, marks)
        try:
            run.all(args, kwargs)
            owners = run.owners()
        finally:
            region.close()
            marks.off()
    return run.encode(Reading(region, marks, start, owners))


class Run:
    """One case, iteration by iteration."""

    def __init__(self, case: dict, region: CUDARegion, marks: Attribution):
        self.case, self.region, self.marks = case, region, marks
        self.passes: list[dict[str, Any]] = []
        self.oom: dict[str, str] | None = None
        self.work: Work | None = None

    def all(self, args: list, kwargs: dict) -> None:
        case = self.case
        training = case["mode"] == "training"
        wanted = int(case.get("iterations") or (TRAINING if training else INFERENCE))
        self.marks.on()
        name = "baseline"
        try:
            self.work = prepare(case, args, kwargs, "cuda:0", self._move)
            if self.work.model is not None:
                self.marks.watch(self.work.model)
            gc.collect()
            self._end(name, self.region.now())
            for i in range(wanted):
                name = "first" if i == 0 else "steady"
                self.region.restart_peaks()
                self.marks.begin()
                gc.collect()
                gc.disable()  # reference cycles are held to the iteration's end, whenever the collector would have come
                try:
                    result = self.work.iterate()
                    self._end(name, self.region.peaks())
                    del result
                finally:
                    gc.enable()
        except Exception as e:
            text = out_of_memory(e)
            if not text:
                raise
            self.oom = {"phase": name, "text": text}

    def _move(self, value: Any) -> Any:
        import torch
        from torch.utils._pytree import tree_map

        return tree_map(lambda t: t.to("cuda:0") if isinstance(t, torch.Tensor) else t, value)

    def _end(self, name: str, told: dict[str, int]) -> None:
        import torch

        torch.cuda.synchronize(0)
        self.passes.append(record.phase(name, self.region.mark(), told))

    def owners(self) -> dict[int, str]:
        """What is there at the end, by address."""
        import torch
        from torch.utils._pytree import tree_leaves

        out: dict[int, str] = {}

        def add(value: Any, category: str) -> None:
            for t in tree_leaves(value):
                if isinstance(t, torch.Tensor):
                    for s in storages(t):
                        if s.device.type == "cuda" and s.nbytes():
                            out.setdefault(s.data_ptr(), category)

        if self.work is not None and self.work.model is not None:
            add(list(self.work.model.parameters()), "parameter")
            add([p.grad for p in self.work.model.parameters() if p.grad is not None], "gradient")
            add(list(self.work.model.buffers()), "buffer")
            add((self.work.args, self.work.kwargs), "input")
        for o in [o for o in gc.get_objects() if issubclass(type(o), torch.optim.Optimizer) and "state" in o.__dict__]:
            for group in o.param_groups:
                add(group["params"], "parameter")
                add([p.grad for p in group["params"] if p.grad is not None], "gradient")
            add(list(map(dict, o.state.values())), "optimizer_state")
        return out

    def encode(self, reading: Reading) -> bytes:
        import torch

        case, p = self.case, torch.cuda.get_device_properties(0)
        events, sites = self.region.events, reading.sites()
        kept = [e.action in rec.ACTIONS for e in events]
        number = [0, *itertools.accumulate(kept)]  # of the events that are kept, how many come before
        starts, begin = reading.phases(), 0
        for q in self.passes:
            if q["name"] != "baseline" and case["mode"] == "training":
                q["phases"] = parts(starts, begin, q["events"], number)
            begin, q["events"] = q["events"], number[q["events"]]
        header = {"schema": record.SCHEMA, "case": case["name"], "runtime": "eager", "where": where.told("cuda"),
                  "built": self.work.how if self.work else "", "device": {"name": p.name, "total": p.total_memory,
                  "compute_capability": f"{p.major}.{p.minor}", "driver": "" if where.pretended() else gpu.driver_version()},
                  "torch": torch.__version__, "cuda": torch.version.cuda or "", "cudnn": gpu.cudnn_version(),
                  **{k: case[k] for k in record.FROM_CASE}, "weights": nbytes(self.work.state) if self.work else 0,
                  "phases": self.passes, "context": self._context(), "oom": self.oom, "notes": notes()}
        return rec.encode(header, list(itertools.compress(events, kept)), list(itertools.compress(sites, kept)), self.region.stacks)

    def _context(self) -> int | None:
        """On a pretend GPU, what is taken off for it; on a real one that hangs on what else runs there."""
        import torch

        if not where.pretended():
            return None
        free, total = torch.cuda.mem_get_info(0)
        return total - free - torch.cuda.memory_reserved(0)


def parts(starts: list[tuple[int, str]], begin: int, end: int, number: list[int]) -> list[dict[str, Any]]:
    """The phases that begin between two events: the last where several begin at one, and none that goes on as it was."""
    found: dict[int, str] = {}
    for at, name in starts:
        if begin <= at < end:
            found[number[at]] = name
    out: list[dict[str, Any]] = []
    for at, name in found.items():
        if not out or out[-1]["name"] != name:
            out.append({"name": name, "events": at})
    return out


def notes() -> list[dict[str, Any]]:
    """What makes the numbers less than exact."""
    if not where.pretended():
        return []
    from memshim.run.frames import shorten

    seen = pretend.report() if hasattr(pretend, "report") else None
    if seen is None:
        return []
    out = [{"id": "value-read", "text": f"{r.op} read {r.count} value{'s'[:r.count != 1]} that no kernel computed"
            f"{f', assumed to be {r.assumed}' if r.assumed is not None else ''}", "file": shorten(r.file), "line": r.line} for r in seen.reads]
    return out + [{"id": "unsized", "text": f"{c.name} is stood in for, but what it takes of the device is not known"} for c in seen.unsized]


def case_of(a: argparse.Namespace) -> dict:
    """A case as memspec tells one, of the command line's words."""
    dims = inputs.parse_dims(a.dim)
    texts = []
    for text in a.input:
        name, value = inputs.parse(text, dims)
        texts.append(f"{name}={inputs.show(value)}" if name else inputs.show(value))
    artifact = a.source if a.source.endswith((".pt", ".pt2")) else ""
    return {"name": a.name or os.path.basename(a.output).removesuffix(".rec"), "source": "" if artifact else a.source, "artifact": artifact, "dir": ".",
            "mode": a.mode, "grad": a.grad, "dtype": a.dtype, "autocast": a.autocast, "inputs": texts, "alloc_conf": a.alloc_conf,
            "cublas_workspace": a.cublas_workspace, "memory_fraction": 0, "runtime": "eager",
            "flags": {"tf32_matmul": False, "tf32_cudnn": True, "benchmark": False, "deterministic": False}, "optimizer": a.optimizer, "loss": a.loss,
            "accumulate": a.accumulate, "clip": a.clip, "checkpoint": a.checkpoint, "iterations": a.iterations}


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(prog="python -m memshim capture", description="Run a model or a training step and keep what the allocator did as an "
                                "artifact: memspec check, estimate, explain, diff, replay and dump read it.")
    p.add_argument("source", help="FILE.py:NAME of a module, a function that makes one, a module with inputs, or a callable that does one iteration; "
                   "or an archive (.pt, .pt2)")
    p.add_argument("-o", "--output", required=True, metavar="FILE.rec")
    p.add_argument("--input", action="append", default=[], metavar="INPUT", help="such as 'x=float32[B,3,224,224]'; repeats, without a name in order")
    p.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="a dimension's value; repeats")
    on.add_arguments(p)
    p.add_argument("--name", default="", help="the case's name (the file's)")
    p.add_argument("--mode", choices=("inference", "training"), default="inference")
    p.add_argument("--iterations", type=int, default=0, metavar="N", help=f"how many, from 2 ({TRAINING} in training, else {INFERENCE})")
    p.add_argument("--optimizer", default="", metavar="TEXT", help="in training, such as 'AdamW(lr=0.001, fused=True)', FILE.py:NAME, or none")
    p.add_argument("--loss", default="", metavar="TEXT", help="sum, mean, cross_entropy or FILE.py:NAME (the model's own, else the sum of its results)")
    p.add_argument("--accumulate", type=int, default=1, metavar="N", help="forward and backward passes a step (1)")
    p.add_argument("--clip", type=float, default=0, metavar="NORM", help="clip the norm of the gradients")
    p.add_argument("--checkpoint", default="", metavar="MODULES", help="activation checkpointing of modules such as 'layers.*', 'reentrant: layers.*', or true")
    p.add_argument("--autocast", choices=("float16", "bfloat16"), default="")
    p.add_argument("--dtype", choices=("float16", "bfloat16", "float32", "float64"), default="")
    p.add_argument("--grad", choices=("no_grad", "inference_mode"), default="no_grad")
    p.add_argument("--alloc-conf", default="", metavar="TEXT", help="PYTORCH_CUDA_ALLOC_CONF")
    p.add_argument("--cublas-workspace", default="", metavar="TEXT", help="CUBLAS_WORKSPACE_CONFIG")
    a = p.parse_args(arguments)
    if a.iterations and a.iterations < 2:
        p.error(f"argument --iterations: got {a.iterations}, want 2 or more: the first, and a steady one")
    if (code := on.enter(a, "capture")) is not None:
        return code
    try:
        case = case_of(a)
        apply_settings(case)
        data = capture(case)
    except (BuildError, inputs.InputError) as e:
        print(f"memshim capture: {e}", file=sys.stderr)
        return on.USAGE
    path = rec.write(data, a.output)
    print(f"{path} ({sizes.show(len(data))})")
    return 0
