"""What a model takes: its parameters, and what running it adds."""

from __future__ import annotations

import builtins
import contextlib
import random
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

from memshim import sizes
from memshim.gpu import where
from memshim.printed import say

if TYPE_CHECKING:
    import torch


class ModelSize(NamedTuple):
    """In bytes. Intermediates are the most that was held at once besides parameters, buffers,
    inputs and parameters' gradients."""

    where: str
    parameters: int
    buffers: int
    without_backward: int
    with_backward: int  # of a model without a gradient: what its forward takes

    def __str__(self) -> str:
        what = {"cuda": "", "pretend": " (on a pretend GPU)"}.get(self.where, " (CPU tensors)")
        return (
            f"parameters {sizes.show(self.parameters)}, buffers {sizes.show(self.buffers)}, intermediates "
            f"{sizes.show(self.without_backward)} "
            f"without backward, {sizes.show(self.with_backward)} with backward{what}"
        )

    def __repr__(self) -> str:
        return str(self)


def interactive() -> bool:
    """Whether a result that is not assigned shows itself: at Python's prompt and in notebooks."""
    return hasattr(sys, "ps1") or "get_ipython" in vars(builtins)


def modelsize(
    model: torch.nn.Module, *inputs: Any, file: TextIO | Literal["stdout"] | None = "stdout", **named: Any
) -> ModelSize:
    """Run the model where it lies, without gradients and then forward and backward, and say what
    it takes.

    Its gradients, modes and buffers and the generators of random numbers are as before after. On a
    GPU from the allocator's history, else from CPU tensors. In an interactive session the result shows
    itself, elsewhere it is printed; file=None prints nothing. ValueError: a lazy module has no
    weights yet, and would have some after.
    """
    import torch

    from memshim.gpu.storages import nbytes

    lazy = next(
        (name for name, p in [*model.named_parameters(), *model.named_buffers()] if torch.nn.parameter.is_lazy(p)), None
    )
    if lazy is not None:
        raise ValueError(f"got {lazy} without a size, want a model whose lazy modules have been called once")
    device = next((p.device for p in [*model.parameters(), *model.buffers()]), torch.device("cpu"))
    with _as_it_was(model, device), torch.inference_mode(False):
        without = _intermediates(model, inputs, named, device, backward=False)
        with_backward = _intermediates(model, inputs, named, device, backward=True)
    size = ModelSize(
        where.words(device.type), nbytes(model.parameters()), nbytes(model.buffers()), without, with_backward
    )
    if file is not None and not (file == "stdout" and interactive()):
        say(f"{type(model).__name__}: {size}", file=sys.stdout if file == "stdout" else file)
    return size


@contextlib.contextmanager
def _as_it_was(model: torch.nn.Module, device: torch.device) -> Iterator[None]:
    """After it nothing of the model or of random state has changed. The gradients are put aside in
    it."""
    import torch

    grads = {p: p.grad for p in model.parameters()}
    modes = {m: m.training for m in model.modules()}
    state = {name: b.detach().clone() for name, b in model.named_buffers()}  # batch norm counts its passes
    numpy = sys.modules.get("numpy")
    python, array = random.getstate(), numpy.random.get_state() if numpy else None
    try:
        for p in grads:
            p.grad = None
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            yield
    finally:
        random.setstate(python)
        if numpy:
            numpy.random.set_state(array)
        for p, g in grads.items():
            p.grad = g
        for m, training in modes.items():
            m.training = training
        with torch.no_grad():
            for name, b in model.named_buffers():
                if name in state:
                    b.copy_(state[name])


def _intermediates(
    model: torch.nn.Module, inputs: tuple[Any, ...], named: dict[str, Any], device: torch.device, backward: bool
) -> int:
    import torch

    from memshim.allocator.history import region, replay
    from memshim.case.step import differentiable_sum

    r = region(device, stacks="").open()
    with torch.set_grad_enabled(backward), contextlib.closing(r):
        out = model(*inputs, **named)
        if backward:
            loss = differentiable_sum(out)
            if loss is not None:
                loss.backward()
            del loss
        grads = {key for p in model.parameters() if p.grad is not None for key in r.keys_of(p.grad)}
        del out
    # A key is an address on CUDA and may have served before: only its last life is a gradient's.
    changes = replay(r)
    last = {c.event.key: i for i, c in enumerate(changes) if c.bytes > 0 and c.event.key in grads}
    total = most = 0
    for i, c in enumerate(changes):
        if c.event.key in last and i >= last[c.event.key]:
            continue
        total += c.bytes
        most = max(most, total)
    return most
