"""Which phases of training a process went through: a peak says nothing of those that did not run.

Functions of PyTorch that begin a phase are heard; what they do is as it was.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from memshim.pretend.after_import import once_imported

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
EVALUATION, CHECKPOINT, GATHERING = "evaluation", "checkpoint", "gathering of state dicts"
ALL = (FORWARD, BACKWARD, OPTIMIZER, EVALUATION, CHECKPOINT, GATHERING)

# Modules, each with a class or "", and functions that are called from there by their names.
CHECKPOINTS = {
    "torch.serialization": ("", ("save",)),
    "torch.distributed.checkpoint": ("", ("save", "async_save")),
    "torch.distributed.checkpoint.state_dict_saver": ("", ("save", "async_save")),
}
GATHERINGS = {
    "torch.distributed.tensor": ("DTensor", ("full_tensor",)),
    "torch.distributed.checkpoint.state_dict": ("", ("_gather_state_dict",)),
    "torch.distributed.fsdp._state_dict_utils": ("", ("_full_pre_state_dict_hook",)),
}


class Phases:
    """Of this process."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.put_to_evaluation = False  # a module, by its eval()

    def watch(self) -> None:
        """torch is imported."""
        import torch

        module: Any = torch
        _heard(module.autograd, "backward", self.backward)
        _heard(torch.nn.Module, "eval", self.evaluation)
        _heard(module, "save", self.saved)
        for act, those in ((self.saved, CHECKPOINTS), (self.gathered, GATHERINGS)):
            for name, (owner, functions) in those.items():
                once_imported(name, functools.partial(self._hear, name, owner, functions, act))

    def _hear(self, name: str, owner: str, functions: tuple[str, ...], act: Callable[..., None]) -> None:
        of: Any = getattr(sys.modules[name], owner) if owner else sys.modules[name]
        for function in functions:
            if hasattr(of, function):
                _heard(of, function, act)

    def saved(self, *args: Any) -> None:
        self.seen.add(CHECKPOINT)

    def gathered(self, what: Any = None, *args: Any) -> None:
        """Whole tensors are made of shards; a norm, which is one number, is gathered in each step."""
        import torch

        if not isinstance(what, torch.Tensor) or what.dim():
            self.seen.add(GATHERING)

    def backward(self, *args: Any) -> None:
        self.seen |= {FORWARD, BACKWARD}

    def evaluation(self, *args: Any) -> None:
        """A module's dropout and the like are off: of one that trains, before it is evaluated."""
        self.put_to_evaluation = True
        if BACKWARD in self.seen:
            self.seen.add(EVALUATION)

    def stepped(self) -> None:
        """An optimizer has stepped."""
        self.seen.add(OPTIMIZER)

    def names(self) -> list[str]:
        """Those that were seen, in the order in which a program has them. What trains nothing and puts
        a module to evaluation evaluates it."""
        seen = self.seen | ({EVALUATION} if self.put_to_evaluation and BACKWARD not in self.seen else set())
        return [p for p in ALL if p in seen]


def _heard(of: Any, name: str, act: Callable[..., None]) -> None:
    """Call act with the function's arguments before it."""
    function = getattr(of, name)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        act(*args)
        return function(*args, **kwargs)

    setattr(of, name, called)
