"""What one iteration of a case is: a forward pass, or a training step, of what its source gives.

A source gives a module, a module with its inputs as (module, args), (module, kwargs) or (module, args, kwargs), or a callable that does one
iteration by itself and is taken as it is.
"""

from __future__ import annotations

import ast
import contextlib
import fnmatch
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from memshim.run.build import BuildError, in_order, load

LOSSES = ("sum", "mean", "cross_entropy")


class Work(NamedTuple):
    """Ready to be run, on its device."""

    iterate: Callable[[], Any]
    model: Any  # the module; None where the source gives a callable
    args: list
    kwargs: dict
    how: str  # from what, in words

    @property
    def state(self) -> list:
        return in_order(self.model) if self.model is not None else []


def prepare(case: dict, args: list, kwargs: dict, device: str, move: Callable[[Any], Any]) -> Work:
    """What the case runs. args and kwargs are its inputs, on the CPU; move brings a value to the device."""
    import torch

    given = _artifact(case["artifact"]) if case["artifact"] and not case["source"] else load(case["source"], case["dir"])
    how = "source" if case["source"] else "artifact"
    if isinstance(given, tuple):
        model, own_args, own_kwargs = _with_inputs(case["source"], given)
        if args or kwargs:
            raise BuildError(f"{case['source']}: gives its inputs, want none in the case")
        args, kwargs = own_args, own_kwargs
    elif isinstance(given, torch.nn.Module):
        model = given
    elif callable(given):
        if args or kwargs:
            raise BuildError(f"{case['source']}: gives a callable that does one iteration, want no inputs in the case")
        return Work(given, None, [], {}, "source, its own iteration")
    else:
        raise BuildError(f"{case['source']}: gives {type(given).__name__}, want a torch.nn.Module, a tuple of one and its inputs, or a callable")
    training = case["mode"] == "training"
    if case["source"]:
        model.train(training)
    if case["dtype"]:
        model = model.to(dtype=getattr(torch, case["dtype"]))
    model = model.to(device)
    args, kwargs = move(args), move(kwargs)
    if training:
        return Work(trainer(case, model, args, kwargs), model, args, kwargs, how)
    return Work(functools.partial(_forward, case, model, args, kwargs), model, args, kwargs, how)


def _artifact(path: str):
    """An archive, run by PyTorch itself."""
    import torch

    if path.endswith(".pt2"):
        return torch.export.load(path).module()
    return torch.jit.load(path, map_location="cpu")


def _with_inputs(source: str, given: tuple) -> tuple[Any, list, dict]:
    import torch

    model, rest = given[0] if given else None, list(given[1:])
    kwargs = rest.pop() if rest and isinstance(rest[-1], dict) else {}
    args = rest.pop(0) if rest else ()
    if not isinstance(model, torch.nn.Module) or rest or not isinstance(args, (list, tuple)):
        raise BuildError(f"{source}: gives a tuple of {', '.join(type(v).__name__ for v in given)}, want (module, args), (module, kwargs) or "
                         "(module, args, kwargs)")
    return model, list(args), kwargs


@contextlib.contextmanager
def precision(case: dict, device: str = "cuda") -> Iterator[None]:
    """The case's autocast."""
    import torch

    with torch.autocast(device, dtype=getattr(torch, case["autocast"])) if case["autocast"] else contextlib.nullcontext():
        yield


def _forward(case: dict, model: Any, args: list, kwargs: dict) -> Any:
    import torch

    with torch.inference_mode() if case["grad"] == "inference_mode" else torch.no_grad(), precision(case):
        return model(*args, **kwargs)


def trainer(case: dict, model: Any, args: list, kwargs: dict) -> Callable[[], None]:
    """memspec's own training step: forward and loss under autocast, backward, the optimizer's step, gradients let go; with float16 a GradScaler."""
    import torch

    loss_of, optimizer = loss_function(case.get("loss", ""), case["dir"]), make_optimizer(case.get("optimizer", ""), model, case["dir"])
    several, clip = int(case.get("accumulate") or 1), float(case.get("clip") or 0)
    checkpoint(case.get("checkpoint") or "", model)
    scaler = torch.amp.GradScaler("cuda") if case["autocast"] == "float16" and not isinstance(optimizer, torch.optim.LBFGS) else None

    def backward() -> Any:
        for _ in range(several):
            with precision(case):
                loss = loss_of(model(*args, **kwargs), args, kwargs)
            if several > 1:
                loss = loss / several
            (scaler.scale(loss) if scaler else loss).backward()
        return loss

    def clipped() -> None:
        if clip:
            if scaler:
                scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.grad is not None], clip)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = backward()
        clipped()
        return loss

    def step() -> None:
        if isinstance(optimizer, torch.optim.LBFGS):
            optimizer.step(closure)
        else:
            backward()
            clipped()
            if scaler:
                scaler.step(optimizer)
                scaler.update()
            elif optimizer:
                optimizer.step()
        if optimizer:
            optimizer.zero_grad()
        else:
            model.zero_grad()

    return step


def loss_function(text: str, folder: str) -> Callable[[Any, list, dict], Any]:
    """Of a result and its inputs. Empty: the result's own `loss` where it has one, else the sum. FILE.py:NAME is called with the result."""
    from memshim.look.modelsize import loss_of

    if text in ("", "sum"):

        def own_or_sum(out: Any, args: list, kwargs: dict) -> Any:
            own = getattr(out, "loss", None) if not text else None
            return own if own is not None else _needed(loss_of(out))

        return own_or_sum
    if text == "mean":
        return lambda out, args, kwargs: _floating(out).mean()
    if text == "cross_entropy":
        return lambda out, args, kwargs: _cross_entropy(_floating(out))
    if ":" not in text:
        raise BuildError(f"got loss {text!r}, want one of {', '.join(LOSSES)}, or FILE.py:NAME of a function")
    function = _callable(text, folder)
    return lambda out, args, kwargs: function(out)


def _needed(loss: Any) -> Any:
    if loss is None:
        raise BuildError("got a result that no gradient can come from, want one that hangs on parameters that require it")
    return loss


def _floating(out: Any) -> Any:
    """The first result that a gradient can come from."""
    import torch
    from torch.utils._pytree import tree_leaves

    return _needed(next((t for t in tree_leaves(out) if isinstance(t, torch.Tensor) and t.requires_grad), None))


def _cross_entropy(scores: Any) -> Any:
    """Of scores [N, classes, …] and targets that are all of class 0, made here as a loop has them."""
    import torch

    if scores.dim() < 2:
        raise BuildError(f"loss cross_entropy: got a result of {scores.dim()} dimensions, want [N, classes, …]")
    target = torch.zeros([scores.shape[0], *scores.shape[2:]], dtype=torch.long, device=scores.device)
    return torch.nn.functional.cross_entropy(scores, target)


def _callable(text: str, folder: str) -> Callable:
    import memshim.run.build as build

    found = build.named(text, folder)
    if not callable(found):
        raise BuildError(f"{text}: is {type(found).__name__}, want a function")
    return found


def make_optimizer(text: str, model: Any, folder: str) -> Any:
    """AdamW, or AdamW(lr=0.001, fused=True): of torch.optim, in any case of letters; FILE.py:NAME is called with the parameters; none for none."""
    import torch

    parameters = [p for p in model.parameters() if p.requires_grad]
    if text == "none":
        return None
    if ".py:" in text:
        return _callable(text, folder)(parameters)
    kinds = {n.lower(): c for n, c in vars(torch.optim).items() if isinstance(c, type) and issubclass(c, torch.optim.Optimizer)}
    try:
        call = ast.parse(text, mode="eval").body
        name, options = (call, {}) if isinstance(call, ast.Name) else (call.func, {k.arg: ast.literal_eval(k.value) for k in call.keywords})
        if not isinstance(name, ast.Name) or isinstance(call, ast.Call) and call.args or None in options:
            raise ValueError
    except (SyntaxError, ValueError, AttributeError):
        raise BuildError(f"got optimizer {text!r}, want one such as AdamW or SGD(lr=0.1, momentum=0.9), or none") from None
    kind = kinds.get(name.id.lower())
    if kind is None:
        raise BuildError(f"got optimizer {name.id!r}, want one of torch.optim: {', '.join(sorted(c.__name__ for c in kinds.values() if c.__name__ != 'Optimizer'))}")
    try:
        return kind(parameters, **options)
    except TypeError as e:
        raise BuildError(f"got optimizer {text!r}: {e}") from None


def checkpoint(text: str, model: Any) -> None:
    """Activation checkpointing of modules by name, as in 'layers.*' or 'reentrant: layers.*, head'; true for what the model itself offers."""
    import torch.utils.checkpoint as checkpointing

    if not text or text == "false":
        return
    if text is True or text == "true":
        if not hasattr(model, "gradient_checkpointing_enable"):
            raise BuildError(f"got checkpoint: true, but {type(model).__name__} has no gradient_checkpointing_enable: name its modules, as in 'layers.*'")
        model.gradient_checkpointing_enable()
        return
    kind, colon, names = text.partition(":")
    reentrant = bool(colon) and kind.strip() == "reentrant"
    if colon and not reentrant:
        raise BuildError(f"got checkpoint {text!r}, want names of modules such as 'layers.*', or 'reentrant: layers.*'")
    for pattern in (names if colon else text).split(","):
        found = [m for n, m in model.named_modules() if n and fnmatch.fnmatchcase(n, pattern.strip()) and n.count(".") == pattern.count(".")]
        if not found:
            raise BuildError(f"got checkpoint {pattern.strip()!r}, and no module of the model has such a name")
        for m in found:
            m.forward = functools.partial(checkpointing.checkpoint, m.forward, use_reentrant=reentrant)
