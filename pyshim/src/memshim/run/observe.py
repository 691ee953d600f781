"""In every process of a program under `memshim run`: from torch's import to the process's end, what it takes of each pretend GPU.

Started by startup/sitecustomize.py, where the environment asks for it. It hears of an optimizer's steps and reads the allocator's own history; nothing
that the program made is touched, and its errors and exit code are its own.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from memshim.run.recorder import CUDARegion

WANTED = "MEMSPEC_RUN"  # JSON: the folder where each process leaves PID.json, how many lines its table has, and whether it leaves PID.DEVICE.rec
MOST_EVENTS = 1_000_000  # of one device in one process, some 400 MB; peaks are counted in any event
EVERY = 8  # iterations between two looks at how many there are


class Iteration(NamedTuple):
    """From one step of the optimizer to the next: peaks in bytes."""

    allocated: int
    reserved: int


class Recorded:
    """A program as a recording: an iteration is a pass, and before the first nothing is held. Of a program without an optimizer the first pass is all
    of it. Whose each tensor is nobody tells."""

    def __init__(self) -> None:
        from memshim.run import record

        self.passes = [record.phase(record.PHASES[0], 0, dict.fromkeys(record.METRICS, 0))]

    def end(self, region: CUDARegion, peaks: dict[str, int]) -> None:
        from memshim.run import record

        self.passes.append(record.phase(record.PHASES[min(len(self.passes), 2)], region.mark(), peaks))

    def last(self, region: CUDARegion, peaks: dict[str, int], now: dict[str, int]) -> None:
        """What came after the last step; the region has ended."""
        end = len(region.events)
        if any(e.action == "alloc" for e in region.events[self.passes[-1]["events"]:]):
            self.end(region, peaks)
        self.passes[-1]["events"] = end
        if len(self.passes) < 3:
            self.end(region, now)

    def encode(self, region: CUDARegion, out_of_memory: str) -> bytes:
        import itertools

        import torch

        from memshim.run import gpu, rec, record
        from memshim.run.account import pretend_context
        from memshim.run.iterations import notes
        from memshim.run.settings import compiled, flags_now

        p = torch.cuda.get_device_properties(region.index)
        kept = [e.action in rec.ACTIONS for e in region.events]
        number = [0, *itertools.accumulate(map(int, kept))]
        passes = [q | {"events": number[q["events"]]} for q in self.passes]
        if out_of_memory:
            passes = passes[:-1] if len(passes) > 2 and passes[-1]["events"] == passes[-2]["events"] else passes
        asked = {"mode": "training" if len(self.passes) > 3 else "inference", "alloc_conf": os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""),
                 "cublas_workspace": os.environ.get("CUBLAS_WORKSPACE_CONFIG", ""), "memory_fraction": 0, "flags": flags_now({}), "grad": "no_grad",
                 "autocast": "", "dtype": "", "inputs": [], "artifact": "", "source": ""}
        header = {"schema": record.SCHEMA, "case": os.path.basename(sys.argv[0]) or "program", "runtime": "eager", "where": "pretend", "built": "a program",
                  "device": {"name": p.name, "total": p.total_memory, "compute_capability": f"{p.major}.{p.minor}", "driver": "",
                             "sms": p.multi_processor_count},
                  "torch": torch.__version__, "cuda": torch.version.cuda or "", "cudnn": gpu.cudnn_version(), **asked, "weights": 0, "phases": passes,
                  "context": pretend_context(), "oom": {"phase": passes[-1]["name"], "text": out_of_memory} if out_of_memory else None,
                  "notes": notes(), "training": None, **({"compiled": True} if compiled() else {})}
        sites = [rec.Site(stack=e.forward if e.forward >= 0 else e.stack) if e.action in ("alloc", "oom") else None for e in region.events]
        return rec.encode(header, list(itertools.compress(region.events, kept)), list(itertools.compress(sites, kept)), region.stacks)


class Device:
    """One pretend GPU as this process uses it."""

    def __init__(self, index: int, recorded: Recorded | None = None):
        from memshim.run.recorder import CUDARegion

        self.index, self.recorded = index, recorded
        self.whole, self.part = CUDARegion(index).open(), CUDARegion(index, events=False).open()
        self.iterations: list[Iteration] = []

    def step(self) -> None:
        """An optimizer has stepped."""
        peaks = self.part.peaks()
        self.iterations.append(Iteration(peaks["allocated"], peaks["reserved"]))
        if self.recorded:
            self.recorded.end(self.whole, peaks)
        self.part.restart_peaks()
        if self.whole.keeps_events and len(self.iterations) % EVERY == 0 and self.whole.mark() > MOST_EVENTS:
            self.whole.keep_events(False)
            self.whole.lost = f"lines are told of the first {len(self.iterations)} iterations"

    def told(self, top: int | None) -> dict[str, Any] | None:
        """What it came to; None where nothing was taken of it."""
        import torch

        from memshim.look.trace import trace

        rest, now = self.part.peaks(), self.part.now()
        self.part.close()
        self.whole.close()
        peaks = self.whole.peaks()
        if self.recorded:
            self.recorded.last(self.whole, rest, now)
        ooms = torch.cuda.memory_stats(self.index).get("num_ooms", 0)
        if not peaks["reserved"] and not ooms:
            return None
        table = trace.of(self.whole, top=top)
        free, total = torch.cuda.mem_get_info(self.index)
        context = total - free - torch.cuda.memory_reserved(self.index)
        return {"index": self.index, "name": torch.cuda.get_device_name(self.index), "memory": total, "context": context,
                "allocated": peaks["allocated"], "reserved": peaks["reserved"], "total": peaks["reserved"] + context,
                "iterations": [i._asdict() for i in self.iterations], "ooms": ooms,
                "lines": table.as_json(), "table": table.table()}


class Observer:
    """Of this process."""

    def __init__(self, folder: str, top: int | None, records: bool):
        from memshim.run.forward import Lines

        self._folder, self._top, self._records, self._pid = folder, top, records, os.getpid()
        self.devices: list[Device] = []
        self._stepping: Any = None  # the optimizer whose steps end iterations: the first that steps
        self._lines = Lines()

    def begin(self) -> None:
        """torch is imported."""
        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook

        self._lines.__enter__()
        warnings.filterwarnings("ignore", "Error detected in .*Backward.*")  # of the lines that we keep for the backward: told nowhere else
        register_optimizer_step_post_hook(self._stepped)
        torch.cuda._lazy_call(self._started)
        atexit.register(self._end)

    def _started(self) -> None:
        import torch

        self.devices = [Device(i, Recorded() if self._records else None) for i in range(torch.cuda.device_count())]

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._stepping = self._stepping or id(optimizer)
        if id(optimizer) == self._stepping and os.getpid() == self._pid:
            for d in self.devices:
                d.step()

    def _end(self) -> None:
        if os.getpid() != self._pid:  # a fork's
            return
        try:
            self._write()
        except Exception as e:
            traceback.print_exception(e)
            print(f"memshim: what {' '.join(sys.argv)} takes cannot be told: {type(e).__name__}: {e}", file=sys.stderr)

    def _write(self) -> None:
        import torch

        from memshim import pretend
        from memshim.run.failure import missing, out_of_memory

        error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)  # what ended the program
        devices = [told for d in self.devices if (told := d.told(self._top))]
        told = getattr(pretend, "report", None)  # of values and calls
        seen = told().as_json() if told else {"exact": True, "reads": [], "refused": [], "absent": [], "unsized": [], "timed": []}
        out = {"pid": self._pid, "arguments": sys.argv, "torch": torch.__version__, "out_of_memory": out_of_memory(error) if error else "",
               "missing": missing(error) if error else "", "devices": devices, **{k: seen[k] for k in ("exact", "reads", "refused", "absent", "unsized", "timed")}}
        for d in self.devices:
            if d.recorded and any(told["index"] == d.index for told in devices):
                Path(self._folder, f"{self._pid}.{d.index}.rec").write_bytes(d.recorded.encode(d.whole, out["out_of_memory"]))
        path = os.path.join(self._folder, f"{self._pid}.json")
        with open(path + ".part", "w", encoding="utf-8") as f:
            json.dump(out, f)
        os.replace(path + ".part", path)


def begin() -> None:
    """Observe this process, as the environment says."""
    wanted = json.loads(os.environ[WANTED])
    if os.path.isdir(wanted["folder"]):  # else it outlived the command that began it
        Observer(wanted["folder"], wanted["top"], wanted["record"]).begin()
