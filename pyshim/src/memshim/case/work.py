"""What a steady iteration costs beside memory, as far as it can be counted: operators, bytes that are
copied between host and device, collectives and their bytes.

The iteration that is counted comes after those that are recorded, so that it changes nothing of
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

COLLECTIVES = ("c10d", "_c10d_functional")  # PyTorch's namespaces of collectives
WAITING = ("wait_tensor", "barrier", "monitored_barrier_")  # which move no tensor of the program
ALLOCATING = ("empty", "new_empty")  # these run no kernel


def count(iterate: Callable[[], Any]) -> dict[str, int]:
    """Run an iteration and count its operators on the device, views and empty tensors left out. A
    fused or foreach operator counts once, and kernels of compiled code do not count."""
    from torch.utils._python_dispatch import TorchDispatchMode

    found = {"operators": 0, "copied": 0, "collectives": 0, "communicated": 0}

    class Counting(TorchDispatchMode):
        @classmethod
        def ignore_compile_internals(cls) -> bool:
            """Compiled code runs compiled; else PyTorch refuses it where fullgraph=True."""
            return True

        def __torch_dispatch__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            out = func(*args, **(kwargs or {}))
            _add(found, func, (args, kwargs), out)
            return out

    with Counting():  # type: ignore[no-untyped-call]
        iterate()
    return found


def _add(found: dict[str, int], func: Any, given: Any, out: Any) -> None:
    namespace, _, rest = str(func).partition(".")
    name = rest.partition(".")[0]
    given, made = _tensors(given), _tensors(out)
    if namespace in COLLECTIVES:
        if name not in WAITING:
            found["collectives"] += 1
            found["communicated"] += max((t.nbytes for t in (*given, *made)), default=0)
        return
    devices = {t.device.type for t in (*given, *made)}
    if "cuda" not in devices or func.is_view or name.startswith(ALLOCATING):
        return
    found["operators"] += 1
    sides = {t.device.type for t in (*given[:2], *made)}
    if name in ("copy_", "_to_copy") and sides >= {"cuda", "cpu"}:
        found["copied"] += max(t.nbytes for t in (*given[:2], *made))


def _tensors(value: Any) -> list[Any]:
    import torch
    from torch.utils._pytree import tree_leaves

    return [t for t in tree_leaves(value) if isinstance(t, torch.Tensor)]
