"""The recorder of an allocator's history, piece by piece: what is new in a program's own history, which regions
lose what, and how the history is asked for."""

import sys
from types import SimpleNamespace

import pytest

from memshim.allocator import recorder as module
from memshim.allocator.events import MAX_EVENTS
from memshim.allocator.recorder import METRICS, CUDARegion, Recorder


def entry(at, action="alloc", size=8, **more):
    return {"action": action, "addr": at, "size": size, "time_us": at, **more}


def region(index=0, stacks="python", keeps=True, recorder=None):
    r = CUDARegion(index, stacks, keeps)
    if recorder is not None:
        recorder.regions.append(r)
        r.begun = True
    return r


KEPT_FEW = "the program's own recording keeps too few entries, or was ended"
ALL = [entry(n) for n in range(6)]


@pytest.mark.parametrize(
    "then, now, new, lost",
    [
        ([], ALL[:2], ALL[:2], ""),
        (ALL[:2], ALL[:2], [], ""),
        (ALL[:2], ALL[:3], ALL[2:3], ""),
        (ALL[:2], ALL[1:4], ALL[2:4], ""),  # its ring went on over what was read
        (ALL[:4], ALL[3:5], ALL[4:5], ""),
        (ALL[:3], ALL[1:3], [], ""),
        (ALL[:2], ALL[2:5], ALL[2:5], KEPT_FEW),
        (ALL[:3], ALL[:2], ALL[:2], KEPT_FEW),
        (ALL[:3], [], [], KEPT_FEW),
        (ALL[:2], [ALL[0], entry(1, size=9), ALL[2]], [ALL[0], entry(1, size=9), ALL[2]], KEPT_FEW),
    ],
)
def test_of_a_programs_own_history_what_was_not_read_is_new(then, now, new, lost):
    r = Recorder()
    region(recorder=r), region(1, recorder=r)
    r._new(0, then)
    assert r._new(0, now) == new and [x.lost for x in r.regions] == [lost, ""]
    assert r._new(0, now) == [], "it is read by now"
    assert r._new(1, now) == now, "another device has others"


def test_an_entry_is_known_by_what_it_says():
    out = {"action": "oom", "device_free": 7, "size": 3}
    assert module._identity(entry(5)) == ("alloc", 5, 8, 5) and module._identity(out) == ("oom", 7, 3, None)


def test_the_first_reason_that_events_were_lost_stays():
    r = Recorder()
    one, other = region(recorder=r), region(1, recorder=r)
    r._lose(1, "first")
    r._lose(None, "then")
    assert (one.lost, other.lost) == ("then", "first")


COUNTERS = {name: {"all": {"current": n, "peak": 10 * n}} for n, name in enumerate(METRICS.values(), 1)}


@pytest.mark.parametrize("counters, asked", [(None, [3]), (COUNTERS, [])])
def test_the_allocators_counters_by_our_names(monkeypatch, counters, asked):
    said = []
    monkeypatch.setattr(module, "recorder", SimpleNamespace(real_stats=lambda index: said.append(index) or COUNTERS))
    want = {"requested": 1, "allocated": 2, "reserved": 3, "active": 4, "inactive_split": 5}
    assert module.stats(3, "current", counters) == want and said == asked
    assert module.stats(3, "peak", COUNTERS) == {k: 10 * n for k, n in want.items()}


def test_a_storage_is_known_by_its_address(monkeypatch):
    stub = SimpleNamespace(storages=lambda t: [SimpleNamespace(data_ptr=lambda n=n: n) for n in t])
    monkeypatch.setitem(sys.modules, "memshim.gpu.storages", stub)
    assert CUDARegion().keys_of([5, 6]) == [5, 6]


@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize(
    "stacks, want",
    [("", (None, "python")), ("python", ("alloc", "python")), ("alloc", ("alloc", "all")), ("all", ("all", "all"))],
)
def test_how_the_history_is_asked_for(stacks, want, clear):
    r, said = Recorder(), []
    r._guard = SimpleNamespace(record=lambda *a, **k: said.append((a, k)))
    r._settings = (stacks, None)
    r._record(clear)
    assert said == [(("all", *want, MAX_EVENTS), {"clear_history": clear})]


def test_which_devices_moves_are_looked_at():
    r, asked = Recorder(), []
    kinds = {name: {"all": {"allocated": n, "freed": -n, "current": 9}} for n, name in enumerate(module._MOVES, 1)}
    r._guard = SimpleNamespace(stats=lambda index: asked.append(index) or kinds)
    for index in (2, 0, 2):
        region(index, recorder=r)
    assert r._moves() == [(1, -1, 2, -2, 3, -3)] * 2 and asked == [0, 2]
    assert module._MOVES == ("allocation", "active", "segment")


def test_peaks_are_the_most_of_what_was_counted(monkeypatch):
    r = region()
    counted = [dict.fromkeys(METRICS, 5), dict.fromkeys(METRICS, 3) | {"active": 7}]
    monkeypatch.setattr(module, "stats", lambda index, kind, counters: counted.pop(0))
    r.begun = True
    r.keep_peaks()
    assert r.peaks() == dict.fromkeys(METRICS, 5) | {"active": 7}
    r._ended = True
    assert r.peaks() == dict.fromkeys(METRICS, 5) | {"active": 7} and counted == []


def test_a_region_has_begun_nothing_at_first():
    r = CUDARegion()
    assert (r.index, r.wants, r.keeps_events, r.begun, r.lost, r.events) == (None, "python", True, False, "", [])
    assert (r.before, r.segments, r.at_end, r.allocated_before, r.skipped, r.state) == ({}, [], {}, 0, 0, None)
    assert r.where == "cuda" and r.stacks is module.recorder.stacks
    with pytest.raises(AssertionError):
        r.device  # noqa: B018  # which GPU, CUDA says when it starts
