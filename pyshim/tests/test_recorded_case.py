"""The header of a case's recording, and the order in which a case is run, with an allocator that is a stub."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from memshim.allocator.recording import Site  # noqa: E402
from memshim.case import iterations, record  # noqa: E402
from memshim.case.iterations import Iterations, Recorded  # noqa: E402

CASE = dict(zip(record.FROM_CASE, record.FROM_CASE)) | {
    "name": "net", "mode": "inference", "source": "zoo.py:net", "artifact": "", "dir": "d", "command": ["c"],
    "training": None, "memory_fraction": 0, "inputs": ["float32[1]"], "dtype": "",
}  # fmt: skip


def event(action, key=1):
    return SimpleNamespace(action=action, key=key, size=8, stream=0, operator="", stack=-1)


EVENTS = [event("alloc"), event("annotate"), event("alloc", 2), event("snapshot"), event("free_requested")]
SITES = [Site("op", category="parameter"), None, Site("op"), None, Site("op")]


@pytest.fixture
def world(monkeypatch):
    """What the machine says; w.case runs with w.work."""
    p = SimpleNamespace(name="T4", total_memory=99, major=7, minor=5, multi_processor_count=40)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: p)
    monkeypatch.setattr(iterations.queries, "asked", lambda: {"queried": 1})
    monkeypatch.setattr(iterations.devices, "driver_version", lambda: "1.2")
    monkeypatch.setattr(iterations.devices, "cudnn_version", lambda: "9")
    monkeypatch.setattr(iterations.settings, "flags_now", lambda case: {"tf32": 1})
    w = SimpleNamespace(compiled=False, made=[], pretended=False)
    monkeypatch.setattr(iterations.settings, "compiled", lambda: w.compiled)
    monkeypatch.setattr(iterations.where, "pretended", lambda: w.pretended)
    monkeypatch.setattr(iterations, "notes", lambda: ["note"])
    monkeypatch.setattr(iterations, "reads", lambda index: {"at": index(4)})
    monkeypatch.setattr(iterations, "nbytes", lambda state: state)
    monkeypatch.setattr(iterations.provenance, "made", lambda *a: (w.made.append(a), "made")[1])
    monkeypatch.setattr(iterations.Depends, "of", lambda case: "depends")
    w.work = SimpleNamespace(how="source", model="model", state=77)
    w.passes = [{"name": "baseline", "events": 2}, {"name": "first", "events": 4}, {"name": "steady", "events": 5}]

    def recorded(beside="", **change):
        run = Iterations.__new__(Iterations)
        run.case, run.work, run.oom = CASE | change, w.work, None
        run.passes = [dict(q) for q in w.passes]
        run.region = SimpleNamespace(events=EVENTS, stacks="stacks", index=0)
        run._communicators, run._pinned, run._context = (lambda: {"communicators": 1}), (lambda: {}), lambda: 7
        starts = [(3, "forward"), (4, "backward")]
        reading = SimpleNamespace(sites=lambda: SITES, phases=lambda: starts, index=lambda count: count)
        return run.recorded(reading, beside, "read")

    w.recorded = recorded
    return w


def test_the_events_that_a_recording_keeps(world):
    got = world.recorded()
    assert got.events == [EVENTS[0], EVENTS[2], EVENTS[4]] and got.stacks == "stacks" and got.of_module
    assert got.sites == [Site("parameter", category="parameter"), Site("op"), Site("op")], "the first was loaded"
    assert got.header["phases"] == [
        {"name": "baseline", "events": 1},
        {"name": "first", "events": 2},
        {"name": "steady", "events": 3},
    ]
    assert got.reads == {"at": 2} and got.header["notes"] == ["note"]


def test_the_header_says_what_ran(world):
    header = world.recorded().header
    assert header["device"] == {
        "name": "T4", "total": 99, "compute_capability": "7.5", "driver": "1.2", "sms": 40, "queried": 1,
    }  # fmt: skip
    own = [k for k in record.FROM_CASE if k != "flags"]
    assert [header[k] for k in own] == [CASE[k] for k in own]
    assert header["flags"] == {"tf32": 1} and header["cuda"] == (torch.version.cuda or "")
    assert (header["schema"], header["case"], header["built"], header["where"]) == (1, "net", "source", "cuda")
    assert (header["weights"], header["context"], header["communicators"], header["oom"]) == (77, 7, 1, None)
    assert header["torch"] == torch.__version__ and header["training"] is None
    assert not {"lengths", "compiled", "made"} & set(header)


def test_a_pretend_gpu_has_no_driver(world):
    world.pretended = True
    header = world.recorded().header
    assert (header["device"]["driver"], header["where"]) == ("", "pretend")


def test_phases_are_those_of_training(world):
    header = world.recorded(mode="training", training={"optimizer": "SGD"}).header
    assert [q.get("phases") for q in header["phases"]] == [
        None,
        [{"name": "forward", "events": 2}],
        [{"name": "backward", "events": 2}],
    ]
    assert header["training"] == {"optimizer": "SGD"}
    world.work.model = None
    assert world.recorded(training={"optimizer": "SGD"}).header["training"] is None


def test_what_else_is_said_where_it_is_so(world):
    world.compiled = True
    header = world.recorded("a.rec", lengths={"T": [1, 2]}).header
    assert (header["lengths"], header["compiled"], header["made"]) == ({"T": [1, 2]}, True, "made")
    assert world.made == [("a.rec", "zoo.py:net", "d", "model", ["c"], "read", "depends")]
    world.recorded("a.rec", source="", artifact="net.pt2")
    assert world.made[1][1] == "net.pt2"


def test_where_nothing_was_built(world):
    world.work, world.passes = None, []
    got = world.recorded("a.rec")
    assert (got.header["built"], got.header["weights"], got.of_module) == ("", 0, False)
    assert world.made[0][3] is None


def test_a_recording_as_a_record(monkeypatch):
    given = []
    monkeypatch.setattr(record, "put_events", lambda out, events, stacks: given.append((out, events, stacks)))
    header = {"a": 1}
    out = Recorded(header, [1], [2], "stacks", True, {}).as_record()
    assert given == [(out, [1], "stacks")] and out == header and out is not header


class Region:
    def __init__(self, calls):
        self.calls = calls

    def open(self):
        self.calls.append("open")
        return self

    def close(self):
        self.calls.append("close")


@pytest.mark.parametrize(
    "change, oom, work, counted",
    [({"counts": True}, None, True, True), ({}, None, True, False), ({"counts": True}, "oom", True, False),
     ({"counts": True}, None, False, False)],
)  # fmt: skip
@pytest.mark.parametrize("fails", [False, True])
def test_a_case_is_run_between_the_marks(monkeypatch, change, oom, work, counted, fails):
    calls = []
    marks = SimpleNamespace(count=lambda: 5, off=lambda: calls.append("off"))

    class Run:
        def __init__(self, case, region, m):
            self.oom, self.work = oom, SimpleNamespace(iterate="iterate") if work else None
            self.compiling = SimpleNamespace(close=lambda: calls.append("compiled"))

        def all(self, args, kwargs):
            calls.append(("all", [t.shape for t in args], kwargs))
            if fails:
                raise ValueError("no")

        def owners(self):
            calls.append("owners")
            return "owners"

        def recorded(self, reading, beside, read):
            calls.append((reading, beside, read))
            return SimpleNamespace(header={})

    monkeypatch.setattr(iterations, "Iterations", Run)
    monkeypatch.setattr(iterations, "CUDARegion", lambda index, stacks: Region(calls))
    monkeypatch.setattr(iterations, "Attribution", lambda index: marks)
    monkeypatch.setattr(iterations, "Reading", lambda region, m, start, owners: ("reading", start, owners))
    monkeypatch.setattr(iterations, "log_reads", lambda moment: calls.append(("reads", moment())))
    monkeypatch.setattr(iterations, "Lines", lambda: Lines(calls))
    monkeypatch.setattr(iterations.work, "count", lambda iterate: iterate)
    monkeypatch.setattr(torch.cuda, "init", lambda: calls.append("init"))
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", lambda x: calls.append(("fraction", x)))
    began = ["init", "open", ("reads", 5), ("all", [(1,)], {})]
    ended = ["compiled", "close", "off"]
    if fails:
        with pytest.raises(ValueError):
            iterations.run(CASE | change)
        assert calls == [*began, *ended, "lines"]
        return
    got = iterations.run(CASE | change, "a.rec", "read")
    assert calls == [*began, "owners", *ended, "lines", (("reading", 5, "owners"), "a.rec", "read")]
    assert got.header == ({"work": "iterate"} if counted else {})
    calls.clear()
    iterations.run(CASE | {"memory_fraction": 0.5, "iteration_inputs": [["float32[2]"], ["float32[3]"]]})
    assert calls[1] == ("fraction", 0.5) and calls[4] == ("all", [(2,)], {})
    calls.clear()
    iterations.run(CASE | {"memory_fraction": 1})
    assert calls[1] == "open"


class Lines:
    def __init__(self, calls):
        self.calls = calls

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.calls.append("lines")
