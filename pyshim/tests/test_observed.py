"""What an observed program's steps and end come to: passes of its recording, iterations, what is kept of events."""

import os
from types import SimpleNamespace

import pytest

from memshim.program import observe
from memshim.program.observe import Device, Observer, Recorded


class Region:
    """of: the actions of its events; a mark is of all so far."""

    def __init__(self, of=(), kept=0):
        self.events = [SimpleNamespace(action=a, forward=-1, stack=i) for i, a in enumerate(of)]
        self.keeps_events, self.lost, self.skipped, self.state, self.calls = True, "", 5, None, []
        self.kept = kept

    def mark(self):
        return self.kept or len(self.events)

    def mark_or_skip(self):
        self.calls.append("looked")
        return self.kept

    def keep_events(self, kept):
        self.calls.append(("keep", kept))
        self.keeps_events = kept

    def restart_peaks(self):
        return {"allocated": 7, "reserved": 9}


def recorded(compiles=False):
    r = Recorded.__new__(Recorded)
    calls = []
    r.owners = SimpleNamespace(
        marks=SimpleNamespace(begin=lambda: calls.append("begin")),
        end=lambda: calls.append("end"),
        ended=False,
        calls=calls,
        stepped=calls.append,
        reading=lambda: SimpleNamespace(sites=lambda: "sites", phases=lambda: "phases"),
    )
    r.compiling, r.steps = SimpleNamespace(seen=compiles), 0
    none = dict.fromkeys(("requested", "allocated", "reserved", "active", "inactive_split"), 0)
    r.passes = [{"name": "baseline", **none, "events": 0}]
    return r


def passes(r):
    return [(p["name"], p["events"], p["allocated"]) for p in r.passes]


def test_each_step_ends_a_pass():
    r, region = recorded(), Region(["alloc"] * 3)
    for _ in range(3):
        r.stepped(region, {"allocated": 7})
    assert passes(r) == [("baseline", 0, 0), ("first", 3, 7), ("steady", 3, 7), ("steady", 3, 7)]
    assert r.steps == 3 and r.owners.calls == ["begin"] * 3


def test_what_compiles_belongs_to_the_first_pass():
    r, region = recorded(compiles=True), Region(["alloc"])
    r.stepped(region, {"allocated": 9})
    r.stepped(region, {"allocated": 7})
    assert passes(r) == [("baseline", 0, 0), ("first", 1, 9)]


@pytest.mark.parametrize(
    "steps, after, want",
    [
        (0, ["alloc", "alloc"], [("first", 3, 7), ("steady", 3, 1)]),
        (2, [], [("first", 1, 5), ("steady", 1, 5)]),
        (2, ["free_completed"], [("first", 1, 5), ("steady", 2, 5)]),
        (2, ["alloc"], [("first", 1, 5), ("steady", 1, 5), ("steady", 2, 7)]),
        (1, [], [("first", 1, 5), ("steady", 1, 1)]),
    ],
)
def test_what_came_after_the_last_step(steps, after, want):
    r, region = recorded(), Region(["alloc"])
    for _ in range(steps):
        r.stepped(region, {"allocated": 5})
    region.events += Region(after).events
    r.last(region, {"allocated": 7}, {"allocated": 1})
    assert passes(r)[1:] == want


@pytest.mark.parametrize("lost, ended, untraced", [("", False, False), ("x", True, False), ("x", False, True)])
def test_where_events_are_missing_no_mark_has_its_place(lost, ended, untraced):
    r, region = recorded(), Region(["alloc", "free_completed", "oom", "alloc"])
    region.lost, r.owners.ended = lost, ended
    region.events[3].forward = 8
    got = r._attributed(region)
    if not untraced:
        assert got == ("sites", "phases")
        return
    sites, phases = got
    assert [s and (s.category, s.stack) for s in sites] == [("untraced", 0), None, ("untraced", 2), ("untraced", 8)]
    assert phases == []


def device(kept=0, over=True, record=None):
    d = Device.__new__(Device)
    d.index, d.compiling = 0, SimpleNamespace(seen=True)
    looked = []
    d.interval = SimpleNamespace(is_over=lambda n: over, looked=lambda *a: looked.append(a), said=looked)
    d.whole, d.part, d.recorded, d.iterations = Region(kept=kept), Region(), record, []
    return d


def test_a_step_is_an_iteration():
    d = device(record=recorded())
    d.step()
    assert [tuple(i) for i in d.iterations] == [(7, 9, True)] and d.recorded.steps == 1
    assert d.whole.lost == "" and d.whole.keeps_events


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("kept, over, ends", [(10**6 + 1, True, True), (10**6, True, False), (10**7, False, False)])
def test_of_very_many_events_the_first_are_kept(record, kept, over, ends):
    d = device(kept, over, recorded() if record else None)
    d.step()
    assert d.whole.keeps_events is not ends
    assert d.whole.lost == ("source lines are known for the first 1 iterations" if ends else "")
    if record:
        assert ("end" in d.recorded.owners.calls) is ends
    if ends:
        d.whole.calls.clear()
        d.step()
        assert d.whole.calls == [], "they are not counted again"


@pytest.mark.parametrize("state, made", [(None, 0), (SimpleNamespace(made=4), 4)])
def test_iterations_that_are_alike_are_skipped(state, made):
    d = device(kept=6)
    d.whole.state = state
    assert d._events() == 6 and d.interval.said == [(5, made)] and d.whole.calls == ["looked"]
    d = device(kept=6, record=recorded())
    assert d._events() == 6 and d.interval.said == [], "a recording has all of them"


class Optimizer:
    pass


@pytest.fixture
def observer():
    o = Observer.__new__(Observer)
    o.calls = []
    o._phases = SimpleNamespace(stepped=lambda: o.calls.append("phase"))
    o._places = SimpleNamespace(stepped=lambda optimizer: o.calls.append("place"))
    o._compiling = SimpleNamespace(restart=lambda: o.calls.append("restart"))
    o._stepping, o._pid, o._steps, o._limit, o._file = None, os.getpid(), {}, 0, ""
    owners = SimpleNamespace(stepped=lambda optimizer: o.calls.append("owner"))
    o.devices = [
        SimpleNamespace(recorded=SimpleNamespace(owners=owners), step=lambda: o.calls.append("step")),
        SimpleNamespace(recorded=None, step=lambda: o.calls.append("step")),
    ]
    return o


def test_the_first_optimizer_that_steps_ends_iterations(observer):
    first, second = Optimizer(), Optimizer()
    observer._stepped(first, (), {})
    assert observer.calls == ["phase", "owner", "step", "step", "restart", "place"]
    observer.calls.clear()
    observer._stepped(second, (), {})
    assert observer.calls == ["phase", "owner", "place"]
    observer._stepped(first, (), {})
    assert observer._steps == {id(first): 2, id(second): 1}
    observer._places = None
    observer._stepped(first, (), {})


def test_a_forked_process_ends_no_iteration_of_its_parents(observer):
    observer._pid = -1
    observer._stepped(Optimizer(), (), {})
    assert observer.calls == ["phase", "place"]


def test_a_program_ends_after_so_many_steps_of_each_optimizer(observer):
    observer._limit = 2
    first, second = Optimizer(), Optimizer()
    for optimizer in (second, first, first):
        observer._stepped(optimizer, (), {})
    with pytest.raises(SystemExit) as e:
        observer._stepped(second, (), {})
    assert e.value.code == 0


@pytest.mark.parametrize("begun", [True, False])
def test_a_forked_child_reports_itself_where_cuda_had_not_begun(observer, monkeypatch, begun):
    monkeypatch.setattr(observer, "_keep_figures", lambda: observer.calls.append("figures"))
    observer._pid, observer._stepping = -1, 5
    if not begun:
        observer.devices = []
    observer._forked()
    assert (observer._pid, observer._stepping) == ((-1, 5) if begun else (os.getpid(), None))
    assert observer.calls == ["figures"]


def test_a_process_writes_once(observer, monkeypatch):
    monkeypatch.setattr(observer, "_write", lambda: observer.calls.append("written"))
    observer._end()
    observer._end()
    assert observer.calls == ["written"] and observer._pid == 0
    observer._pid = os.getpid() + 1
    observer._end()
    assert observer.calls == ["written"]


def test_a_report_that_cannot_be_written_is_said(observer, monkeypatch, tmp_path, capsys):
    def fails():
        raise OSError("no space")

    monkeypatch.setattr(observer, "_write", fails)
    monkeypatch.setattr(observe.sys, "argv", ["train.py", "--x"])
    observer._folder = str(tmp_path)
    observer._end()
    assert os.listdir(tmp_path) == [f"{os.getpid()}.lost"]
    assert capsys.readouterr().err.endswith("memshim: what train.py --x takes is unknown: OSError: no space\n")


@pytest.mark.parametrize("there", [True, False])
def test_a_process_that_outlived_its_command_is_not_observed(monkeypatch, tmp_path, there):
    begun = []

    class Stub:
        def __init__(self, wanted):
            self.wanted = wanted

        def begin(self):
            begun.append(self.wanted["folder"])

    monkeypatch.setattr(observe, "Observer", Stub)
    folder = str(tmp_path if there else tmp_path / "gone")
    monkeypatch.setenv(observe.WANTED, f'{{"folder": "{folder}"}}')
    observe.begin()
    assert begun == [folder] * there
