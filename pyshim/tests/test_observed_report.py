"""What an observed process writes at its end: its report, its recordings, and what they were made from."""

import json
import os
import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from memshim import pretend  # noqa: E402
from memshim.allocator import recording  # noqa: E402
from memshim.case import iterations, passes, record, settings  # noqa: E402
from memshim.gpu import devices, failure, queries  # noqa: E402
from memshim.origin import provenance, reads  # noqa: E402
from memshim.pretend import communicators, library, writes  # noqa: E402
from memshim.program import observe  # noqa: E402
from memshim.program.observe import Observer, Recorded  # noqa: E402


def event(action):
    return SimpleNamespace(action=action, forward=-1, stack=-1)


@pytest.fixture
def machine(monkeypatch):
    w = SimpleNamespace(encoded=[], compiled=False)
    p = SimpleNamespace(name="T4", total_memory=99, major=7, minor=5, multi_processor_count=40)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: p)
    for of, name, what in (
        (iterations, "notes", lambda: ["note"]),
        (passes, "pretend_context", lambda: 7),
        (settings, "compiled", lambda: w.compiled),
        (settings, "flags_now", lambda case: {"flags": case}),
        (devices, "cudnn_version", lambda: "9"),
        (queries, "asked", lambda: {"queried": 1}),
        (communicators, "header", lambda index: {"communicators": index}),
        (library, "Library", lambda: SimpleNamespace(pinned=lambda: 11)),
        (recording, "encode", lambda *a: (w.encoded.append(a), b"rec")[1]),
    ):
        monkeypatch.setattr(of, name, what)
    for name in ("PYTORCH_CUDA_ALLOC_CONF", "CUBLAS_WORKSPACE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return w


EVENTS = [event(a) for a in ("alloc", "annotate", "alloc", "snapshot", "free_completed", "alloc")]


def recorded(ends=(2, 4, 6), steps=2):
    r = Recorded.__new__(Recorded)
    starts = [(0, "forward"), (2, "backward"), (5, "step")]
    reading = SimpleNamespace(sites=lambda: list(range(6)), phases=lambda: starts)
    r.owners, r.steps = SimpleNamespace(reading=lambda: reading, ended=False), steps
    names = ("first", *["steady"] * (len(ends) - 1))
    r.passes = [{"name": n, "events": e} for n, e in zip(("baseline", *names), (0, *ends), strict=True)]
    return r


REGION = SimpleNamespace(index=1, events=EVENTS, stacks="stacks", lost="")


def header(machine, r=None, out_of_memory="", made=None, name="net"):
    assert (r or recorded()).encode(REGION, out_of_memory, made, name) == b"rec"
    return machine.encoded[-1][0]


def test_the_events_of_a_recording(machine):
    head = header(machine)
    _, events, sites, stacks = machine.encoded[-1]
    assert events == [EVENTS[i] for i in (0, 2, 4, 5)] and sites == [0, 2, 4, 5] and stacks == "stacks"
    assert head["phases"] == [
        {"name": "baseline", "events": 0},
        {"name": "first", "events": 1, "phases": [{"name": "forward", "events": 0}]},
        {"name": "steady", "events": 2, "phases": [{"name": "backward", "events": 1}]},
        {"name": "steady", "events": 4, "phases": [{"name": "step", "events": 3}]},
    ]
    head = header(machine, recorded(steps=0))
    assert not any("phases" in q for q in head["phases"]) and head["mode"] == "program"


@pytest.mark.parametrize(
    "ends, oom, kept",
    [((2, 4, 4), "no memory", 3), ((2, 4, 6), "no memory", 4), ((2, 2), "no memory", 2), ((0,), "no memory", 2),
     ((2, 4, 4), "", 4)],
)  # fmt: skip
def test_a_pass_in_which_nothing_came_is_none_where_memory_ran_out(machine, ends, oom, kept):
    head = header(machine, recorded(ends), oom)
    assert len(head["phases"]) == kept
    assert head["oom"] == ({"phase": head["phases"][-1]["name"], "text": "no memory"} if oom else None)


def test_the_header_of_a_program(machine, monkeypatch):
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "a")
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "b")
    head = header(machine)
    assert head | {
        "schema": 1, "case": "net", "runtime": "eager", "where": "pretend", "built": "a program", "mode": "training",
        "device": {"name": "T4", "total": 99, "compute_capability": "7.5", "driver": "", "sms": 40, "queried": 1},
        "torch": torch.__version__, "cuda": torch.version.cuda or "", "cudnn": "9", "alloc_conf": "a",
        "cublas_workspace": "b", "memory_fraction": 0, "flags": {"flags": {}}, "weights": 0, "context": 7,
        "communicators": 1, "host_pinned": 11, "oom": None, "notes": ["note"], "training": None, "inputs": [],
    } == head  # fmt: skip
    assert set(record.FROM_CASE) <= set(head) and not {"compiled", "made"} & set(head)
    machine.compiled = True
    head = header(machine, made={"of": 1})
    assert head["compiled"] is True and head["made"] == {"of": 1}


@pytest.mark.parametrize("argv, name", [(["/x/train.py"], "train.py"), ([""], "program")])
def test_a_program_without_a_name_is_called_by_its_file(machine, monkeypatch, argv, name):
    monkeypatch.setattr(sys, "argv", argv)
    assert header(machine, name="")["case"] == name


SEEN = {k: k for k in ("exact", "reads", "refused", "absent", "unsized", "estimated", "timed", "without_gradient")}


@pytest.fixture
def observer(monkeypatch, tmp_path):
    o = Observer.__new__(Observer)
    o._folder, o._top, o._record, o._file, o._main = str(tmp_path), 5, "", "figures", "/x/train.py"
    o._wanted, o._places = {"case": "net"}, None
    o._phases = SimpleNamespace(names=lambda: ["phase"])
    o.encoded = []

    def device(index, found, records=True):
        encode = lambda *a: (o.encoded.append(a), b"rec")[1]
        recorded = SimpleNamespace(encode=encode) if records else None
        report = {"index": index} if found else None
        return SimpleNamespace(index=index, recorded=recorded, whole=f"whole {index}", report=lambda top: report)

    o.devices = [device(0, True), device(1, False), device(2, True, records=False)]
    monkeypatch.setattr(pretend, "report", lambda: SimpleNamespace(as_json=lambda: SEEN | {"more": 1}), raising=False)
    monkeypatch.setattr(failure, "out_of_memory", lambda e: f"oom {e}")
    monkeypatch.setattr(failure, "missing", lambda e: f"missing {e}")
    monkeypatch.setattr(writes, "guard", lambda: SimpleNamespace(listed=lambda: ["file"]))
    monkeypatch.setattr(writes, "uploads", 3)
    for name in ("last_exc", "last_value"):
        monkeypatch.delattr(sys, name, raising=False)
    return o


def written(o):
    o._write()
    return json.loads(open(os.path.join(o._folder, f"{os.getpid()}.json")).read())


def test_the_report_of_a_process(observer, monkeypatch):
    got = written(observer)
    assert got == SEEN | {
        "pid": os.getpid(), "figures": "figures", "arguments": sys.argv, "torch": torch.__version__, "missing": "",
        "out_of_memory": "", "devices": [{"index": 0}, {"index": 2}], "files": ["file"], "kept_back": 3,
        "phases": ["phase"],
    }  # fmt: skip
    observer._places = SimpleNamespace(as_json=lambda: {"rank": 1})
    monkeypatch.setattr(writes, "guard", lambda: None)
    got = written(observer)
    assert got["rank"] == {"rank": 1} and got["files"] == []


@pytest.mark.parametrize("name", ["last_exc", "last_value"])
def test_the_error_that_ended_the_program(observer, monkeypatch, name):
    monkeypatch.setattr(sys, name, "e", raising=False)
    got = written(observer)
    assert (got["out_of_memory"], got["missing"]) == ("oom e", "missing e")
    assert observer.encoded == [("whole 0", "oom e", None, "net")]


@pytest.mark.parametrize("record, devices, made", [("r", True, "made"), ("", True, None), ("r", False, None)])
def test_a_recording_for_each_device_that_was_used(observer, monkeypatch, record, devices, made):
    observer._record = record
    if not devices:
        observer.devices = observer.devices[1:2]
    monkeypatch.setattr(observer, "_made", lambda: "made")
    written(observer)
    assert observer.encoded == ([("whole 0", "", made, "net")] if devices else [])
    files = sorted(f for f in os.listdir(observer._folder) if f.endswith(".rec"))
    assert files == ([f"{os.getpid()}.0.rec"] if devices else [])


@pytest.mark.parametrize(
    "wanted, main, seen, of_project, folder, said, command",
    [
        ({}, "/x/train.py", True, True, "/x", "/x/train.py:", []),
        ({}, "", True, True, "/seen", ":", []),
        ({}, "", False, True, "here", ":", []),
        ({"dir": "/d", "command": ["c"]}, "/d/train.py", True, True, "/d", "/d/train.py:", ["c"]),
        ({"dir": "/d"}, "/site/train.py", True, False, "/d", ":", []),
        ({}, "/site/train.py", True, False, "/site", "/site/train.py:", []),
    ],
)
@pytest.mark.parametrize("depends", [False, True])
def test_what_a_recording_was_made_from(
    observer, monkeypatch, wanted, main, seen, of_project, folder, said, command, depends
):
    given = []
    found = SimpleNamespace(cwd="/seen") if seen else None
    monkeypatch.setattr(reads, "current", lambda: found)
    monkeypatch.setattr(observe.os, "getcwd", lambda: "here")
    monkeypatch.setattr(provenance, "of_project", lambda file, root: of_project)
    monkeypatch.setattr(provenance, "made", lambda *a: given.append(a))
    observer._wanted, observer._main, observer._record = dict(wanted), main, "r"
    if depends:
        observer._wanted["depends"] = [["a"], ["b"]]
    observer._made()
    (got,) = given
    assert got[:6] == ("r", said, folder, None, command, found)
    assert [list(part) for part in got[6]][:2] == ([["a"], ["b"]] if depends else [[], []])
