"""One recording of the CUDA allocator's history in a process, and any number of regions that read
it, in any order and at once.

The allocator has one history and one set of peaks a device. Whoever clears the one or resets the
other takes it from all who look. So memshim's regions share: events are moved from the allocator's
history into ours before it is cleared, and before peaks are reset every open region keeps what they
were, and so does the program: it reads its own peaks as if nobody looked. Its calls of
`reset_peak_memory_stats` and `_record_memory_history` pass through here for the same reason; what
it began to record goes on afterwards, with its own arguments.
"""

from __future__ import annotations

import copy
import threading
from typing import TYPE_CHECKING, Any

from memshim.allocator import steady
from memshim.allocator.blocks import Settings
from memshim.allocator.events import MAX_EVENTS, Event, read_entries
from memshim.allocator.guard import Guard
from memshim.allocator.pytorch_snapshot import allocator_snapshot, uncollected, unswitched
from memshim.frames import Stacks

if TYPE_CHECKING:
    import torch

# A region's peaks: our names, and those of torch.cuda.memory_stats.
METRICS = {m: f"{m}_bytes" for m in ("requested", "allocated", "reserved", "active", "inactive_split")}
# How many snapshots are made until nothing moved meanwhile, and what moves.
SNAPSHOTS = 4
_MOVES = ("allocation", "active", "segment")
# What the history keeps for each kind of stack, and of which.
_CONTEXT = {"": (None, "python"), "python": ("alloc", "python"), "alloc": ("alloc", "all"), "all": ("all", "all")}


class CUDARegion:
    """What the caching allocator of one GPU does from open to close. Where CUDA has not started
    yet, it begins when that does.

    stacks: "python"; "alloc" with C++ frames, "all" of what is freed too; "" for none. events:
    False for peaks alone, which costs nothing.
    """

    where = "cuda"

    def __init__(self, index: int | None = None, stacks: str = "python", events: bool = True):
        self.index, self.wants, self.keeps_events = index, stacks, events
        self.begun, self.lost = False, ""  # lost: why the events do not record all
        self.events: list[Event] = []
        self.before: dict[int, int] = {}  # blocks in use at the beginning: size by address
        self.segments: list[dict[str, Any]] = []  # at the beginning
        self.at_end: dict[int, dict[str, Any]] = {}  # at the last mark: the snapshot's blocks in use by address
        self.settings = Settings()
        self.allocated_before = 0
        self.skipped = 0  # bytes that were asked for in what mark_or_skip left out
        self.state: steady.State | None = None  # when it last looked
        self._most: dict[str, int] = {}
        self._from, self._ended = 0, False  # the number of the first event that is ours

    @property
    def stacks(self) -> Stacks:
        return recorder.stacks

    @property
    def device(self) -> int:
        """The GPU, which is known once the region has begun."""
        assert self.index is not None
        return self.index

    def open(self) -> CUDARegion:
        recorder.open(self)
        return self

    def close(self) -> None:
        recorder.close(self)

    def mark(self) -> int:
        """How many events there are so far."""
        recorder.read(self)
        return len(self.events)

    def mark_or_skip(self) -> int:
        """As mark; what happened since the last call is left out where it raised no peak and what is held is
        what was held then, so that who holds what at the peak is the same without it."""
        return recorder.mark_or_skip(self)

    def peaks(self) -> dict[str, int]:
        """The most since the beginning, by metric."""
        if self.begun and not self._ended:
            self.keep_peaks()
        return {m: self._most.get(m, 0) for m in METRICS}

    def restart_peaks(self) -> dict[str, int]:
        """Count peaks anew from here. The most until now, by metric."""
        return recorder.restart_peaks(self)

    def restart(self) -> None:
        """Begin anew: what is there now is of before."""
        recorder.restart(self)

    def turn(self) -> CUDARegion:
        """mark and restart in one: what there was so far, as a region that is closed."""
        return recorder.turn(self)

    def want(self, stacks: str) -> None:
        """Other stacks from here on."""
        recorder.want(self, stacks)

    def keep_events(self, keep: bool) -> None:
        """Whether to record from here on. Peaks are counted in any event. What there was and is,
        restart reports."""
        recorder.keep_events(self, keep)

    def now(self) -> dict[str, int]:
        return stats(self.device, "current") if self.begun else dict.fromkeys(METRICS, 0)

    def keep_peaks(self, counters: dict[str, Any] | None = None) -> None:
        """counters: of the allocator, where they were read already."""
        for m, n in stats(self.device, "peak", counters).items():
            self._most[m] = max(self._most.get(m, 0), n)

    def keys_of(self, tensor: torch.Tensor) -> list[int]:
        from memshim.gpu.storages import storages

        return [s.data_ptr() for s in storages(tensor)]


def stats(index: int, kind: str, counters: dict[str, Any] | None = None) -> dict[str, int]:
    """The allocator's counters, all pools together. kind: current or peak."""
    counters = counters or recorder.real_stats(index)
    return {m: counters[name]["all"][kind] for m, name in METRICS.items()}


class Recorder:
    """Opens, reads and closes regions."""

    def __init__(self) -> None:
        self.regions: list[CUDARegion] = []
        self._events: dict[int, list[Event]] = {}  # by device, those that an open region may still read
        self._first: dict[int, int] = {}  # by device, the number of the first of them
        self.stacks = Stacks()
        self._lock = threading.RLock()
        self._guard = Guard(self)
        self._theirs = False  # the program's own recording runs: its history is read, never cleared
        # how we record: kind of stacks, and the program's own arguments where it began while we did
        self._settings: tuple[str, tuple[Any, tuple[Any, ...], dict[str, Any]] | None] = ("", None)
        # of the program's history, how many were read and the last of them
        self._seen: dict[int, tuple[int, tuple[Any, ...]]] = {}
        # by device, the counters as they were when we last reset its peaks: the program did not
        self._program: dict[int, dict[str, Any]] = {}

    def open(self, region: CUDARegion) -> None:
        import torch

        with self._lock:
            # which PyTorch before 2.15 asks for a lock that it holds
            if torch.cuda.is_initialized() or hasattr(torch.cuda._tls, "is_initializing"):
                self._begin(region)
            else:
                torch.cuda._lazy_call(lambda: self._begin(region) if not region._ended else None)

    def _begin(self, region: CUDARegion) -> None:
        import torch

        with self._lock:
            if region.index is None:
                region.index = torch._C._cuda_getDevice()
            if not self.regions:
                self.stacks, self._events, self._first, self._seen = Stacks(), {}, {}, {}
                self._guard.install()
            region.begun = True
            backend = torch._C._cuda_getAllocatorBackend()
            if region.keeps_events and backend != "native":
                region.lost, region.keeps_events = f"the allocator {backend} keeps no history", False
            torch.cuda.synchronize(region.index)
            first = not any(r.keeps_events for r in self.regions)
            self.regions.append(region)
            if region.keeps_events:
                self._start(region.wants) if first else self._want()
            self._renew(region)

    def restart(self, region: CUDARegion) -> None:
        with self._lock:
            if region.begun and not region._ended:
                self._renew(region)

    def turn(self, region: CUDARegion) -> CUDARegion:
        with self._lock:
            snapshot = self.read(region)
            region.peaks()
            past = copy.copy(region)
            past._ended = True
            if region.begun and not region._ended:
                self._renew(region, snapshot)
            return past

    def _renew(self, region: CUDARegion, snapshot: dict[str, Any] | None = None) -> None:
        """The region begins here, where a snapshot was just made or one is."""
        if region.keeps_events:
            snapshot = snapshot or self._drain(any(r is not region and r.keeps_events for r in self.regions))
            events = self._events.setdefault(region.device, [])
            region.events, region._from = [], self._first.setdefault(region.device, 0) + len(events)
            region.settings = Settings.of(snapshot.get("allocator_settings") or {})
            region.segments = [s for s in snapshot["segments"] if s["device"] == region.index]
            region.before = {
                b["address"]: b["size"]
                for s in region.segments
                for b in s["blocks"]
                if b["state"] == "active_allocated"
            }
            self._trim(region.device)
        self._reset(region.device)
        region._most = {}
        region.allocated_before = stats(region.device, "current")["allocated"]

    def _trim(self, index: int) -> None:
        unread = min(r._from for r in self.regions if r.keeps_events and r.index == index) - self._first[index]
        del self._events[index][:unread]
        self._first[index] += unread

    def _start(self, stacks: str) -> None:
        import torch

        self._theirs = torch._C._cuda_isHistoryEnabled()
        self._settings = (stacks, None)
        if not self._theirs:
            self._record(clear=True)

    def keep_events(self, region: CUDARegion, keep: bool) -> None:
        with self._lock:
            if not region.begun or region._ended or region.keeps_events == keep or region.lost and keep:
                region.keeps_events = keep and not region.lost
                return
            first = not any(r.keeps_events for r in self.regions)
            region.keeps_events = keep
            if keep:
                self._start(region.wants) if first else self._want()
            elif not any(r.keeps_events for r in self.regions):
                self._end()
            else:
                self._want()

    def want(self, region: CUDARegion, stacks: str) -> None:
        with self._lock:
            region.wants = stacks
            if region.begun and region.keeps_events and not region._ended:
                self._want()

    def _want(self) -> None:
        """Record the most that anybody wants."""
        stacks = max((r.wants for r in self.regions if r.keeps_events), key=list(_CONTEXT).index)
        if stacks != self._settings[0]:
            self._settings = (stacks, self._settings[1])
            if not self._theirs:
                self._record(clear=False)

    def _record(self, clear: bool) -> None:
        context, stacks = _CONTEXT[self._settings[0]]
        self._guard.record("all", context, stacks, MAX_EVENTS, clear_history=clear)

    def read(self, region: CUDARegion) -> dict[str, Any] | None:
        """Bring a region's events up to date; the snapshot that they were read from."""
        with self._lock:
            if region.begun and region.keeps_events and not region._ended:
                snapshot = self._drain()
                region.at_end = {
                    b["address"]: b
                    for s in snapshot["segments"]
                    if s["device"] == region.index
                    for b in s["blocks"]
                    if b["state"] == "active_allocated"
                }
                region.events = self._events[region.device][region._from - self._first[region.device] :]
                return snapshot
            return None

    def mark_or_skip(self, region: CUDARegion) -> int:
        with self._lock:
            alone = not self._theirs and [r for r in self.regions if r.keeps_events] == [region]
            if not alone or not steady.supported():
                return region.mark()
            with unswitched():
                moves = self._moves()
                found = steady.state(region.device, region.peaks(), self.real_stats(region.device))
                if region.state and found.is_like(region.state) and self._moves() == moves:
                    self._clear(moves)
                    region.skipped += found.requested - region.state.requested
                else:
                    self.read(region)
            region.state = found
            return len(region.events)

    def _drain(self, keep: bool = True) -> dict[str, Any]:
        """Move what is new in the allocator's history into ours, unless nobody needs it; the
        snapshot that it was read from."""
        import torch

        # what it released between the first two would be known nowhere; and it finds nothing in the
        # entries, over and over
        with uncollected(), unswitched():
            snapshot, moves = self._snapshot()
            ended = not torch._C._cuda_isHistoryEnabled()
            if ended or not self._theirs:
                self._clear(moves)
            if ended:
                self._lose(None, "the program ended the recording of the allocator's history")
                self._theirs, self._settings = False, (self._settings[0], None)
            for device, entries in enumerate(snapshot["device_traces"]):
                new = self._new(device, entries) if self._theirs else entries
                if keep and any(r.index == device for r in self.regions):
                    self._events.setdefault(device, []).extend(read_entries(new, self.stacks))
        return snapshot

    def _snapshot(self) -> tuple[dict[str, Any], list[tuple[int, ...]]]:
        """A snapshot, made again where another thread allocated or freed meanwhile; and the moves
        until it. The autograd engine's threads free what they hold of a backward pass after it has
        returned (engine.cpp, thread_main)."""
        after = self._moves()
        for _ in range(SNAPSHOTS):
            before, snapshot, after = after, allocator_snapshot(), self._moves()
            if before == after:
                break
        return snapshot, before

    def _moves(self) -> list[tuple[int, ...]]:
        """How often blocks and segments came and went so far, of each device that is looked at."""
        stats = [self.real_stats(i) for i in sorted({r.device for r in self.regions})]
        return [tuple(s[kind]["all"][way] for kind in _MOVES for way in ("allocated", "freed")) for s in stats]

    def _clear(self, moves: list[tuple[int, ...]]) -> None:
        """Clear the history, which was read until these moves."""
        self._record(clear=True)
        if self._moves() != moves:
            self._lose(None, "another thread allocated or freed while the allocator's history was read")

    def _new(self, device: int, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Of the program's own history, what was not read yet. Its ring may have gone on over what
        was."""
        count, last = self._seen.get(device, (0, None))
        if entries:
            self._seen[device] = (len(entries), _identity(entries[-1]))
        if count == 0:
            return entries
        if len(entries) >= count and _identity(entries[count - 1]) == last:
            return entries[count:]
        for i in range(len(entries) - 1, -1, -1):
            if _identity(entries[i]) == last:
                return entries[i + 1 :]
        self._lose(device, "the program's own recording keeps too few entries, or was ended")
        return entries

    def _lose(self, device: int | None, why: str) -> None:
        for r in self.regions:
            if device in (None, r.index):
                r.lost = r.lost or why

    def close(self, region: CUDARegion) -> None:
        import torch

        with self._lock:
            if region._ended or region not in self.regions:
                region._ended = True
                return
            torch.cuda.synchronize(region.index)
            region.keep_peaks()
            self.read(region)
            region._ended = True
            self.regions.remove(region)
            if region.keeps_events and not any(r.keeps_events for r in self.regions):
                self._end()
            self._unguard()

    def _unguard(self) -> None:
        """Once nobody looks, and what the program reads is what there is."""
        if self.regions:
            return
        self._program = {i: stats for i, stats in self._program.items() if self.program_reads(i) != self.real_stats(i)}
        if not self._program:
            self._guard.remove()

    def _end(self) -> None:
        """The program's own recording goes on, as it began it."""
        if self._settings[1] is not None:
            enabled, args, kw = self._settings[1]
            self._guard.record(enabled, *args, **{**kw, "clear_history": False})
        elif not self._theirs:
            self._guard.record(None)

    def restart_peaks(self, region: CUDARegion) -> dict[str, int]:
        with self._lock:
            if not region.begun or region._ended:
                return region.peaks()
            self._reset(region.device)
            peaks, region._most = region._most, {}
            return peaks

    def _reset(self, index: int) -> None:
        """Reset the peaks; whoever counts already does not lose what was."""
        now = self.real_stats(index)  # once: a step of a small model is as short as some reads of it
        for r in self.regions:
            if r.index == index:
                r.keep_peaks(now)
        self._program[index] = _most(now, self._program.get(index))
        self._guard.reset_peaks(index)

    def program_resets(self, index: int) -> None:
        with self._lock:
            self._reset(index)
            del self._program[index]
            self._unguard()

    def program_reads(self, index: int) -> dict[str, Any]:
        """The allocator's counters with the peaks since the program reset them, whenever we did."""
        return _most(self.real_stats(index), self._program.get(index))

    def real_stats(self, index: int) -> dict[str, Any]:
        return self._guard.stats(index)

    def program_records(self, enabled: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> None:
        """The program begins or ends its own recording."""
        with self._lock:
            if not any(r.keeps_events for r in self.regions):
                self._guard.record(enabled, *args, **kw)
                return
            self._drain()
            if not enabled:
                self._theirs, self._settings = False, (self._settings[0], None)
                self._record(clear=True)
            elif self._theirs and self._settings[1] is None:  # it ran before ours did
                self._guard.record(enabled, *args, **kw)
                self._seen = {} if kw.get("clear_history") else self._seen
            else:
                self._settings = ("all", (enabled, args, kw))
                self._record(clear=True)
                self._theirs, self._seen = True, {}  # from here on it is read, and not cleared


def _most(now: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
    """now, with the higher of each two peaks: in its place."""
    for name, then in (before or {}).items():
        if isinstance(then, dict):
            _most(now.get(name, {}), then)
        elif name == "peak":
            now[name] = max(now.get(name, then), then)
    return now


def _identity(entry: dict[str, Any]) -> tuple[Any, ...]:
    return entry["action"], entry.get("addr", entry.get("device_free")), entry["size"], entry.get("time_us")


recorder = Recorder()
