"""What the storages of a program are for: parameters, buffers, gradients, an optimizer's state,
inputs.

They are looked up by address while they are there: when a module is called that no other module
calls, when an optimizer has stepped, and at the end. Attribution finds the allocations that made
them. Nothing is held, and no tensor is made.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from typing import Any

from memshim.allocator.pytorch_snapshot import uncollected
from memshim.allocator.recorder import CUDARegion
from memshim.attribution.sites import Attribution, Reading


class Owners:
    """Of one device, from its region's beginning on."""

    def __init__(self, region: CUDARegion):
        self.marks, self.ended = Attribution(region.device), False
        self._region, self._start = region, self.marks.count()
        self.marks.on()
        self.marks.begin()
        self.marks.called = self._called

    def end(self) -> None:
        """No more events are recorded."""
        self.look()
        self.ended = True
        self.marks.off()

    def reading(self) -> Reading:
        return Reading(self._region, self.marks, self._start, {}, program=True)

    def stepped(self, optimizer: Any) -> None:
        """After an optimizer's step its gradients are still there, and its state is."""
        self._look(lambda count: self._optimizer(count, optimizer))

    def look(self) -> None:
        """Everything that Python can reach."""
        import torch

        def everything(count: int) -> None:
            there = gc.get_objects()
            for o in optimizers(there):
                self._optimizer(count, o)
            for o in there:
                if issubclass(type(o), torch.nn.Module) and "_parameters" in o.__dict__:
                    self._module(count, o, None)

        self._look(everything)

    def _called(self, root: Any, args: Any) -> None:
        def given(count: int) -> None:
            import torch
            from torch.utils._pytree import tree_leaves

            for name, module in root.named_modules():
                self._module(count, module, name)
            for t in tree_leaves(args):
                if isinstance(t, torch.Tensor) and t.is_leaf and not t.requires_grad:
                    self.marks.own(count, t, "input")

        self._look(given)

    def _look(self, at: Callable[[int], None]) -> None:
        """Whatever the program's objects do when they are asked, the program goes on."""
        import torch

        if self.ended or torch.compiler.is_compiling():
            return
        with uncollected(), contextlib.suppress(Exception), torch._C.DisableTorchFunctionSubclass():
            at(self.marks.count())

    def _module(self, count: int, module: Any, name: str | None) -> None:
        """name: None where the path is not known."""
        for category, held in (("parameter", module._parameters), ("buffer", module._buffers)):
            for t in held.values():
                if t is not None:
                    self._tensor(count, t, category, name)

    def _optimizer(self, count: int, optimizer: Any) -> None:
        import torch
        from torch.utils._pytree import tree_leaves

        for group in optimizer.param_groups:
            for p in group["params"]:
                self._tensor(count, p, "parameter", None)
        for p, state in list(optimizer.state.items()):
            name = self.marks.tensors.of(p) if isinstance(p, torch.Tensor) else None
            for t in tree_leaves(dict(state) if isinstance(state, dict) else state):
                if isinstance(t, torch.Tensor):
                    self.marks.own(count, t, "optimizer_state", name)

    def _tensor(self, count: int, t: Any, category: str, name: str | None) -> None:
        """A parameter or a buffer, and its gradient."""
        import torch

        if torch.nn.parameter.is_lazy(t):
            return
        if name is not None:
            self.marks.tensors.name(t, name)
        else:
            name = self.marks.tensors.of(t)
        self.marks.own(count, t, category, name)
        if t.is_leaf and t.grad is not None:
            self.marks.own(count, t.grad, "gradient", name)


def optimizers(objects: list[Any]) -> list[Any]:
    import torch

    return [o for o in objects if issubclass(type(o), torch.optim.Optimizer) and "state" in o.__dict__]
