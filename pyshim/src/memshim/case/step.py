"""What one iteration of a case is: a forward pass, or a training step, of what its source gives.

A source gives a module, a module with its inputs as (module, args), (module, kwargs) or (module,
args, kwargs), or a callable that does one iteration by itself and is taken as it is.
"""

from __future__ import annotations

import ast
import contextlib
import fnmatch
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from memshim.case.build import BuildError, accepts, in_order, load, load_artifact, named
from memshim.pretend import gradients

OWN_ITERATION = "source, its own iteration"  # what was run, of a callable


class Work(NamedTuple):
    """Ready to be run, on its device."""

    iterate: Callable[[], Any]
    model: Any  # the module; None where the source gives a callable
    args: list[Any]
    kwargs: dict[str, Any]
    how: str  # from what, in words

    @property
    def state(self) -> list[Any]:
        return in_order(self.model) if self.model is not None else []


def prepare(
    case: dict[str, Any], args: list[Any], kwargs: dict[str, Any], device: str, move: Callable[[Any], Any]
) -> Work:
    """What the case runs. args and kwargs are its inputs, on the CPU; move brings a value to the
    device."""
    import torch

    given = (
        load_artifact(case["artifact"], device)
        if case["artifact"] and not case["source"]
        else load(case["source"], case["dir"])
    )
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
        return Work(given, None, [], {}, OWN_ITERATION)
    else:
        raise BuildError(
            f"{case['source']}: gives {type(given).__name__}, want a torch.nn.Module, a tuple of one and its inputs, "
            f"or a callable"
        )
    training = case["mode"] == "training"
    if case["source"]:
        accepts(model, args, {k: v for k, v in kwargs.items() if not training or k != "target"})
        model.train(training)
    if case["dtype"]:
        model = model.to(dtype=getattr(torch, case["dtype"]))
    if case.get("sharded"):
        shard(case["sharded"], model)
    model = model.to(device)
    args, kwargs = move(args), move(kwargs)
    if training:
        step = trainer(case["training"], functools.partial(precision, case), model, args, kwargs, case["dir"])
        return Work(step, model, args, kwargs, how)
    return Work(functools.partial(_forward, case, model, args, kwargs), model, args, kwargs, how)


def _with_inputs(source: str, given: tuple[Any, ...]) -> tuple[Any, list[Any], dict[str, Any]]:
    import torch

    model, rest = given[0] if given else None, list(given[1:])
    kwargs = rest.pop() if rest and isinstance(rest[-1], dict) else {}
    args = rest.pop(0) if rest else ()
    if not isinstance(model, torch.nn.Module) or rest or not isinstance(args, (list, tuple)):
        raise BuildError(
            f"{source}: gives a tuple of {', '.join(type(v).__name__ for v in given)}, want (module, args), (module, "
            f"kwargs) or "
            "(module, args, kwargs)"
        )
    return model, list(args), kwargs


@contextlib.contextmanager
def precision(case: dict[str, Any]) -> Iterator[None]:
    """The case's autocast."""
    import torch

    dtype = case["autocast"]
    with torch.autocast("cuda", dtype=getattr(torch, dtype)) if dtype else contextlib.nullcontext():
        yield


def _forward(case: dict[str, Any], model: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    import torch

    with torch.inference_mode() if case["grad"] == "inference_mode" else torch.no_grad(), precision(case):
        return model(*args, **kwargs)


def trainer(
    step: dict[str, Any], autocast: Callable[[], Any], model: Any, args: list[Any], kwargs: dict[str, Any], folder: str
) -> Callable[[], None]:
    """memspec's own training step: forward and loss under autocast, backward, the optimizer's step,
    gradients released; with float16 a GradScaler.

    step: as memspec cases states it ("training"; engine/recording/FORMAT.md). The input named target
    is the loss's, not the model's.
    """
    import torch

    loss_of, inside = loss_function(step["loss"], folder), bool(step.get("optimizer_in_backward"))
    optimizer: Any = None if inside else _optimizer(step, model, folder)
    if inside:
        step_in_backward(step, model, folder)
    several, clip = step["accumulate"] or 1, step["clip"]
    checkpoint(step["checkpoint"], model)
    closes = _closes(optimizer)
    with autocast():
        half = torch.is_autocast_enabled("cuda") and torch.get_autocast_dtype("cuda") == torch.float16
    scaler = torch.amp.GradScaler("cuda") if half and optimizer is not None and not closes else None

    def backward() -> Any:
        target, given = kwargs.get("target"), {k: v for k, v in kwargs.items() if k != "target"}
        for _ in range(several):
            with autocast():
                loss = loss_of(model(*args, **given), args, given, target)
            if several > 1:
                loss = loss / several
            (scaler.scale(loss) if scaler else loss).backward()
        return loss

    def clipped() -> None:
        if clip is not None:
            if scaler:
                scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.grad is not None], clip)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = backward()
        clipped()
        return loss

    def iteration() -> None:
        if closes:
            optimizer.step(closure)
        else:
            backward()
            clipped()
            if scaler:
                scaler.step(optimizer)
                scaler.update()
            elif optimizer:
                optimizer.step()
        if optimizer is None and not inside:
            gradients.look(model.parameters())
        (optimizer or model).zero_grad()

    return iteration


def loss_function(text: str, folder: str) -> Callable[[Any, list[Any], dict[str, Any], Any], Any]:
    """Of a result, the inputs and the target: sum, mean, output, a function of torch.nn.functional
    by its name, or FILE.py:NAME."""
    import torch

    if text == "sum":
        return lambda out, args, kwargs, target: _needed(differentiable_sum(out))
    if text == "mean":
        return lambda out, args, kwargs, target: _needed(_added([t.mean() for t in _floating(out)]))
    if text == "output":
        return lambda out, args, kwargs, target: _needed(_own(out))
    if ":" in text:
        own = _callable(text, folder)
        return lambda out, args, kwargs, target: _needed(
            own(out, *args, **kwargs, **({} if target is None else {"target": target}))
        )
    function = getattr(torch.nn.functional, text, None) if text.isidentifier() and not text.startswith("_") else None
    if not callable(function):
        got = f"loss {text!r}" if text else "no loss"
        raise BuildError(f"got {got}, want sum, mean, output, a function of torch.nn.functional, or FILE.py:NAME")

    def of_target(out: Any, args: list[Any], kwargs: dict[str, Any], target: Any) -> Any:
        if target is None:
            raise BuildError(f"got loss {text} without a target, want an input named target")
        return _needed(function(out if isinstance(out, torch.Tensor) else _floating(out)[0], target))

    return of_target


def _own(out: Any) -> Any:
    """A result that is the loss, or has it."""
    import torch

    return (
        out
        if isinstance(out, torch.Tensor)
        else out.get("loss")
        if isinstance(out, dict)
        else getattr(out, "loss", None)
    )


def _added(parts: list[Any]) -> Any:
    return sum(parts[1:], parts[0]) if parts else None


def _needed(loss: Any) -> Any:
    if loss is None or not loss.requires_grad:
        raise BuildError(
            "got a result without a loss that a gradient can come from, want one that depends on parameters that "
            "require it"
        )
    if loss.numel() != 1:
        raise BuildError(f"got a loss of shape {list(loss.shape)}, want one number")
    return loss


def _floating(out: Any) -> list[Any]:
    """The tensors of a result that a gradient can come from."""
    import torch
    from torch.utils._pytree import tree_leaves

    found = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor) and t.requires_grad]
    return found or _needed(None)


def _callable(text: str, folder: str) -> Callable[..., Any]:
    found = named(text, folder)
    if not callable(found):
        raise BuildError(f"{text}: is {type(found).__name__}, want a function")
    function: Callable[..., Any] = found
    return function


def step_in_backward(step: dict[str, Any], model: Any, folder: str) -> None:
    """Give each parameter an optimizer, which steps and releases the gradient as soon as the
    backward has it."""
    for p in [p for p in model.parameters() if p.requires_grad]:
        one = make_optimizer(step["optimizer"], step.get("arguments") or {}, [p], folder)
        if one is None or _closes(one):
            raise BuildError(f"got optimizer_in_backward with optimizer {step['optimizer']}, want one that steps alone")

        def hook(_: Any, one: Any = one) -> None:
            one.step()
            one.zero_grad()

        p.register_post_accumulate_grad_hook(hook)


def _closes(optimizer: Any) -> bool:
    """Whether a step runs the forward and the backward itself."""
    import torch

    return isinstance(optimizer, torch.optim.LBFGS)


def _optimizer(step: dict[str, Any], model: Any, folder: str) -> Any:
    parameters = [p for p in model.parameters() if p.requires_grad]
    return make_optimizer(step["optimizer"], step.get("arguments") or {}, parameters, folder)


def make_optimizer(name: str, arguments: dict[str, Any], parameters: list[Any], folder: str) -> Any:
    """A class of torch.optim, or one of another package by its dotted name, or FILE.py:NAME that is
    called with the parameters; none for none."""
    import torch

    if name == "none":
        return None
    kinds = {
        n: c
        for n, c in vars(torch.optim).items()
        if isinstance(c, type) and issubclass(c, torch.optim.Optimizer) and n != "Optimizer"
    }
    if "." in name and ":" not in name:
        name = ":".join(name.rpartition(".")[::2])
    kind = _callable(name, folder) if ":" in name else kinds.get(name)
    if kind is None:
        got = f"optimizer {name!r}" if name else "no optimizer"
        raise BuildError(
            f"got {got}, want one of torch.optim ({', '.join(sorted(kinds))}), package.NAME, FILE.py:NAME, or none"
        )
    try:
        return kind(parameters, **arguments)
    except (TypeError, ValueError) as e:
        raise BuildError(f"optimizer {name}: {e}") from None


def checkpoint(checkpointed: dict[str, Any] | None, model: Any) -> None:
    """Activation checkpointing of modules by name: {"modules": ["layers.*"], "reentrant":
    false}."""
    import torch.utils.checkpoint as checkpointing

    if checkpointed is None:
        return
    for pattern in checkpointed["modules"]:
        found = _matching(model, pattern)
        if not found:
            raise BuildError(f"got checkpoint {pattern!r}, and no module of the model has such a name")
        for m in found:
            m.forward = functools.partial(checkpointing.checkpoint, m.forward, use_reentrant=checkpointed["reentrant"])


def _matching(model: Any, pattern: str) -> list[Any]:
    """The modules whose names a pattern has: layers.* are the children of layers."""
    return [
        m
        for n, m in model.named_modules()
        if n and fnmatch.fnmatchcase(n, pattern) and n.count(".") == pattern.count(".")
    ]


def shard(modules: list[str], model: Any) -> None:
    """FSDP2 of modules by name, and of the model, in a process that is one rank of many."""
    import torch
    from torch.distributed.fsdp import fully_shard

    torch.cuda.set_device(0)
    torch.distributed.init_process_group("nccl")
    for pattern in modules:
        for m in _matching(model, pattern):
            fully_shard(m)
    fully_shard(model)


def parse_optimizer(text: str) -> tuple[str, dict[str, Any]]:
    """AdamW, or AdamW(lr=0.001, fused=True), as the command line has it: the class and its
    arguments."""
    if ":" in text:
        return text, {}
    try:
        call: Any = ast.parse(text, mode="eval").body
        name, options = (
            (call, {})
            if isinstance(call, ast.Name)
            else (call.func, {k.arg: ast.literal_eval(k.value) for k in call.keywords})
        )
        if not isinstance(name, ast.Name) or isinstance(call, ast.Call) and call.args or None in options:
            raise ValueError
    except (SyntaxError, ValueError, AttributeError):
        raise BuildError(
            f"got optimizer {text!r}, want one such as AdamW or SGD(lr=0.1, momentum=0.9), FILE.py:NAME, or none"
        ) from None
    return name.id, options


def differentiable_sum(out: Any) -> Any:
    """The sum of everything in a result that has a gradient."""
    import torch
    from torch.utils._pytree import tree_leaves

    parts = [t.float().sum() for t in tree_leaves(out) if isinstance(t, torch.Tensor) and t.requires_grad]
    return sum(parts[1:], parts[0]) if parts else None
