"""A case is run iteration by iteration, and what the allocator did is reported with who did it: what a
recording holds."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from memshim import pretend
from memshim.allocator import recording
from memshim.allocator.events import ACTIONS
from memshim.allocator.recorder import CUDARegion
from memshim.attribution.forward_lines import Lines
from memshim.attribution.owners import optimizers
from memshim.attribution.sites import Attribution, Owner, Reading
from memshim.case import inputs, record, settings, work
from memshim.case.build import BuildError
from memshim.case.compiled_iterations import MOST_MORE, Compiling, merge
from memshim.case.passes import pretend_context
from memshim.case.step import Work, prepare
from memshim.frames import Stacks, inside, shorten
from memshim.gpu import devices, queries, where
from memshim.gpu.failure import out_of_memory
from memshim.gpu.storages import nbytes, storages
from memshim.origin import provenance
from memshim.origin.dependencies import Depends
from memshim.origin.reads import Reads
from memshim.pretend import values
from memshim.pretend.value_reads import ROUTING

LOADED = ("parameter", "buffer", "input")


class Recorded(NamedTuple):
    """A recording in parts: header, and one site an event. of_module: memspec's own iteration of a
    module ran, not a program's. reads: the values that it read and no kernel computed."""

    header: dict[str, Any]
    events: list[Any]
    sites: list[recording.Site | None]
    stacks: Stacks
    of_module: bool
    reads: dict[str, Any]

    def encode(self) -> bytes:
        return recording.encode(self.header, self.events, self.sites, self.stacks)

    def as_record(self) -> dict[str, Any]:
        """As a measurement record, which has no room for modules and categories."""
        out = dict(self.header)
        record.put_events(out, self.events, self.stacks)
        return out


def run(case: dict[str, Any], beside: str = "", read: Reads | None = None) -> Recorded:
    """A case, run in this process, which should be fresh and have a GPU, real or pretended. beside:
    where the recording is to lie; without one it does not say what it was made from. read: what the
    process reads of files and variables. settings.apply(case) was called before."""
    import torch

    torch.cuda.init()
    torch.manual_seed(0)
    if 0 < case["memory_fraction"] < 1:
        torch.cuda.set_per_process_memory_fraction(case["memory_fraction"])
    each = case.get("iteration_inputs") or [case["inputs"]]
    args, kwargs = inputs.make(each[0], dtype=case["dtype"])
    with Lines():
        region = CUDARegion(0, stacks="alloc").open()
        marks = Attribution(0)
        start = marks.count()
        log_reads(marks.count)
        iterations = Iterations(case, region, marks)
        try:
            iterations.all(args, kwargs)
            owners = iterations.owners()
        finally:
            iterations.compiling.close()
            region.close()
            marks.off()
    recorded = iterations.recorded(Reading(region, marks, start, owners), beside, read)
    if case.get("counts") and iterations.oom is None and iterations.work is not None:
        recorded.header["work"] = work.count(iterations.work.iterate)
    return recorded


class Iterations:
    """One case."""

    def __init__(self, case: dict[str, Any], region: CUDARegion, marks: Attribution):
        self.case, self.region, self.marks = case, region, marks
        self.passes: list[dict[str, Any]] = []
        self.oom: dict[str, Any] | None = None
        self.work: Work | None = None
        self.compiling = Compiling(collects=True)

    def all(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        case = self.case
        each = case.get("iteration_inputs") or []
        own = len(each) or case.get("iterations") or 2
        wanted = (case["training"] or {}).get("iterations", 3) if case["mode"] == "training" else own
        self.marks.on()
        name = "baseline"
        try:
            self.work = prepare(case, args, kwargs, "cuda:0", self._move)
            settings.set_flags(case)
            if each and (self.work.model is None or self.work.how == "artifact"):
                raise BuildError(f"got lengths for {case['source']}, which does its own iteration: want a module")
            if self.work.model is not None:
                self.marks.watch(self.work.model)
            else:
                self.marks.watch_gradients(
                    [p for o in optimizers(gc.get_objects()) for group in o.param_groups for p in group["params"]]
                )
            gc.collect()
            self._end(name, self.region.now())
            for i in itertools.count():
                if i >= wanted and (len(self.passes) > 2 or i >= wanted + MOST_MORE):
                    break
                name = "first" if len(self.passes) == 1 else "steady"
                self.region.restart_peaks()
                self.marks.begin()
                gc.collect()
                self.compiling.restart()
                gc.disable()  # reference cycles are held to the iteration's end, whenever the collector would have come
                try:
                    if each and i:
                        self._next(each[i % len(each)])
                    result = self.work.iterate()
                    self._end(name, self.region.peaks())
                    del result
                finally:
                    gc.enable()
                if self.compiling.seen and i + 1 < wanted + MOST_MORE:
                    merge(self.passes)
        except Exception as e:
            text = out_of_memory(e)
            if not text:
                raise
            self._end(name, self.region.peaks())  # what it reached
            self.oom = {"phase": name, "text": text}

    def _next(self, texts: list[str]) -> None:
        """Move the inputs of an iteration to the device; those before are released then, as x =
        batch.to("cuda") in a loop does."""
        from torch.utils._pytree import tree_leaves

        assert self.work is not None  # an iteration ran
        args, kwargs = map(self._move, inputs.make(texts, dtype=self.case["dtype"]))
        for t in tree_leaves((args, kwargs)):
            if hasattr(t, "untyped_storage"):
                self.marks.own(self.marks.count(), t, "input")
        self.work.args[:] = args
        self.work.kwargs.clear()
        self.work.kwargs.update(kwargs)

    def _move(self, value: Any) -> Any:
        import torch
        from torch.utils._pytree import tree_map

        return tree_map(lambda t: t.to("cuda:0") if isinstance(t, torch.Tensor) else t, value)

    def _end(self, name: str, stats: dict[str, int]) -> None:
        import torch

        torch.cuda.synchronize(0)
        self.passes.append(record.phase(name, self.region.mark(), stats))

    def owners(self) -> dict[int, Owner]:
        """What is there at the end, by address. Gradients and an optimizer's state are of the module
        that has the parameter."""
        import torch
        from torch.utils._pytree import tree_leaves

        out: dict[int, Owner] = {}
        of = self.marks.tensors.of

        def add(value: Any, category: str, module: str | None = None) -> None:
            for t in tree_leaves(value):
                if isinstance(t, torch.Tensor):
                    for s in storages(t):
                        if s.device.type == "cuda" and s.nbytes():
                            out.setdefault(s.data_ptr(), Owner(category, module))

        def add_parameters(tensors: Iterable[Any]) -> None:
            parameters = [p for p in tensors if p is not None and not torch.nn.parameter.is_lazy(p)]
            for p in parameters:
                add(p, "parameter", of(p))
            for p in parameters:
                add(p.grad if p.is_leaf else None, "gradient", of(p))

        if self.work is not None and self.work.model is not None:
            add_parameters(self.work.model.parameters())
            for b in self.work.model.buffers():
                add(b, "buffer", of(b))
            add((self.work.args, self.work.kwargs), "input")
        there = gc.get_objects()
        # a callable's: its model, an average
        for o in [o for o in there if issubclass(type(o), torch.nn.Module) and "_parameters" in o.__dict__]:
            add_parameters(o._parameters.values())
            for b in o._buffers.values():
                add(b, "buffer", None if b is None else of(b))
        for o in optimizers(there):
            for group in o.param_groups:
                add_parameters(group["params"])
            for p, state in o.state.items():
                add(dict(state), "optimizer_state", of(p))
        return out

    def recorded(self, reading: Reading, beside: str, read: Reads | None = None) -> Recorded:
        import torch

        case, p, work = self.case, torch.cuda.get_device_properties(0), self.work
        events, sites = self.region.events, [_loaded(s, loaded) for s, loaded in zip(reading.sites(), self._loading())]
        kept = [e.action in ACTIONS for e in events]
        number = [0, *itertools.accumulate(map(int, kept))]  # of the events that are kept, how many come before
        starts, begin = reading.phases(), 0
        for q in self.passes:
            if q["name"] != "baseline" and case["mode"] == "training":
                q["phases"] = parts(starts, begin, q["events"], number)
            begin, q["events"] = q["events"], number[q["events"]]
        model = work.model if work else None
        header = {
            "schema": record.SCHEMA,
            "case": case["name"],
            "runtime": "eager",
            "where": where.words("cuda"),
            "built": work.how if work else "",
            "device": {
                "name": p.name,
                "total": p.total_memory,
                "compute_capability": f"{p.major}.{p.minor}",
                "driver": "" if where.pretended() else devices.driver_version(),
                "sms": p.multi_processor_count,
                **queries.asked(),
            },
            "torch": torch.__version__,
            "cuda": torch.version.cuda or "",
            "cudnn": devices.cudnn_version(),
            **{k: case[k] for k in record.FROM_CASE},
            "flags": settings.flags_now(case),
            "weights": nbytes(work.state) if work else 0,
            "phases": self.passes,
            "context": self._context(),
            **self._communicators(),
            **self._pinned(),
            "oom": self.oom,
            "notes": notes(),
            "training": case["training"] if model is not None else None,
        }
        if case.get("lengths"):
            header["lengths"] = case["lengths"]
        if settings.compiled():
            header["compiled"] = True
        if beside:
            header["made"] = provenance.made(
                beside, case["source"] or case["artifact"], case["dir"], model, case["command"], read, Depends.of(case)
            )
        return Recorded(
            header,
            list(itertools.compress(events, kept)),
            list(itertools.compress(sites, kept)),
            self.region.stacks,
            model is not None,
            reads(lambda count: number[reading.index(count)]),
        )

    def _loading(self) -> list[bool]:
        end = self.passes[0]["events"] if self.passes else len(self.region.events)
        return [i < end for i in range(len(self.region.events))]

    def _communicators(self) -> dict[str, Any]:
        from memshim.pretend import communicators

        return communicators.header(self.region.index) if where.pretended() else {}

    def _pinned(self) -> dict[str, int]:
        """The host's page-locked memory; a real runtime does not say."""
        from memshim.pretend.library import Library

        return {"host_pinned": Library().pinned()} if where.pretended() else {}

    def _context(self) -> int | None:
        """Of a real one it would depend on what else runs there."""
        return pretend_context() if where.pretended() else None


def _loaded(site: recording.Site | None, loading: bool) -> recording.Site | None:
    """Of loaded state the operator is what it is. What a callable made before its first iteration
    and no module has is given to all of them."""
    if site is None or not loading:
        return site
    category = "input" if site.category == "activation" else site.category
    return site._replace(op=category, category=category) if category in LOADED else site


def parts(starts: list[tuple[int, str]], begin: int, end: int, number: list[int]) -> list[dict[str, Any]]:
    """The phases that begin between two events: the last where several begin at one, and none that
    goes on as it was."""
    found: dict[int, str] = {}
    for at, name in starts:
        if begin <= at < end:
            found[number[at]] = name
    out: list[dict[str, Any]] = []
    for at, name in found.items():
        if not out or out[-1]["name"] != name:
            out.append({"name": name, "events": at})
    return out


def log_reads(moment: Callable[[], int]) -> None:
    """From here on, on a pretend GPU, keep when each value was read that no kernel computed."""
    if hook := values.installed() if where.pretended() else None:
        hook.reads.moment = moment


def reads(index: Callable[[int], int]) -> dict[str, Any]:
    """The values that were read and no kernel computed, by line, in the order of their first read,
    and all reads as they came: [read, event]. index: the event that comes after a count."""
    hook = values.installed() if where.pretended() else None
    if hook is None:
        return {"reads": [], "log": []}
    seen = pretend.report().reads
    number = {id(r): i for i, r in enumerate(hook.reads.found.values())}
    rows = [
        {
            "file": shorten(r.file) if r.file else "",
            "line": r.line,
            "function": r.function,
            "varied": r.varied and r.assumed is None,
            "open": open_end(r),
        }
        for r in seen
    ]
    return {"reads": rows, "log": [[number[id(r)], index(count)] for r, count in hook.reads.log]}


def open_end(r: Any) -> str:
    """Why no run has the upper end of what is read; empty where one has."""
    if r.endless:
        return "a loop that ends by such a value"
    return "" if r.bounded else "an integer of no known range"


def notes() -> list[dict[str, Any]]:
    """What makes the numbers less than exact."""
    if not where.pretended():
        return []
    seen = pretend.report()
    out = []
    hook = values.installed()
    if hook and hook.turn and hook.reads.assume.get(ROUTING):
        out.append(
            {
                "id": "value-stated",
                "text": "indices that come from unknown scores are spread evenly, as assume: says (routing: balanced)",
            }
        )
    return [*map(_of_read, seen.reads), *out, *_of_others(seen)]


def _of_read(r: Any) -> dict[str, Any]:
    own = inside(r.file)  # a GradScaler's, or LBFGS's
    words = isinstance(r.assumed, str)
    given = f"and was given {r.assumed if r.assumed is not None and not words else r.given or 0}"
    if r.assumed is not None:
        given += (
            ": no step of the optimizer is skipped"
            if own
            else f", {'its ' + r.assumed + ' value ' if words else ''}as assume: says"
        )
    return {
        "id": "value-read" if r.assumed is None else "value-stated",
        "text": f"{r.op} read {r.count} value{'s'[: r.count != 1]} that no kernel "
        f"computed{' in memspec' + chr(39) + 's own step' if own else ''}, {given}",
        **({"file": shorten(r.file), "line": r.line} if r.file and not own else {}),
    }


def _of_others(seen: Any) -> list[dict[str, Any]]:
    out = []
    for t in seen.timed:
        out.append(
            {
                "id": "timing-decides",
                "text": f"on a card a measured time decides {t.what} (×{t.count})",
                **({"file": shorten(t.file), "line": t.line} if t.file else {}),
            }
        )
    if seen.without_gradient:
        out.append({"id": "gradient-missing", "text": seen.without_gradient.text()})
    return out + [_of_unsized(c.name) for c in seen.unsized] + [_of_estimated(c.name) for c in seen.estimated]


def _of_estimated(name: str) -> dict[str, Any]:
    """The library that this is of did not say what it takes (native/cudnn_formula.c)."""
    id, _, text = name.partition(": ")
    return {"id": id, "text": text}


OUTSIDE = ("NCCL's own buffers", "CUDA graphs:")  # what libraries take of the device beside PyTorch's allocator


def _of_unsized(name: str) -> dict[str, Any]:
    """What a call takes is not known. Inside PyTorch's allocator any figure may be too low, outside of it
    the total alone."""
    if name.startswith(OUTSIDE):
        return {"id": "outside-unknown", "text": f"{name}: what it takes of the device is not known"}
    return {"id": "workspace-unknown", "text": name.removesuffix(": taken as 0")}
