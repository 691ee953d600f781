"""Which iterations torch.compile compiles in, or records a CUDA graph in: none of them is a steady
one."""

from __future__ import annotations

import gc
import sys
from typing import Any

from memshim.case import record
from memshim.pretend.after_import import After

CALLBACKS = "torch._dynamo.callback"
MOST_MORE = 10  # iterations beyond those wanted until one compiles nothing: dynamo compiles a function 8 times at most


class Compiling:
    """What PyTorch reports of compiling: graphs, backward passes at their first run, and CUDA
    graphs recorded.

    collects: turn the collector on for the rest of an iteration that compiles, as it is for the
    program alone. The compiler leaves reference cycles that hold gradients.
    """

    def __init__(self, collects: bool = False) -> None:
        self.seen, self._collects = False, collects
        if CALLBACKS in sys.modules:
            self._follow(sys.modules[CALLBACKS])
        else:
            After(CALLBACKS, self._follow)

    def _follow(self, module: Any) -> None:
        self._handler = module.callback_handler
        self._handler.register_start_callback(self._started)

    def _started(self, *_: Any) -> None:
        self.seen = True
        if self._collects:
            gc.enable()

    def restart(self) -> None:
        """An iteration begins."""
        self.seen = False

    def close(self) -> None:
        handler = getattr(self, "_handler", None)
        if handler is not None and self._started in handler.start_callbacks:
            handler.remove_start_callback(self._started)


def merge(passes: list[dict[str, Any]]) -> None:
    """Make the passes after the baseline one first pass: the last of them compiled something."""
    merged = passes[1:]
    peaks = {m: max((p[m] for p in merged if p[m] is not None), default=None) for m in record.METRICS}
    passes[1:] = [record.phase(merged[0]["name"], merged[-1]["events"], peaks)]
