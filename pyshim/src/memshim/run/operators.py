"""Whether a live model runs the operators of its exported program."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterator
from typing import Any


def compare(model: Any, program: Any, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    """What the sidecar tells of the operators that the model runs on the inputs it was exported with: {"same": true}, or {"same": false, "first": TEXT}
    with the first difference.

    A module may ask whether it is being exported (torch.compiler.is_exporting) or look at data, and run others then. Compared are the operators with the
    dtypes and sizes of their results, less views, as PyTorch dispatches them on the inputs' device. A tensor that the module makes on the host, by a
    function without device=, is a difference too: a program that is moved to a device has it there.
    """
    if _valueless(model, args, kwargs):
        return {"same": False, "first": "not compared: the model was exported without values"}
    try:
        with _buffers_kept(model):
            live = _dispatched(model, args, kwargs)
        with _buffers_kept(model):
            exported = _dispatched(program.module(check_guards=False), args, kwargs)
        with _buffers_kept(model):
            host = _made_on_host(model, args, kwargs)
    except Exception as e:  # whatever the user's module raises: the export itself is done
        return {"same": False, "first": f"not compared: {type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"}
    first = difference(exported, live) or host
    return {"same": True} if first is None else {"same": False, "first": first}


def difference(exported: list[str], live: list[str]) -> str | None:
    """Where two sequences part, in words; None where they are one."""
    if exported == live:
        return None
    for tag, a, b, c, d in difflib.SequenceMatcher(None, exported, live, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        ran = f"eager runs {live[c]}" if c < d else "eager runs nothing"
        return ran + (f" where the program has {exported[a]}" if a < b else " that the program has not")
    return None


def _valueless(model: Any, args: tuple, kwargs: dict[str, Any]) -> bool:
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    tensors = [*model.parameters(), *model.buffers(), *torch.utils._pytree.tree_leaves((args, kwargs))]
    return any(isinstance(t, FakeTensor) or isinstance(t, torch.Tensor) and t.is_meta for t in tensors)


@contextlib.contextmanager
def _buffers_kept(model: Any) -> Iterator[None]:
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


def _dispatched(module: Any, args: tuple, kwargs: dict[str, Any]) -> list[str]:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves, tree_map

    seen: list[str] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = function(*args, **(kwargs or {}))
            schema = function._schema
            results = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
            writes = any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
            fresh = any(r.alias_info is None for r in schema.returns)
            if writes or results and fresh and function is not torch.ops.aten.lift_fresh_copy.default:  # torch.tensor's, which eager makes without an operator
                seen.append(_name(function) + "".join(f" {str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in results))
            return out

    own = tree_map(lambda t: t.detach().clone() if isinstance(t, torch.Tensor) else t, (args, kwargs))  # a module may write its inputs
    with torch.no_grad(), Watch():
        module(*own[0], **own[1])
    return seen


def _made_on_host(module: Any, args: tuple, kwargs: dict[str, Any]) -> str | None:
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._device import _device_constructors

    makers, found = _device_constructors(), []

    class Watch(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = function(*args, **(kwargs or {}))
            if function in makers and (kwargs or {}).get("device") is None and isinstance(out, torch.Tensor) and out.dim() and not found:
                found.append(f"eager makes torch.{function.__name__} {str(out.dtype).removeprefix('torch.')}{list(out.shape)} on the host, the program where it runs")
            return out

    own = torch.utils._pytree.tree_map(lambda t: t.detach().clone() if isinstance(t, torch.Tensor) else t, (args, kwargs))
    with torch.no_grad(), Watch():
        module(*own[0], **own[1])
    return found[0] if found else None


def _name(function: Any) -> str:
    name = function._schema.name
    overload = function._schema.overload_name
    return f"{name}.{overload}" if overload else name
