"""Parameters that require a gradient and have none when an optimizer has stepped: nothing of the
step used them. A layer that a model never calls and an expert that no token was routed to look
alike."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any, NamedTuple

MOST_MODULES = 8  # that are named


class Missing(NamedTuple):
    """After the step of which most bytes had none."""

    bytes: int
    parameters: int
    modules: list[str]  # by their names below the outermost module, the first few; "" of parameters that no module has
    others: int  # modules that are not named

    def text(self) -> str:
        names = ", ".join(m or "no module" for m in self.modules) + (f" and {self.others} more" if self.others else "")
        return (
            f"after a training step {self.parameters} parameter{'s'[: self.parameters != 1]} of {self.bytes} bytes "
            f"that require"
            f"{'s'[: self.parameters == 1]} a gradient had none: of {names}"
        )


_found: Missing | None = None


def found() -> Missing | None:
    """In this process so far."""
    return _found


def watch() -> None:
    """torch is imported: look after each step of an optimizer."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(
        lambda optimizer, *_: look(p for g in optimizer.param_groups for p in g["params"])
    )


def look(parameters: Iterable[Any]) -> None:
    """A training step has ended, and its gradients are still there."""
    global _found
    missing = [p for p in parameters if p.requires_grad and p.grad is None and p.is_cuda]
    size = sum(p.nbytes for p in missing)
    if size > (_found.bytes if _found else 0):
        names = list(dict.fromkeys(modules_of(missing)))
        _found = Missing(size, len(missing), names[:MOST_MODULES], len(names[MOST_MODULES:]))


def modules_of(parameters: list[Any]) -> list[str]:
    """For each parameter the name of the module that has it, "" where there is none."""
    import torch

    modules = [o for o in gc.get_objects() if issubclass(type(o), torch.nn.Module) and "_modules" in o.__dict__]
    children = {id(child) for m in modules for child in m._modules.values()}
    owner: dict[int, str] = {}
    for root in modules:
        if id(root) not in children:
            for name, module in root.named_modules():
                for p in module._parameters.values():
                    if p is not None:
                        owner.setdefault(id(p), name or type(module).__name__)
    return [owner.get(id(p), "") for p in parameters]
