"""Regions that read one allocator's history, in any order and at once, with an allocator that is a stub."""

import contextlib
import sys
from types import SimpleNamespace

import pytest

from memshim.allocator import recorder as module
from memshim.allocator.recorder import METRICS, CUDARegion, Recorder


class Allocator:
    """Of one device: blocks of whole sizes, each in a segment."""

    def __init__(self):
        self.entries, self.blocks, self.enabled, self.backend = [], {}, False, "native"
        self.peak = self.allocated = self.freed = 0
        self.settings = {}
        self.between = []  # what happens after the next snapshots

    def alloc(self, address, size):
        self.blocks[address] = size
        self.allocated += 1
        self.peak = max(self.peak, self.current)
        self._log("alloc", address, size)

    def free(self, address):
        size = self.blocks.pop(address)
        self.freed += 1
        self._log("free_completed", address, size)

    def _log(self, action, address, size):
        if self.enabled:
            self.entries.append({"action": action, "addr": address, "size": size, "time_us": len(self.entries)})

    @property
    def current(self):
        return sum(self.blocks.values())

    def stats(self):
        each = {"current": self.current, "peak": self.peak, "allocated": self.allocated, "freed": self.freed}
        names = [*METRICS.values(), *module._MOVES]
        return {name: {"all": dict(each)} for name in names}

    def snapshot(self):
        blocks = [{"address": a, "size": n, "state": "active_allocated"} for a, n in self.blocks.items()]
        blocks.append({"address": 999, "size": 1, "state": "inactive"})
        other = {"device": 1, "blocks": [{"address": 998, "size": 1, "state": "active_allocated"}]}
        segments = [{"device": 0, "blocks": blocks}, other]
        made = {"segments": segments, "device_traces": [list(self.entries), []], "allocator_settings": self.settings}
        if self.between:
            self.between.pop(0)()
        return made


class Guard:
    def __init__(self, allocator):
        self.allocator, self.calls = allocator, []

    def install(self):
        self.calls.append("install")

    def remove(self):
        self.calls.append("remove")

    def record(self, enabled, context="", stacks="", most=0, clear_history=False):
        self.allocator.enabled = bool(enabled)
        if clear_history:
            self.allocator.entries.clear()
        self.calls.append((enabled, context, stacks, clear_history))

    def stats(self, index):
        return self.allocator.stats()

    def reset_peaks(self, index):
        self.allocator.peak = self.allocator.current


@pytest.fixture
def world(monkeypatch):
    a = Allocator()
    cuda = SimpleNamespace(
        is_initialized=lambda: a.started,
        synchronize=lambda index: a.synchronized.append(index),
        _lazy_call=lambda f: a.later.append(f),
        _tls=SimpleNamespace(),
    )
    c = SimpleNamespace(
        _cuda_getDevice=lambda: 0,
        _cuda_getAllocatorBackend=lambda: a.backend,
        _cuda_isHistoryEnabled=lambda: a.enabled,
    )
    a.started, a.later, a.synchronized = True, [], []
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, _C=c))
    monkeypatch.setattr(module, "allocator_snapshot", a.snapshot)
    for name in ("uncollected", "unswitched"):
        monkeypatch.setattr(module, name, contextlib.nullcontext)
    r = Recorder()
    r._guard = Guard(a)
    monkeypatch.setattr(module, "recorder", r)
    a.recorder, a.calls = r, r._guard.calls
    return a


def seen(region):
    region.mark()
    return [(e.action, e.key, e.size) for e in region.events]


def test_a_region_has_what_happened_in_it(world):
    world.alloc(1, 10)
    region = CUDARegion().open()
    assert (region.index, region.before, region.allocated_before) == (0, {1: 10}, 10)
    assert len(region.segments) == 1 and world.calls[:2] == ["install", ("all", "alloc", "python", True)]
    world.alloc(2, 30)
    world.free(2)
    assert region.mark() == 2 and region.at_end.keys() == {1}
    world.alloc(3, 5)
    region.close()
    assert seen(region) == [("alloc", 2, 30), ("free_completed", 2, 30), ("alloc", 3, 5)]
    assert region.peaks() == dict.fromkeys(METRICS, 40) and region.now()["allocated"] == 15
    assert world.calls[-2:] == [(None, "", "", False), "remove"] and not world.enabled
    world.alloc(4, 500)
    assert len(seen(region)) == 3 and region.peaks()["allocated"] == 40
    region.close()
    assert region.lost == ""


def test_regions_within_and_beside_each_other(world):
    first = CUDARegion().open()
    world.alloc(1, 10)
    second = CUDARegion().open()
    world.alloc(2, 20)
    assert second.before == {1: 10} and seen(second) == [("alloc", 2, 20)]
    first.close()
    assert world.enabled and "remove" not in world.calls
    world.free(2)
    world.alloc(3, 1)
    second.close()
    assert seen(first) == [("alloc", 1, 10), ("alloc", 2, 20)]
    assert seen(second) == [("alloc", 2, 20), ("free_completed", 2, 20), ("alloc", 3, 1)]
    assert first.peaks()["allocated"] == second.peaks()["allocated"] == 30
    third = CUDARegion().open()
    assert third.mark() == 0 and world.calls.count("install") == 2 and third.peaks()["allocated"] == 11


@pytest.mark.parametrize("settings, split", [({"max_split_size": 5}, 5), ({}, 0), (None, 0)])
def test_a_region_has_the_allocators_settings(world, settings, split):
    world.settings = settings
    assert CUDARegion().open().settings == module.Settings(split)


def test_what_a_gpu_still_does_is_waited_for_at_both_ends(world):
    region = CUDARegion(1).open()
    assert world.synchronized == [1]
    region.close()
    region.close()
    assert world.synchronized == [1, 1]


def test_a_region_has_the_blocks_of_its_device(world):
    world.alloc(1, 10)
    region = CUDARegion().open()
    assert [s["device"] for s in region.segments] == [0] and region.before == {1: 10}
    region.mark()
    assert region.at_end == {1: {"address": 1, "size": 10, "state": "active_allocated"}}


def test_what_no_region_reads_is_not_kept(world):
    first = CUDARegion().open()
    world.alloc(1, 10)
    first.restart()
    assert first.mark() == 0 and world.recorder._events == {0: []} and world.recorder._first == {0: 0}
    second = CUDARegion().open()
    world.alloc(2, 10)
    first.mark()
    first.restart()
    assert len(world.recorder._events[0]) == 1 and first._from == 1
    second.restart()
    assert world.recorder._events[0] == [] and world.recorder._first == {0: 1}
    world.alloc(3, 10)
    assert seen(first) == seen(second) == [("alloc", 3, 10)]
    first.restart()
    assert seen(second) == [("alloc", 3, 10)] and seen(first) == [], "the other reads it still"


def test_only_a_region_that_is_open_begins_anew(world):
    region = CUDARegion()
    region.restart()
    assert not region.begun and world.calls == []
    region.open()
    world.alloc(1, 10)
    region.close()
    region.restart()
    assert seen(region) == [("alloc", 1, 10)] and region.peaks()["allocated"] == 10


def test_a_region_of_peaks_alone_keeps_no_events(world):
    region, other = CUDARegion().open(), CUDARegion(0, events=False).open()
    world.alloc(1, 10)
    region.mark()
    region.restart()
    assert world.recorder._events == {0: []} and world.recorder._first == {0: 1}
    other.close()
    assert world.enabled


def test_peaks_are_counted_anew(world):
    region, other = CUDARegion().open(), CUDARegion(0, events=False).open()
    world.alloc(1, 10)
    world.free(1)
    assert region.restart_peaks()["allocated"] == 10
    world.alloc(2, 3)
    assert region.restart_peaks()["allocated"] == 3 and region.peaks()["allocated"] == 3
    assert other.peaks()["allocated"] == 10 and other.mark() == 0
    region.close()
    assert region.restart_peaks()["allocated"] == 3


def test_a_region_turns_into_the_next(world):
    region = CUDARegion().open()
    world.alloc(1, 10)
    past = region.turn()
    world.alloc(2, 5)
    assert seen(past) == [("alloc", 1, 10)] and past.peaks()["allocated"] == 10 and past._ended
    assert seen(region) == [("alloc", 2, 5)] and region.before == {1: 10} and region.allocated_before == 10
    region.close()
    assert seen(region.turn()) == [("alloc", 2, 5)]


def test_the_program_reads_its_own_peaks(world):
    world.alloc(1, 100)
    world.free(1)
    region = CUDARegion().open()
    world.alloc(2, 7)
    read = world.recorder.program_reads(0)["allocated_bytes"]["all"]
    assert (read["peak"], read["current"]) == (100, 7) and region.peaks()["allocated"] == 7
    world.alloc(5, 50)
    world.free(5)
    world.recorder.program_resets(0)
    assert world.recorder.program_reads(0)["allocated_bytes"]["all"]["peak"] == 7 and region.peaks()["allocated"] == 57
    world.alloc(3, 1)
    region.close()
    assert world.calls[-1] == "remove"


def test_the_guard_stays_while_the_program_would_read_less(world):
    world.alloc(1, 100)
    world.free(1)
    CUDARegion().open().close()
    assert "remove" not in world.calls
    world.alloc(2, 200)
    world.free(2)
    CUDARegion().open().close()
    assert "remove" not in world.calls and world.recorder.program_reads(0)["active_bytes"]["all"]["peak"] == 200
    world.recorder.program_resets(0)
    assert world.calls[-1] == "remove"


def test_before_cuda_starts_a_region_waits(world):
    world.started = False
    region = CUDARegion().open()
    assert not region.begun and region.mark() == 0 and region.now() == dict.fromkeys(METRICS, 0) == region.peaks()
    assert (region.allocated_before, region.skipped, region.before, region.at_end) == (0, 0, {}, {})
    world.later.pop()()
    assert region.begun and region.index == 0
    ended = CUDARegion().open()
    ended.close()
    world.later.pop()()
    assert not ended.begun and world.recorder.regions == [region]
    module_torch = sys.modules["torch"].cuda
    module_torch._tls.is_initializing = True
    assert CUDARegion().open().begun


def test_an_allocator_without_a_history_counts_peaks(world):
    world.backend = "cudaMallocAsync"
    region = CUDARegion().open()
    world.alloc(1, 4)
    assert region.lost == "the allocator cudaMallocAsync keeps no history" and region.mark() == 0
    assert region.peaks()["allocated"] == 4 and not world.enabled
    region.keep_events(True)
    assert not region.keeps_events
    assert CUDARegion(events=False).open().lost == ""


def test_the_most_that_anybody_wants_is_recorded(world):
    def recorded():
        return [c[1:] for c in world.calls if isinstance(c, tuple)][-1]

    plain = CUDARegion(stacks="").open()
    assert recorded() == (None, "python", True)
    native = CUDARegion(stacks="alloc").open()
    assert ("all", "alloc", "all", False) in world.calls
    native.want("all")
    assert recorded()[:2] == ("all", "all")
    native.want("python")
    assert recorded() == ("alloc", "python", False)
    count = len(world.calls)
    plain.want("")
    assert len(world.calls) == count, "it is what is recorded"
    native.keep_events(False)
    assert recorded()[:2] == (None, "python") and world.enabled
    plain.keep_events(False)
    assert not world.enabled
    native.want("all")
    assert not world.enabled
    native.keep_events(True)
    assert recorded() == ("all", "all", True) and world.enabled
    plain.keep_events(True)
    assert recorded()[:2] == ("all", "all")


def test_a_region_may_count_for_a_while(world):
    region = CUDARegion().open()
    region.keep_events(False)
    world.alloc(1, 10)
    assert region.mark() == 0
    region.keep_events(True)
    region.restart()
    world.alloc(2, 5)
    assert seen(region) == [("alloc", 2, 5)] and region.before == {1: 10}
    region.close()
    region.keep_events(False)
    assert not region.keeps_events
    unbegun, count = CUDARegion(events=False), len(world.calls)
    unbegun.keep_events(True)
    assert unbegun.keeps_events and len(world.calls) == count
    assert unbegun.restart_peaks() == dict.fromkeys(METRICS, 0)


ELSEWHERE = "another thread allocated or freed while the allocator's history was read"


@pytest.mark.parametrize("times, lost", [(1, ""), (3, ""), (4, ELSEWHERE)])
def test_another_thread_that_allocates_meanwhile(world, times, lost):
    region = CUDARegion().open()
    world.alloc(1, 10)
    world.between = [lambda i=i: world.alloc(10 + i, 1) for i in range(times)]
    assert region.mark() == (times + 1 if not lost else 4) and region.lost == lost and not world.between


@pytest.fixture
def like(world, monkeypatch):
    """Iterations are alike where nothing is held that was not."""
    monkeypatch.setattr(module.steady, "supported", lambda: True)

    def state(index, peaks, stats):
        held = sorted(world.blocks.items())
        return SimpleNamespace(requested=world.requested, is_like=lambda before: before.held == held, held=held)

    world.requested = 0
    monkeypatch.setattr(module.steady, "state", state)
    return world


def test_what_was_alike_is_left_out(like):
    region = CUDARegion().open()
    counts = []
    for _ in range(3):
        like.alloc(1, 10)
        like.free(1)
        like.requested += 10
        counts.append(region.mark_or_skip())
    assert counts == [2, 2, 2] and region.skipped == 20
    like.alloc(2, 5)
    assert region.mark_or_skip() == 3 and region.skipped == 20
    like.alloc(3, 5)
    like.free(3)
    other = CUDARegion().open()
    assert region.mark_or_skip() == 5, "another region reads it"
    other.close()


def test_an_older_pytorch_leaves_out_nothing(like, monkeypatch):
    monkeypatch.setattr(module.steady, "supported", lambda: False)
    region = CUDARegion().open()
    for n in (2, 4):
        like.alloc(1, 10)
        like.free(1)
        assert region.mark_or_skip() == n
    assert region.state is None


def test_the_programs_own_recording_is_read_and_not_cleared(world):
    world.enabled = True
    world.alloc(1, 10)
    region = CUDARegion().open()
    assert [c for c in world.calls if isinstance(c, tuple)] == []
    world.alloc(2, 20)
    assert seen(region) == [("alloc", 2, 20)]
    world.free(2)
    assert seen(region)[1:] == [("free_completed", 2, 20)] and len(world.entries) == 3
    del world.entries[:2]  # its ring went on
    world.alloc(3, 30)
    assert seen(region)[2:] == [("alloc", 3, 30)] and region.lost == ""
    world.entries.clear()
    assert len(seen(region)) == 3
    world.alloc(4, 40)
    assert seen(region)[3:] == [("alloc", 4, 40)]
    assert region.lost == "the program's own recording keeps too few entries, or was ended"
    region.close()
    assert world.enabled


def test_the_program_ends_its_recording_beside_us(world):
    world.enabled = True
    region = CUDARegion().open()
    world.alloc(1, 10)
    world.enabled = False
    assert seen(region) == [("alloc", 1, 10)] and world.enabled, "ours goes on"
    assert region.lost == "the program ended the recording of the allocator's history"
    world.alloc(2, 20)
    assert seen(region) == [("alloc", 1, 10), ("alloc", 2, 20)]
    region.close()
    assert not world.enabled, "and ends with us"


def test_what_the_program_began_goes_on_after_us(world):
    region = CUDARegion().open()
    world.alloc(1, 10)
    world.recorder.program_records("state", ("state", "all"), {"clear_history": True})
    assert world.calls[-1] == ("all", "all", "all", True) and world.recorder._theirs
    world.alloc(2, 20)
    assert seen(region) == [("alloc", 1, 10), ("alloc", 2, 20)]
    region.close()
    assert world.calls[-1] == "remove" and world.calls[-2] == ("state", "state", "all", False)


def test_the_program_ends_what_it_began(world):
    region = CUDARegion().open()
    world.recorder.program_records("all", (), {})
    world.alloc(1, 10)
    world.recorder.program_records(None, (), {})
    assert world.enabled and not world.recorder._theirs and world.calls[-1][3], "ours goes on, and is cleared"
    world.alloc(2, 20)
    assert seen(region) == [("alloc", 1, 10), ("alloc", 2, 20)] and region.lost == ""
    region.close()
    assert not world.enabled


def test_without_us_the_program_records_by_itself(world):
    world.recorder.program_records("all", ("state",), {})
    assert world.calls == [("all", "state", "", False)]


def test_a_recording_that_ran_before_ours_begins_anew(world):
    world.enabled = True
    world.alloc(1, 10)
    region = CUDARegion().open()
    world.alloc(2, 20)
    world.recorder.program_records("all", ("state",), {"clear_history": True})
    assert world.calls[-1] == ("all", "state", "", True)
    world.alloc(3, 30)
    assert seen(region) == [("alloc", 2, 20), ("alloc", 3, 30)] and region.lost == ""


@pytest.mark.parametrize(
    "now, before, most",
    [
        ({"peak": 1, "current": 2}, {"peak": 5, "current": 9}, {"peak": 5, "current": 2}),
        ({"peak": 6}, {"peak": 5}, {"peak": 6}),
        ({"a": {"peak": 1}}, {"a": {"peak": 2}, "n": 3}, {"a": {"peak": 2}}),
        ({"peak": 1}, None, {"peak": 1}),
    ],
)
def test_the_higher_of_two_peaks(now, before, most):
    assert module._most(now, before) == most
