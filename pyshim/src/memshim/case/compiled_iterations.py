"""Which iterations torch.compile compiles in, or records a CUDA graph in: none of them is a steady
one."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable
from typing import Any

from memshim.case import record
from memshim.pretend.after_import import After

CALLBACKS = "torch._dynamo.callback"
# What PyTorch before 2.8 calls none of its callbacks for, by module.
UNREPORTED = {
    "torch._inductor.cudagraph_trees": "CUDAGraphTreeManager.record_function",
    "torch._inductor.compile_fx": "_compile_fx_inner",  # a backward pass at its first run
}
MOST_MORE = 10  # iterations beyond those wanted until one compiles nothing: dynamo compiles a function 8 times at most


class Compiling:
    """What PyTorch reports of compiling: graphs, backward passes at their first run, and CUDA
    graphs recorded.

    collects: turn the collector on for the rest of an iteration that compiles, as it is for the
    program alone. The compiler leaves reference cycles that hold gradients.
    """

    def __init__(self, collects: bool = False) -> None:
        self.seen, self._collects = False, collects
        self._awaited: list[After] = []
        self._undo: list[Callable[[], None]] = []
        self._once(CALLBACKS, self._follow)

    def _once(self, name: str, act: Callable[[Any], None]) -> None:
        """Act on the module now where it is imported, else when it will have been."""
        if name in sys.modules:
            act(sys.modules[name])
        else:
            self._awaited.append(After(name, act))

    def _follow(self, module: Any) -> None:
        handler = module.callback_handler
        handler.register_start_callback(self._started)

        def remove() -> None:
            if self._started in handler.start_callbacks:
                handler.remove_start_callback(self._started)

        self._undo.append(remove)
        if not hasattr(module, "CallbackTrigger"):
            for name, function in UNREPORTED.items():
                self._once(name, functools.partial(self._report, function))

    def _report(self, path: str, module: Any) -> None:
        """Calls of the function are reported from now on."""
        *within, name = path.split(".")
        owner = functools.reduce(getattr, within, module)
        real = getattr(owner, name)

        @functools.wraps(real)
        def reported(*args: Any, **kw: Any) -> Any:
            self._started()
            return real(*args, **kw)

        setattr(owner, name, reported)

        def restore() -> None:
            if getattr(owner, name) is reported:
                setattr(owner, name, real)

        self._undo.append(restore)

    def _started(self, *_: Any) -> None:
        self.seen = True
        if self._collects:
            gc.enable()

    def restart(self) -> None:
        """An iteration begins."""
        self.seen = False

    def close(self) -> None:
        for after in self._awaited:
            if after in sys.meta_path:
                sys.meta_path.remove(after)
        for undo in self._undo:
            undo()


def merge(passes: list[dict[str, Any]]) -> None:
    """Make the passes after the baseline one first pass: the last of them compiled something."""
    merged = passes[1:]
    peaks = {m: max((p[m] for p in merged if p[m] is not None), default=None) for m in record.METRICS}
    passes[1:] = [record.phase(merged[0]["name"], merged[-1]["events"], peaks)]
