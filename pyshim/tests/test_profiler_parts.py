"""What the profiler records of an iteration, when it only counts, and what it writes."""

import io
import sys
from types import SimpleNamespace

import pytest

from memshim.look import profile
from memshim.look.parts import Breakdown, Parts, Row
from memshim.look.profile import Profiler, Stats

NONE = Parts(*[0] * 10)
PARTS = NONE._replace(weights=1024, activations=2048, rounding=3)
ROWS = [
    Row("", "Net", "", 0, 0, 0, 5),
    Row("fc", "Linear", "", 10, 0, 0, 2048),
    Row("fc", "float32[2]", "weight", 10, 0, 0, 0),
    Row("empty", "ReLU", "", 0, 0, 0, 0),
]


def broken(peak=3075, rows=ROWS, lost="", phase="forward", where="fc", cached=7):
    return Breakdown(peak, cached, PARTS, rows, phase, where, lost)


class Region:
    def __init__(self, where):
        self.where, self.begun, self.device, self.calls = where, True, 0, []
        self.most, self.held = {"allocated": 100, "requested": 50, "reserved": 200}, {"allocated": 10, "requested": 5}
        if where == "cuda":
            self.held["reserved"] = 150
        else:
            del self.most["reserved"]

    def peaks(self):
        return self.most

    def now(self):
        return self.held

    def __getattr__(self, name):
        if name in ("open", "close", "restart", "turn", "want", "keep_events"):
            return lambda *a: (self.calls.append((name, *a)), self)[1]
        raise AttributeError(name)


class Loop:
    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *a: self.calls.append(name)


class Breaker:
    wants_native = True

    def __init__(self):
        self.made, self.next = 0, broken()

    def of(self, region):
        self.made += 1
        return self.next


@pytest.fixture
def make(monkeypatch):
    """A profiler over stubs; the allocator's counters are those of `counts`, one after another."""
    counts = []
    monkeypatch.setattr(profile, "_counters", lambda region: counts.pop(0) if counts else ())

    def made(where="cuda", period=5, csv=None, rows="layer"):
        p = Profiler.__new__(Profiler)
        p.model, p.print_period, p._rows, p._file, p.csv = None, period, rows, io.StringIO(), csv
        p._region, p._loop, p._breaker = Region(where), Loop(), Breaker()
        p.where, p.epoch, p.iteration, p.stats = where, 0, 0, []
        p._known, p._counted, p._alike, p._since, p._paused, p._on = {}, (), 0, 0, False, False
        p._end = SimpleNamespace(alive=True, detach=lambda: p._loop.calls.append("detach"))
        p._begin(True)
        p.counts = counts
        return p

    return made


def counters(n, peak=7):
    return ((n, n, n, peak),)


def test_an_iteration_that_began_with_other_memory_is_another(make):
    p = make()
    p._counted = counters(0)
    p.counts += [counters(1), counters(1), counters(2), counters(2)]
    assert [p.record_stats().same_as, p.record_stats().same_as] == [None, None] and p._breaker.made == 2


def steady(p, n):
    """So many iterations in which the allocator counts the same."""
    made = []
    for _ in range(n):
        p._counted = counters(0)
        p.counts[:] = [counters(1), counters(0)]
        made.append(p.record_stats())
    return made


def test_iterations_alike_are_counted_alone(make):
    p = make()
    made = steady(p, 6)
    assert p._breaker.made == 1 and [s.same_as for s in made] == [None, 0, 0, 0, 0, 0]
    assert [s.iteration for s in made] == list(range(6)) == [s.iteration for s in p.stats] and p._alike == 5
    kept = [a for name, *a in p._region.calls if name == "keep_events"]
    assert kept == [[True], [True], [True], [False], [False], [False], [False]], "after two that were alike"
    assert p._loop.calls.count("on") == 1 and p._loop.calls.count("off") == 1
    assert p._loop.calls.count("next") == 6 and p._loop.calls.count("outside") == 7
    assert not p._recording and not p._breaker.wants_native


def test_an_iteration_unlike_those_before_is_counted_and_the_next_recorded(make):
    p = make()
    steady(p, 5)
    p._counted, p.counts[:] = counters(0), [counters(9), ()]
    other = p.record_stats()
    assert other.breakdown is None and other.same_as is None and p._alike == 0 and p._breaker.wants_native
    assert other[2:6] == (100, 10, 200, 150)
    assert not p._recording, "it is the sixth"
    steady(p, 4)
    assert p._breaker.made == 1


def test_what_is_incomplete_is_not_known_again(make):
    p = make()
    p._breaker.next = broken(lost="events are missing")
    made = steady(p, 2)
    assert p._breaker.made == 2 and made[1].same_as is None and p._alike == 0


def test_without_counters_each_is_recorded(make):
    p = make("cpu")
    made = [p.record_stats() for _ in range(9)]
    assert p._breaker.made == 9 and all(s.breakdown and s.same_as is None for s in made)
    assert (made[0].peak_allocated, made[0].current_allocated) == (50, 5) and made[0].peak_cached is None
    assert ("restart",) in p._region.calls and ("turn",) in p._region.calls
    assert p._region.calls.count(("restart",)) == 1, "a region that was turned has begun"
    assert not [c for c in p._region.calls if c[0] in ("want", "keep_events")]


@pytest.mark.parametrize("native, stacks", [(True, "alloc"), (False, "python")])
@pytest.mark.parametrize("begun", [True, False])
def test_an_iteration_begins(make, native, stacks, begun):
    p = make()
    p._breaker.wants_native, p._region.calls[:], p._loop.calls[:] = native, [], []
    p._begin(True, begun)
    assert p._region.calls == [("want", stacks), ("keep_events", True), *([] if begun else [("restart",)])]
    assert p._loop.calls == ["outside"] and p._recording
    p._begin(False)
    assert p._loop.calls == ["outside", "off", "outside"] and not p._recording and not p._on


@pytest.mark.parametrize(
    "where, period, alike, since, iteration, wanted",
    [
        ("cpu", 5, 9, 0, 7, True),
        ("cuda", 5, 0, 0, 3, True),
        ("cuda", 5, 0, 0, 4, False),
        ("cuda", 5, 0, 0, 5, True),
        ("cuda", 5, 1, 0, 5, True),
        ("cuda", 5, 2, 0, 5, False),
        ("cuda", 5, 0, 20, 23, True),
        ("cuda", 5, 0, 20, 24, False),
        ("cuda", 0, 0, 0, 10, True),  # without a period, one of five
        ("cuda", 3, 0, 0, 9, True),
        ("cuda", 3, 0, 0, 10, False),
    ],
)
def test_which_iterations_are_recorded(make, where, period, alike, since, iteration, wanted):
    p = make(where, period)
    p._alike, p._since, p.iteration = alike, since, iteration
    assert p._wanted() is wanted


def test_it_pauses_after_an_epoch_until_the_model_runs(make):
    p = make()
    steady(p, 2)
    p._loop.calls.clear(), p._region.calls.clear()
    p.epoch_end()
    assert p._paused and p.epoch == 1
    assert p._loop.calls == ["next", "wait"] and p._region.calls == [("keep_events", False)]
    p._pause()
    assert p._loop.calls == ["next", "wait"]
    p._breaker.wants_native = False
    p._loop.calls.clear()
    p._resume()
    assert not p._paused and (p._alike, p._since) == (0, 2) and p._breaker.wants_native and p._recording
    assert p._loop.calls == ["on", "outside"] and p._on
    p._loop.calls.clear()
    p._resume()
    assert p._loop.calls == []


def test_on_cpu_tensors_a_pause_ends_the_watch(make, monkeypatch):
    p = make("cpu")
    old, new = p._region, Region("cpu")
    monkeypatch.setattr(p, "_make_region", lambda: new)
    p._pause()
    assert ("close",) in old.calls and p._region is new is p._loop._region and new.calls == []
    assert "detach" in p._loop.calls
    p._resume()
    assert new.calls[0] == ("open",)
    p._end()
    assert new.calls[-1] == ("close",) and p._loop.calls[-1] == "off"


def test_what_ended_does_not_pause(make):
    p = make()
    p._end.alive = False
    p._pause()
    assert not p._paused


def shown(p):
    return p._file.getvalue().splitlines()


def test_every_so_many_iterations_it_prints(make):
    p = make(period=2)
    steady(p, 3)
    lines = shown(p)
    assert [line.split(":")[0] for line in lines if line.startswith("iteration")] == ["iteration 0", "iteration 2"]
    assert lines[1:5] == [
        "  layer        weights  gradients  optimizer state  activations",
        "  (model) Net" + 47 * " " + "5 B",
        "  fc Linear       10 B" + 34 * " " + "2.0 KiB",
        "  total           10 B        0 B              0 B      2.0 KiB",
    ]
    quiet = make(period=0)
    steady(quiet, 3)
    assert shown(quiet) == []


@pytest.mark.parametrize(
    "rows, names",
    [
        ("", []),
        ("layer", ["layer", "(model) Net", "fc Linear", "total"]),
        ("tensor", ["layer", "(model) Net", "fc Linear", "  weight float32[2]", "total"]),
    ],
)
def test_the_rows_of_the_table(make, rows, names):
    table = make(rows=rows)._table(ROWS)
    assert len(table) == len(names) and all(line[2:].startswith(n) for line, n in zip(table, names, strict=True))
    assert len(make(rows="")._table(ROWS, "layer")) == 4


@pytest.mark.parametrize("where, label", [("cuda", ""), ("cpu", " (CPU tensors, no GPU: not the allocator's numbers)")])
def test_the_end_of_an_epoch_shows_its_highest_peak(make, where, label, monkeypatch):
    p = make(where, period=0, rows="")
    monkeypatch.setattr(p, "_pause", lambda: None)
    for peak in (1, 3, 2):
        p.stats.append(Stats(0, len(p.stats), peak, 1, 4, 4, broken(rows=ROWS[:peak])))
    p.stats.append(Stats(1, 9, 99, 1, 4, 4, broken()))
    assert p.epoch_end() == ROWS[:3]
    lines = shown(p)
    assert lines[0] == f"epoch 0, 3 iterations{label}" and lines[1].startswith("iteration 1: peak 3 B")
    assert lines[2].startswith("  layer") and len(lines) == 6
    p._rows = "tensor"
    p.epoch_end()
    assert shown(p)[6:8] == [f"epoch 1, 1 iterations{label}", shown(p)[7]] and len(shown(p)) == 13
    assert p.epoch_end() == [] and shown(p)[13:] == [f"epoch 2, 0 iterations{label}"]


def test_of_equal_peaks_that_with_a_breakdown_is_shown(make, monkeypatch):
    p = make(period=0)
    monkeypatch.setattr(p, "_pause", lambda: None)
    p.stats = [Stats(0, 0, 5, 1, 4, 4, None), Stats(0, 1, 5, 1, 4, 4, broken())]
    p.epoch_end()
    assert [line[:11] for line in shown(p) if line.startswith("iter")] == ["iteration 1"]
    p.stats.append(Stats(1, 2, 9, 1, 4, 4, None))
    p.stats.append(Stats(1, 3, 5, 1, 4, 4, broken()))
    assert p.epoch_end() == ROWS
    assert [line[:11] for line in shown(p) if line.startswith("iter")] == ["iteration 1", "iteration 2", "iteration 3"]
    p.stats = [Stats(2, 4, 9, 1, 4, 4, None)]
    assert p.epoch_end() == []


def test_a_file_has_a_line_for_each_iteration_and_the_rows_of_a_period(make, tmp_path):
    file = tmp_path / "a.csv"
    p = make(period=2, csv=str(file))
    steady(p, 2)
    p.epoch_end()
    kinds = [line.split(",")[:5] for line in file.read_text().splitlines()]
    rows = [["layer", ""], ["layer", "fc"], ["tensor", "fc"], ["layer", "empty"]]
    assert [k[0] for k in kinds] == [
        "iteration", "layer", "layer", "tensor", "layer", "iteration",
        "epoch layer", "epoch layer", "epoch tensor", "epoch layer",
    ]  # fmt: skip
    assert [[k[0], k[3]] for k in kinds[1:5]] == rows


def test_the_columns_of_a_line():
    s = Stats(1, 2, 100, 10, 200, 150, broken(), 1)
    line = dict(zip(profile._COLUMNS, profile._csv_line(s, "cuda"), strict=True))
    assert line | {"kind": "iteration", "epoch": 1, "iteration": 2, "layer": "", "tensor": "", "type": ""} == line
    assert line | {"weights": 1024, "activations": 2048, "rounding": 3, "other": 0, "cached": 7} == line
    assert line | {"peak_allocated": 100, "current_allocated": 10, "peak_cached": 200, "current_cached": 150} == line
    assert line | {"phase": "forward", "at": "fc", "same_as": 1, "where": "cuda"} == line
    line = dict(zip(profile._COLUMNS, profile._csv_line(Stats(0, 0, 1, 1, None, None, None), "cpu"), strict=True))
    assert {k for k, v in line.items() if v != ""} == {
        "kind", "epoch", "iteration", "peak_allocated", "current_allocated", "where",
    }  # fmt: skip
    row = dict(zip(profile._COLUMNS, profile._csv_row(s, ROWS[2], "cuda"), strict=True))
    assert row | {"kind": "tensor", "layer": "fc", "tensor": "weight", "type": "float32[2]", "weights": 10} == row
    assert row["temporaries"] == row["peak_allocated"] == "" and (row["same_as"], row["where"]) == (1, "cuda")


@pytest.mark.parametrize(
    "stats, line",
    [
        (Stats(0, 1, 100, 10, None, None, None), "iteration 1: peak 100 B of CPU tensors, 10 B now; not recorded"),
        (
            Stats(0, 1, 100, 10, 200, 150, None),
            "iteration 1: peak 100 B allocated, 10 B now, cached 200 B at most, 150 B now; not recorded",
        ),
        (
            Stats(0, 1, 3075, 10, None, None, broken()),
            "iteration 1: peak 3.0 KiB of CPU tensors in forward of fc, 10 B now; "
            "weights 1.0 KiB + activations 2.0 KiB + rounding 3 B",
        ),
        (
            Stats(0, 1, 3075, 10, None, None, broken(phase="step", where="a.py:1", lost="x")._replace(parts=NONE)),
            "iteration 1: peak 3.0 KiB of CPU tensors in step (a.py:1), 10 B now; nothing; incomplete: x",
        ),
        (
            Stats(0, 1, 1, 1, None, None, broken(phase="outside", where="")._replace(parts=NONE)),
            "iteration 1: peak 1 B of CPU tensors in outside, 1 B now; nothing",
        ),
    ],
)
def test_the_line_of_an_iteration(stats, line):
    assert profile._iteration_line(stats) == line and stats.parts is (stats.breakdown and stats.breakdown.parts)


def test_what_changed_in_an_iteration():
    assert profile._change(((5, 2, 3, 9),), ((8, 7, 1, 11),)) == ((3, 5, 3, 1, 11),)
    assert profile._change((), ((1, 1, 1, 1),)) == ()


def test_the_counters_leave_out_where_unused_memory_lies(monkeypatch):
    each = {"allocated": 1, "freed": 2, "current": 3, "peak": 4}
    stats = {
        "allocation": {"all": each, "small_pool": {**each, "peak": 5}},
        "inactive_split_bytes": {"all": each},
        "num_ooms": 7,
        "oversize": {"current": 1},
    }
    recorder = SimpleNamespace(recorder=SimpleNamespace(real_stats=lambda device: stats))
    monkeypatch.setitem(sys.modules, "memshim.allocator.recorder", recorder)
    region = Region("cuda")
    assert profile._counters(region) == ((1, 2, 3, 4), (1, 2, 3, 5))
    region.begun = False
    assert profile._counters(region) == () == profile._counters(Region("cpu"))
