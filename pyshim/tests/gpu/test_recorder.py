"""One recording for all who look at once."""

import contextlib
import gc
import os
import random
import sys

import pytest
import torch

import memshim
from memshim.allocator import recorder as module
from memshim.allocator.blocks import Blocks, Settings
from memshim.allocator.guard import Guard
from memshim.allocator.recorder import CUDARegion, recorder
from memshim.judge.region import CUDABudget

KIB, MIB = 1 << 10, 1 << 20
memory = torch.cuda.memory


@pytest.fixture(autouse=True)
def nothing_is_left():
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    reset, record = torch._C._cuda_resetPeakMemoryStats, memory._record_memory_history
    yield
    torch.cuda.reset_peak_memory_stats()  # until then the program may ask for peaks of before we looked
    assert not recorder.regions and not torch._C._cuda_isHistoryEnabled()
    assert (torch._C._cuda_resetPeakMemoryStats, memory._record_memory_history) == (reset, record), (
        "torch's own functions are put back"
    )


def take(n: int) -> torch.Tensor:
    return torch.empty(n, dtype=torch.uint8, device="cuda")


def work(at: dict) -> None:
    """Some of it in each part; what at names is entered around the part."""
    with at.get("first", contextlib.nullcontext()):
        a = take(30 * MIB)
        del a
    with at.get("second", contextlib.nullcontext()):
        b = [take(KIB * n) for n in (3, 500, 2000)]
        with at.get("inner", contextlib.nullcontext()):
            c = take(21 * MIB)
            del c
        d = take(5 * MIB)
    del b, d


def test_the_program_reads_its_own_peaks():
    """Whatever was reset by us, and also when nobody looks any more; what it resets itself is
    reset."""
    torch.cuda.reset_peak_memory_stats()
    del_me = take(40 * MIB)
    del del_me
    with memshim.trace(file=None):
        kept = take(10 * MIB)
        region = CUDARegion(0, events=False).open()
        region.restart_peaks()
        assert torch.cuda.max_memory_allocated() == 40 * MIB and region.peaks()["allocated"] == 10 * MIB
        assert torch.cuda.memory_stats()["allocated_bytes.all.current"] == 10 * MIB
        region.close()
    assert torch.cuda.max_memory_allocated() == 40 * MIB == torch.accelerator.memory.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == 10 * MIB
    del kept


def figures(t) -> tuple:
    return t.peak.total, t.rows(), t.peak.churn


@pytest.mark.parametrize("names", [("first", "second"), ("second", "inner"), ("first", "second", "inner")])
def test_what_is_read_inside_another_is_what_is_read_alone(names):
    alone = {}
    for name in names:
        torch.cuda.empty_cache()
        with_it = {name: memshim.trace(file=None)}
        work(with_it)
        alone[name] = figures(with_it[name])
    torch.cuda.empty_cache()
    together = {name: memshim.trace(file=None) for name in names}
    with memshim.trace(file=None) as outer:
        work(together)
    assert {name: figures(t) for name, t in together.items()} == alone
    torch.cuda.empty_cache()
    with memshim.trace(file=None) as without:
        work({})
    assert figures(outer) == figures(without), "and the outer one is as without them"


def test_regions_may_end_in_any_order():
    a = CUDARegion().open()
    x = take(3 * MIB)
    b = CUDARegion().open()
    del x
    y = take(MIB)
    a.close()
    z = take(7 * MIB)
    b.close()
    assert [e.size for e in a.events if e.action == "alloc"] == [3 * MIB, MIB]
    assert [e.size for e in b.events if e.action == "alloc"] == [MIB, 7 * MIB]
    assert a.peaks()["allocated"] - a.allocated_before == 3 * MIB
    assert b.peaks()["allocated"] == b.allocated_before - 3 * MIB + 8 * MIB and len(y) + len(z)


class Looks:
    """One of those who look, from its start to its end, and what it reported."""

    def __init__(self, kind: str, model: torch.nn.Module):
        self.kind, self.model, self.figures = kind, model, ()

    def start(self) -> None:
        torch.cuda.empty_cache()  # what is cached is the same in each run
        if self.kind == "trace":
            self.by = memshim.trace(file=None).start()
        elif self.kind == "profiler":
            self.by = memshim.Profiler(self.model, print_period=0)
        elif self.kind == "budget":
            self.by = CUDABudget()
            self.by.start()
        elif self.kind == "tracker":
            self.by = memshim.Tracker(open(os.devnull, "w"))
            self.by.track()
        else:
            memory._record_memory_history(max_entries=100_000)

    def end(self) -> None:
        torch.cuda.empty_cache()
        if self.kind == "trace":
            self.by.stop()
            self.figures = figures(self.by)
        elif self.kind == "profiler":
            s = self.by.record_stats()
            self.figures = s.peak_allocated, s.peak_cached, s.parts, s.breakdown.rows, s.breakdown.phase
            self.by.close()
        elif self.kind == "budget":
            self.figures = self.by.stop(), self.by.leaked([]), self.by.leaks(), self.by.holders()
            self.by.drop()
        elif self.kind == "tracker":
            change = self.by.track()
            self.figures = change.census.allocator, change.added, change.removed
        else:
            self.figures = [
                (e["action"], e["size"])
                for e in memory._snapshot()["device_traces"][0]
                if e["action"] not in ("annotate", "snapshot")
            ]
            memory._record_memory_history(None)
        self.by = None


def looked_at(*kinds: str, nested: bool = True) -> list:
    """What each says of a loop; the second starts after the first, and ends before it or after it.
    No kind: nobody there."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(300, 400), torch.nn.GELU(), torch.nn.Linear(400, 9)).cuda()
    optimizer, kept = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), []

    def some(rows):
        kept.append(take(rows * KIB))
        model(torch.zeros(rows, 300, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    a, b = (Looks(kind, model) for kind in kinds)
    last = (b, a) if nested else (a, b)
    some(900)
    for rows, do in ((100, a.start), (500, b.start), (2000, last[0].end), (1400, last[1].end)):
        do()
        some(rows)
    return [a.figures, b.figures]


LOOKS = ("trace", "profiler", "budget", "tracker", "the program's own recording")


@pytest.fixture(scope="module")
def alone() -> dict:
    class Nothing(Looks):
        def start(self):
            torch.cuda.empty_cache()

        end = start

    out = {}
    for kind in LOOKS:
        for nested in (True, False):
            with pytest.MonkeyPatch.context() as m:
                real = Looks
                m.setitem(globals(), "Looks", lambda k, model: (real if k == kind else Nothing)(k, model))
                for where, pair in enumerate(((kind, ""), ("", kind))):
                    out[kind, where, nested] = looked_at(*pair, nested=nested)[where]
    return out


@pytest.mark.parametrize("nested", [True, False], ids=["inside", "overlapping"])
@pytest.mark.parametrize("kinds", [(a, b) for a in LOOKS for b in LOOKS if a != b or a != LOOKS[-1]], ids=" and ".join)
def test_each_reads_what_it_would_read_alone(alone, kinds, nested):
    assert alone[kinds[0], 0, nested] and alone[kinds[1], 1, nested]
    assert looked_at(*kinds, nested=nested) == [alone[kind, i, nested] for i, kind in enumerate(kinds)]


@pytest.mark.parametrize("when", ["before", "in", "after"])
@pytest.mark.parametrize("inner", ["budget", "trace", "profiler", "tracker", "the program's own reset"])
def test_nothing_inside_a_budget_hides_a_peak_from_it(inner, when):
    """Else a test would pass because of what it looked at."""
    outer = CUDABudget()
    outer.start()

    def peak(here):
        if when == here:
            take(40 * MIB)

    peak("before")
    if inner == "budget":
        region = CUDABudget()
        region.start()
        peak("in")
        assert region.stop().delta == (40 * MIB if when == "in" else 0), "the inner one sees its own alone"
        region.drop()
    elif inner == "profiler":
        with memshim.Profiler(torch.nn.Linear(1, 1).cuda(), print_period=0) as p:
            p.record_stats()
            peak("in")
            p.record_stats()
    elif inner == "trace":
        with memshim.trace(file=None):
            peak("in")
    elif inner == "tracker":
        t = memshim.Tracker(file=open("/dev/null", "w"))
        t.track()
        peak("in")
        assert (t.track().census.allocator.peak >= 40 * MIB) == (when == "in")
        del t
    else:
        peak("in")
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.reset_max_memory_allocated()
    peak("after")
    got = outer.stop()
    assert got.delta >= 40 * MIB and got.reserved >= 40 * MIB
    outer.drop()


def test_the_programs_own_recording_goes_on():
    memory._record_memory_history(max_entries=1000, stacks="python")
    a = take(MIB)
    with memshim.trace(file=None) as t:
        b = take(2 * MIB)
    c = take(3 * MIB)
    sizes = [e["size"] for e in memory._snapshot()["device_traces"][0] if e["action"] == "alloc"]
    assert sizes == [MIB, 2 * MIB, 3 * MIB], "nothing of it is lost"
    assert [r["mem"] for r in t.rows() if r["file"] == __file__] == [2 * MIB] and not t.peak.lost
    memory._record_memory_history(None)
    assert len(a) + len(b) + len(c)


def test_the_programs_own_recording_may_begin_and_end_inside_ours():
    with memshim.trace(file=None) as t:
        a = take(MIB)
        memory._record_memory_history(max_entries=5)
        b = take(2 * MIB)
        mine = [e["size"] for e in memory._snapshot()["device_traces"][0] if e["action"] == "alloc"]
        memory._record_memory_history(None)
        c = take(4 * MIB)
        memory._record_memory_history("all", max_entries=2)
        d = take(8 * MIB)
    assert mine == [2 * MIB], "it is asked for what was since it began"
    assert [r["mem"] for r in t.rows() if r["function"] == "take"] == [15 * MIB], "and ours is whole"
    assert torch._C._cuda_isHistoryEnabled(), "it goes on"
    for _ in range(5):
        take(KIB)
    assert len(memory._snapshot()["device_traces"][0]) <= 5, "as it was begun"
    memory._record_memory_history(None)
    assert len(a) + len(b) + len(c) + len(d)


def test_a_recording_that_keeps_too_little_is_said():
    memory._record_memory_history(max_entries=2)
    with memshim.trace(file=None) as t:
        kept = [take(MIB) for _ in range(9)]
        with memshim.trace(file=None):
            kept += [take(MIB) for _ in range(9)]
    assert t.peak.lost == "the program's own recording keeps too few entries, or was ended"
    assert "incomplete: the program's own" in t.table() and t.peak.unknown > 0
    assert sum(r["mem"] for r in t.rows()) == t.peak.total == torch.cuda.memory_allocated(), (
        "what is not known is a row"
    )
    memory._record_memory_history(None)


@pytest.mark.parametrize(
    "moves, lost",
    [
        ({1}, ""),  # as a thread of the autograd engine does behind a backward pass: it is read again
        ({1, 2, 3}, ""),
        ({"clear"}, "another thread allocated or freed while the allocator's history was read"),
        (set(range(9)), "another thread allocated or freed while the allocator's history was read"),
    ],
)
def test_what_another_thread_frees_while_the_history_is_read(moves, lost, monkeypatch):
    """It is read again until nothing moved; and where that does not end, the region says so."""
    kept, made, snapshot, record = [take(KIB) for _ in range(9)], [], module.allocator_snapshot, Guard.record
    region = CUDARegion(0).open()

    usual = sys.getswitchinterval()

    def moved():
        assert sys.getswitchinterval() > 1 > usual, "Python's threads wait, which would free in between"
        made.append(snapshot())
        if len(made) in moves:
            kept.pop()
        return made[-1]

    def cleared(*args, **kw):
        if "clear" in moves:
            kept.pop()
        return record(*args, **kw)

    monkeypatch.setattr(module, "allocator_snapshot", moved)
    monkeypatch.setattr(Guard, "record", cleared)
    region.mark()
    monkeypatch.undo()
    region.close()
    assert sys.getswitchinterval() == usual and region.lost == lost
    if not lost:
        frees = [e.size for e in region.events if e.action == "free_completed"]
        assert frees == [KIB] * len(moves) and len(made) == len(moves) + 1
        assert len(region.before) - len(frees) == len(kept)


def test_what_the_garbage_collector_frees_is_reported(monkeypatch):
    """Also while the history is read: here, whenever its entries are."""

    class Cycle:
        def __init__(self):
            self.me, self.held = self, take(5 * MIB)

    real = module.read_entries
    monkeypatch.setattr(module, "read_entries", lambda *a: gc.collect() and None or real(*a))
    torch.cuda.reset_peak_memory_stats()
    with memshim.trace(file=None) as t:
        Cycle()
        with memshim.trace(file=None):
            kept = take(3 * MIB)
        more = take(4 * MIB)
    assert t.peak.total == torch.cuda.max_memory_allocated() and not t.peak.unknown and len(kept) + len(more)


@pytest.mark.parametrize(
    "settings",
    [
        "",
        "max_split_size_mb:30",
        "roundup_power2_divisions:4",
        "expandable_segments:True",
        "roundup_power2_divisions:[256:1,512:2,>:8]",
    ],
)
def test_blocks_are_followed_to_the_byte(settings):
    """Thousands of allocations and frees in two streams: the blocks in use and what they sum to are
    those of the allocator's own snapshot."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch._C._accelerator_setAllocatorSettings(
        settings or "expandable_segments:False,max_split_size_mb:1000000000,roundup_power2_divisions:1"
    )
    try:
        rng, held, other = random.Random(settings), [], torch.cuda.Stream()
        region = CUDARegion(stacks="").open()
        for _ in range(3000):
            with torch.cuda.stream(other) if rng.random() < 0.3 else contextlib.nullcontext():
                held.append(take(int(2 ** rng.uniform(0, 26))))
            if rng.random() < 0.2:
                held[-1].record_stream(torch.cuda.Stream())
            while len(held) > rng.randint(5, 60):
                held.pop(rng.randrange(len(held)))
            if rng.random() < 0.01:
                torch.cuda.empty_cache()
        torch.cuda.synchronize()
        region.close()
        blocks = Blocks(region.segments, region.settings)
        total = most = region.allocated_before
        for e in region.events:
            if e.action == "alloc":
                total += blocks.alloc(e.key, e.size)
                most = max(most, total)
            elif e.action == "free_requested":
                total -= blocks.size_of(e.key)
            elif e.action == "free_completed":
                blocks.freed(e.key)
            else:
                blocks.segment_event(e.action, e.key, e.size)
        assert blocks.astray == 0
        assert total == torch.cuda.memory_allocated() and most == region.peaks()["allocated"]
        there = {
            b["address"]: b["size"]
            for s in memory._snapshot()["segments"]
            for b in s["blocks"]
            if b["state"] != "inactive"
        }
        assert blocks.used() == there
        assert Settings.of(memory._snapshot()["allocator_settings"]) == region.settings
    finally:
        held.clear()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch._C._accelerator_setAllocatorSettings(
            "expandable_segments:False,max_split_size_mb:1000000000,roundup_power2_divisions:1"
        )


def test_c_frames_are_named_without_another_program(monkeypatch):
    """PyTorch before 2.15 starts addr2line, unless it is set otherwise."""
    asked, real = [], memory._snapshot
    monkeypatch.delenv("TORCH_SYMBOLIZE_MODE", raising=False)
    monkeypatch.setattr(memory, "_snapshot", lambda *a: asked.append(os.environ["TORCH_SYMBOLIZE_MODE"]) or real(*a))
    with memshim.trace(file=None) as t:
        kept = take(MIB)
    assert set(asked) == {"dladdr"} and "TORCH_SYMBOLIZE_MODE" not in os.environ, (
        "the program's own environment is as it was"
    )
    assert not any("::" in f.function for f in recorder.stacks.frames) and t.peak.total == len(kept), (
        "and a table by line asks for none"
    )


def test_a_release_that_clears_its_history_only_where_it_ends(monkeypatch):
    """PyTorch before 2.8: nothing is read twice, and nothing is lost."""
    real = memory._record_memory_history_impl

    def impl(enabled="all", context="all", stacks="all", max_entries=1000, device=None):
        real(enabled, context, stacks, max_entries, device, clear_history=enabled is None)

    monkeypatch.setattr(memory, "_record_memory_history_impl", impl)
    region = CUDARegion(stacks="python").open()
    kept = take(30 * MIB)
    region.mark()
    region.want("all")
    del kept
    region.mark()
    region.close()
    actions = [e.action for e in region.events if e.size == 30 * MIB]
    assert actions == ["segment_alloc", "alloc", "free_requested", "free_completed"]
