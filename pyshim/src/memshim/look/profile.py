"""What a training loop is made of.

    profiler = memshim.Profiler(model, print_period=5, csv=True)
    for x, y in data:
        …forward, backward, optimizer.step()
        profiler.record_stats()
    profiler.epoch_end()

Weights, weight gradients, optimizer state and feature maps by layer, and what of the peak is none of these. On a GPU the peaks and what is cached
are the CUDA allocator's; without one they are CPU tensors', and labelled so.
"""

from __future__ import annotations

import csv as csv_module
import os
import sys
import weakref
from typing import Any, NamedTuple, TextIO

from memshim import sizes
from memshim.run import where

CSV_FILE = "memshim-profile.csv"


class Stats(NamedTuple):
    """One iteration, in bytes. Cached is None on CPU, which keeps no cache."""

    epoch: int
    iteration: int
    peak_allocated: int
    current_allocated: int
    peak_cached: int | None
    current_cached: int | None
    feature_maps: int  # modules' results, the most alive at once
    weights: int  # parameters and buffers
    gradients: int
    optimizer_state: int
    intermediates: int  # of the peak, what is none of these


class Layer(NamedTuple):
    """A module that has parameters of its own or no children."""

    name: str
    type: str
    weights: int
    gradients: int
    optimizer_state: int
    feature_maps: int  # its results in one iteration


class Profiler:
    """Starts with its construction; close() or leaving it as a context manager ends it.

    print_period: every how many iterations a line is printed, 0 for never. csv: True for memshim-profile.csv, or a path. optimizer: whose
    state is counted; else every one that steps a parameter of the model.
    """

    def __init__(self, model, print_period: int = 5, csv: bool | str | os.PathLike = False, *, optimizer=None, file: TextIO | None = None):
        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook

        self.model, self.print_period, self._file = model, print_period, file or sys.stdout
        self.csv = CSV_FILE if csv is True else csv or None
        self._torch = torch
        self.device = next((p.device for p in [*model.parameters(), *model.buffers()]), torch.device("cpu"))
        self.where = "cuda" if self.device.type == "cuda" else "cpu"
        self._optimizers = weakref.WeakSet([optimizer] if optimizer is not None else [])
        self.epoch, self.iteration = 0, 0
        self.stats: list[Stats] = []
        self._layers = _owners(model)
        self._maps = _FeatureMaps()
        self._gradients: dict[Any, int] = {}
        self._most: dict[str, Layer] = {}
        self._handles = [m.register_forward_hook(self._maps.hook(name)) for name, m in self._layers.items()]
        self._handles += [p.register_post_accumulate_grad_hook(self._accumulated) for p in model.parameters() if p.requires_grad]
        self._handles.append(register_optimizer_step_post_hook(self._stepped))
        self._meter = _Meter(self.device)
        if self.csv:
            with open(self.csv, "w", newline="", encoding="utf-8") as f:
                csv_module.writer(f).writerow(_COLUMNS)

    def _accumulated(self, parameter) -> None:
        self._gradients[parameter] = parameter.grad.untyped_storage().nbytes()

    def _stepped(self, optimizer, args, kwargs) -> None:
        if optimizer not in self._optimizers:
            ours = set(self.model.parameters())
            if any(p in ours for group in optimizer.param_groups for p in group["params"]):
                self._optimizers.add(optimizer)

    def record_stats(self) -> Stats:
        """Call it once an iteration, at its end."""
        peak, current, peak_cached, current_cached = self._meter.read()
        layers = self._measure_layers()
        weights, gradients, state = (sum(getattr(x, f) for x in layers) for f in ("weights", "gradients", "optimizer_state"))
        maps = self._maps.most
        s = Stats(self.epoch, self.iteration, peak, current, peak_cached, current_cached, maps, weights, gradients, state,
                  max(0, peak - maps - weights - gradients - state))
        self.stats.append(s)
        for x in layers:
            old = self._most.get(x.name, x)
            self._most[x.name] = Layer(x.name, x.type, *(max(a, b) for a, b in zip(x[2:], old[2:])))
        self._write_csv([(s.epoch, s.iteration, "", "", weights, gradients, state, maps, s.intermediates, peak, current, _or(peak_cached),
                          _or(current_cached), self.where)])
        if self.print_period and self.iteration % self.print_period == 0:
            self._print(_iteration_line(s))
        self.iteration += 1
        self._gradients.clear()
        self._maps.next()
        self._meter.next()
        return s

    def epoch_end(self) -> list[Layer]:
        """The epoch by layer, each figure the largest of its iterations."""
        layers = [self._most[name] for name in self._layers if name in self._most]
        self._print(self.table(layers))
        self._write_csv([(self.epoch, "", x.name, x.type, x.weights, x.gradients, x.optimizer_state, x.feature_maps, "", "", "", "", "", self.where)
                         for x in layers])
        self.epoch += 1
        self._most.clear()
        return layers

    def table(self, layers: list[Layer]) -> str:
        mine = [s for s in self.stats if s.epoch == self.epoch]
        label = "" if self.where == "cuda" else " (CPU tensors, no GPU: not the allocator's numbers)"
        out = [f"epoch {self.epoch}, {len(mine)} iterations{label}"]
        if mine:
            out.append(_iteration_line(max(mine, key=lambda s: s.peak_allocated)))
        rows = [("layer", "weights", "gradients", "optimizer state", "feature maps")]
        rows += [(f"{x.name or '(model)'} {x.type}", *map(sizes.show, x[2:])) for x in layers]
        rows.append(("total", *(sizes.show(sum(x[i] for x in layers)) for i in range(2, 6))))
        widths = [max(len(r[i]) for r in rows) for i in range(5)]
        return "\n".join(out + ["  " + "  ".join([r[0].ljust(widths[0]), *(r[i].rjust(widths[i]) for i in range(1, 5))]) for r in rows])

    def _measure_layers(self) -> list[Layer]:
        out, seen = [], set()
        for name, module in self._layers.items():
            weights = gradients = state = 0
            for t in [*module.parameters(recurse=False), *module.buffers(recurse=False)]:
                storage = t.untyped_storage()
                if storage._cdata in seen:  # tied: its first owner's
                    continue
                seen.add(storage._cdata)
                weights += storage.nbytes()
                gradients += self._gradients.get(t, 0) or (t.grad.untyped_storage().nbytes() if t.is_leaf and t.grad is not None else 0)
                state += self._state(t)
            out.append(Layer(name, type(module).__name__, weights, gradients, state, self._maps.by_layer.get(name, 0)))
        return out

    def _state(self, parameter) -> int:
        return sum(v.untyped_storage().nbytes() for o in self._optimizers if parameter in o.state for v in o.state[parameter].values()
                   if isinstance(v, self._torch.Tensor) and v.device.type == self.where)

    def _write_csv(self, rows: list[tuple]) -> None:
        if self.csv:
            with open(self.csv, "a", newline="", encoding="utf-8") as f:
                csv_module.writer(f).writerows(rows)

    def _print(self, text: str) -> None:
        print(text, file=self._file)

    def close(self) -> None:
        for h in self._handles:
            h.remove()
        self._handles.clear()
        self._meter.close()

    def __enter__(self) -> Profiler:
        return self

    def __exit__(self, *error) -> None:
        self.close()


_COLUMNS = ("epoch", "iteration", "layer", "type", "weights", "gradients", "optimizer_state", "feature_maps", "intermediates", "peak_allocated",
            "current_allocated", "peak_cached", "current_cached", "where")


def _or(n: int | None) -> int | str:
    return "" if n is None else n


def _iteration_line(s: Stats) -> str:
    cached = "" if s.peak_cached is None else f", cached {sizes.show(s.peak_cached)} at most, {sizes.show(s.current_cached)} now"
    parts = " + ".join(f"{name} {sizes.show(getattr(s, name.replace(' ', '_')))}"
                       for name in ("weights", "gradients", "optimizer state", "feature maps", "intermediates"))
    what = "of CPU tensors" if s.peak_cached is None else "allocated"
    return f"iteration {s.iteration}: peak {sizes.show(s.peak_allocated)} {what}, {sizes.show(s.current_allocated)} now{cached}; {parts}"


def _owners(model) -> dict[str, Any]:
    """The layers by name: modules with parameters or buffers of their own, or without children."""
    return {name: m for name, m in model.named_modules()
            if next(m.parameters(recurse=False), None) is not None or next(m.buffers(recurse=False), None) is not None
            or next(m.children(), None) is None}


class _FeatureMaps:
    """The storages that layers return, each counted once, for the layer that returned it first."""

    def __init__(self) -> None:
        self.live: dict[int, tuple[weakref.ref, int]] = {}
        self.current = self.most = 0
        self.by_layer: dict[str, int] = {}

    def hook(self, name: str):
        from torch import Tensor
        from torch.utils._pytree import tree_leaves

        def forward(module, args, out) -> None:
            given = {t.untyped_storage()._cdata for t in tree_leaves(args) if isinstance(t, Tensor)}
            own = {t.untyped_storage()._cdata for t in [*module.parameters(recurse=False), *module.buffers(recurse=False)]}
            for t in tree_leaves(out):
                if isinstance(t, Tensor) and t.untyped_storage()._cdata not in given | own:
                    self.add(name, t.untyped_storage())

        return forward

    def add(self, name: str, storage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self.live:
            return
        self.live[key] = (weakref.ref(storage, lambda _: self.dead(key)), size)
        self.by_layer[name] = self.by_layer.get(name, 0) + size
        self.current += size
        self.most = max(self.most, self.current)

    def dead(self, key: int) -> None:
        self.current -= self.live.pop(key)[1]

    def next(self) -> None:
        self.by_layer, self.most = {}, self.current


class _Meter:
    """Peaks since the last iteration, from the caching allocator or of CPU tensors' storages."""

    def __init__(self, device):
        from memshim.run.cpu import CPURegion
        from memshim.run.recorder import CUDARegion

        self._region = (CUDARegion(device.index, events=False) if device.type == "cuda" else CPURegion(stacks="")).open()

    def read(self) -> tuple[int, int, int | None, int | None]:
        most, now = self._region.peaks(), self._region.now()
        if self._region.where == "cuda":
            return most["allocated"], now["allocated"], most["reserved"], now["reserved"]
        return most["requested"], now["requested"], None, None

    def next(self) -> None:
        self._region.restart() if self._region.where == "cpu" else self._region.restart_peaks()

    def close(self) -> None:
        self._region.close()


def main(arguments: list[str]) -> int:
    import argparse

    from memshim.run import inputs
    from memshim.run.build import BuildError, load_source

    p = argparse.ArgumentParser(prog="python -m memshim profile", description="Run training steps of a model (its loss is the sum of its results) "
                                "and show what they are made of, by layer.")
    p.add_argument("source", help="FILE.py:NAME of the model, or of a function that makes it")
    p.add_argument("--input", action="append", required=True, metavar="INPUT", help="such as 'x=float32[B,3,224,224]'; repeats")
    p.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="a dimension's value; repeats")
    p.add_argument("--steps", type=int, default=3, help="(3)")
    p.add_argument("--optimizer", default="AdamW", help="a class of torch.optim, with its defaults (AdamW); empty for none")
    p.add_argument("--device", help="cuda:N or cpu; else the GPU where there is one, else CPU tensors")
    p.add_argument("--csv", metavar="FILE", help="write the figures there as well")
    a = p.parse_args(arguments)
    try:
        model, (args, kwargs) = load_source(a.source), inputs.make(a.input, inputs.parse_dims(a.dim))
    except (BuildError, inputs.InputError) as e:
        print(f"memshim: {e}", file=sys.stderr)
        return 2
    import torch
    from torch.utils._pytree import tree_map

    from memshim.look.modelsize import loss_of

    if a.optimizer and not isinstance(getattr(torch.optim, a.optimizer, None), type):
        print(f"memshim: got optimizer {a.optimizer!r}, want a class of torch.optim", file=sys.stderr)
        return 2
    try:
        device = where.of(a.device)
    except ValueError as e:
        print(f"memshim: {e}", file=sys.stderr)
        return 2
    device = "cpu" if device.kind == "cpu" else f"cuda:{device.index or 0}"
    model = model.train().to(device)
    args, kwargs = tree_map(lambda t: t.to(device) if isinstance(t, torch.Tensor) else t, (args, kwargs))
    optimizer = getattr(torch.optim, a.optimizer)(model.parameters()) if a.optimizer else None
    with Profiler(model, print_period=1, csv=a.csv or False, optimizer=optimizer) as profiler:
        for _ in range(a.steps):
            loss = loss_of(model(*args, **kwargs))
            if loss is not None:
                loss.backward()
            del loss
            if optimizer:
                optimizer.step()
                optimizer.zero_grad()
            profiler.record_stats()
        profiler.epoch_end()
    return 0
