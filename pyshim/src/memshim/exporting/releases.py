"""When Python released each result of a model while it was exported: what an exported program does
not say of eager execution."""

from __future__ import annotations

import contextlib
import traceback
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MARK = "memspec_result"


class Releases:
    """Watches an export.

    PyTorch runs the model's own Python on tensors without data and notes each operator's result as
    a node of the graph (torch.fx.experimental.proxy_tensor track_tensor). Nothing of the export
    holds these tensors, so they die when Python releases them.
    """

    def __init__(self) -> None:
        self._made = 0
        self._deaths: list[tuple[int, int]] = []  # number of the result, and of the newest one then

    @contextlib.contextmanager
    def watch(self) -> Iterator[Releases]:
        from torch.fx import proxy as tracing
        from torch.fx.experimental import proxy_tensor

        track = proxy_tensor.track_tensor
        tracer: Any = tracing.TracerBase
        of_forward = tracer._filter_traceback_frames

        def tracked(tensor: Any, proxy: Any, **more: Any) -> None:
            track(tensor, proxy, **more)
            node = getattr(proxy, "node", None)
            if node is not None and node.op == "call_function":
                node.meta[MARK] = self._made
                weakref.finalize(tensor, self._died, self._made).atexit = False
                self._made += 1

        proxy_tensor.track_tensor, tracer._filter_traceback_frames = tracked, _of_the_model
        try:
            yield self
        finally:
            proxy_tensor.track_tensor, tracer._filter_traceback_frames = track, of_forward

    def _died(self, number: int) -> None:
        self._deaths.append((number, self._made - 1))

    def of(self, program: Any) -> list[list[str]]:
        """The releases in order: a result, and the newest result then, as the program names them;
        results that it dropped are left out."""
        names: dict[int, str] = {}
        for node in program.graph.nodes:
            number = node.meta.pop(MARK, None)
            if number is not None:
                names[number] = node.name
        out = []
        for number, newest in self._deaths:
            while newest >= 0 and newest not in names:
                newest -= 1
            if number in names and newest >= 0:
                out.append([names[number], names[newest]])
        return out


def _of_the_model(tracer: Any, stack: traceback.StackSummary) -> traceback.StackSummary:
    """The frames of forward methods, as export keeps them, and those of the model's other
    functions: an exported program names the lines that a recording does."""
    import torch
    from torch.fx.experimental.symbolic_shapes import uninteresting_files

    tracing = uninteresting_files()
    library = str(Path(torch.__file__).parent)
    first = next((i for i, frame in enumerate(stack) if frame.name == "forward"), len(stack))
    return traceback.StackSummary.from_list(
        [
            f
            for f in stack[first:]
            if f.filename not in tracing and (f.name == "forward" or not f.filename.startswith(library))
        ]
    )
