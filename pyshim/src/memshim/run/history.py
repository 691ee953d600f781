"""What was allocated and freed while code ran, by whom: the CUDA allocator's own history, or storages of CPU tensors where there is no GPU."""

from __future__ import annotations

import gc
from typing import Any, NamedTuple

from memshim.run import gpu
from memshim.run.frames import Frame, Stacks

MAX_EVENTS = 10_000_000  # of the allocator's ring buffer, which grows as it fills
MIN_BLOCK = 512  # kMinBlockSize


class Event(NamedTuple):
    """On CUDA the actions and sizes of TraceEntry (sizes as asked for, key an address); on CPU alloc and free_completed of a storage's number."""

    action: str
    key: int
    size: int
    stream: int
    operator: str
    stack: int


class Line(NamedTuple):
    """A source line that held memory at the peak. frame is None for what no stack tells."""

    frame: Frame | None
    mem: int
    count: int
    median: int


class Peak(NamedTuple):
    total: int
    untraced: int  # of it, there before, or not in the history
    at: Frame | None  # the line whose allocation made it
    lines: list[Line]


class CPUHistory:
    """with CPUHistory() as h: …; what CPU tensors were born and collected in it."""

    where = "cpu"

    def __init__(self, device: Any = None, stacks: str = "python", before: list | None = None):
        """before are the tensors that are there; None for all that Python can reach."""
        from memshim.run.watch import Watch, alive

        self.stacks, self.events = Stacks(), []
        gc.collect()
        self._watch = Watch(self._note, "cpu", alive("cpu") if before is None else before, self.stacks if stacks else None)
        self.before = self._watch.before

    def load(self, tensors: list[tuple[Any, str]]) -> None:
        """Count these as born now, each with what it is in the place of an operator."""
        for tensor, what in tensors:
            self._watch.add(tensor, what)

    def _note(self, action: str, number: int, size: int, operator: str, stack: int) -> None:
        self.events.append(Event("alloc" if action == "alloc" else "free_completed", number, size, 0, operator, stack))

    def __enter__(self) -> CPUHistory:
        self._watch.__enter__()
        return self

    def __exit__(self, *error) -> None:
        self._watch.__exit__(*error)
        self._watch.forget()

    def mark(self) -> int:
        """How many events there are so far."""
        return len(self.events)

    def key_of(self, tensor) -> int | None:
        return self._watch.number_of(tensor)

    def highest(self) -> int | None:
        return None


class CUDAHistory:
    """with CUDAHistory() as h: …; what the caching allocator did in it. At full speed: the allocator writes, nothing is stepped."""

    where = "cuda"

    def __init__(self, device: Any = None, stacks: str = "python"):
        import torch

        self._cuda = torch.cuda
        self.device = torch.device(device if device is not None else "cuda").index
        if self.device is None:
            self.device = torch.cuda.current_device()
        self.stacks, self.events, self._kind = Stacks(), [], stacks
        self.before = 0
        self._highest = None
        self._kept, self._lost = (0, 0), False

    def __enter__(self) -> CUDAHistory:
        self._cuda.synchronize(self.device)
        keep_peaks()
        self.before = self._cuda.memory_allocated(self.device)
        self._cuda.reset_peak_memory_stats(self.device)
        self._cuda.memory._record_memory_history("all", context="all" if self._kind else None, stacks=self._kind or "python",
                                                 max_entries=MAX_EVENTS, clear_history=True)
        _open.append(self)
        return self

    def __exit__(self, *error) -> None:
        self._cuda.synchronize(self.device)
        self._highest = self.peaks()[0]
        self.mark()
        self.drop()

    def drop(self) -> None:
        """End without reading what was recorded."""
        if self in _open:
            _open.remove(self)
        self._cuda.memory._record_memory_history(None)

    def keep(self) -> None:
        """The peaks so far, before somebody begins to count anew; and the events are theirs from then on."""
        self._kept, self._lost = self.peaks(), True

    def peaks(self) -> tuple[int, int]:
        """The most that was allocated and reserved since the beginning."""
        d = self.device
        return max(self._kept[0], self._cuda.max_memory_allocated(d)), max(self._kept[1], self._cuda.max_memory_reserved(d))

    def mark(self) -> int:
        """How many events there are so far. Reads the allocator's history."""
        entries = [] if self._lost else self._cuda.memory._snapshot()["device_traces"][self.device]
        self.events = read_entries(entries, self.stacks)
        return len(self.events)

    def key_of(self, tensor) -> int | None:
        return tensor.untyped_storage().data_ptr()

    def highest(self) -> int | None:
        """torch.cuda.max_memory_allocated of the time recorded."""
        return self._highest


_open: list[CUDAHistory] = []  # those that are recording, the first to begin first


def keep_peaks() -> None:
    """Before the allocator's peaks are reset: whoever counts already does not lose what was."""
    for h in _open:
        h.keep()


def open_history(device: Any = None, stacks: str = "python") -> CPUHistory | CUDAHistory:
    """Of the device named, else of the current GPU where there is one, else of CPU tensors."""
    kind = gpu.device_of(device).type
    return (CUDAHistory if kind == "cuda" else CPUHistory)(device, stacks)


# Those that a record keeps: not what reading the history leaves in it (snapshot), nor what changes no memory (annotate).
ACTIONS = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom")


def read_entries(entries: list[dict], stacks: Stacks) -> list[Event]:
    """The allocator's trace entries of one device (torch.cuda.memory._snapshot()["device_traces"][i])."""
    return [
        Event(e["action"], e.get("addr", e.get("device_free", 0)), e["size"], e.get("stream", 0), "",
              stacks.add([(f["filename"], f["line"], f["name"]) for f in e.get("frames", ())]))
        for e in entries if e["action"] in ACTIONS]


def block(size: int, where: str) -> int:
    """What an allocation counts for: on CUDA its block (roundup_power2_divisions apart)."""
    return -(-size // MIN_BLOCK) * MIN_BLOCK if where == "cuda" else size


def deltas(events: list[Event], where: str):
    """For each event that changes what is allocated: the event, and by how much. A free of what the history never saw born is of before."""
    free = "free_requested" if where == "cuda" else "free_completed"  # PyTorch counts a block as free when that is asked for
    for e in events:
        if e.action == "alloc":
            yield e, block(e.size, where)
        elif e.action == free:
            yield e, -block(e.size, where)


def at_peak(history: CPUHistory | CUDAHistory, every_frame: bool = False) -> Peak:
    """Who held the most that was allocated at once, by source line, the largest first."""
    total, most, when = history.before, history.before, -1
    for i, (_, change) in enumerate(deltas(history.events, history.where)):
        total += change
        if total > most:
            most, when = total, i
    held: dict[int, Event] = {}
    last = None
    for i, (e, change) in enumerate(deltas(history.events, history.where)):
        if i > when:
            break
        last = e
        if change > 0:
            held[e.key] = e
        else:
            held.pop(e.key, None)
    by_line: dict[Frame | None, list[int]] = {}
    for e in held.values():
        by_line.setdefault(history.stacks.line(e.stack, every_frame), []).append(block(e.size, history.where))
    lines = [Line(f, sum(n), len(n), _median(n)) for f, n in by_line.items()]
    lines.sort(key=lambda x: (-x.mem, str(x.frame)))
    top = history.highest()
    most = max(most, top or 0)  # blocks are a little larger than what was asked for; the allocator knows, unless its peak was reset
    return Peak(most, most - sum(x.mem for x in lines), history.stacks.line(last.stack, every_frame) if last else None, lines)


def _median(sizes: list[int]) -> int:
    s = sorted(sizes)
    return s[len(s) // 2] if len(s) % 2 else (s[len(s) // 2 - 1] + s[len(s) // 2]) // 2
