"""Whose each allocation is: module, operator, category, phase and the line that asked.

While it is on, marks are kept of when modules run, a backward begins and an optimizer steps, and of which block becomes a gradient. A phase goes
on until another begins; a forward begins with the next module that is called, or with the iteration. A mark is a count
of the allocator's own counters, so that it lies between two events of its history whatever PyTorch keeps with them (2.11 keeps no metadata), and
making one allocates nothing. Operators and lines are read from the stacks; of a backward operator they are those of its forward, which PyTorch
tells with the node (run/forward.py), with the module that ran. Hooks are PyTorch's global ones: nothing is put into the model.
"""

from __future__ import annotations

import bisect
import re
import threading
from functools import lru_cache
from typing import Any, NamedTuple

from memshim.run import forward
from memshim.run.events import Event
from memshim.run.frames import compiled
from memshim.run.generated import generated, operators
from memshim.run.rec import Site
from memshim.run.recorder import CUDARegion, recorder
from memshim.run.storages import storages

FORWARD, BACKWARD, STEP = "forward", "backward", "step"
_OPERATOR = re.compile(r"at::_ops::(\w+)::(?:call|redispatch)")
_TENSOR = ("empty_generic", "empty_strided_generic", "StorageImpl", "resize_bytes", "empty_cuda", "empty_strided_cuda")


class Mark(NamedTuple):
    """count: how many allocations and frees there had been."""

    count: int
    name: str


class Gradient(NamedTuple):
    count: int
    key: int


class Attribution:
    """Of one device, from `on` to `off`; `sites` reads what a region of it tells."""

    def __init__(self, index: int = 0):
        self._index = index
        self.phases: list[Mark] = []
        self.modules: list[Mark] = []  # the module that runs from there on, "" for none
        self._gradients: list[Gradient] = []
        self.cleared: list[tuple[int, int]] = []  # counts between which autocast let go of the copies that it keeps
        self._names: dict[int, str] = {}  # by id of a module
        self._roots: list[Any] = []  # held, so that no id comes twice
        self._running = threading.local()
        self._undo: list[Any] = []
        self._lock = threading.Lock()
        self._deep = self._steps = 0  # calls of backward, and steps of optimizers, that are under way

    def count(self) -> int:
        told = recorder.real_stats(self._index)["allocation"]["all"]
        return told["allocated"] + told["freed"]

    def on(self) -> Attribution:
        import torch
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        compiling = torch.compiler.is_compiling

        def enter(module: Any, args: Any) -> None:
            if not compiling():
                self._push(module)

        def leave(module: Any, args: Any, out: Any) -> None:
            if not compiling():
                self._pop()

        original = torch.autograd.backward

        def backward(*args: Any, **kwargs: Any) -> Any:
            nested = self._deep
            self._deep += 1
            if not nested:
                self._phase(BACKWARD)
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

        handles = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True),
                   register_optimizer_step_pre_hook(steps), register_optimizer_step_post_hook(stepped)]
        torch.autograd.backward, torch.clear_autocast_cache = backward, cleared
        self._undo = [h.remove for h in handles] + [lambda: setattr(torch.autograd, "backward", original), lambda: setattr(torch, "clear_autocast_cache", clear)]
        forward.running = self.running
        return self

    def off(self) -> None:
        forward.running = None
        for undo in self._undo:
            undo()
        self._undo = []

    def watch(self, model: Any) -> None:
        """Name a model's modules and see its gradients as they come."""
        self._name(model)
        self.watch_gradients(model.parameters())

    def watch_gradients(self, parameters: Any) -> None:
        import torch

        for p in parameters:
            if not torch.nn.parameter.is_lazy(p) and p.requires_grad and p.is_leaf:
                self._undo.append(p.register_post_accumulate_grad_hook(self._accumulated).remove)

    def _name(self, root: Any) -> None:
        self._roots.append(root)
        for name, m in root.named_modules():
            self._names.setdefault(id(m), name)

    def _accumulated(self, parameter: Any) -> None:
        count = self.count()
        if parameter.grad is not None:
            self._gradients += [Gradient(count, s.data_ptr()) for s in storages(parameter.grad) if s.nbytes()]

    def _stack(self) -> list[str]:
        try:
            return self._running.stack
        except AttributeError:
            self._running.stack = []
            return self._running.stack

    def begin(self) -> None:
        """An iteration begins."""
        self._phase(FORWARD)

    def _push(self, module: Any) -> None:
        stack = self._stack()
        if not stack and not self._deep and self.phases and self.phases[-1].name != FORWARD:
            self._phase(FORWARD)
        if id(module) not in self._names:
            if stack:
                self._roots.append(module)
                self._names[id(module)] = stack[-1]  # made on the way: it counts for whoever runs it
            else:
                self._name(module)
        stack.append(self._names[id(module)])
        self._module(stack[-1])

    def _pop(self) -> None:
        stack = self._stack()
        if stack:
            stack.pop()
        self._module(stack[-1] if stack else "")

    def _module(self, name: str) -> None:
        with self._lock:
            self.modules.append(Mark(self.count(), name))

    def _phase(self, name: str) -> None:
        with self._lock:
            self.phases.append(Mark(self.count(), name))

    def running(self) -> str:
        """The module that runs in this thread."""
        stack = self._stack()
        return stack[-1] if stack else ""


class Reading:
    """The events of a region in the light of the marks."""

    def __init__(self, region: CUDARegion, marks: Attribution, start: int, owners: dict[int, str]):
        """start: the count when the region began. owners: category of what is there at the end, by key."""
        self._region, self._marks, self._owners = region, marks, owners
        self._counted = [i for i, e in enumerate(region.events) if e.action in ("alloc", "free_requested")]
        self._start = start
        for before, after in marks.cleared:
            in_order_of_birth(region.events, self.index(before), self.index(after))
        self._starts = [self.index(m.count) for m in marks.modules]

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

    def module_at(self, event: int) -> str:
        i = bisect.bisect_right(self._starts, event) - 1
        return self._marks.modules[i].name if i >= 0 else ""

    def phase_at(self, phases: list[tuple[int, str]], event: int) -> str:
        i = bisect.bisect_right(phases, (event, "\U0010ffff")) - 1
        return phases[i][1] if i >= 0 else FORWARD

    def gradients(self) -> set[int]:
        """The events that allocated what became a gradient."""
        born: dict[int, list[int]] = {}
        for i, e in enumerate(self._region.events):
            if e.action == "alloc":
                born.setdefault(e.key, []).append(i)
        out = set()
        for g in self._marks._gradients:
            of = born.get(g.key, [])
            at = bisect.bisect_left(of, self.index(g.count)) - 1
            if at >= 0:
                out.add(of[at])
        return out

    def sites(self) -> list[Site | None]:
        """One an event: a free's is its allocation's."""
        phases, gradients, ends = self.phases(), self.gradients(), self._deaths()
        live: dict[int, Site] = {}
        out: list[Site | None] = []
        for i, e in enumerate(self._region.events):
            if e.action == "alloc":
                live[e.key] = self._site(i, self.phase_at(phases, i), i in gradients, ends.get(i))
                out.append(live[e.key])
            elif e.action == "oom":
                out.append(self._site(i, self.phase_at(phases, i), False, None))
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

    def _site(self, at: int, phase: str, gradient: bool, death: int | None) -> Site:
        e, stacks = self._region.events[at], self._region.stacks
        told = stacks.of(e.stack)
        module = self.module_at(at)
        stack = e.stack
        if e.forward >= 0:
            stack, frames = e.forward, stacks.of(e.forward)
            module = next((f.function for f in frames if f.file == forward.MODULE), module)
        category = self._category(at, phase, gradient, death, told)
        return Site(_operator(told) or _fused(told), module, category, self._python(stack))

    def _category(self, at: int, phase: str, gradient: bool, death: int | None, told: list) -> str:
        e = self._region.events[at]
        if gradient:
            return "gradient"
        if death is None and e.key in self._owners:
            return self._owners[e.key]
        if _library(told):
            return "workspace"
        if phase != FORWARD:
            return "temporary"
        return "activation" if death is None or _outlives(self._region, at, death) else "temporary"

    def _python(self, stack: int) -> int:
        """The stack without what is not Python's, and without the code that inductor made of the user's."""
        stacks = self._region.stacks
        frames = [f for f in stacks.of(stack) if f.file != forward.MODULE and f.line > 0 and not compiled(f.file)]
        frames = [f for f in frames if not generated(f.file)] or frames
        return stacks.add(list(map(tuple, frames)))


def in_order_of_birth(events: list[Event], begin: int, end: int) -> None:
    """Autocast lets go of its copies in the order of a hash of their addresses in the process (autocast_mode.cpp, cached_casts), which is another in
    every run. What is held afterwards is the same in any order: the oldest goes first."""
    pairs = [events[i:i + 2] for i in range(begin, end, 2)]
    if not all([e.action for e in pair] == ["free_requested", "free_completed"] and pair[0].key == pair[1].key for pair in pairs):
        return  # it let go of nothing, or of what a stream still reads
    born = {e.key: i for i, e in enumerate(events[:begin]) if e.action == "alloc"}
    events[begin:end] = [e for pair in sorted(pairs, key=lambda pair: born.get(pair[0].key, -1)) for e in pair]


def _outlives(region: CUDARegion, born: int, death: int) -> bool:
    """Whether something else was asked for by another line before it was let go: it outlived the operator that made it."""
    stack = region.events[born].stack
    for e in region.events[born + 1:death]:
        if e.action == "alloc" and e.stack != stack:
            return True
    return False


@lru_cache(maxsize=None)
def _overloads() -> dict[str, str]:
    """By the name of its C++ struct in at::_ops, every operator."""
    import torch

    return {"_".join(filter(None, (s.name.removeprefix("aten::"), s.overload_name))): s.name for s in torch._C._jit_get_all_schemas()
            if s.name.startswith("aten::")}


def _operator(told: list) -> str:
    """What Python, or a node of the backward, called: the outermost operator of the innermost C++."""
    found = ""
    for f in told:
        if f.file.endswith(".py"):
            break
        m = _OPERATOR.search(f.function)
        if m:
            found = _overloads().get(m[1], found)
    return found


def _fused(told: list) -> str:
    """What the kernel was made of that a line of inductor's code makes a buffer for."""
    first = next((f for f in told if f.line > 0 and not compiled(f.file)), None)
    return operators(first.file, first.line) if first is not None and generated(first.file) else ""


def _library(told: list) -> bool:
    """Whether no tensor asked: cuBLAS's, cuDNN's and CUB's workspace."""
    names = [f.function for f in told]
    return any("::" in n for n in names) and not any(t in n for n in names for t in _TENSOR)
