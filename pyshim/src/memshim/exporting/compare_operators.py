"""Whether a live model runs the operators of its exported program."""

from __future__ import annotations

import difflib
from typing import Any

from memshim.exporting.live_model import (
    buffers_kept,
    calls,
    dispatched,
    operators,
    run,
    run_without_data,
    sizes_of,
    without_values,
)


def compare(model: Any, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What the sidecar says of the operators that the model runs on the inputs it was exported
    with: {"same": true}, or {"same": false, "first": TEXT} with the first difference.

    A module may ask whether it is being exported (torch.compiler.is_exporting) or look at data, and
    run others then. Compared are the operators with the dtypes and sizes of their results, less
    views, as PyTorch dispatches them on the inputs' device. A tensor that the module makes on the
    host, by a function without device=, is a difference too, for a program that is moved to a
    device has it there; and a number that torch.tensor puts on the device, for that is the host's
    in a program. So is a module that asks which device it is on, and calls others on a GPU, and one
    that keeps what its first pass made for those after it.
    """
    try:
        with without_values(model, args, kwargs):
            return _compare(model, program, args, kwargs)
    except Exception as e:  # whatever the user's module raises: the export itself is done
        return {
            "same": False,
            "first": f"not compared: {type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}",
        }


def _compare(model: Any, program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    with buffers_kept(model):
        live, read = dispatched(model, args, kwargs)
    with buffers_kept(model):
        exported, _ = dispatched(program.module(check_guards=False), args, kwargs)
    with buffers_kept(model):
        second = difference(live, dispatched(model, args, kwargs)[0])  # state that keeps() does not see
    with buffers_kept(model):
        placed = _placed(model, args, kwargs)
    elsewhere = _elsewhere(model, args, kwargs, read)
    first = (
        difference(exported, live)
        or second
        and second.replace("eager runs", "a second pass runs").replace("the program has", "the first has")
        or placed
        or elsewhere
    )
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


def _elsewhere(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], read: list[Any]) -> str | None:
    """What the module calls on a GPU and not on the host, in words; None where it calls the
    same."""
    host = _called(model, args, kwargs, read, "cpu")
    try:
        gpu = _called(model, args, kwargs, read, "cuda")
    except Exception as e:
        return f"not compared on a GPU: {type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"
    first = difference(host, gpu)
    return first and first.replace("eager runs", "on a GPU eager calls").replace(
        "the program has", "on the host it calls"
    )


def _called(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], read: list[Any], device: str) -> list[str]:
    """The functions of torch that the module calls on tensors without data on a device, with what
    it read of data with them."""
    seen: list[str] = []

    def note(function: Any, args: Any, kwargs: Any, out: Any) -> None:
        name, shown = getattr(function, "__name__", str(function)), sizes_of(out)
        if shown and name != "__get__":
            seen.append(f"torch.{name}{shown}")

    run_without_data(model, args, kwargs, operators(lambda *_: None, read), calls(note), device=device)
    return seen


def _placed(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    import torch
    from torch.utils._device import _device_constructors

    makers, lifted = _device_constructors(), (torch.tensor, torch.as_tensor)
    found: list[str] = []

    def note(function: Any, args: Any, kwargs: Any, out: Any) -> None:
        if function not in makers or not isinstance(out, torch.Tensor):
            return
        on_host = kwargs.get("device") is None
        if on_host != (function in lifted and not out.dim()):
            where = ("on the host", "where it runs") if on_host else ("where it runs", "on the host")
            found.append(f"eager makes torch.{function.__name__}{sizes_of(out)} {where[0]}, the program {where[1]}")

    run(module, args, kwargs, calls(note))
    return found[0] if found else None


def attributes(model: Any) -> dict[str, str]:
    """The tensors that modules hold, also in lists, tuples and dicts of theirs, with dtype and
    sizes; parameters are left out."""
    import torch

    found = {}
    for path, module in model.named_modules():
        held = {
            name: x
            for name, x in vars(module).items()
            if isinstance(x, (torch.Tensor, list, tuple, dict)) and name not in ("_parameters", "_modules")
        }
        for keys, t in torch.utils._pytree.tree_flatten_with_path(held)[0]:
            if isinstance(t, torch.Tensor):
                name = ".".join(
                    x
                    for x in [
                        path,
                        *(
                            str(getattr(k, "key", getattr(k, "idx", k)))
                            for k in keys
                            if getattr(k, "key", None) != "_buffers"
                        ),
                    ]
                    if x
                )
                found[name] = f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}"
    return found


def keeps(before: dict[str, str], model: Any) -> str | None:
    """What passes made that modules hold by now, in words; None where they hold what they held
    before: what a first pass keeps later passes do not make."""
    new = [f"{name} {t}" for name, t in attributes(model).items() if before.get(name) != t]
    return f"a pass keeps {new[0]} for those after it" if new else None


def asks_contiguous(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the model calls contiguous() on what scaled_dot_product_attention gives, or on a view
    of that, and it had nothing to copy here: then it is in no program, and copies where another
    backend lays its result out otherwise. True where it is unknown."""
    import torch
    from torch.nn import functional

    results: dict[int, Any] = {}  # by address of the storage, which is held so that no other gets its place
    asked = []

    def note(function: Any, args: Any, kwargs: Any, out: Any) -> None:
        if function is functional.scaled_dot_product_attention:
            results[out.untyped_storage()._cdata] = out
        elif (
            function is functional.multi_head_attention_forward
            or function is torch.Tensor.contiguous
            and out.untyped_storage()._cdata in results
        ):  # which asks within
            asked.append(function)

    try:
        with without_values(model, args, kwargs), buffers_kept(model):
            run(model, args, kwargs, calls(note))
    except Exception:  # whatever the user's module raises
        return True
    return bool(asked)
