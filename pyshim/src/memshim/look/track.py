"""What changed between two lines: the tensors that came and went.

    memshim.track()                  the first call counts what is there
    y = model(x)
    memshim.track()                  + | 7 * Size:(512, 512, 3, 3) | Memory: 63.0 MiB | Parameter | torch.float32

Every tensor that Python can reach is counted, one for each storage; what only autograd holds is in the allocated total alone.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import types
from collections import Counter
from typing import Any, NamedTuple, TextIO

from memshim import sizes
from memshim.run import gpu
from memshim.run.frames import Frame


class Kind(NamedTuple):
    """Tensors that a line counts together."""

    size: tuple[int, ...]
    nbytes: int  # of the storage behind it
    type: str
    dtype: str


class Census(NamedTuple):
    kinds: Counter
    tensors: int
    nbytes: int
    allocated: int | None  # torch.cuda.memory_allocated; None on CPU


class Change(NamedTuple):
    """What one call of track found."""

    at: Frame
    lines: list[str]
    added: Counter
    removed: Counter
    census: Census

    def __str__(self) -> str:
        c = self.census
        allocated = f" | Total Allocated Memory: {sizes.show(c.allocated)}" if c.allocated is not None else " | CPU tensors"
        head = f"At {self.at}: Total Tensor Memory: {sizes.show(c.nbytes)} in {c.tensors} tensors{allocated}"
        return "\n".join([head, *(self.lines or ["  no change"])])


class Tracker:
    """Calls of track() on one tracker are compared with the call before. file: a path to append to, a stream, or standard output.

    with Tracker() as t: … is a call at either end.
    """

    def __init__(self, file: str | os.PathLike | TextIO | None = None, device: Any = None):
        self._file, self._device = file, device
        self._last: Counter | None = None
        self.changes: list[Change] = []

    def track(self, at: Frame | None = None) -> Change:
        census = count(self._device)
        before = self._last if self._last is not None else Counter()
        added, removed = census.kinds - before, before - census.kinds
        lines = [_line("+", k, n) for k, n in _sorted(added)] + [_line("-", k, n) for k, n in _sorted(removed)]
        self._last = census.kinds
        change = Change(at or _caller(), lines, added, removed, census)
        self.changes.append(change)
        self._write(str(change))
        return change

    def _write(self, text: str) -> None:
        if isinstance(self._file, (str, os.PathLike)):
            with open(self._file, "a", encoding="utf-8") as f:
                f.write(text + "\n")
        else:
            print(text, file=self._file or sys.stdout)

    def __enter__(self) -> Tracker:
        self.track()
        return self

    def __exit__(self, *error) -> None:
        self.track()


class _Tracked:
    """What memshim.track() returns: the change, and a context whose end tracks again."""

    def __init__(self, tracker: Tracker, change: Change):
        self._tracker, self.change = tracker, change

    def __enter__(self) -> _Tracked:
        return self

    def __exit__(self, *error) -> None:
        self.change = self._tracker.track()

    def __str__(self) -> str:
        return str(self.change)


_trackers: dict[tuple, Tracker] = {}  # one for each place that calls without a tracker of their own write to


def track(file: str | os.PathLike | TextIO | None = None, device: Any = None) -> _Tracked:
    """Tell what changed since the last call of the same file and device; as a context manager, since it was entered."""
    key = (os.path.abspath(file) if isinstance(file, (str, os.PathLike)) else id(file) if file else None, str(device))
    tracker = _trackers.setdefault(key, Tracker(file, device))
    return _Tracked(tracker, tracker.track())


def count(device: Any = None) -> Census:
    """The tensors of the GPU where there is one, else of the CPU."""
    import torch

    from memshim.run.watch import alive, storage_of

    wanted = gpu.device_of(device)
    behind: dict[int, Any] = {}
    found = alive(wanted.type)
    gradients = {id(t.grad) for t in found if t.is_leaf and t.grad is not None}
    for t in found:
        storage = storage_of(t)
        if storage is None or not storage.nbytes() or wanted.index is not None and t.device.index != wanted.index:
            continue
        known = behind.get(storage._cdata)
        if known is None or _rank(t) > _rank(known):
            behind[storage._cdata] = t
    kinds = Counter(
        Kind(tuple(t.shape), t.untyped_storage().nbytes(), "Gradient" if id(t) in gradients else
             "Parameter" if isinstance(t, torch.nn.Parameter) else type(t).__name__, str(t.dtype))
        for t in behind.values())
    allocated = torch.cuda.memory_allocated(wanted) if wanted.type == "cuda" else None
    return Census(kinds, len(behind), sum(k.nbytes * n for k, n in kinds.items()), allocated)


def _rank(t) -> tuple:
    """Which of several tensors on one storage stands for it: a parameter, no view, the largest."""
    import torch

    return isinstance(t, torch.nn.Parameter), not t._is_view(), t.numel()


def _sorted(kinds: Counter) -> list[tuple[Kind, int]]:
    return sorted(kinds.items(), key=lambda kn: (-kn[0].nbytes * kn[1], kn[0]))


def _line(sign: str, k: Kind, n: int) -> str:
    return f"{sign} | {n} * Size:{k.size} | Memory: {sizes.show(k.nbytes * n)} | {k.type} | {k.dtype}"


def _caller() -> Frame:
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return Frame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


class ModelSize(NamedTuple):
    """In bytes. Intermediates are the most that was held at once besides parameters, buffers, inputs and parameters' gradients."""

    where: str
    parameters: int
    buffers: int
    without_backward: int
    with_backward: int

    def __str__(self) -> str:
        what = "" if self.where == "cuda" else " (CPU tensors)"
        return (f"parameters {sizes.show(self.parameters)}, buffers {sizes.show(self.buffers)}, intermediates {sizes.show(self.without_backward)} "
                f"without backward, {sizes.show(self.with_backward)} with backward{what}")


def modelsize(model, *inputs, file: TextIO | None | str = "stdout", **named) -> ModelSize:
    """Run the model where it lies, without gradients and then forward and backward, and tell what it takes. Its gradients are as before after.

    As track: on a GPU from the allocator's history, else from CPU tensors.
    """
    import torch

    device = next((p.device for p in [*model.parameters(), *model.buffers()]), torch.device("cpu"))
    grads = {p: p.grad for p in model.parameters()}
    modes = {m: m.training for m in model.modules()}
    state = {name: b.detach().clone() for name, b in model.named_buffers()}  # batch norm counts its passes
    try:
        for p in grads:
            p.grad = None
        without, with_backward = _intermediates(model, inputs, named, device, backward=False), 0
        if any(p.requires_grad for p in grads):
            with_backward = _intermediates(model, inputs, named, device, backward=True)
    finally:
        for p, g in grads.items():
            p.grad = g
        for m, training in modes.items():
            m.training = training
        with torch.no_grad():
            for name, b in model.named_buffers():
                b.copy_(state[name])
    size = ModelSize(device.type, _nbytes(model.parameters()), _nbytes(model.buffers()), without, with_backward)
    if file is not None:
        print(f"{type(model).__name__}: {size}", file=sys.stdout if file == "stdout" else file)
    return size


def _nbytes(tensors) -> int:
    return sum({t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tensors}.values())


def _intermediates(model, inputs, named, device, backward: bool) -> int:
    import torch

    from memshim.run.history import deltas, open_history

    with torch.set_grad_enabled(backward), open_history(device, stacks="") as h:
        out = model(*inputs, **named)
        if backward:
            loss = loss_of(out)
            if loss is not None:
                loss.backward()
            del loss
        grads = {h.key_of(p.grad) for p in model.parameters() if p.grad is not None}
        del out
    # A key is an address on CUDA and may have served before: only its last life is a gradient's.
    last = {e.key: i for i, (e, change) in enumerate(deltas(h.events, h.where)) if change > 0 and e.key in grads}
    total = most = 0
    for i, (e, change) in enumerate(deltas(h.events, h.where)):
        if e.key in last and i >= last[e.key]:
            continue
        total += change
        most = max(most, total)
    return most


def loss_of(out):
    """The sum of everything in a result that has a gradient."""
    import torch
    from torch.utils._pytree import tree_leaves

    parts = [t.float().sum() for t in tree_leaves(out) if isinstance(t, torch.Tensor) and t.requires_grad]
    return sum(parts[1:], parts[0]) if parts else None


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(prog="python -m memshim track", description="Run a script and show what changed between some of its lines.")
    p.add_argument("--at", action="append", type=int, required=True, metavar="LINE", help="before this line of the script is run; repeats")
    p.add_argument("--device", help="cuda:N or cpu; else the GPU, else CPU tensors")
    p.add_argument("-o", "--output", metavar="FILE", help="append there, not to standard output")
    p.add_argument("script")
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    a = p.parse_args(arguments)
    try:
        with open(a.script, "rb") as f:
            code = _tracked(f.read(), a.script, set(a.at))
        gpu.device_of(a.device)
    except OSError as e:
        print(f"memshim track: {a.script}: {e.strerror.lower()}", file=sys.stderr)
        return 2
    except (SyntaxError, ValueError) as e:
        print(f"memshim track: {e}", file=sys.stderr)
        return 2
    tracker = Tracker(a.output, a.device)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=a.script, __memshim_track__=tracker.track)
    sys.argv, sys.modules["__main__"] = [a.script, *a.arguments], module
    sys.path.insert(0, os.path.dirname(os.path.abspath(a.script)))
    exec(code, module.__dict__)
    return 0


def _tracked(source: bytes, file: str, lines: set[int]) -> types.CodeType:
    """The script with a call of track before the statements at those lines."""
    tree = ast.parse(source, file)
    missed = set(lines)
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if not isinstance(body, list):
                continue
            out = []
            for statement in body:
                if isinstance(statement, ast.stmt) and statement.lineno in missed:
                    missed.discard(statement.lineno)
                    call = ast.Expr(ast.Call(ast.Name("__memshim_track__", ast.Load()), [], []))
                    out.append(ast.fix_missing_locations(ast.copy_location(call, statement)))
                out.append(statement)
            body[:] = out
    if missed:
        raise ValueError(f"{file}:{min(missed)}: got a line where no statement starts")
    return compile(tree, file, "exec")
