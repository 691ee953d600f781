"""What a driver takes for CUDA graphs, charged in the engine's workers as they are captured: the engine
measures its graphs as memory that is no longer free. How much is an estimate (driver_memory.graphs)."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

# Of what one batch size's graphs take, a piecewise and a full one for every layer: the share of the pieces.
# The log of Qwen3-8B has 8 MiB for 37 pieces and 4 MiB for the full graph.
PIECES = 2 / 3


class Charges:
    """Of this process. take and give: of bytes of its card."""

    def __init__(self, take: Callable[[int], bool], give: Callable[[int], None]) -> None:
        self.take, self.give = take, give
        self.piece = self.full = 0  # bytes of one graph
        self.taken = 0
        self.in_piece = False

    def set(self, each: int, layers: int) -> None:
        """each: bytes of one batch size's graphs for each layer and one more."""
        self.piece = int(each * PIECES)
        self.full = int(each * (1 - PIECES)) * (layers + 1)

    def watch_captures(self, context: Any) -> None:
        """Charge each graph that this context manager captures (torch.cuda.graph), until the graph is gone."""
        leave = context.__exit__

        @functools.wraps(leave)
        def left(of: Any, *error: Any) -> Any:
            result = leave(of, *error)
            if not error or error[0] is None:
                self.captured(of.cuda_graph)
            return result

        context.__exit__ = left

    def watch_pieces(self, wrapper: Any) -> None:
        """Know the graphs of pieces by vLLM's wrapper that captures them."""
        call = wrapper.__call__

        @functools.wraps(call)
        def called(of: Any, *args: Any, **kwargs: Any) -> Any:
            before, self.in_piece = self.in_piece, of.runtime_mode.name == "PIECEWISE"
            try:
                return call(of, *args, **kwargs)
            finally:
                self.in_piece = before

        wrapper.__call__ = called

    def captured(self, graph: Any) -> None:
        size = self.piece if self.in_piece else self.full
        if size and self.take(size):
            self.taken += size
            weakref.finalize(graph, self.released, size).atexit = False

    def released(self, size: int) -> None:
        self.taken -= size
        self.give(size)
