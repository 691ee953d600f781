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
from memshim.exporting.live_model import (
    buffers_kept,
    calls,
    dispatched,
    makes,
    operator_name,
    operators,
    run_without_data,
    sizes_of,
    without_values,
)

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

    seen: list[str] = []
    casts: list[tuple[str, bool]] = []

    def dispatched(function: Any, out: Any) -> None:
        shapes = sizes_of(out)
        if shapes and makes(function):
            seen.append(operator_name(function) + shapes)

    def called(function: Any, args: Any, kwargs: Any, out: Any) -> None:
        if getattr(function, "__name__", "") in CASTS and isinstance(out, torch.Tensor):
            casts.append((function.__name__, out is args[0]))

    run_without_data(
        module,
        args,
        kwargs,
        torch.autocast("cpu", torch.bfloat16) if how == "autocast" else contextlib.nullcontext(),
        # that an input has the dtype of the export
        operators(dispatched, read, without=(torch.ops.aten._assert_tensor_metadata.default,)),
        calls(called),
        floating=torch.bfloat16 if how == "dtype" else None,
    )
    return seen, casts
