"""What export asks of the live model: which operators it dispatches and what it reads of tensor
data, as if nothing traced it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
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


def dispatched(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], places: bool = False
) -> tuple[list[str], list[Any]]:
    """The operators that a module dispatches, with the devices of their results where places are
    asked for, and what it read of tensor data, in order."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves, tree_map

    seen: list[str] = []
    read: list[Any] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = function(*args, **(kwargs or {}))
            if reads_value(function):
                read.append(out)
            schema = function._schema
            results = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
            writes = any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
            fresh = any(r.alias_info is None for r in schema.returns)
            # torch.tensor's, which eager makes without an operator
            if writes or results and fresh and function is not torch.ops.aten.lift_fresh_copy.default:
                at = {t: f" {t.device.type}" if places else "" for t in results}
                seen.append(
                    operator_name(function)
                    + "".join(f" {str(t.dtype).removeprefix('torch.')}{list(t.shape)}{at[t]}" for t in results)
                )
            return out

    # a module may write its inputs
    own = tree_map(lambda t: t.detach().clone() if isinstance(t, torch.Tensor) else t, (args, kwargs))
    with torch.no_grad(), Watch():  # type: ignore[no-untyped-call]  # PyTorch's
        module(*own[0], **own[1])
    return seen, read


def reads_value(function: Any) -> bool:
    import torch

    aten = torch.ops.aten
    return function in (aten._local_scalar_dense.default, aten.is_nonzero.default, aten.equal.default)


def operator_name(function: Any) -> str:
    name = function._schema.name
    overload = function._schema.overload_name
    return f"{name}.{overload}" if overload else name
