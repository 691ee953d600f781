"""What the peak of an iteration is made of: each block that is alive then, by what it is and whose.
Importing this imports torch."""

from __future__ import annotations

import bisect
import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from memshim import sizes
from memshim.allocator.cpu_region import BASE
from memshim.allocator.history import Held, Region, line_of, moment, replay
from memshim.attribution.library_workspace import Workspace, of_library
from memshim.gpu.storages import aside, storages
from memshim.look.loop import STEP, Loop, tag_of
from memshim.look.parts import Breakdown, Parts, Row

if TYPE_CHECKING:
    import torch

    from memshim.allocator.history import Change
    from memshim.allocator.recorder import CUDARegion


class Owner(NamedTuple):
    """What a tensor that is there is: a field of Parts; of the model's own, the parameter's or
    buffer's name."""

    part: str
    name: str = ""


class Breaker:
    """Breaks the peaks of one model's iterations down."""

    def __init__(self, model: torch.nn.Module, loop: Loop, optimizer: Any) -> None:
        self._model, self._loop, self._optimizer = model, loop, optimizer
        self._layers, self._looked = list(loop.modules), False
        self._types = {name: type(m).__name__ for name, m in loop.modules.items()}
        self._inside = _Inside(self._layers)
        self._workspace, self._unsure = Workspace(), 0
        # C++ stacks of the next iteration that is recorded: it may allocate what was not seen
        # before
        self.wants_native = True

    def of(self, region: Region) -> Breakdown:
        """Of the iteration that ends now, which the region reports."""
        new = region.where == "cuda" and self._workspace.learn(region)
        self._unsure = 0
        changes = replay(region)
        m = moment(region, changes)
        counted = region.peaks().get("allocated", 0) if region.where == "cuda" else 0
        owners = self._owners(region)
        deaths: dict[int, list[int]] = {}
        for c in changes:
            if c.bytes < 0:
                deaths.setdefault(c.event.key, []).append(c.index)
        labels = self._labels(region)
        calls = _Calls(region, self._loop, self._inside)
        sums, held = dict.fromkeys(Parts._fields, 0), 0
        rows: dict[tuple[str, str], dict[str, int]] = {}
        at_peak = self._phase(region, m.at, calls)
        for h in m.held:
            death = next((d for d in deaths.get(h.event.key, ()) if d > h.born), None)
            part, layer, tensor = self._what(region, h, death, owners, labels, calls)
            sums[part] += h.event.size
            sums["rounding"] += h.block - h.event.size
            held += h.block
            self._add(rows, part, layer, tensor, h.event.size)
        asked = _asked_before(region)
        for key, block in self._still(region, changes, m.at):
            size = asked.get(key, block)
            part, name = self._known(region, key, size, owners)
            sums[part] += size
            sums["rounding"] += block - size
            held += block
            self._add(rows, part, *self._place(name), size)
        peak = max(m.total, counted)
        sums["rounding"] += peak - held
        lost = region.lost or (
            f"{sizes.show(self._unsure)} may be workspace: there are no C++ stacks" if self._unsure else ""
        )
        self.wants_native = bool(new or self._unsure)
        return Breakdown(peak, _cached(region, m.at, peak), Parts(**sums), self._rows(rows), *at_peak, lost)

    def _still(self, region: Region, changes: list[Change], at: int) -> list[tuple[int, int]]:
        """What was there before and still is at the peak."""
        gone = {c.event.key for c in changes if c.index <= at and c.bytes < 0 and c.of_before}
        return [(key, size) for key, size in region.before.items() if key not in gone]

    def _known(self, region: Region, key: int, size: int, owners: dict[int, Owner]) -> tuple[str, str]:
        """What was there before the iteration: by what it is now, or was marked as while it was
        there."""
        owner = owners.get(key)
        label = self._loop.label_of(key, size)
        if owner is not None:
            return owner.part, owner.name
        if label.startswith(self._loop.gradient):
            return "gradients", label.removeprefix(self._loop.gradient)
        if label == self._loop.input:
            return "inputs", ""
        block = getattr(region, "at_end", {}).get(key)
        return ("workspace" if block and of_library(f["name"] for f in block.get("frames") or ()) else "other"), ""

    def _labels(self, region: Region) -> dict[int, str]:
        """By the index of an allocation's event: what its block was annotated as."""
        out, live = {}, {}
        for i, e in enumerate(region.events):
            if e.action == "alloc":
                live[e.key] = i
            elif e.action == "annotate" and e.key in live and e.tag.startswith((self._loop.gradient, self._loop.input)):
                out[live[e.key]] = e.tag
            elif e.action == "free_completed":
                live.pop(e.key, None)
        return out

    def _what(
        self, region: Region, h: Held, death: int | None, owners: Any, labels: Any, calls: _Calls
    ) -> tuple[str, str, str]:
        """Part, layer and tensor of what was made in the iteration."""
        e = h.event
        label = labels.get(h.born, "") if self._loop.annotates else self._loop.label_of(e.key, e.size)
        if label.startswith(self._loop.gradient):
            return "gradients", *self._place(label.removeprefix(self._loop.gradient))
        owner = owners.get(e.key) if death is None else None
        if owner is not None:
            return owner.part, *self._place(owner.name)
        if label == self._loop.input:
            return "inputs", "", ""
        workspace = region.where == "cuda" and self._workspace.kind(e)
        if workspace:
            return "workspace", "", ""
        if workspace is None:
            self._unsure += h.event.size
        tag = self._loop.own(e.tag)
        layer = calls.layer_of(tag)
        if layer is not None:
            return ("activations" if calls.outlives(h.born, death, layer) else "temporaries"), self._layers[layer], ""
        if tag == BASE and calls.after_forward(h.born):
            return "activations", OUTSIDE, ""  # of the loss
        if tag == BASE:
            return "other", "", ""
        return "temporaries", "", ""

    def _place(self, name: str) -> tuple[str, str]:
        layer, _, tensor = name.rpartition(".")
        return layer, tensor

    def _add(self, rows: dict[tuple[str, str], dict[str, int]], part: str, layer: str, tensor: str, size: int) -> None:
        if part in Row._fields and (layer or tensor or part == "activations"):
            for at in {(layer, ""), (layer, tensor)}:
                row = rows.setdefault(at, dict.fromkeys(Row._fields[3:], 0))
                row[part] += size

    def _rows(self, rows: dict[tuple[str, str], dict[str, int]]) -> list[Row]:
        """Layers in the model's order, each with its tensors."""
        order = {name: i for i, name in enumerate([*self._layers, OUTSIDE])}
        return [
            Row(
                layer,
                self._shape(layer, tensor) if tensor else self._types.get(layer, ""),
                tensor,
                **rows[layer, tensor],
            )
            for layer, tensor in sorted(rows, key=lambda at: (order.get(at[0], len(order)), at))
        ]

    def _shape(self, layer: str, tensor: str) -> str:
        """As memspec writes it: float32[64,3,7,7]."""
        t = getattr(self._loop.modules.get(layer), tensor, None)
        return (
            f"{str(t.dtype).removeprefix('torch.')}[{','.join(map(str, t.shape))}]"
            if t is not None and hasattr(t, "dtype")
            else ""
        )

    def _phase(self, region: Region, at: int, calls: _Calls) -> tuple[str, str]:
        """What went on when the peak was reached, and where."""
        if at < 0:
            return "outside", "before the first allocation"
        e = region.events[at]
        frame = line_of(region.stacks, e)[0]
        tag = self._loop.own(e.tag)
        layer = calls.layer_of(tag)
        if layer is not None:
            return "forward", self._layers[layer] or "(model)"
        phase = "step" if tag == STEP else "outside" if tag == BASE else "backward"
        return phase, str(frame or "")

    def _owners(self, region: Region) -> dict[int, Owner]:
        """By key, what each tensor is that can be reached now."""
        import torch

        out: dict[int, Owner] = {}

        def add(t: Any, part: str, name: str = "") -> None:
            for s in storages(t):
                if s.device.type == region.where and region.index in (None, s.device.index) and s.nbytes():
                    for key in region.keys_of(t) if region.where == "cpu" else (s.data_ptr(),):
                        out.setdefault(key, Owner(part, name))

        def each(value: Any) -> Iterator[Any]:
            if isinstance(value, torch.Tensor):
                yield value
            elif isinstance(value, dict):
                for v in value.values():
                    yield from each(v)
            elif isinstance(value, (list, tuple)):
                for v in value:
                    yield from each(v)

        with aside():
            mine = {}
            for name, t in [*self._model.named_parameters(), *self._model.named_buffers()]:
                add(t, "weights", name)
                mine[id(t)] = name
                if t.is_leaf and t.grad is not None:
                    add(t.grad, "gradients", name)
            self._look_around()
            for o in self._loop.optimizers:
                part = "optimizer_state" if self._steps(o, mine) else "other_models"
                for p, state in o.state.items():
                    for t in each(state):
                        add(t, part, mine.get(id(p), ""))
            for m in self._loop.others:
                for t in [*m._parameters.values(), *m._buffers.values()]:
                    if t is not None and id(t) not in mine:
                        add(t, "other_models")
                        if t.is_leaf and t.grad is not None:
                            add(t.grad, "other_models")
        return out

    def _look_around(self) -> None:
        """Models and optimizers that were there before; those that come later are seen when they
        run and step."""
        import torch

        if self._looked:
            return
        self._looked, mine = True, set(map(id, self._loop.modules.values()))
        objects = gc.get_objects()
        kinds = {kind for kind in set(map(type, objects)) if issubclass(kind, (torch.optim.Optimizer, torch.nn.Module))}
        for o in [o for o in objects if type(o) in kinds]:
            if issubclass(type(o), torch.optim.Optimizer):
                if "state" in o.__dict__:
                    self._loop.optimizers.add(o)
            elif isinstance(o.__dict__.get("_parameters"), dict) and id(o) not in mine:
                self._loop.others.add(o)

    def _steps(self, optimizer: Any, mine: dict[int, str]) -> bool:
        """Whether it is the model's."""
        if self._optimizer is not None:
            return optimizer is self._optimizer
        return any(id(p) in mine for group in optimizer.param_groups for p in group["params"])


OUTSIDE = "(outside of the model)"


class _Inside:
    """Which layers lie in which, by number."""

    def __init__(self, names: list[str]) -> None:
        self._names: list[str] = names
        self._known: dict[int, set[int]] = {}

    def of(self, layer: int) -> set[int]:
        """Itself among them."""
        if layer not in self._known:
            name = self._names[layer]
            self._known[layer] = {
                j for j, other in enumerate(self._names) if not name or other == name or other.startswith(name + ".")
            }
        return self._known[layer]


class _Calls:
    """The layers' calls, as the tags of the events report them."""

    def __init__(self, region: Region, loop: Loop, inside: _Inside) -> None:
        self._layers, self._inside = {tag_of(i): i for i in range(len(loop.modules))}, inside
        counted = ((i, loop.own(e.tag)) for i, e in enumerate(region.events) if e.action != "annotate")
        self._tags = [(i, tag) for i, tag in counted if tag]
        self._first = next((i for i, tag in self._tags if tag in self._layers), len(region.events))

    def layer_of(self, tag: str) -> int | None:
        return self._layers.get(tag)

    def after_forward(self, at: int) -> bool:
        return at > self._first

    def outlives(self, born: int, death: int | None, layer: int) -> bool:
        """Whether it is there when the call of the layer that made it is over."""
        if death is None:
            return True
        inside = self._inside.of(layer)
        for i, tag in self._tags[bisect.bisect(self._tags, (born, chr(0x10FFFF))) :]:
            if self._layers.get(tag) not in inside:
                return death > i
        return False


def _asked_before(region: Region) -> dict[int, int]:
    """Of what was there when the region began, what had been asked for: reported by its free, or by the
    snapshot where it still is."""
    if region.where != "cuda":
        return {}
    out = {key: b["requested_size"] for key, b in cast("CUDARegion", region).at_end.items()}
    seen = set()
    for e in region.events:
        if e.action == "free_requested" and e.key not in seen:
            out[e.key] = e.size
        if e.action in ("alloc", "free_requested"):
            seen.add(e.key)
    return out


def _cached(region: Region, at: int, allocated: int) -> int | None:
    """What was reserved beside the allocated at that moment."""
    if region.where != "cuda":
        return None
    after = 0
    for e in region.events[at + 1 :]:
        if e.action in ("segment_alloc", "segment_map"):
            after += e.size
        elif e.action in ("segment_free", "segment_unmap"):
            after -= e.size
    return region.now()["reserved"] - after - allocated
