"""Whether a live model runs its program's operators in other dtypes too.

A program has the dtypes of its export: `x.to(y.dtype)` is a cast to what y had then. Under
autocast, or with parameters of another dtype, y may be of another one, and the live model casts to
that. And a cast that had nothing to do in the export is the tensor itself: where it copies, nothing
says how long Python holds either.
"""

from __future__ import annotations

import contextlib
from typing import Any

from memshim.exporting.compare_operators import difference
from memshim.exporting.live_model import buffers_kept, dispatched, operator_name, reads_value, unnoticed, without_values

CASTS = ("to", "type", "type_as", "float", "half", "bfloat16", "double")


def compare(model: Any, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, str]:
    """What the sidecar says of runs under autocast, and of a model and inputs that are converted:
    the first difference of their operators in words, "" where they are the same. Each runs in
    bfloat16 on the host, on tensors without data; what the model reads of data is what it reads
    here."""
    try:
        with without_values(model, args, kwargs), buffers_kept(model):
            _, read = dispatched(model, args, kwargs)
    except Exception as e:  # whatever the user's module raises
        return dict.fromkeys(("autocast", "dtype"), _failed(e))
    return {how: _difference(model, program, args, kwargs, read, how) for how in ("autocast", "dtype")}


def _difference(
    model: Any, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any], read: list[Any], how: str
) -> str:
    try:
        _, idle = _dispatched(model, args, kwargs, read, "")
        live, casts = _dispatched(model, args, kwargs, read, how)
        exported, _ = _dispatched(program.module(check_guards=False), args, kwargs, read, how)
    except Exception as e:
        return _failed(e)
    if first := difference(exported, live):
        return first
    copies = [name for (name, same), (_, was) in zip(casts, idle) if was and not same]
    if len(casts) != len(idle):
        return f"eager casts {len(casts)} times, and {len(idle)} in the export"
    return f"eager copies in a {copies[0]}() that gave its tensor itself in the export" if copies else ""


def _failed(e: Exception) -> str:
    lines = str(e).strip().splitlines()
    return f"not compared: {type(e).__name__}: {lines[0] if lines else ''}"


def _dispatched(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], read: list[Any], how: str
) -> tuple[list[str], list[tuple[str, bool]]]:
    """The operators that a module dispatches, with the dtypes and sizes of their results; and the
    casts that it calls, each with whether it gave its tensor itself."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves, tree_map

    answers, seen, casts, fakes = list(read), [], [], {}

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if reads_value(function) and answers:
                return answers.pop(0)
            if function is torch.ops.aten._assert_tensor_metadata.default:  # that its input has the dtype of the export
                return None
            out = function(*args, **(kwargs or {}))
            results = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
            if (
                results
                and any(r.alias_info is None for r in function._schema.returns)
                and function is not torch.ops.aten.lift_fresh_copy.default
            ):
                seen.append(
                    operator_name(function)
                    + "".join(f" {str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in results)
                )
            return out

    class Casts(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = function(*args, **(kwargs or {}))
            if getattr(function, "__name__", "") in CASTS and isinstance(out, torch.Tensor):
                casts.append((function.__name__, out is args[0]))
            return out

    def fake(t: Any) -> Any:
        if not isinstance(t, torch.Tensor):
            return t
        if id(t) not in fakes:
            dtype = torch.bfloat16 if how == "dtype" and t.is_floating_point() else t.dtype
            fakes[id(t)] = torch.empty_strided(t.size(), t.stride(), dtype=dtype)
        return fakes[id(t)]

    with FakeTensorMode(allow_non_fake_inputs=True):
        named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
        state = {name: fake(t) for name, t in named}
        args, kwargs = tree_map(fake, (args, kwargs))
        cast = torch.autocast("cpu", torch.bfloat16) if how == "autocast" else contextlib.nullcontext()
        with torch.no_grad(), unnoticed(), cast, Watch(), Casts():  # type: ignore[no-untyped-call]  # PyTorch's
            torch.func.functional_call(module, state, args, kwargs, tie_weights=False)
    return seen, casts
