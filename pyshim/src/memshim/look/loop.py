"""Marks in a training loop: which layer runs, when the optimizer steps, which tensor is a gradient
or an input.

The marks lie in the allocator's own history, so that they cost next to nothing and are in order
with what it did: what a thread is doing is reported with each allocation
(torch.cuda.memory._set_memory_metadata), and what a block is by an annotation of it. Releases of
PyTorch without these, and CPU tensors, keep them here. Hooks are PyTorch's global ones: nothing is
put into the model, which can be pickled, copied, scripted and compiled.
"""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memshim.allocator.cpu_region import BASE, watcher
from memshim.gpu.storages import storages

if TYPE_CHECKING:
    import torch

    from memshim.allocator.history import Region

STEP = BASE + "step"
GRADIENT, INPUT = BASE + "gradient ", BASE + "input"


_count = itertools.count()
_numbers: dict[int, tuple[weakref.ref[Any], str]] = {}  # by the id of a module that a loop knows


def tag_of(module: int) -> str:
    """What allocations in a module's forward are tagged with, as its own loop reads it."""
    return f"{BASE}{module}"


def _number(module: Any) -> str:
    """Of a module in this process, the same for every loop."""
    known = _numbers.get(id(module))
    if known is None or known[0]() is not module:
        known = _numbers[id(module)] = weakref.ref(module), str(next(_count))
    return known[1]


class Doing:
    """What each thread does, reported with its allocations: BASE, and the modules that run in it, one
    in another, or that an optimizer steps. One for all loops, so that none reports over another; each
    reads its own modules of it (Loop.own)."""

    def __init__(self, report: Callable[[str], None] | None) -> None:
        self._report, self._loops, self._threads = report, 0, threading.local()

    def begin(self) -> None:
        self._loops += 1

    def end(self) -> None:
        self._loops -= 1
        if not self._loops:
            self._threads = threading.local()
            if self._report:
                self._report("")

    def _stack(self) -> list[tuple[str, str]]:
        stack: list[tuple[str, str]] = self._threads.__dict__.setdefault("stack", [])
        return stack

    def _now(self) -> str:
        stack = self._stack()
        return stack[-1][1] if stack else BASE if threading.current_thread() is threading.main_thread() else ""

    def push(self, name: str) -> None:
        path = f"{self._now() or _ELSEWHERE}/{name}"
        self._stack().append((name, path))
        if self._report:
            self._report(path)

    def pop(self, name: str) -> None:
        stack = self._stack()
        while stack and stack.pop()[0] != name:
            pass
        if self._report:
            self._report(self._now())

    def outside(self) -> None:
        """This thread does nothing of a model's from here on."""
        if self._report:
            self._report(self._now() if self._stack() else BASE)


_ELSEWHERE = f"{BASE}-"  # in threads that are not the main one
_STEPS = "step"
_doing: dict[str, Doing] = {}


def doing(kind: str) -> Doing:
    """Of threads that allocate on a kind of device, cuda or cpu."""
    if kind not in _doing:
        import torch

        _doing[kind] = Doing(_name_to_watcher if kind == "cpu" else getattr(torch._C, "_cuda_setMemoryMetadata", None))
    return _doing[kind]


def _name_to_watcher(tag: str) -> None:
    watcher.tag = tag


class Loop:
    """Hooks for one model while it is on. `region` gets what is marked where annotations are not
    available."""

    def __init__(self, model: torch.nn.Module, region: Region, begins: Callable[[], Any]) -> None:
        """begins is called when the model's forward begins."""
        import torch

        self._torch, self._region, self._begins = torch, region, begins
        self.modules = dict(model.named_modules())
        self._index = {id(m): i for i, m in enumerate(self.modules.values())}
        self._names = [_number(m) for m in self.modules.values()]
        self._own = {"": "", BASE: BASE}
        self._mine = {name: tag_of(i) for i, name in enumerate(self._names)} | {_STEPS: STEP}
        n = next(_count)
        self.input, self.gradient = f"{INPUT} {n}", f"{GRADIENT}{n} "  # labels of this loop
        self._model = model
        self.annotates = region.where == "cuda" and hasattr(torch._C, "_cuda_annotateMemory")
        self._doing, self._naming = doing(region.where), False
        # by key and size of a storage, in this iteration and the one before
        self.labels: dict[tuple[int, int], str] = {}
        self._older: dict[tuple[int, int], str] = {}
        self.others: weakref.WeakSet[Any] = weakref.WeakSet()  # modules that ran and are not the model's
        self.optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._handles: list[Any] = []

    def on(self) -> None:
        """Mark everything."""
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        self.off()
        # a profiler that nobody holds ends, whatever PyTorch holds
        me, compiling = weakref.ref(self), self._torch.compiler.is_compiling

        def enter(module: torch.nn.Module, args: Any) -> None:
            if not compiling() and (loop := me()) is not None:
                loop._enter(module, args)

        def leave(module: torch.nn.Module, args: Any, out: Any) -> None:
            if not compiling() and (loop := me()) is not None:
                loop._leave(module)

        def accumulated(name: str) -> Callable[[torch.Tensor], None]:
            def hook(parameter: torch.Tensor) -> None:
                if (loop := me()) is not None and parameter.grad is not None:
                    loop._mark(parameter.grad, loop.gradient + name)

            return hook

        def steps(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
            if (loop := me()) is not None:
                loop.optimizers.add(optimizer)
                loop._doing.push(_STEPS)

        def stepped(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
            if (loop := me()) is not None:
                loop._doing.pop(_STEPS)

        self._handles = [
            register_module_forward_pre_hook(enter),
            register_module_forward_hook(leave, always_call=True),
            register_optimizer_step_pre_hook(steps),
            register_optimizer_step_post_hook(stepped),
        ]
        self._handles += [
            p.register_post_accumulate_grad_hook(accumulated(name))
            for name, p in self._model.named_parameters()
            if not self._torch.nn.parameter.is_lazy(p) and p.requires_grad and p.is_leaf
        ]
        self._doing.begin()
        self._naming = True
        self.outside()

    def wait(self) -> None:
        """Only say when the model runs."""
        from torch.nn.modules.module import register_module_forward_pre_hook

        self.off()
        me, root = weakref.ref(self), id(next(iter(self.modules.values())))

        def enter(module: torch.nn.Module, args: Any) -> None:
            if id(module) == root and (loop := me()) is not None:
                loop._begins()

        self._handles = [register_module_forward_pre_hook(vars(self._torch)["_disable_dynamo"](enter))]

    def off(self) -> None:
        for h in self._handles:
            h.remove()
        self._handles = []
        if self._naming:
            self._naming = False
            self._doing.end()

    def started(self) -> bool:
        """Before CUDA starts there is nothing to tag."""
        return self._region.where == "cpu" or self._torch.cuda.is_initialized()

    def outside(self) -> None:
        """This thread does nothing of the model's from here on."""
        if self.started():
            self._doing.outside()

    def own(self, tag: str) -> str:
        """Of what a thread did, what is this loop's: tag_of the innermost of its modules, STEP,
        BASE for the program beside them, empty in a backward."""
        found = self._own.get(tag)
        if found is None:
            where, *names = tag.split("/")
            found = self._own[tag] = next(
                (self._mine[n] for n in reversed(names) if n in self._mine), "" if where == _ELSEWHERE else BASE
            )
        return found

    def _of(self, module: torch.nn.Module) -> int | None:
        """Which of the model's modules it is, or is compiled from (torch.compile)."""
        i = self._index.get(id(module))
        if i is None and "_orig_mod" in (modules := module._modules):  # a scripted module's are no dict
            i = self._index.get(id(modules["_orig_mod"]))
        return i

    def _enter(self, module: torch.nn.Module, args: Any) -> None:
        i = self._of(module)
        if i is None:
            self.others.add(module)
            return
        if i == 0:
            kwargs = sys._getframe(2).f_locals.get("kwargs")  # of Module._call_impl: global hooks are not given them
            self._mark_inputs((args, kwargs if isinstance(kwargs, dict) else {}))
        self._doing.push(self._names[i])

    def _leave(self, module: torch.nn.Module) -> None:
        i = self._of(module)
        if i is not None:
            self._doing.pop(self._names[i])

    def _mark_inputs(self, given: Any) -> None:
        from torch.utils._pytree import tree_leaves

        for t in tree_leaves(given):
            if isinstance(t, self._torch.Tensor):
                self._mark(t, self.input)

    def _mark(self, tensor: torch.Tensor, label: str) -> None:
        if self._region.where == "cpu":
            for key in self._region.keys_of(tensor):
                self.labels[key, 0] = label
            return
        for s in storages(tensor):
            if s.device.type == "cuda" and s.nbytes():
                address = s.data_ptr()
                self.labels[address, s.nbytes()] = label
                if self.annotates:
                    self._torch._C._cuda_annotateMemory(address, label)

    def label_of(self, key: int, size: int) -> str:
        """What a storage was marked as, in this iteration or the last."""
        at = (key, 0 if self._region.where == "cpu" else size)
        return self.labels.get(at) or self._older.get(at, "")

    def next(self) -> None:
        """An iteration ends."""
        self._older, self.labels = self.labels, {}
