"""What changed between two lines: the tensors that came and went.

    memshim.track()                  the first call counts what is there
    y = model(x)
    memshim.track()                  + | 7 * Size:(512, 512, 3, 3) | Memory: 63.0 MiB | Parameter | torch.float32

Every tensor that Python can reach is counted, one for each storage; what only autograd holds is in
the allocated total alone.
"""

from __future__ import annotations

import argparse
import ast
import gc
import os
import sys
import types
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from memshim import sizes
from memshim.frames import Frame
from memshim.gpu import where
from memshim.look import run_script
from memshim.pretend import restart
from memshim.printed import say

if TYPE_CHECKING:
    from memshim.allocator.recorder import CUDARegion


class Kind(NamedTuple):
    """Tensors that a line counts together."""

    size: tuple[int, ...]
    nbytes: int  # of the storage behind it
    type: str
    dtype: str


class Allocator(NamedTuple):
    """What the caching allocator of the GPU says, in bytes."""

    device: int
    allocated: int
    peak: int  # allocated, since the call before
    reserved: int

    @property
    def cached(self) -> int:
        """Reserved and not allocated: clear_cache gives back what of it lies in whole segments."""
        return self.reserved - self.allocated

    def __str__(self) -> str:
        return (
            f"Total Allocated Memory: {sizes.show(self.allocated)}, at most {sizes.show(self.peak)} since the last call"
            f" | Reserved: {sizes.show(self.reserved)}, cached {sizes.show(self.cached)} | cuda:{self.device}"
        )


class Census(NamedTuple):
    """The tensors on one device, and of a GPU what its allocator says."""

    kinds: Counter[Kind]
    tensors: int
    nbytes: int
    allocator: Allocator | None = None


class Change(NamedTuple):
    """What one call of track found."""

    at: Frame
    lines: list[str]
    added: Counter[Kind]
    removed: Counter[Kind]
    census: Census

    def __str__(self) -> str:
        c = self.census
        where = c.allocator or "CPU tensors"
        head = f"At {self.at}: Total Tensor Memory: {sizes.show(c.nbytes)} in {c.tensors} tensors | {where}"
        return "\n".join([head, *(self.lines or ["  no change"])])


class Tracker:
    """Calls of track() on one tracker are compared with the call before. file: a path to append to,
    a stream, or standard output.

    device: cuda:1, cpu; else the current GPU, else CPU tensors. with Tracker() as t: … is a call at
    either end.
    """

    def __init__(self, file: str | os.PathLike[str] | TextIO | None = None, device: Any = None):
        where.parse(device)
        self._file, self._device = file, device
        self._last: Counter[Kind] | None = None
        self._peaks: CUDARegion | None = None
        self.changes: list[Change] = []
        if isinstance(file, (str, os.PathLike)):
            open(file, "a").close()  # a path that cannot be written fails here, not in the middle of a run

    def track(self, at: Frame | None = None) -> Change:
        wanted = where.of(self._device)
        census = count(wanted)
        if wanted.kind == "cuda":
            census = census._replace(allocator=self._ask(wanted))
        before = self._last if self._last is not None else Counter()
        added, removed = census.kinds - before, before - census.kinds
        lines = [_line("+", k, n) for k, n in _sorted(added)] + [_line("-", k, n) for k, n in _sorted(removed)]
        self._last = census.kinds
        change = Change(at or _caller(), lines, added, removed, census)
        self.changes.append(change)
        self._write(str(change))
        return change

    def _ask(self, wanted: where.Where) -> Allocator:
        from memshim.allocator.recorder import CUDARegion

        if self._peaks is None:
            self._peaks = CUDARegion(wanted.index, events=False).open()
            weakref.finalize(self, self._peaks.close)
        now, peaks = self._peaks.now(), self._peaks.peaks()
        self._peaks.restart_peaks()
        return Allocator(self._peaks.index or 0, now["allocated"], peaks["allocated"], now["reserved"])

    def _write(self, text: str) -> None:
        if isinstance(self._file, (str, os.PathLike)):
            with open(self._file, "a", encoding="utf-8") as f:
                f.write(text + "\n")
        else:
            say(text, file=self._file or sys.stdout)

    def __enter__(self) -> Tracker:
        self.track()
        return self

    def __exit__(self, *error: object) -> None:
        self.track()


class _Tracked:
    """What memshim.track() returns: the change, and a context whose end tracks again."""

    def __init__(self, tracker: Tracker, change: Change):
        self._tracker, self.change = tracker, change

    def __enter__(self) -> _Tracked:
        return self

    def __exit__(self, *error: object) -> None:
        self.change = self._tracker.track()

    def __str__(self) -> str:
        return str(self.change)


_trackers: dict[tuple[Any, ...], Tracker] = {}  # one for each place that calls without a tracker of their own write to


def track(file: str | os.PathLike[str] | TextIO | None = None, device: Any = None) -> _Tracked:
    """Report what changed since the last call of the same file and device; as a context manager,
    since it was entered."""
    key = (os.path.abspath(file) if isinstance(file, (str, os.PathLike)) else id(file) if file else None, str(device))
    if key not in _trackers:
        _trackers[key] = Tracker(file, device)
    return _Tracked(_trackers[key], _trackers[key].track())


def clear_cache() -> int:
    """Collect garbage and give the GPUs' cached segments back; how many bytes went."""
    import torch

    gc.collect()
    if not torch.cuda.is_initialized():
        return 0
    devices = range(torch.cuda.device_count())
    before = sum(map(torch.cuda.memory_reserved, devices))
    torch.cuda.empty_cache()
    return before - sum(map(torch.cuda.memory_reserved, devices))


def count(wanted: where.Where) -> Census:
    """The tensors on one device."""
    import torch

    from memshim.gpu.storages import aside, reachable, stored

    behind: dict[int, tuple[Any, ...]] = {}
    found = reachable()
    gradients = {id(t.grad) for t in found if t.is_leaf and t.grad is not None}
    with aside():
        for t in found:
            for part, storage in stored(t):
                if (
                    storage.device.type != wanted.kind
                    or not storage.nbytes()
                    or wanted.index not in (None, storage.device.index)
                ):
                    continue
                rank = isinstance(t, torch.nn.Parameter), not part._is_view(), part.numel()
                if storage._cdata not in behind or rank > behind[storage._cdata][0]:
                    kind = "Gradient" if id(t) in gradients else "Parameter" if rank[0] else type(t).__name__
                    behind[storage._cdata] = rank, Kind(tuple(part.shape), storage.nbytes(), kind, str(part.dtype))
    kinds = Counter(kind for _, kind in behind.values())
    return Census(kinds, len(behind), sum(k.nbytes * n for k, n in kinds.items()))


def _sorted(kinds: Counter[Kind]) -> list[tuple[Kind, int]]:
    return sorted(kinds.items(), key=lambda kn: (-kn[0].nbytes * kn[1], kn[0]))


def _line(sign: str, k: Kind, n: int) -> str:
    return f"{sign} | {n} * Size:{k.size} | Memory: {sizes.show(k.nbytes * n)} | {k.type} | {k.dtype}"


def _caller() -> Frame:
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return Frame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(
        prog="python -m memshim track", description="Run a script and show what changed between some of its lines."
    )
    restart.add_arguments(p)
    p.add_argument(
        "--at",
        action="append",
        type=int,
        required=True,
        metavar="LINE",
        help="before this line of the script is run; repeats",
    )
    p.add_argument("--device", help="cuda:N or cpu; else the GPU, else CPU tensors")
    p.add_argument("-o", "--output", metavar="FILE", help="append there, not to standard output")
    p.add_argument("script")
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    a = p.parse_args(arguments)
    if (code := restart.enter(a, "track")) is not None:
        return code
    try:
        with open(a.script, "rb") as f:
            program = _tracked(f.read(), a.script, set(a.at))
        tracker = Tracker(a.output, a.device)
    except OSError as e:
        say(f"memshim track: {e.filename}: {str(e.strerror).lower()}", file=sys.stderr)
        return 2
    except (SyntaxError, ValueError) as e:
        say(f"memshim track: {e}", file=sys.stderr)
        return 2
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=a.script, __memshim_track__=tracker.track)
    sys.argv, sys.modules["__main__"] = [a.script, *a.arguments], module
    sys.path.insert(0, os.path.dirname(os.path.abspath(a.script)))
    return run_script.code_of(lambda: exec(program, module.__dict__), lambda: where.of(a.device) and None)


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
