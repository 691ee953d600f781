"""What export asks of the live model: which operators it dispatches and what it reads of tensor
data, as if nothing traced it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock


def _ours(depth: int) -> bool:
    """Whether a caller is PyTorch's own machinery, which has to know that it traces; its layers
    have not."""
    name = sys._getframe(depth + 1).f_globals.get("__name__", "")
    return name == "torch" or name.startswith("torch.") and not name.startswith("torch.nn.")


def _no(real: Callable[..., bool]) -> Callable[..., bool]:
    def ask(*args: Any) -> bool:
        return real(*args) if _ours(1) else False

    return ask


@contextlib.contextmanager
def unnoticed() -> Iterator[None]:
    """To what asks whether it is traced, or meets a tensor without data, the answer is no."""
    import torch

    # it knows PyTorch's functions by what they are when it is imported first: not those that stand
    # here for a while
    import torch._dynamo
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

    class Hidden(type):
        def __instancecheck__(cls, x: Any) -> bool:
            return _ours(1) and isinstance(x, FakeTensor)

        def __subclasscheck__(cls, x: Any) -> bool:
            return _ours(1) and issubclass(x, FakeTensor)

    def overridden(args: Any) -> bool:  # less the modes that trace
        plain = (torch.Tensor, torch.nn.Parameter, FakeTensor)
        return any(
            type(a) not in plain
            and getattr(type(a), "__torch_function__", None) is not torch._C._disabled_torch_function_impl
            for a in args
            if isinstance(a, torch.Tensor)
        )

    leaves = torch.utils._pytree.tree_leaves

    # less a result that is not there (_native_multi_head_attention's weights)
    def each(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
        for row in zip(leaves(tree), *map(leaves, others)):
            if None not in row[1:]:
                function(*row)
        return tree

    with contextlib.ExitStack() as stack:
        for owner, name, to in [
            (torch.compiler, "is_compiling", _no(torch.compiler.is_compiling)),
            (torch.compiler, "is_exporting", _no(torch.compiler.is_exporting)),
            (torch.nn.modules.activation, "_is_make_fx_tracing", lambda: False),
            (torch.overrides, "has_torch_function", overridden),
            (torch._subclasses, "FakeTensor", Hidden("FakeTensor", (), {})),
            # what is found out of results with values, and a check of their sizes: both fail on
            # operators that give None
            (sys.modules["torch._subclasses.fake_tensor"], "tree_map_", each),
            (FakeTensorMode, "_maybe_infer_fake_kernel_from_pytree_out", lambda *_: None),
        ]:
            if hasattr(owner, name):
                stack.enter_context(mock.patch.object(owner, name, to))
        yield


def without_values(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs a model on fake tensors as if it were on real ones: one that reads no data calls the
    same, and any other fails."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    tensors = [*model.parameters(), *model.buffers(), *torch.utils._pytree.tree_leaves((args, kwargs))]
    stack = contextlib.ExitStack()
    for t in tensors:
        if isinstance(t, torch.Tensor) and t.is_meta:
            raise ValueError("the model was exported on the device meta")
        if isinstance(t, FakeTensor):
            stack.enter_context(t.fake_mode)
            stack.enter_context(unnoticed())
            break
    return stack


@contextlib.contextmanager
def buffers_kept(model: Any) -> Iterator[None]:
    """A forward pass may write buffers: they are as before after."""
    import torch

    saved = [(b, b.detach().clone()) for b in model.buffers()]
    try:
        with torch.random.fork_rng():
            yield
    finally:
        with torch.no_grad():
            for b, was in saved:
                b.copy_(was)


def sizes_of(out: Any, places: bool = False) -> str:
    """The dtypes and sizes of the tensors of a result, with their devices where places are asked
    for."""
    import torch

    tensors = [t for t in torch.utils._pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]
    return "".join(
        f" {str(t.dtype).removeprefix('torch.')}{list(t.shape)}" + f" {t.device.type}" * places for t in tensors
    )


def makes(function: Any) -> bool:
    """Whether an operator makes something new; torch.tensor's copy does not, which eager makes
    without an operator."""
    import torch

    fresh = any(r.alias_info is None for r in function._schema.returns)
    return fresh and function is not torch.ops.aten.lift_fresh_copy.default


def writes(function: Any) -> bool:
    return any(a.alias_info is not None and a.alias_info.is_write for a in function._schema.arguments)


def operator_name(function: Any) -> str:
    name = function._schema.name
    overload = function._schema.overload_name
    return f"{name}.{overload}" if overload else name


def reads_value(function: Any) -> bool:
    import torch

    aten = torch.ops.aten
    return function in (aten._local_scalar_dense.default, aten.is_nonzero.default, aten.equal.default)


def calls(note: Callable[[Any, Any, Any, Any], None]) -> Any:
    """A mode in which note is given each function of torch that is called: the function, its
    arguments by position and by name, and its result."""
    from torch.overrides import TorchFunctionMode

    class Calls(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = function(*args, **(kwargs or {}))
            note(function, args, kwargs or {}, out)
            return out

    return Calls()


def operators(note: Callable[[Any, Any], None], answers: Sequence[Any] = (), without: Sequence[Any] = ()) -> Any:
    """A mode in which note is given each operator that is dispatched, with its result. What reads
    tensor data is answered, in order, as long as there are answers. Operators in without are not
    run."""
    from torch.utils._python_dispatch import TorchDispatchMode

    left = list(answers)

    class Operators(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if left and reads_value(function):
                return left.pop(0)
            if function in without:
                return None
            out = function(*args, **(kwargs or {}))
            note(function, out)
            return out

    return Operators()  # type: ignore[no-untyped-call]  # PyTorch's


def run(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *modes: Any) -> None:
    """One pass in these modes, on copies of the inputs: a module may write them."""
    import torch
    from torch.utils._pytree import tree_map

    args, kwargs = tree_map(lambda t: t.detach().clone() if isinstance(t, torch.Tensor) else t, (args, kwargs))
    with torch.no_grad(), contextlib.ExitStack() as stack:
        for mode in modes:
            stack.enter_context(mode)
        module(*args, **kwargs)


def run_without_data(
    module: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *modes: Any,
    device: str | None = None,
    floating: Any = None,
) -> None:
    """One pass in these modes, on tensors without data in the place of the module's own and of the
    inputs: on a device, and where floating is a dtype, of that one where they are of numbers with
    fractions."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._pytree import tree_map

    fakes: dict[int, torch.Tensor] = {}

    def fake(t: Any) -> Any:
        if not isinstance(t, torch.Tensor):
            return t
        if id(t) not in fakes:
            dtype = floating if floating and t.is_floating_point() else t.dtype
            fakes[id(t)] = torch.empty_strided(t.size(), t.stride(), dtype=dtype, device=device)
        return fakes[id(t)]

    with FakeTensorMode(allow_non_fake_inputs=True):
        named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
        state = {name: fake(t) for name, t in named}
        args, kwargs = tree_map(fake, (args, kwargs))
        with torch.no_grad(), unnoticed(), contextlib.ExitStack() as stack:
            for mode in modes:
                stack.enter_context(mode)
            torch.func.functional_call(module, state, args, kwargs, tie_weights=False)


def dispatched(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], places: bool = False
) -> tuple[list[str], list[Any]]:
    """The operators that a module dispatches, with the devices of their results where places are
    asked for, and what it read of tensor data, in order."""
    seen: list[str] = []
    read: list[Any] = []

    def note(function: Any, out: Any) -> None:
        if reads_value(function):
            read.append(out)
        shown = sizes_of(out, places)
        if writes(function) or shown and makes(function):
            seen.append(operator_name(function) + shown)

    run(module, args, kwargs, operators(note))
    return seen, read
