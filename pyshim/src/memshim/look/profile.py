"""What a training loop is made of.

    profiler = memshim.Profiler(model, print_period=5, csv=True)
    for x, y in data:
        …forward, backward, optimizer.step()
        profiler.record_stats()
    profiler.epoch_end()

Each iteration's peak is broken down: weights, gradients, optimizer state, activations, temporaries,
workspace, inputs, other models; by layer and by tensor. The parts add up to the peak to the byte.
On a GPU it is the caching allocator's, without one that of CPU tensors, and labelled so.
"""

from __future__ import annotations

import csv as csv_module
import os
import sys
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, cast

from memshim import sizes
from memshim.allocator.pytorch_snapshot import uncollected
from memshim.gpu import where
from memshim.look.parts import Breakdown, Parts, Row
from memshim.printed import say

if TYPE_CHECKING:
    import torch

    from memshim.allocator.history import Region
    from memshim.allocator.recorder import CUDARegion
    from memshim.look.loop import Loop

CSV_FILE = "memshim-profile.csv"
# On a GPU an iteration is recorded where it is one of the first, or one that is printed; and no
# more once so many in a row did what earlier ones did.
FIRST, PERIOD, ALIKE = 4, 5, 2


class Stats(NamedTuple):
    """One iteration, in bytes. Cached is None on CPU, which keeps no cache.

    breakdown: None for an iteration that was counted and not recorded: unlike those before it,
    after many that were alike. same_as: its breakdown is that of an earlier iteration, in which the
    allocator counted the same to the byte; None where it is its own.
    """

    epoch: int
    iteration: int
    peak_allocated: int
    current_allocated: int
    peak_cached: int | None
    current_cached: int | None
    breakdown: Breakdown | None
    same_as: int | None = None

    @property
    def parts(self) -> Parts | None:
        """Of the peak."""
        return self.breakdown.parts if self.breakdown else None


class Profiler:
    """Starts with its construction; close(), leaving it as a context manager, or the end of the
    last reference to it ends it. epoch_end() pauses it until the model runs again.

    print_period: every how many iterations it prints, 0 for never. rows: what is printed then,
    "layer", "tensor" or "" for the line of the iteration alone. csv: True for memshim-profile.csv,
    or a path: a line for each iteration, and each period's layers and tensors. optimizer: whose
    state is counted; else that of every one that steps a parameter of the model.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        print_period: int = 5,
        csv: bool | str | os.PathLike[str] = False,
        *,
        optimizer: torch.optim.Optimizer | None = None,
        rows: str = "layer",
        file: TextIO | None = None,
    ):
        import torch

        from memshim.gpu.storages import storages
        from memshim.look.breakdown import Breaker
        from memshim.look.loop import Loop

        if rows not in ("", "layer", "tensor"):
            raise ValueError(f"got rows {rows!r}, want layer, tensor or an empty text")
        self.model, self.print_period, self._rows, self._file = model, print_period, rows, file or sys.stdout
        self.csv = CSV_FILE if csv is True else csv or None
        if self.csv:
            with open(self.csv, "w", newline="", encoding="utf-8") as f:
                csv_module.writer(f).writerow(_COLUMNS)
        device = next(
            (s.device for t in [*model.parameters(), *model.buffers()] for s in storages(t)), torch.device("cpu")
        )
        self._device = device
        self.where = where.words(device.type)
        self.epoch, self.iteration = 0, 0
        self.stats: list[Stats] = []
        self._region = self._make_region()
        me = weakref.ref(self)

        def resume() -> None:
            if (p := me()) is not None:
                p._resume()

        self._loop = Loop(model, self._region, resume)
        self._breaker = Breaker(model, self._loop, optimizer)
        self._known: dict[
            tuple[Any, ...], tuple[Breakdown, int]
        ] = {}  # by what the allocator counted and what was called
        self._counted: tuple[Any, ...] = ()
        # how many iterations in a row were known ones; the first since it began or was paused
        self._alike = self._since = 0
        self._paused = self._on = False
        self._region.open()
        self._end = weakref.finalize(self, _end, self._loop, self._region)
        self._begin(True)

    def _make_region(self) -> Region:
        from memshim.allocator.cpu_region import CPURegion
        from memshim.allocator.recorder import CUDARegion

        return CUDARegion(self._device.index, stacks="alloc") if self._device.type == "cuda" else CPURegion()

    def _begin(self, record: bool, begun: bool = False) -> None:
        """An iteration begins: recorded, or counted alone. begun: the region has."""
        self._recording = record
        if self._region.where == "cuda":
            region = cast("CUDARegion", self._region)
            region.want("alloc" if self._breaker.wants_native else "python")
            region.keep_events(record)
        if not begun:
            self._region.restart()
        if record != self._on:
            self._loop.on() if record else self._loop.off()
            self._on = record
        self._loop.outside()
        self._counted = _counters(self._region)

    def _resume(self) -> None:
        """The model runs again after an epoch's end."""
        if self._paused:
            self._paused, self._on, self._alike, self._since = False, False, 0, self.iteration
            self._breaker.wants_native = True
            if self._region.where == "cpu":
                self._region.open()
            self._begin(self._wanted())

    def _wanted(self) -> bool:
        """Whether the iteration that comes is to be recorded: not where the last ones were alike,
        which costs most of what looking costs."""
        period = self.print_period or PERIOD
        return (
            self._region.where == "cpu"
            or self._alike < ALIKE
            and (self.iteration < self._since + FIRST or self.iteration % period == 0)
        )

    def record_stats(self) -> Stats:
        """Call it once an iteration, at its end."""
        region, breakdown, same_as = self._region, None, None
        key = _change(self._counted, _counters(region))
        known = self._known.get(key) if key else None
        self._alike = self._alike + 1 if known else 0
        most, now = region.peaks(), region.now()
        if turned := self._recording and known is None:
            with uncollected():
                breakdown = self._breaker.of(region.turn())
            if key and not breakdown.lost:
                self._known[key] = (breakdown, self.iteration)
        elif known is not None:
            breakdown, same_as = known
        if breakdown is None:
            self._breaker.wants_native = True
        elif known is not None:
            self._breaker.wants_native = False
        main = "allocated" if region.where == "cuda" else "requested"
        s = Stats(
            self.epoch,
            self.iteration,
            most[main],
            now[main],
            most.get("reserved"),
            now.get("reserved"),
            breakdown,
            same_as,
        )
        self.stats.append(s)
        period = bool(self.print_period) and self.iteration % self.print_period == 0
        rows = breakdown.rows if breakdown else []
        self._write_csv([_csv_line(s, self.where), *([_csv_row(s, row, self.where) for row in rows] if period else [])])
        if period:
            self._print("\n".join([_iteration_line(s), *self._table(rows)]))
        self.iteration += 1
        self._loop.next()
        self._begin(self._wanted(), turned)
        return s

    def epoch_end(self) -> list[Row]:
        """Print the iteration of the epoch whose peak was highest, by layer; gives its rows. Until
        the model runs again nothing is recorded."""
        mine = [s for s in self.stats if s.epoch == self.epoch]
        top = max(mine, key=lambda s: (s.peak_allocated, s.breakdown is not None)) if mine else None
        detailed = max((s for s in mine if s.breakdown), key=lambda s: s.peak_allocated, default=top)
        rows = detailed.breakdown.rows if detailed and detailed.breakdown else []
        lines = [_csv_row(detailed, row, self.where, epoch_end=True) for row in rows] if detailed else []
        label = "" if self.where == "cuda" else f" ({where.LABELS[self.where]})"
        out = [f"epoch {self.epoch}, {len(mine)} iterations{label}"]
        out += [_iteration_line(s) for s in ([top] if detailed is top else [top, detailed]) if s]
        out += self._table(rows, "layer" if self._rows != "tensor" else "tensor") if rows else []
        self._print("\n".join(out))
        self._write_csv(lines)
        self.epoch += 1
        self._pause()
        return rows

    def _pause(self) -> None:
        if self._paused or not self._end.alive:
            return
        self._paused = True
        self._loop.next()
        self._loop.wait()
        if self._region.where == "cuda":
            cast("CUDARegion", self._region).keep_events(False)
        else:  # the watch slows all that runs
            self._region.close()
            self._region = self._loop._region = self._make_region()
            self._end.detach()
            self._end = weakref.finalize(self, _end, self._loop, self._region)

    def _table(self, rows: list[Row], kind: str | None = None) -> list[str]:
        """The rows that hold something, a tensor's below its layer's."""
        kind = self._rows if kind is None else kind
        if not kind:
            return []
        cells: list[tuple[str, ...]] = [("layer", "weights", "gradients", "optimizer state", "activations")]
        for r in rows:
            if r.tensor and kind != "tensor" or not any(r[3:]):
                continue
            name = f"  {r.tensor} {r.type}" if r.tensor else f"{r.layer or '(model)'} {r.type}".rstrip()
            cells.append((name, *(sizes.show(n) if n else "" for n in r[3:])))
        cells.append(("total", *(sizes.show(sum(r.sizes[i] for r in rows if not r.tensor)) for i in range(4))))
        widths = [max(len(c[i]) for c in cells) for i in range(5)]
        return ["  " + "  ".join([c[0].ljust(widths[0]), *(c[i].rjust(widths[i]) for i in range(1, 5))]) for c in cells]

    def _write_csv(self, rows: list[tuple[Any, ...]]) -> None:
        if self.csv:
            with open(self.csv, "a", newline="", encoding="utf-8") as f:
                csv_module.writer(f).writerows(rows)

    def _print(self, text: str) -> None:
        say(text, file=self._file)

    def close(self) -> None:
        self._end()

    def __enter__(self) -> Profiler:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _end(loop: Loop, region: Region) -> None:
    loop.off()
    region.close()


def _counters(region: Region) -> tuple[Any, ...]:
    """What the allocator counts, except what lies unused in which segment; empty where it counts
    nothing."""
    cuda = cast("CUDARegion", region)
    if region.where != "cuda" or not cuda.begun:
        return ()
    from memshim.allocator.recorder import recorder

    stats = recorder.real_stats(cuda.device)
    return tuple(
        (kind[pool]["allocated"], kind[pool]["freed"], kind[pool]["current"], kind[pool]["peak"])
        for name, kind in stats.items()
        if isinstance(kind, dict) and "all" in kind and not name.startswith("inactive_split")
        for pool in kind
    )


def _change(before: tuple[Any, ...], after: tuple[Any, ...]) -> tuple[Any, ...]:
    """What came and went in an iteration, where it began and ended, and its peaks."""
    return tuple((b[0] - a[0], b[1] - a[1], a[2], b[2], b[3]) for a, b in zip(before, after))


_NAMES = (
    "weights",
    "gradients",
    "optimizer state",
    "activations",
    "temporaries",
    "workspace",
    "inputs",
    "other models",
    "other",
    "rounding",
)
_COLUMNS = (
    "kind",
    "epoch",
    "iteration",
    "layer",
    "tensor",
    "type",
    *Parts._fields,
    "cached",
    "peak_allocated",
    "current_allocated",
    "peak_cached",
    "current_cached",
    "phase",
    "at",
    "same_as",
    "where",
)


def _or(n: int | None) -> int | str:
    return "" if n is None else n


def _csv_line(s: Stats, where_measured: str) -> tuple[Any, ...]:
    b = s.breakdown
    parts: tuple[int | str, ...] = b.parts if b else ("",) * len(Parts._fields)
    return (
        "iteration",
        s.epoch,
        s.iteration,
        "",
        "",
        "",
        *parts,
        _or(b.cached if b else None),
        s.peak_allocated,
        s.current_allocated,
        _or(s.peak_cached),
        _or(s.current_cached),
        b.phase if b else "",
        b.where if b else "",
        _or(s.same_as),
        where_measured,
    )


def _csv_row(s: Stats, r: Row, where_measured: str, epoch_end: bool = False) -> tuple[Any, ...]:
    kind = ("epoch " if epoch_end else "") + ("tensor" if r.tensor else "layer")
    return (
        kind,
        s.epoch,
        s.iteration,
        r.layer,
        r.tensor,
        r.type,
        *r[3:],
        *[""] * (len(Parts._fields) - 4 + 7),
        _or(s.same_as),
        where_measured,
    )


def _iteration_line(s: Stats) -> str:
    cached = (
        ""
        if s.peak_cached is None or s.current_cached is None
        else f", cached {sizes.show(s.peak_cached)} at most, {sizes.show(s.current_cached)} now"
    )
    b = s.breakdown
    what = "of CPU tensors" if s.peak_cached is None else "allocated"
    if b is None:
        peak, now = sizes.show(s.peak_allocated), sizes.show(s.current_allocated)
        return f"iteration {s.iteration}: peak {peak} {what}, {now} now{cached}; not recorded"
    parts = " + ".join(f"{name} {sizes.show(n)}" for name, n in zip(_NAMES, b.parts) if n)
    at = f"in {b.phase}" + (f" of {b.where}" if b.phase == "forward" else f" ({b.where})" if b.where else "")
    return (
        f"iteration {s.iteration}: peak {sizes.show(s.peak_allocated)} {what} {at}, {sizes.show(s.current_allocated)} "
        f"now{cached}; "
        f"{parts or 'nothing'}{f'; incomplete: {b.lost}' if b.lost else ''}"
    )


def main(arguments: list[str]) -> int:
    import argparse

    from memshim.case import inputs
    from memshim.case.build import BuildError, load_source
    from memshim.pretend import restart

    p = argparse.ArgumentParser(
        prog="python -m memshim profile",
        description="Run training steps of a model (its loss is the sum of its results) "
        "and show what they are made of, by layer.",
    )
    restart.add_arguments(p)
    p.add_argument("source", help="FILE.py:NAME of the model, or of a function that makes it")
    p.add_argument(
        "--input", action="append", required=True, metavar="INPUT", help="such as 'x=float32[B,3,224,224]'; repeats"
    )
    p.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="a dimension's value; repeats")
    p.add_argument("--steps", type=int, default=3, help="(3)")
    p.add_argument(
        "--optimizer", default="AdamW", help="a class of torch.optim, with its defaults (AdamW); empty for none"
    )
    p.add_argument("--device", help="cuda:N or cpu; else the GPU where there is one, else CPU tensors")
    p.add_argument("--csv", metavar="FILE", help="write the figures there as well")
    a = p.parse_args(arguments)
    if a.steps < 1:
        p.error(f"argument --steps: got {a.steps}, want 1 or more")
    if (code := restart.enter(a, "profile")) is not None:
        return code
    try:
        model, (args, kwargs) = load_source(a.source), inputs.make(a.input, inputs.parse_dims(a.dim))
    except (BuildError, inputs.InputError) as e:
        say(f"memshim: {e}", file=sys.stderr)
        return 2
    import torch
    from torch.utils._pytree import tree_map

    from memshim.case.step import differentiable_sum

    if a.optimizer and not isinstance(getattr(torch.optim, a.optimizer, None), type):
        say(f"memshim: got optimizer {a.optimizer!r}, want a class of torch.optim", file=sys.stderr)
        return 2
    try:
        at = where.of(a.device)
    except ValueError as e:
        say(f"memshim: {e}", file=sys.stderr)
        return 2
    device = "cpu" if at.kind == "cpu" else f"cuda:{at.index or 0}"
    model = model.train().to(device)
    args, kwargs = tree_map(lambda t: t.to(device) if isinstance(t, torch.Tensor) else t, (args, kwargs))
    optimizer = getattr(torch.optim, a.optimizer)(model.parameters()) if a.optimizer else None
    with Profiler(model, print_period=1, csv=a.csv or False, optimizer=optimizer, rows="") as profiler:
        for _ in range(a.steps):
            loss = differentiable_sum(model(*args, **kwargs))
            if loss is not None:
                loss.backward()
            del loss
            if optimizer:
                optimizer.step()
                optimizer.zero_grad()
            profiler.record_stats()
        profiler.epoch_end()
    return 0
