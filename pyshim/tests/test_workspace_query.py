"""The process that asks cuDNN, and the handle on it, without starting one: what it says and reads, how it is
lost, and what it loads first."""

import io
import json
import os
import subprocess
import sys
import types

import pytest

from memshim.pretend import build, support
from memshim.workspace import cudnn, deviceclass, query


class Child:
    """A process that has written its lines, and ends as it is set."""

    def __init__(self, lines, said, code):
        self.stdout, self.said, self.code = io.BytesIO(lines), said, code
        self.stdin, self.done = io.BytesIO(), []

    def kill(self):
        self.done.append("kill")

    def wait(self):
        return self.code


@pytest.fixture
def start(monkeypatch):
    def begin(*lines, said="", code=0, silent=False, **more):
        made = []

        def popen(words, *, stdin, stdout, stderr, env):
            stderr.write(said.encode())
            text = b"".join(x if isinstance(x, bytes) else json.dumps(x).encode() + b"\n" for x in lines)
            made.append((Child(text, said, code), words, env))
            return made[0][0]

        monkeypatch.setattr(subprocess, "Popen", popen)
        if silent:  # nothing comes, and it does not end
            monkeypatch.setattr(query.Process, "_read", lambda self: None)
        begin.made = made
        return query.Process("folder", ("a.so", "b.so"), "sm80", **more)

    return begin


HELLO = {"version": [9, 10, 2], "cuda": 12}


def test_a_process_says_its_version(start):
    p = start(HELLO)
    assert (p.version, p.cuda) == ((9, 10, 2), 12)
    _, words, env = start.made[0]
    assert words[0] == sys.executable and words[-4:] == ["folder", "sm80", "a.so", "b.so"]
    assert "memshim.workspace.query" in " ".join(words[:-4]) and env["PYTHONPATH"]
    start(HELLO, command=["own"])
    assert start.made[0][1] == ["own", "folder", "sm80", "a.so", "b.so"]


def test_a_library_that_cannot_be_asked(start):
    with pytest.raises(query.Unable, match="^no such class$"):
        start({"error": "no such class"})
    assert start.made[0][0].done == ["kill"]


def test_calls_are_answered_or_refused(start):
    p = start(HELLO, {"bytes": 5, "engine": 1}, {"refused": "no plan"})
    assert p.ask({"op": "conv"}) == {"bytes": 5, "engine": 1}
    with pytest.raises(query.Refusal, match="^no plan$"):
        p.ask({"op": "other"})
    child = start.made[0][0]
    assert child.stdin.getvalue() == b'{"op": "conv"}\n{"op": "other"}\n' and child.done == []
    p.close()
    assert child.done == ["kill"] and child.stdin.closed


@pytest.mark.parametrize(
    "code, said, want",
    [
        (3, "", "ended with exit code 3"),
        (0, "one\ntwo\n", "ended with exit code 0: two"),
        (-11, " last \n\n", "crashed (SIGSEGV): last"),
        (-6, "", "crashed (SIGABRT)"),
        (-200, "", "crashed (signal 200)"),
    ],
)
def test_a_process_that_ended_says_how(start, code, said, want):
    with pytest.raises(query.Lost) as e:
        start(said=said, code=code)
    assert str(e.value) == want and start.made[0][0].done == ["kill"]
    p = start(HELLO, said=said, code=code)
    with pytest.raises(query.Lost) as e:
        p.ask({})
    assert str(e.value) == want


def test_a_process_that_takes_no_call_says_how_it_ended(start):
    def broken(data):
        raise BrokenPipeError

    p = start(HELLO, code=-9)
    p._stdin = types.SimpleNamespace(write=broken, close=lambda: None)
    with pytest.raises(query.Lost, match=r"^crashed \(SIGKILL\)$"):
        p.ask({})


def test_an_answer_that_is_none(start):
    long = b"x" * 100 + b"\n"
    p = start(HELLO, long)
    with pytest.raises(query.Lost) as e:
        p.ask({})
    assert str(e.value) == f"got {long[:80]!r} from it, want JSON" and start.made[0][0].done == ["kill"]


def test_a_process_that_is_silent_is_ended(start, monkeypatch):
    monkeypatch.setattr(query, "START", 0.01)
    with pytest.raises(query.Lost, match=r"^no answer for 0\.01 s$"):
        start(HELLO, silent=True)
    assert start.made[0][0].done == ["kill"]


@pytest.mark.parametrize("failure", [None, support.Unsupported("no"), build.BuildError("no")])
def test_the_libraries_in_the_place_of_the_driver(monkeypatch, tmp_path, failure):
    def library():
        if isinstance(failure, build.BuildError):
            raise failure
        return tmp_path

    def check():
        if isinstance(failure, support.Unsupported):
            raise failure

    monkeypatch.setattr(build, "library", library)
    monkeypatch.setattr(support, "check_machine", check)
    found = query.driver.__wrapped__()
    assert found == (() if failure else (str(tmp_path / build.LIBRARY), str(tmp_path / build.NVML)))


def test_the_driver_of_a_class_is_loaded_for_all(monkeypatch):
    loaded = []
    monkeypatch.setattr(query.ctypes, "CDLL", lambda path, mode: loaded.append((path, mode)))
    monkeypatch.setattr(query, "driver", lambda: ("a.so", "b.so"))
    monkeypatch.setattr(os, "environ", {"HOME": "/"})
    query.load_driver("sm80")
    assert loaded == [("a.so", query.ctypes.RTLD_GLOBAL), ("b.so", query.ctypes.RTLD_GLOBAL)]
    assert os.environ == {"HOME": "/", "MEMSPEC_PRETEND": deviceclass.card("sm80"), "CUDA_VISIBLE_DEVICES": "0"}


class Library:
    version, cuda = (9, 10, 2), 12

    def __init__(self, folder, beside):
        self.given = folder, beside
        if folder == "absent":
            raise OSError("absent.so: cannot open")

    def device(self, properties):
        if properties["deviceVer"] == 900:
            raise cudnn.Refused("describing", 5)
        return properties["deviceName"]

    def answer(self, call, device):
        if call["k"] == 2:
            raise cudnn.Refused("plan", 3000)
        return {"k": call["k"], "on": device}


@pytest.fixture
def serve(monkeypatch):
    """What is printed by a process that serves; its own streams stay."""

    def run(*words, lines=()):
        out, loaded = io.StringIO(), []
        monkeypatch.setattr(cudnn, "Library", Library)
        monkeypatch.setattr(query, "load_driver", loaded.append)
        monkeypatch.setattr(os, "dup", lambda fd: fd)
        monkeypatch.setattr(os, "dup2", lambda a, b: loaded.append((a, b)))
        monkeypatch.setattr(os, "fdopen", lambda fd, mode: out)
        monkeypatch.setattr(sys, "stdin", [json.dumps(x) for x in lines])
        import resource

        monkeypatch.setattr(resource, "setrlimit", lambda what, limits: loaded.append(limits))
        query.serve(*words)
        return [json.loads(line) for line in out.getvalue().splitlines()], loaded

    return run


def test_calls_are_served_one_a_line(serve):
    said, loaded = serve("folder", "sm80", "a.so", lines=[{"k": 1}, {"k": 2}, {"k": 3}])
    on = "NVIDIA A100-SXM4-40GB"
    assert said == [
        HELLO,
        {"k": 1, "on": on},
        {"refused": "plan: cudnnStatus_t 3000"},
        {"k": 3, "on": on},
    ]
    assert loaded == [(2, 1), (0, 0), "sm80"]


@pytest.mark.parametrize(
    "words, want",
    [
        (("folder", ""), HELLO),
        (("absent", ""), {"error": "absent.so: cannot open"}),
        (("folder", "sm12"), None),
        (("folder", "sm90"), {"error": "cuDNN refuses device class sm90: describing: cudnnStatus_t 5"}),
    ],
)
def test_what_is_said_before_any_call(serve, words, want):
    said, loaded = serve(*words, lines=[{"k": 1}])
    assert len(said) == 1 and (
        said[0] == want or want is None and said[0]["error"].startswith("got device class 'sm12'")
    )
    assert loaded[2:] == ([words[1]] if words[1] else [])


def test_a_class_that_the_library_does_not_run_on(serve, monkeypatch):
    monkeypatch.setattr(Library, "cuda", 13)
    assert serve("folder", "sm70")[0] == [
        {"error": "got device class sm70, want sm75 or newer: libraries for CUDA 13 do not run on it"}
    ]
