"""A program as a child: its streams and signals, and how what it leaves behind is ended, without any process."""

import functools
import io
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from memshim.program import launch

TERM, KILL = signal.SIGTERM, signal.SIGKILL


class Process:
    """A process that ends at the waits of which ends says so."""

    def __init__(self, ends, pid=7):
        self.ends, self.pid, self.done = list(ends), pid, []

    def wait(self, seconds):
        self.done.append(seconds)
        if not self.ends.pop(0):
            raise subprocess.TimeoutExpired("x", seconds)

    def terminate(self):
        self.done.append("terminate")

    def kill(self):
        self.done.append("kill")


@pytest.mark.parametrize(
    "ends, until, itself, done",
    [
        ([True], [False], True, [0.05]),
        ([True], [True], False, [0.05]),
        ([False, False, True], [False, False, False], True, [0.05] * 3),
        ([False, False, True], [False, True], False, [0.05, 0.05, "terminate", 5]),
        ([False, False], [True], False, [0.05, "terminate", 5, "kill"]),
    ],
)
def test_a_process_is_waited_for_until_it_is_no_longer_wanted(ends, until, itself, done):
    p, left = Process(ends), list(until)
    assert launch.wait(p, lambda: left.pop(0)) is itself
    assert (p.done, left) == (done, [])


@pytest.fixture
def prctl(monkeypatch):
    """The calls of prctl."""
    calls = []
    monkeypatch.setattr(launch, "_prctl", lambda: lambda option, value: calls.append((option, value)))
    return calls


@pytest.mark.parametrize("now, killed", [(5, []), (1, [(os.getpid(), TERM)])])
def test_a_process_whose_parent_has_ended_already_ends(monkeypatch, prctl, now, killed):
    sent = []
    monkeypatch.setattr(os, "getppid", lambda: now)
    monkeypatch.setattr(os, "kill", lambda *given: sent.append(given))
    launch.end_with_parent(5)
    assert (prctl, sent) == ([(1, 15)], killed)


@pytest.mark.parametrize("platform, calls", [("linux", [(36, 1, 0, 0, 0)]), ("darwin", [])])
def test_linux_alone_says_what_becomes_of_children(monkeypatch, platform, calls):
    called = []
    library = SimpleNamespace(prctl=lambda *given: called.append(given))
    monkeypatch.setattr(launch, "ctypes", SimpleNamespace(CDLL=lambda name: library, c_ulong=int))
    monkeypatch.setattr(sys, "platform", platform)
    launch._prctl()(36, 1)
    assert called == calls


@pytest.mark.parametrize(
    "others, waits, statuses, asked",
    [
        ((), [(3, 256), (4, 9), (0, 0)], {3: 1, 4: -9}, [-1, -1, -1]),
        ((), [(3, 0), ChildProcessError()], {3: 0}, [-1, -1]),
        ((9,), [(0, 0), (4, 15)], {4: -15}, [3, 4]),
        ((9,), [ChildProcessError(), (4, 15)], {}, [3]),
        ((3, 4, 9), [], {}, []),
    ],
)
def test_children_that_ended_are_waited_for_but_for_others(monkeypatch, others, waits, statuses, asked):
    called, left = [], list(waits)

    def waitpid(pid, options):
        called.append(pid)
        assert options == os.WNOHANG
        if isinstance(found := left.pop(0), Exception):
            raise found
        return found

    monkeypatch.setattr(launch, "children", lambda: [3, 9, 4])
    monkeypatch.setattr(os, "waitpid", waitpid)
    found = {}
    launch.reap(found, others)
    assert (found, called) == (statuses, asked)


def test_children_are_those_of_every_thread(monkeypatch):
    files = {"/proc/self/task/1/children": "3 4 ", "/proc/self/task/5/children": "6"}

    def opened(name, encoding):
        if name not in files:
            raise FileNotFoundError(name)
        return io.StringIO(files[name])

    monkeypatch.setattr(os.path, "isdir", lambda name: name == "/proc/self/task")
    monkeypatch.setattr(os, "listdir", lambda name: ["1", "2", "5"])
    monkeypatch.setattr("builtins.open", opened)
    found = launch.children()
    monkeypatch.setattr(os.path, "isdir", lambda name: False)
    none = launch.children()
    monkeypatch.undo()
    assert (found, none) == ([3, 4, 6], [])


class System:
    """Children that end at the signals of which each says so, and a clock that every sleep takes on by a second."""

    def __init__(self, monkeypatch, ends, then=None):
        self.ends, self.then, self.now, self.sent, self.reaped, self.slept = dict(ends), then or {}, 0, [], [], []
        clock = SimpleNamespace(monotonic=lambda: float(self.now), sleep=self.sleep)
        monkeypatch.setattr(launch, "time", clock)
        monkeypatch.setattr(launch, "children", lambda: list(self.ends))
        monkeypatch.setattr(launch, "reap", lambda statuses, others: self.reaped.append((statuses, others)))
        monkeypatch.setattr(os, "kill", self.kill)

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += 1

    def kill(self, pid, number):
        self.sent.append((self.now, pid, number))
        if number in self.ends[pid]:
            del self.ends[pid]
            self.ends |= self.then.get(pid, {})
        if pid == 404:
            raise ProcessLookupError


BOTH = (TERM, KILL)


@pytest.mark.parametrize(
    "ends, then, sent, slept",
    [
        ({9: ()}, {}, [], 0),
        ({3: BOTH, 9: ()}, {}, [(0, 3, TERM)], 0),
        ({3: BOTH, 4: BOTH}, {3: {5: BOTH}}, [(0, 3, TERM), (0, 4, TERM), (1, 5, TERM)], 1),
        ({3: (KILL,), 9: ()}, {}, [(0, 3, TERM), (6, 3, KILL)], 6),
        ({3: ()}, {}, [(0, 3, TERM), *((n, 3, KILL) for n in range(6, 11))], 11),
        ({404: BOTH}, {}, [(0, 404, TERM)], 0),
    ],
)
def test_what_a_program_leaves_is_asked_to_end_and_then_ended(monkeypatch, ends, then, sent, slept):
    """Five seconds after they were asked, and for five more; 9 is another's."""
    system, statuses = System(monkeypatch, ends, then), {7: -9}
    launch.end_children(statuses, (9,))
    assert (system.sent, system.slept) == (sent, [0.02] * slept)
    assert all(given == (statuses, (9,)) for given in system.reaped) and bool(system.reaped) is bool(sent)


@pytest.fixture
def started(monkeypatch, prctl):
    """A program that ends as code says once act was done, and what was asked for it; a child was there before."""
    w = SimpleNamespace(code=0, act=lambda: None, sent=[], handlers={}, main=True, ended=[], reaped=[], waited=[])
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    w.before = {getattr(signal, name): f"own {name}" for name in names}
    w.handlers |= w.before

    def handle(number, handler):
        before, w.handlers[number] = w.handlers[number], handler
        return before

    def popen(words, **named):
        def wait():
            w.act()
            return w.code

        w.words, w.named = words, named
        return SimpleNamespace(pid=7, wait=wait, send_signal=w.sent.append)

    here, main = object(), object()
    thread = SimpleNamespace(current_thread=lambda: main if w.main else here, main_thread=lambda: main)
    monkeypatch.setattr(launch, "signal", SimpleNamespace(signal=handle, **{n: getattr(signal, n) for n in names}))
    monkeypatch.setattr(launch, "threading", thread)
    monkeypatch.setattr(launch, "children", lambda: [9])
    monkeypatch.setattr(launch, "end_children", lambda *given: w.ended.append(given))
    monkeypatch.setattr(launch, "reap", lambda statuses, others: w.reaped.append((dict(statuses), others)))
    monkeypatch.setattr(launch, "wait", lambda p, until: w.waited.append(p.pid) or not until())
    monkeypatch.setattr(subprocess, "Popen", popen)
    w.prctl = prctl
    return w


NULL = subprocess.DEVNULL


@pytest.mark.parametrize(
    "given, streams", [({}, (None, None, None)), ({"quiet": True}, (NULL, NULL, NULL)), ({"output": 5}, (NULL, 5, 5))]
)
def test_a_program_has_the_streams_that_it_is_given(started, given, streams):
    assert launch.run(["a", "b"], {"X": "1"}, **given) == (7, {7: 0})
    named = dict(started.named)
    assert (started.words, named.pop("env")) == (["a", "b"], {"X": "1"})
    assert tuple(named.pop(n) for n in ("stdin", "stdout", "stderr")) == streams
    preexec = named.pop("preexec_fn")
    assert (preexec.func, preexec.args, named) == (launch.end_with_parent, (os.getpid(),), {})
    assert isinstance(preexec, functools.partial)


def test_where_a_parents_end_cannot_be_seen_nothing_is_done_before_a_program(started, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    launch.run(["a"], {})
    assert started.named["preexec_fn"] is None


@pytest.mark.parametrize("main", [True, False])
def test_signals_are_the_programs_own_while_it_runs(started, main):
    """One of the keyboard reaches it without this process's help; other threads than the main one have no handlers."""
    started.main = main

    def act():
        assert (started.handlers != started.before) is main
        for number, handler in started.handlers.items():
            if main:
                handler(number, None)

    started.act = act
    launch.run(["a"], {})
    assert started.sent == ([signal.SIGTERM, signal.SIGHUP] if main else [])
    assert (started.handlers, started.prctl) == (started.before, [(36, 1), (36, 0)])


def test_handlers_are_put_back_where_waiting_fails(started):
    def act():
        raise KeyboardInterrupt

    started.act = act
    with pytest.raises(KeyboardInterrupt):
        launch.run(["a"], {})
    assert (started.handlers, started.prctl) == (started.before, [(36, 1), (36, 0)])


@pytest.mark.parametrize(
    "code, until, ends, waited",
    [
        (0, None, False, []),
        (3, None, False, []),
        (-9, None, True, []),
        (0, lambda: True, True, [7]),
        (0, lambda: False, False, [7]),
        (-9, lambda: False, True, [7]),
    ],
)
def test_what_is_left_of_a_program_that_was_ended_is_ended(started, code, until, ends, waited):
    started.code = code
    assert launch.run(["a"], {}, until=until) == (7, {7: code})
    assert started.ended == ([({7: code}, frozenset({9}))] if ends else [])
    assert (started.reaped, started.waited) == ([({7: code}, frozenset({9}))], waited)
