"""What a compiler decides by measuring time, which a pretend GPU cannot: the way that takes more
memory is taken, and it is reported.

Two such choices move memory. Inductor pads the operands of a matrix product whose sizes fit the
tensor cores badly, if that was faster: padded it takes copies. And under max-autotune a product is
cuBLAS's or a kernel of Triton's, whichever was faster: cuBLAS takes a workspace. The trials are run
as they are on a card, since they take memory too, and what another process found is not asked for:
it would take none.
"""

from __future__ import annotations

import math
import re
from types import ModuleType
from typing import Any, NamedTuple

FRAME = re.compile(r'File "(.+)", line (\d+)')
PADDING = "whether the operands of a matrix product are padded: taken as padded, which takes more"
KERNEL = "whether a matrix product is cuBLAS's or a kernel of Triton's: taken as cuBLAS's, which takes a workspace"
# the trial, and what says how it ended: now, and in torch 2.10
PADS = ("_should_pad", "is_padded_faster"), ("_should_pad_bench", "should_pad")
OTHER_KERNEL = "which kernel of several an operator is: any of them was taken"


class Decided(NamedTuple):
    """Something that a measured time decides on a card."""

    what: str
    file: str  # the user's line, as far as the compiler knows it
    line: int
    count: int  # type: ignore[assignment]  # hides a method of tuple


_found: dict[tuple[str, str, int], int] = {}


def found() -> list[Decided]:
    """In this process, in the order in which they came first."""
    return [Decided(*key, count) for key, count in _found.items()]


def note(what: str, stack: str = "") -> None:
    """stack: as a node of a traced graph has it, the innermost frame last."""
    frames = FRAME.findall(stack)
    file, line = frames[-1] if frames else ("", 0)
    key = (what, file, int(line))
    _found[key] = _found.get(key, 0) + 1


def padding(pad_mm: ModuleType) -> None:
    """After torch._inductor.fx_passes.pad_mm is imported."""
    answers: dict[str, Any] = {}  # of this process: PyTorch keeps them in a file, which even a disabled cache reads
    for name in ("should_pad", "base_mm_benchmark_time"):
        setattr(pad_mm, f"get_cached_{name}", answers.get)
        setattr(pad_mm, f"set_cached_{name}", answers.__setitem__)
    trial, verdict = next(names for names in PADS if hasattr(pad_mm, names[0]))
    tried = getattr(pad_mm, trial)
    stack = ""

    def with_its_line(match: Any, *args: Any, **kwargs: Any) -> bool:
        nonlocal stack
        stack = next((n.meta["stack_trace"] for n in match.nodes if n.meta.get("stack_trace")), "")
        return bool(tried(match, *args, **kwargs))

    def is_padded_faster(key: str, unpadded: float, padded: float) -> bool:
        answers[key] = True
        note(PADDING, stack)
        return True

    setattr(pad_mm, trial, with_its_line)
    setattr(pad_mm, verdict, is_padded_faster)


def kernels(select_algorithm: ModuleType) -> None:
    """After torch._inductor.select_algorithm is imported. Before 2.8 the choices are measured by a
    function that is made for them."""
    selector = select_algorithm.AlgorithmSelectorCache

    def chosen(times: dict[str, Any]) -> dict[str, Any]:
        ran = [c for c, t in times.items() if math.isfinite(t)]
        library = next((c for c in ran if isinstance(c, select_algorithm.ExternKernelCaller)), None)
        if len(ran) > 1:
            graph = select_algorithm.V.graph
            node = getattr(graph, "current_node", None)
            note(KERNEL if library else OTHER_KERNEL, node.meta.get("stack_trace") or "" if node is not None else "")
        if library:
            times[library] = min(times[c] for c in ran) / 2
        return times

    if hasattr(selector, "benchmark_choices"):
        measure = selector.benchmark_choices.__func__
        selector.benchmark_choices = classmethod(lambda cls, *args, **kwargs: chosen(measure(cls, *args, **kwargs)))
        return
    make = selector.make_benchmark_fn.__func__

    def make_benchmark_fn(cls: type, *args: Any, **kwargs: Any) -> Any:
        made = make(cls, *args, **kwargs)
        return lambda *choices: chosen(made(*choices))

    selector.make_benchmark_fn = classmethod(make_benchmark_fn)


AFTER = {"torch._inductor.fx_passes.pad_mm": padding, "torch._inductor.select_algorithm": kernels}
