"""In every process of a program under `memshim run`: from torch's import to the process's end, what
it takes of each pretend GPU.

Started by startup/sitecustomize.py, where the environment asks for it. It hears of an optimizer's
steps and reads the allocator's own history; nothing that the program made is touched, and its
errors and exit code are its own. A process that ends by a signal or by os._exit writes nothing
here: of that one the library's figures remain (process_reports.py).
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memshim.printed import say

if TYPE_CHECKING:
    from memshim.allocator.recorder import CUDARegion
    from memshim.allocator.recording import Site
    from memshim.case.compiled_iterations import Compiling

# JSON: the folder where each process leaves PID.json, how many lines its table has, where
# recordings are to lie (each process leaves PID.DEVICE.rec; "" for none), and the command. Of a
# case of a memspec.yaml also its name, the folder of that file, and depends: (program_case.py).
WANTED = "MEMSPEC_RUN"
MOST_EVENTS = 1_000_000  # of one device in one process, some 400 MB; peaks are counted in any event


class Iteration(NamedTuple):
    """From one step of the optimizer to the next: peaks in bytes, and whether torch.compile
    compiled in it."""

    allocated: int
    reserved: int
    compiled: bool


class Recorded:
    """A program as a recording: an iteration is a pass, and before the first nothing is held. Of a
    program without an optimizer the first pass is all of it. What compiles something belongs to the
    first pass."""

    def __init__(self, compiling: Compiling, region: CUDARegion) -> None:
        from memshim.attribution.owners import Owners
        from memshim.case import record

        self.compiling, self.owners, self.steps = compiling, Owners(region), 0
        self.passes = [record.phase(record.PHASES[0], 0, dict.fromkeys(record.METRICS, 0))]

    def stepped(self, region: CUDARegion, peaks: dict[str, int]) -> None:
        self.steps += 1
        self.end(region, peaks)
        self.owners.marks.begin()

    def end(self, region: CUDARegion, peaks: dict[str, int]) -> None:
        from memshim.case import record
        from memshim.case.compiled_iterations import merge

        self.passes.append(record.phase(record.PHASES[min(len(self.passes), 2)], region.mark(), peaks))
        if self.compiling.seen:
            merge(self.passes)

    def last(self, region: CUDARegion, peaks: dict[str, int], now: dict[str, int]) -> None:
        """What came after the last step; the region has ended."""
        end = len(region.events)
        if any(e.action == "alloc" for e in region.events[self.passes[-1]["events"] :]):
            self.end(region, peaks)
        self.passes[-1]["events"] = end
        if len(self.passes) < 3:
            self.end(region, now)

    def encode(self, region: CUDARegion, out_of_memory: str, made: dict[str, Any] | None, name: str = "") -> bytes:
        import itertools

        import torch

        from memshim.allocator import recording
        from memshim.allocator.events import ACTIONS
        from memshim.case import record
        from memshim.case.iterations import notes, parts
        from memshim.case.passes import pretend_context
        from memshim.case.settings import compiled, flags_now
        from memshim.gpu import devices, queries
        from memshim.pretend import communicators
        from memshim.pretend.library import Library

        p = torch.cuda.get_device_properties(region.index)
        sites, starts = self._attributed(region)  # which may put events in another order
        kept = [e.action in ACTIONS for e in region.events]
        number = [0, *itertools.accumulate(map(int, kept))]
        passes = [q | {"events": number[q["events"]]} for q in self.passes]
        if out_of_memory:
            passes = passes[:-1] if len(passes) > 2 and passes[-1]["events"] == passes[-2]["events"] else passes
        for begin, q in itertools.pairwise([{"events": 0}, *self.passes]):
            if self.steps and q["name"] != "baseline":
                q["phases"] = parts(starts, begin["events"], q["events"], number)
        passes = [q | {"phases": of["phases"]} if "phases" in of else q for q, of in zip(passes, self.passes)]
        asked: dict[str, Any] = {
            "mode": "training" if self.steps else "program",
            "alloc_conf": os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""),
            "cublas_workspace": os.environ.get("CUBLAS_WORKSPACE_CONFIG", ""),
            "memory_fraction": 0,
            "flags": flags_now({}),
            "grad": "no_grad",
            "autocast": "",
            "dtype": "",
            "inputs": [],
            "artifact": "",
            "source": "",
        }
        header = {
            "schema": record.SCHEMA,
            "case": name or os.path.basename(sys.argv[0]) or "program",
            "runtime": "eager",
            "where": "pretend",
            "built": "a program",
            "device": {
                "name": p.name,
                "total": p.total_memory,
                "compute_capability": f"{p.major}.{p.minor}",
                "driver": "",
                "sms": p.multi_processor_count,
                **queries.asked(),
            },
            "torch": torch.__version__,
            "cuda": torch.version.cuda or "",
            "cudnn": devices.cudnn_version(),
            **asked,
            "weights": 0,
            "phases": passes,
            "context": pretend_context(),
            **communicators.header(region.index),
            "host_pinned": Library().pinned(),
            "oom": {"phase": passes[-1]["name"], "text": out_of_memory} if out_of_memory else None,
            "notes": notes(),
            "training": None,
            **({"compiled": True} if compiled() else {}),
            **({"made": made} if made else {}),
        }
        return recording.encode(
            header, list(itertools.compress(region.events, kept)), list(itertools.compress(sites, kept)), region.stacks
        )

    def _attributed(self, region: CUDARegion) -> tuple[list[Site | None], list[tuple[int, str]]]:
        """Whose each event is, and where phases begin."""
        from memshim.allocator import recording

        if region.lost and not self.owners.ended:  # events are missing: counts do not say which one a mark lies before
            return [
                recording.Site(category="untraced", stack=e.forward if e.forward >= 0 else e.stack)
                if e.action in ("alloc", "oom")
                else None
                for e in region.events
            ], []
        reading = self.owners.reading()
        return reading.sites(), reading.phases()


class Device:
    """One pretend GPU as this process uses it."""

    def __init__(self, index: int, compiling: Compiling, record: bool):
        from memshim.allocator import steady
        from memshim.allocator.recorder import CUDARegion

        self.index, self.compiling, self.interval = index, compiling, steady.Interval()
        self.whole, self.part = (
            CUDARegion(index, "alloc" if record else "python").open(),
            CUDARegion(index, events=False).open(),
        )
        self.recorded = Recorded(compiling, self.whole) if record else None
        self.iterations: list[Iteration] = []

    def step(self) -> None:
        """An optimizer has stepped."""
        peaks = self.part.restart_peaks()
        self.iterations.append(Iteration(peaks["allocated"], peaks["reserved"], self.compiling.seen))
        if self.recorded:
            self.recorded.stepped(self.whole, peaks)
        due = self.whole.keeps_events and self.interval.is_over(len(self.iterations))
        if due and self._events() > MOST_EVENTS:
            if self.recorded:
                self.recorded.owners.end()
            self.whole.keep_events(False)
            self.whole.lost = f"source lines are known for the first {len(self.iterations)} iterations"

    def _events(self) -> int:
        """How many are kept so far. A recording has those of every iteration."""
        if self.recorded:
            return self.whole.mark()
        count, state = self.whole.mark_or_skip(), self.whole.state
        self.interval.looked(self.whole.skipped, state.made if state else 0)
        return count

    def report(self, top: int | None) -> dict[str, Any] | None:
        """What it came to; None where nothing was taken of it."""
        import torch

        from memshim.look.trace import trace
        from memshim.pretend import communicators

        if self.recorded:
            self.recorded.owners.look()
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
        return {
            "index": self.index,
            "name": torch.cuda.get_device_name(self.index),
            "memory": total,
            "context": context,
            "allocated": peaks["allocated"],
            "reserved": peaks["reserved"],
            "total": peaks["reserved"] + context,
            **communicators.header(self.index),
            "iterations": [i._asdict() for i in self.iterations],
            "ooms": ooms,
            "lines": table.as_json(),
            "table": table.table(),
        }


class Observer:
    """Of this process."""

    def __init__(self, wanted: dict[str, Any]):
        from memshim.attribution.forward_lines import Lines
        from memshim.pretend import absent
        from memshim.program.phases import Phases
        from memshim.program.places import Places

        self._wanted, self._pid = wanted, os.getpid()
        self._folder, self._top, self._record = wanted["folder"], wanted["top"], wanted["record"] or ""
        self._parent, self._limit = wanted.get("parent", 0), wanted.get("steps", 0)
        self._steps: dict[int, int] = {}  # of each optimizer that stepped
        rank = absent.current()
        self._phases = Phases()
        self._places = Places(rank.rank, rank.world_size) if rank else None
        self._file = ""  # of this process's figures, as the library keeps them
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        self._main = os.path.abspath(main) if main else ""  # while it is known: Python forgets it before the end
        self.devices: list[Device] = []
        self._stepping: Any = None  # the optimizer whose steps end iterations: the first that steps
        self._lines = Lines()
        self._compiling: Any = None

    def begin(self) -> None:
        """torch is imported."""
        import multiprocessing
        from multiprocessing import util

        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook

        from memshim.case.compiled_iterations import Compiling
        from memshim.gpu import queries
        from memshim.pretend.absent import launchers

        self._lines.__enter__()
        # of the lines that we keep for the backward: reported nowhere else
        warnings.filterwarnings("ignore", "Error detected in .*Backward.*")
        register_optimizer_step_post_hook(self._stepped)
        self._compiling = Compiling()
        if self._record:
            queries.begin()
        self._phases.watch()
        if self._places:
            self._places.watch()
        elif torch.distributed.is_available():
            launchers.refuse_waiting(self._parent)
        torch.cuda._lazy_call(self._started)
        self._keep_figures()
        atexit.register(self._end)
        os.register_at_fork(after_in_child=self._forked)
        # when multiprocessing has cleared what the parent registered
        util.register_after_fork(self, Observer._finalize)
        if multiprocessing.parent_process() is not None:
            self._finalize()

    def _keep_figures(self) -> None:
        """Whatever ends this process, the library's figures are there."""
        from memshim.pretend.library import Library

        with contextlib.suppress(OSError):
            self._file = Library().figures()

    def _forked(self) -> None:
        """In a forked child. Where CUDA had begun PyTorch refuses it here, and there is nothing to
        report."""
        if not self.devices:
            self._pid, self._stepping = os.getpid(), None
        self._keep_figures()

    def _finalize(self) -> None:
        """A process of multiprocessing's ends by os._exit, after its own finalizers."""
        from multiprocessing import util

        util.Finalize(None, self._end, exitpriority=-100)

    def _started(self) -> None:
        import torch

        c, there = self._compiling, range(torch.cuda.device_count())
        self.devices = [Device(i, c, bool(self._record)) for i in there]

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._phases.stepped()
        self._stepping = self._stepping or id(optimizer)
        if os.getpid() == self._pid:
            for d in self.devices:
                if d.recorded:
                    d.recorded.owners.stepped(optimizer)
        if id(optimizer) == self._stepping and os.getpid() == self._pid:
            for d in self.devices:
                d.step()
            self._compiling.restart()
        if self._places:
            self._places.stepped(optimizer)
        self._steps[id(optimizer)] = self._steps.get(id(optimizer), 0) + 1
        if self._limit and min(self._steps.values()) >= self._limit:
            raise SystemExit(0)

    def _end(self) -> None:
        if os.getpid() != self._pid:  # a fork's, or it is done
            return
        self._pid = 0
        try:
            self._write()
        except Exception as e:
            from memshim.program.process_reports import LOST

            # first: where a file cannot be written, standard error may be one too
            with contextlib.suppress(OSError):
                open(os.path.join(self._folder, f"{os.getpid()}{LOST}"), "wb").close()
            traceback.print_exception(e)
            say(f"memshim: what {' '.join(sys.argv)} takes is unknown: {type(e).__name__}: {e}", file=sys.stderr)

    def _write(self) -> None:
        import torch

        from memshim import pretend
        from memshim.files import write_whole
        from memshim.gpu.failure import missing, out_of_memory
        from memshim.pretend import writes

        error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)  # what ended the program
        devices = [device for d in self.devices if (device := d.report(self._top))]
        seen = pretend.report().as_json()  # of values and calls
        out = {
            "pid": os.getpid(),
            "figures": self._file,
            "arguments": sys.argv,
            "torch": torch.__version__,
            "out_of_memory": out_of_memory(error) if error else "",
            "missing": missing(error) if error else "",
            "devices": devices,
            **{
                k: seen[k]
                for k in ("exact", "reads", "refused", "absent", "unsized", "estimated", "timed", "without_gradient")
            },
            "files": guard.listed() if (guard := writes.guard()) else [],
            "kept_back": writes.uploads,
            "phases": self._phases.names(),
            **({"rank": self._places.as_json()} if self._places else {}),
        }
        made = self._made() if self._record and devices else None
        for d in self.devices:
            if d.recorded and any(device["index"] == d.index for device in devices):
                write_whole(
                    Path(self._folder, f"{os.getpid()}.{d.index}.rec"),
                    d.recorded.encode(d.whole, str(out["out_of_memory"]), made, self._wanted.get("case", "")),
                )
        write_whole(Path(self._folder, f"{os.getpid()}.json"), json.dumps(out).encode())

    def _made(self) -> dict[str, Any]:
        """What the program was, and what it read."""
        from memshim.origin import provenance, reads
        from memshim.origin.dependencies import Depends

        seen, wanted = reads.current(), self._wanted
        folder = wanted.get("dir") or (os.path.dirname(self._main) if self._main else seen.cwd if seen else os.getcwd())
        main = self._main
        if "dir" in wanted and not provenance.of_project(main, folder):
            main = ""  # a module that is installed
        depends = Depends(*map(tuple, wanted["depends"])) if "depends" in wanted else Depends()
        return provenance.made(self._record, f"{main}:", folder, None, wanted.get("command", []), seen, depends)


def begin() -> None:
    """Observe this process, as the environment says."""
    wanted = json.loads(os.environ[WANTED])
    if os.path.isdir(wanted["folder"]):  # else it outlived the command that began it
        Observer(wanted).begin()
