"""Whose each allocation is: module, operator, category, phase and the line that asked.

While it is on, marks are kept of when modules run, a backward begins and an optimizer steps, and of
which block becomes a gradient. A phase goes on until another begins; a forward begins with the next
module that is called, or with the iteration. A mark is a count of the allocator's own counters, so
that it lies between two events of its history whatever PyTorch keeps with them (2.11 keeps no
metadata), and making one allocates nothing. Operators and lines are read from the stacks; of a
backward operator they are those of its forward, which PyTorch reports with the node
(forward_lines.py), with the module that ran. Hooks are PyTorch's global ones: nothing is put into
the model.
"""

from __future__ import annotations

import bisect
import gc
import threading
import weakref
from array import array
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from memshim.allocator.events import Event, forward_frames
from memshim.allocator.recorder import CUDARegion, recorder
from memshim.allocator.recording import Site
from memshim.attribution import forward_lines, saved_tensors
from memshim.attribution.generated_code import generated
from memshim.attribution.operators import fused, makes, of_library, operator
from memshim.attribution.tensor_modules import TensorModules
from memshim.frames import compiled
from memshim.gpu.storages import storages

FORWARD, BACKWARD, STEP = "forward", "backward", "step"


class Mark(NamedTuple):
    """count: how many allocations and frees there had been."""

    count: int  # type: ignore[assignment]  # hides a method of tuple
    name: str


class Owned(NamedTuple):
    """What the storage at an address was for at a count. module: None where the module that made it
    counts."""

    count: int  # type: ignore[assignment]  # hides a method of tuple
    key: int
    category: str
    module: str | None = None


class Owner(NamedTuple):
    """What a storage is for. module: as of Owned."""

    category: str
    module: str | None = None


class Log:
    """Rows of numbers, each with a label. It keeps no object that Python's garbage collector
    counts: the collector comes when it comes without us."""

    def __init__(self, width: int):
        self._width, self._numbers = width, array("q")
        self._labels: list[Any] = []

    def add(self, label: Any, *numbers: int) -> None:
        self._numbers.extend(numbers)
        self._labels.append(label)

    def __len__(self) -> int:
        return len(self._labels)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for i, label in enumerate(self._labels):
            yield *self._numbers[i * self._width : (i + 1) * self._width], label


class Attribution:
    """Of one device, from `on` to `off`; `sites` reads what a region of it reports."""

    def __init__(self, index: int = 0):
        self._index = index
        self.phases: list[Mark] = []
        self.modules = Log(1)  # the module that runs from there on, None for none
        self._owned = Log(2)  # counts and addresses, labelled with category and module
        self._labels: dict[tuple[str, str | None], tuple[str, str | None]] = {}  # each once
        self._names_savers = False
        self._saved = Log(2)  # counts and addresses, labelled with what autograd saved them for
        self.called: Callable[[Any, Any], None] | None = None  # with each module that no other calls, and its arguments
        self.cleared: list[tuple[int, int]] = []  # counts between which autocast released the copies that it keeps
        self._names: dict[int, tuple[weakref.ref[Any], str]] = {}  # by id of a module, which may come twice
        self.tensors = TensorModules()
        self._running = threading.local()
        self._undo: list[Any] = []
        self._lock = threading.Lock()
        self._deep = self._steps = 0  # calls of backward, and steps of optimizers, that are under way

    def count(self) -> int:
        collects = gc.isenabled()
        gc.disable()  # which the dicts of PyTorch's answer would call
        try:
            counted = recorder.real_stats(self._index)["allocation"]["all"]
            return int(counted["allocated"] + counted["freed"])
        finally:
            if collects:
                gc.enable()

    def on(self) -> Attribution:
        import torch
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        compiling = torch.compiler.is_compiling

        def enter(module: Any, args: Any) -> None:
            if not compiling():
                self._push(module, args)

        def leave(module: Any, args: Any, out: Any) -> None:
            if not compiling():
                self._pop()

        original = torch.autograd.backward

        def backward(*args: Any, **kwargs: Any) -> Any:
            nested = self._deep
            self._deep += 1
            if not nested:
                self._phase(BACKWARD)
            if self._names_savers:
                self.saved_behind(args[0] if args else kwargs.get("tensors", ()))
            try:
                return original(*args, **kwargs)
            finally:
                self._deep -= 1
                if not nested and self._steps:
                    self._phase(STEP)

        def steps(*_: Any) -> None:
            self._steps += 1
            self._phase(STEP)

        def stepped(*_: Any) -> None:
            self._steps -= 1

        clear = torch.clear_autocast_cache

        def cleared() -> None:
            before = self.count()
            clear()
            self.cleared.append((before, self.count()))

        handles = [
            register_module_forward_pre_hook(enter),
            register_module_forward_hook(leave, always_call=True),
            register_optimizer_step_pre_hook(steps),
            register_optimizer_step_post_hook(stepped),
        ]
        torch.autograd.backward, torch.clear_autocast_cache = backward, cleared
        self._undo = [h.remove for h in handles] + [
            lambda: setattr(torch.autograd, "backward", original),
            lambda: setattr(torch, "clear_autocast_cache", clear),
        ]
        forward_lines.running = self.running
        return self

    def off(self) -> None:
        forward_lines.running = None
        for undo in self._undo:
            undo()
        self._undo = []

    def watch(self, model: Any) -> None:
        """Name a model's modules, see its gradients as they come, and what autograd saves of its step.

        Looking at a graph changes in which order its nodes die, and with them what nothing else holds.
        In memshim's own step those are no tensors; a program's graph is left alone.
        """
        self._names_savers = True
        self._name(model)
        self.watch_gradients(model.parameters())

    def watch_gradients(self, parameters: Any) -> None:
        import torch

        for p in parameters:
            if not torch.nn.parameter.is_lazy(p) and p.requires_grad and p.is_leaf:
                self._undo.append(p.register_post_accumulate_grad_hook(self._accumulated).remove)

    def _name(self, root: Any) -> None:
        for name, m in root.named_modules():
            if self._name_of(m) is None:
                self._names[id(m)] = weakref.ref(m), name
        self.tensors.name_all(root)

    def _name_of(self, module: Any) -> str | None:
        held, name = self._names.get(id(module), (None, None))
        return name if held is not None and held() is module else None

    def _accumulated(self, parameter: Any) -> None:
        count = self.count()
        if parameter.grad is not None:
            self.own(count, parameter.grad, "gradient", self.tensors.of(parameter))

    def own(self, count: int, t: Any, category: str, module: str | None = None) -> None:
        """What a tensor's storages are for, at a count."""
        for key in self._keys(t):
            label = category, module
            self._owned.add(self._labels.setdefault(label, label), count, key)

    def saved_behind(self, tensors: Any) -> None:
        """What autograd saved in the graph behind tensors, with what it saved each for."""
        count = self.count()
        for found in saved_tensors.saved(tensors if isinstance(tensors, (tuple, list)) else (tensors,)):
            for key in self._keys(found.tensor):
                self._saved.add(found.label, count, key)

    def saved(self) -> Iterator[tuple[int, int, str]]:
        """Counts, addresses, and Saved.label; of an address and a count in the order of the forward."""
        yield from self._saved

    def _keys(self, t: Any) -> list[int]:
        """The addresses of a tensor's storages on the device."""
        return [
            s.data_ptr()
            for s in storages(t)
            if s.device.type == "cuda" and s.device.index == self._index and s.nbytes()
        ]

    def owned(self) -> Iterator[Owned]:
        for count, key, (category, module) in self._owned:
            yield Owned(count, key, category, module)

    def _stack(self) -> list[str]:
        stack: list[str] | None = getattr(self._running, "stack", None)
        if stack is None:
            stack = self._running.stack = []
        return stack

    def begin(self) -> None:
        """An iteration begins."""
        self._phase(FORWARD)

    def _push(self, module: Any, args: Any) -> None:
        stack = self._stack()
        if not stack and not self._deep and self.phases and self.phases[-1].name != FORWARD:
            self._phase(FORWARD)
        name = self._name_of(module)
        if name is None and stack:
            name = stack[-1]  # made on the way: it counts for whoever runs it
            self._names[id(module)] = weakref.ref(module), name
        elif name is None:
            self._name(module)
            name = ""
        if self.called is not None and not stack and not self._deep:
            self.called(module, args)
        stack.append(name)
        self._module(name)

    def _pop(self) -> None:
        stack = self._stack()
        if stack:
            stack.pop()
        self._module(stack[-1] if stack else None)

    def _module(self, name: str | None) -> None:
        with self._lock:
            self.modules.add(name, self.count())

    def _phase(self, name: str) -> None:
        with self._lock:
            self.phases.append(Mark(self.count(), name))

    def running(self) -> str:
        """The module that runs in this thread."""
        stack = self._stack()
        return stack[-1] if stack else ""


class Reading:
    """The events of a region in the light of the marks."""

    def __init__(
        self, region: CUDARegion, marks: Attribution, start: int, owners: dict[int, Owner], program: bool = False
    ):
        """start: the count when the region began. owners: what there is at the end, by key. program:
        it is no iteration of ours, and what no module made may be anything."""
        self._region, self._marks, self._owners, self._program = region, marks, owners, program
        self._asked_by: dict[int, tuple[str, bool]] = {}  # by stack, the operator, and whether a library asked
        self._lines: dict[int, int] = {}  # by stack, what is Python's of it
        self._counted = [i for i, e in enumerate(region.events) if e.action in ("alloc", "free_requested")]
        self._start = start
        self._allocated: dict[int, list[int]] | None = None  # by address, the events that allocated there
        for before, after in marks.cleared:
            in_order_of_birth(region.events, self.index(before), self.index(after))
        self._ran = [Mark(self.index(count), name) for count, name in marks.modules]
        self._starts = [m.count for m in self._ran]

    def index(self, count: int) -> int:
        """The first event after a mark. What completes frees before it belongs to them."""
        n, events = count - self._start, self._region.events
        if n <= 0:
            return 0
        if n > len(self._counted):
            return len(events)
        at = self._counted[n - 1] + 1
        while at < len(events) and events[at].action in ("free_completed", "segment_free", "segment_unmap", "annotate"):
            at += 1
        return at

    def phases(self) -> list[tuple[int, str]]:
        """Where phases begin, by event."""
        return [(self.index(m.count), m.name) for m in self._marks.phases]

    def module_at(self, event: int) -> str | None:
        """None where none ran."""
        i = bisect.bisect_right(self._starts, event) - 1
        return self._ran[i].name if i >= 0 else None

    def phase_at(self, phases: list[tuple[int, str]], event: int) -> str:
        i = bisect.bisect_right(phases, (event, "\U0010ffff")) - 1
        return phases[i][1] if i >= 0 else FORWARD

    def owned(self) -> dict[int, Owned]:
        """By the event that allocated it, what a storage was for: a gradient, else what was seen
        first except an input. What became an input is one where no module made it."""
        out: dict[int, Owned] = {}
        for o in self._marks.owned():
            at = self._born(o.count, o.key)
            if at < 0:
                continue
            known = out.get(at)
            if o.category == "input" and (known or self.module_at(at) is not None):
                continue
            if known is None or known.category == "input" or o.category == "gradient":
                out[at] = o
            elif known.module is None and known.category == o.category:
                out[at] = known._replace(module=o.module)
        return out

    def _born(self, count: int, key: int) -> int:
        """The event that allocated what lies at an address at a count; -1 where it is of before, or of
        what is no longer recorded."""
        if self._allocated is None:
            self._allocated = {}
            for i, e in enumerate(self._region.events):
                if e.action == "alloc":
                    self._allocated.setdefault(e.key, []).append(i)
        of = self._allocated.get(key, [])
        at = bisect.bisect_left(of, self.index(count)) - 1
        return -1 if at < 0 or count - self._start > len(self._counted) else of[at]

    def savers(self) -> dict[int, tuple[str, str, int]]:
        """By the event that allocated it, of what autograd saved: the first node that it was saved for,
        with the module that ran and the stack."""
        stacks, out = self._region.stacks, dict[int, tuple[str, str, int]]()
        of_label: dict[str, tuple[str, str, int]] = {}
        for count, key, label in self._marks.saved():
            at = self._born(count, key)
            if at < 0 or at in out:
                continue
            if label not in of_label:
                node, _, place = label.partition("\n")
                frames = forward_frames([place])
                module = next((function for file, _, function in frames if file == forward_lines.MODULE), "")
                of_label[label] = node, module, self._python(stacks.add(frames))
            out[at] = of_label[label]
        return out

    def sites(self) -> list[Site | None]:
        """One an event: a free's is its allocation's."""
        phases, owned, ends, savers = self.phases(), self.owned(), self._deaths(), self.savers()
        live: dict[int, Site] = {}
        out: list[Site | None] = []
        for i, e in enumerate(self._region.events):
            if e.action == "alloc":
                site = self._site(i, phases, owned.get(i), ends.get(i))
                live[e.key] = site._replace(saver=savers.get(i)) if site.category == "activation" else site
                out.append(live[e.key])
            elif e.action == "oom":
                out.append(self._site(i, phases, None, None))
            elif e.action == "free_completed":
                out.append(live.pop(e.key, None))
            else:
                out.append(live.get(e.key) if e.action == "free_requested" else None)
        return out

    def _deaths(self) -> dict[int, int]:
        """By an allocation's event, the event that asks for its free."""
        live: dict[int, int] = {}
        out: dict[int, int] = {}
        for i, e in enumerate(self._region.events):
            if e.action == "alloc":
                live[e.key] = i
            elif e.action == "free_requested" and e.key in live:
                out[live.pop(e.key)] = i
        return out

    def _site(self, at: int, phases: list[tuple[int, str]], owned: Owned | None, death: int | None) -> Site:
        e, stacks = self._region.events[at], self._region.stacks
        ran = module = self.module_at(at)
        stack = e.stack
        if e.forward >= 0:
            stack, frames = e.forward, stacks.of(e.forward)
            module = next((f.function for f in frames if f.file == forward_lines.MODULE), module)
        op, library = self._asked(e.stack)
        if owned:
            module, category = module if owned.module is None else owned.module, owned.category
        elif death is None and e.key in self._owners:
            category, of = self._owners[e.key]
            module = module if of is None else of
        else:
            category = "workspace" if library else self._category(at, phases, op if ran is None else None, death)
        return Site(op, module or "", category, self._python(stack))

    def _asked(self, stack: int) -> tuple[str, bool]:
        """The operator that asked, and whether a library did for it."""
        if stack not in self._asked_by:
            frames = self._region.stacks.of(stack)
            self._asked_by[stack] = operator(frames) or fused(frames), of_library(frames)
        return self._asked_by[stack]

    def _category(self, at: int, phases: list[tuple[int, str]], outside: str | None, death: int | None) -> str:
        """Of what nobody owns. outside: the operator, where no module ran."""
        phase = self.phase_at(phases, at)
        if phase != FORWARD:
            ends = (
                next((i for i, name in phases if i > at and name != phase), len(self._region.events))
                if self._program
                else at
            )
            return "untraced" if self._program and (death is None or death > ends) else "temporary"
        if death is not None and not _outlives(self._region, at, death):
            return "temporary"
        return "untraced" if self._program and outside is not None and makes(outside) else "activation"

    def _python(self, stack: int) -> int:
        """The stack without what is not Python's, and without the code that inductor made of the
        user's."""
        if stack not in self._lines:
            stacks = self._region.stacks
            frames = [
                f for f in stacks.of(stack) if f.file != forward_lines.MODULE and f.line > 0 and not compiled(f.file)
            ]
            frames = [f for f in frames if not generated(f.file)] or frames
            self._lines[stack] = stacks.add([(f.file, f.line, f.function) for f in frames])
        return self._lines[stack]


def in_order_of_birth(events: list[Event], begin: int, end: int) -> None:
    """Autocast releases its copies in the order of a hash of their addresses in the process
    (autocast_mode.cpp, cached_casts), which is another in every run. What is held afterwards is the
    same in any order: the oldest goes first."""
    pairs = [events[i : i + 2] for i in range(begin, end, 2)]
    if not all(
        [e.action for e in pair] == ["free_requested", "free_completed"] and pair[0].key == pair[1].key
        for pair in pairs
    ):
        return  # it released nothing, or of what a stream still reads
    born = {e.key: i for i, e in enumerate(events[:begin]) if e.action == "alloc"}
    events[begin:end] = [e for pair in sorted(pairs, key=lambda pair: born.get(pair[0].key, -1)) for e in pair]


def _outlives(region: CUDARegion, born: int, death: int) -> bool:
    """Whether something else was asked for by another line before it was released: it outlived the
    operator that made it."""
    stack = region.events[born].stack
    return any(e.action == "alloc" and e.stack != stack for e in region.events[born + 1 : death])
