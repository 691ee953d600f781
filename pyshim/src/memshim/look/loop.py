"""Marks in a training loop: which layer runs, when the optimizer steps, which tensor is a gradient or an input.

The marks lie in the allocator's own history, so that they cost next to nothing and are in order with what it did: what a thread is doing is told
with each allocation (torch.cuda.memory._set_memory_metadata), and what a block is by an annotation of it. Releases of PyTorch without these, and
CPU tensors, keep them here. Hooks are PyTorch's global ones: nothing is put into the model, which can be pickled, copied, scripted and compiled.
"""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

from memshim.run.cpu import BASE, watcher
from memshim.run.storages import storages

STEP = BASE + "step"
GRADIENT, INPUT = BASE + "gradient ", BASE + "input"


def tag_of(module: int) -> str:
    """What allocations in a module's forward are tagged with."""
    return f"{BASE}{module}"


class Loop:
    """Hooks for one model while it is on. `region` is told what is marked where annotations are not to be had."""

    def __init__(self, model, region, begins) -> None:
        """begins is called when the model's forward begins."""
        import torch

        self._torch, self._region, self._begins = torch, region, begins
        self.modules = dict(model.named_modules())
        self._index = {id(m): i for i, m in enumerate(self.modules.values())}
        self._tags = [tag_of(i) for i in range(len(self._index))]
        self._model = model
        self._entered = threading.local()
        cuda = region.where == "cuda"
        self.annotates = cuda and hasattr(torch._C, "_cuda_annotateMemory")
        self._set = torch._C._cuda_setMemoryMetadata if cuda and hasattr(torch._C, "_cuda_setMemoryMetadata") else None if cuda else self._set_cpu
        self.labels: dict[tuple[int, int], str] = {}  # by key and size of a storage, in this iteration and the one before
        self._older: dict[tuple[int, int], str] = {}
        self.others: weakref.WeakSet[Any] = weakref.WeakSet()  # modules that ran and are not the model's
        self.optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._handles: list[Any] = []

    def on(self) -> None:
        """Mark everything."""
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        self.off()
        me, compiling = weakref.ref(self), self._torch.compiler.is_compiling  # a profiler that nobody holds ends, whatever PyTorch holds

        def enter(module, args) -> None:
            if not compiling() and (loop := me()) is not None:
                loop._enter(module, args)

        def leave(module, args, out) -> None:
            if not compiling() and (loop := me()) is not None:
                loop._leave(module)

        def accumulated(name):
            def hook(parameter) -> None:
                if (loop := me()) is not None and parameter.grad is not None:
                    loop._mark(parameter.grad, GRADIENT + name)
            return hook

        def steps(optimizer, args, kwargs) -> None:
            if (loop := me()) is not None:
                loop.optimizers.add(optimizer)
                loop._push(STEP)

        def stepped(optimizer, args, kwargs) -> None:
            if (loop := me()) is not None:
                loop._pop(STEP)

        self._handles = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True),
                         register_optimizer_step_pre_hook(steps), register_optimizer_step_post_hook(stepped)]
        self._handles += [p.register_post_accumulate_grad_hook(accumulated(name)) for name, p in self._model.named_parameters()
                          if not self._torch.nn.parameter.is_lazy(p) and p.requires_grad and p.is_leaf]
        self.outside()

    def wait(self) -> None:
        """Only tell when the model runs."""
        from torch.nn.modules.module import register_module_forward_pre_hook

        self.off()
        me, root = weakref.ref(self), id(next(iter(self.modules.values())))

        def enter(module, args) -> None:
            if id(module) == root and (loop := me()) is not None:
                loop._begins()

        self._handles = [register_module_forward_pre_hook(self._torch._disable_dynamo(enter))]

    def off(self) -> None:
        for h in self._handles:
            h.remove()
        self._handles = []
        if self._set and self.started():
            self._set("")

    def started(self) -> bool:
        """Before CUDA starts there is nothing to tag."""
        return self._region.where == "cpu" or self._torch.cuda.is_initialized()

    def outside(self) -> None:
        """This thread does nothing of the model's from here on."""
        if self._set and self.started():
            self._set(BASE)

    def _set_cpu(self, tag: str) -> None:
        watcher.tag = tag

    def _push(self, tag: str) -> None:
        stack = self._entered.__dict__.setdefault("stack", [])
        stack.append(tag)
        if self._set:
            self._set(tag)

    def _pop(self, tag: str) -> None:
        stack = self._entered.__dict__.setdefault("stack", [])
        while stack and stack.pop() != tag:
            pass
        if self._set:
            self._set(stack[-1] if stack else BASE if threading.current_thread() is threading.main_thread() else "")

    def _enter(self, module, args) -> None:
        i = self._index.get(id(module))
        if i is None:
            self.others.add(module)
            return
        if i == 0:
            kwargs = sys._getframe(2).f_locals.get("kwargs")  # of Module._call_impl: global hooks are not given them
            self._mark_inputs((args, kwargs if isinstance(kwargs, dict) else {}))
        self._push(self._tags[i])

    def _leave(self, module) -> None:
        i = self._index.get(id(module))
        if i is not None:
            self._pop(self._tags[i])

    def _mark_inputs(self, given) -> None:
        from torch.utils._pytree import tree_leaves

        for t in tree_leaves(given):
            if isinstance(t, self._torch.Tensor):
                self._mark(t, INPUT)

    def _mark(self, tensor, label: str) -> None:
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
