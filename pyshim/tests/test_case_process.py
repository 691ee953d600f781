"""The processes that run cases: how they are started, what their end means, which runs a capture makes."""

import io
import json
import os
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from memshim import pretend
from memshim.case import compare_values, errors, process, program_case

CASE = {"name": "net", "device": {"name": "t4"}}
ENDED = "the process ended"


def test_a_process_finds_this_package_and_prints_any_text(monkeypatch):
    monkeypatch.setenv("KEPT", "1")
    environ = process._environment({"EXTRA": "2"})
    assert (environ["KEPT"], environ["EXTRA"]) == ("1", "2")
    assert environ["PYTHONIOENCODING"] == "utf-8:backslashreplace"
    assert str(Path(process.__file__).parents[2]) in environ["PYTHONPATH"].split(os.pathsep)


@pytest.mark.parametrize(
    "stated, want",
    [
        (None, {}),
        ([{"place": "a.py:f", "size": 3}], {"a.py:f": 3}),
        ([{"place": "a/b.py:C.f", "values": "least", "size": 0}], {"a/b.py:C.f": "least"}),
        ([{"place": "routing", "values": "balanced"}], {"routing": "balanced"}),
        ([{"place": "aten::nonzero", "size": 3}, {"place": "x.cpp:f", "size": 1}], {}),  # an archive's
        ([{"place": process.OWN_STEP, "size": 5}], {process.OWN_STEP: 5}),
    ],
)
def test_what_a_case_states_of_python_code(stated, want):
    assert process._assumed({"assume": stated}) == {process.OWN_STEP: "balanced"} | want


def test_the_pretend_device_of_a_case(monkeypatch):
    given = []
    monkeypatch.setattr(pretend, "of_case", lambda device: device["name"])
    monkeypatch.setattr(pretend, "environment", lambda *a, **k: (given.append((a, k)), {"A": "1"})[1])
    for at in ("auto", "cuda", "cpu"):
        assert process.pretended(CASE, at) == {}
    assert not given
    assert process.pretended(CASE, "pretend", 9) == {"A": "1"}
    assert given == [(("t4",), {"memory": 9, "assume": {process.OWN_STEP: "balanced"}})]


@pytest.mark.parametrize("error", [pretend.Unsupported("x"), pretend.BuildError("x"), ValueError("x")])
def test_a_pretend_device_that_cannot_be_had(monkeypatch, error):
    def environment(*a, **k):
        raise error

    monkeypatch.setattr(pretend, "of_case", lambda device: device)
    monkeypatch.setattr(pretend, "environment", environment)
    with pytest.raises(errors.NoGPU) as e:
        process.pretended(CASE, "pretend")
    assert str(e.value) == str(error)


@pytest.mark.parametrize("error", [None, ProcessLookupError, PermissionError])
def test_a_process_is_ended_with_all_that_it_started(monkeypatch, error):
    calls = []

    def killpg(pid, number):
        calls.append((pid, number))
        if error:
            raise error

    monkeypatch.setattr(process.os, "killpg", killpg)
    process.end(SimpleNamespace(pid=7, wait=lambda: calls.append("wait")))
    assert calls == [(7, signal.SIGKILL), "wait"]


def test_where_there_are_no_groups_it_is_ended_alone(monkeypatch):
    monkeypatch.delattr(process.os, "killpg")
    calls = []
    process.end(SimpleNamespace(pid=7, wait=lambda: calls.append("wait"), kill=lambda: calls.append("kill")))
    assert calls == ["kill", "wait"]


STACKS = f"""Timeout (0:00:05)!
Thread 1:
  File "{process.__file__}", line 3 in f
  File "/x/net.py", line 4 in forward
"""


@pytest.mark.parametrize(
    "status, said, kind, text",
    [
        (0, "memshim: a note\n", errors.ModelError, f"{ENDED} without a record, as after os._exit(0)"),
        (1, "a\nmemshim: first\nb\nmemshim: last\nc\n", errors.ModelError, "last"),
        (2, "memshim: got no net\n", errors.CaseError, "got no net"),
        (3, "memshim: no GPU\n", errors.NoGPU, "no GPU"),
        (4, "memshim: no torch\n", errors.NoTorch, "no torch"),
        (5, "memshim: nothing\n", errors.NothingToRun, "nothing"),
        (1, "a\n\nwords of a model\n\n", errors.ModelError, "words of a model"),
        (1, "", errors.ModelError, f"{ENDED} with 1"),
        (77, "", errors.ModelError, f"{ENDED} with 77"),
        (-9, "", errors.ModelError, f"{ENDED} by signal 9"),
        (-11, "a\nb\n", errors.ModelError, f"{ENDED} by signal 11: b"),
        (1, STACKS, errors.ModelError, "not done after 5 s (/x/net.py:4)"),
        (1, STACKS + "memshim: its own word\n", errors.ModelError, "its own word"),
        (1, f"word\n{STACKS}", errors.ModelError, "not done after 5 s (/x/net.py:4)"),
        (-9, "Timeout (0:00:05)!\nno stack\n", errors.ModelError, "not done after 5 s"),
    ],
)
def test_what_the_end_of_a_process_means(tmp_path, status, said, kind, text):
    (tmp_path / "said").write_text(said)
    with pytest.raises(errors.MeasureError) as e:
        process.check(status, str(tmp_path / "out"), str(tmp_path / "said"), 5.0)
    assert type(e.value) is kind and str(e.value) == text


@pytest.mark.parametrize(
    "lines, at",
    [
        (['  File "/x/net.py", line 4 in forward', '  File "/x/main.py", line 5 in f'], " (/x/net.py:4)"),
        (['  File "/x/net.py", line 12'], " (/x/net.py:12)"),
        (['  Of "/x/net.py", line 4 in forward', '  File "/x/"y".py", line 4', "  File x", ""], ""),
        ([f'  File "{process.__file__}", line 3 in f'], ""),
        ([], ""),
    ],
)
def test_the_users_innermost_line_of_a_stack(lines, at):
    assert process._at(lines) == at


def test_a_process_is_the_first_of_its_own_group(monkeypatch):
    given = []
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: given.append((a, k)) or "process")
    monkeypatch.setattr(process, "_environment", lambda extra: {"OF": extra})
    assert process._start(["x"], {"A": "1"}, stdin=3) == process._start(["y"]) == "process"
    assert given == [
        ((["x"],), {"env": {"OF": {"A": "1"}}, "start_new_session": True, "stdin": 3}),
        ((["y"],), {"env": {"OF": None}, "start_new_session": True}),
    ]


def test_a_process_that_wrote_its_answer_has_done_it(tmp_path):
    (tmp_path / "said").write_text("memshim: a word\n")
    (tmp_path / "out").touch()
    process.check(0, str(tmp_path / "out"), str(tmp_path / "said"), 5.0)
    with pytest.raises(errors.CaseError):
        process.check(2, str(tmp_path / "out"), str(tmp_path / "said"), 5.0)


class Runner(process.Runner):
    """Writes what it is asked for; the environments of its runs are listed."""

    def __init__(self, fails=(), oom=None, built="source"):
        super().__init__()
        self.jobs, self.fails, self.oom, self.built = [], fails, oom, built

    def run(self, folder, case, job, extra):
        self.jobs.append((dict(job), extra))
        out = Path(folder, "out")
        assert not out.exists() or extra.get("MEMORY"), "what a run before wrote is gone"
        if extra.get("MEMSPEC_VALUES") in self.fails:
            raise errors.ModelError("ValueError: no\nand more")
        out.write_text(extra.get("MEMSPEC_VALUES", "none"))


@pytest.fixture
def world(monkeypatch):
    w = SimpleNamespace(decisive=[1], written=[], merged=[], oom=None, built="source", clock=[0.0, 2.0])
    monkeypatch.setattr(
        process, "pretended", lambda case, at, memory=None: {"MEMORY": str(memory)} if memory else {"ON": at}
    )
    monkeypatch.setattr(process.recording, "header", lambda out: {"oom": w.oom, "built": w.built})
    monkeypatch.setattr(process.recording, "write", lambda data, path: w.written.append((data, path)))
    monkeypatch.setattr(compare_values, "read_reads", lambda out: SimpleNamespace(decisive=w.decisive))
    monkeypatch.setattr(compare_values, "Parts", lambda data: data)
    monkeypatch.setattr(compare_values, "merge", lambda *a: (w.merged.append(a), b"merged")[1])
    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: w.clock.pop(0)))
    return w


def test_a_capture_runs_with_each_other_value(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = Runner(fails=("most",))
    assert runner.capture(CASE, "a.rec", timeout=500.0) == len(b"merged")
    assert [extra for _, extra in runner.jobs] == [
        {"ON": "pretend", "MEMSPEC_VALUES": values} for values in ("balanced", "least", "most", "skewed")
    ]
    path = str(tmp_path / "a.rec")
    job = {"where": "pretend", "timeout": 500.0, "stacks": "all", "recording": path}
    assert [j for j, _ in runner.jobs] == [job, *[job | {"timeout": 70.0}] * 3], "30 s and 20 times 2 s"
    ((data, reads, runs),) = world.merged
    assert data == b"balanced" and reads.decisive and world.written == [(b"merged", "a.rec")]
    assert [(r.values, r.failed) for r in runs] == [("least", ""), ("most", "ValueError: no and more"), ("skewed", "")]


def test_a_run_with_other_values_takes_no_longer_than_a_case_may(world):
    runner = Runner()
    runner.capture(CASE, "a.rec", timeout=60.0)
    assert [j["timeout"] for j, _ in runner.jobs] == [60.0] * 4


@pytest.mark.parametrize("at, decisive", [("pretend", []), ("cuda", [1])])
def test_where_no_value_decides_it_runs_once(world, at, decisive):
    world.decisive = decisive
    runner = Runner()
    assert runner.capture(CASE, "a.rec", at) > 0
    values = {"MEMSPEC_VALUES": "balanced"} if at == "pretend" else {}
    assert [extra for _, extra in runner.jobs] == [{"ON": at} | values] and not world.merged


@pytest.mark.parametrize(
    "whole, extra, oom, built, runs",
    [
        (True, None, {}, "source", 1),
        (True, None, {"phase": "first"}, "source", 2),
        (False, None, {"phase": "first"}, "source", 1),
        (True, {"MINE": "1"}, {"phase": "first"}, "source", 1),
        (True, None, {"phase": "first"}, process.OWN_ITERATION, 1),
    ],
)
def test_what_does_not_fit_is_recorded_on_a_card_with_room(world, whole, extra, oom, built, runs):
    world.decisive, world.oom, world.built = [], oom, built
    runner = Runner()
    runner.capture(CASE, "a.rec", extra=extra, **({} if whole else {"whole": False}))
    assert len(runner.jobs) == runs
    assert ("MEMORY" in runner.jobs[-1][1]) == (runs == 2)
    if runs == 2:
        assert runner.jobs[1][1] == {"MEMORY": str(4 << 40), "MEMSPEC_VALUES": "balanced"}
    if extra:
        assert runner.jobs[0][1] == {"MINE": "1", "MEMSPEC_VALUES": "balanced"}


def test_a_pretend_device_is_looked_for_once(world):
    runner = Runner()
    for case in (CASE, dict(CASE), CASE | {"name": "other"}):
        assert runner._pretended(case, "pretend") is runner._pretended(CASE, "pretend")
    devices = {"name": "t4", "memory": 1}, {"memory": 1, "name": "t4"}
    one, same = (runner._pretended({"device": device}, "pretend") for device in devices)
    assert one is same
    others = [
        runner._pretended(CASE, "pretend", 5),
        runner._pretended(CASE, "cuda"),
        runner._pretended({"device": {"name": "l4"}}, "pretend"),
        runner._pretended(CASE | {"assume": [{"place": "routing", "size": 1}]}, "pretend"),
    ]
    assert len(runner._environments) == 6 and others[0] == {"MEMORY": "5"}


def test_programs_are_recorded_by_themselves(monkeypatch):
    monkeypatch.setattr(program_case, "capture", lambda *a: a)
    case = {"program": {"command": "x"}}
    assert Runner().capture(case, "a.rec", timeout=3.0) == (case, "a.rec", 3.0)
    with pytest.raises(errors.NothingToRun, match="^a program is recorded, not measured"):
        Runner().measure(case)


def test_a_measurement_is_a_record(world, monkeypatch):
    monkeypatch.setattr(process.record, "read", lambda path: Path(path).read_text())
    runner = Runner()
    assert runner.measure(CASE, "pretend", 5.0, "python") == "none"
    job = {"where": "pretend", "timeout": 5.0, "stacks": "python", "recording": ""}
    assert runner.jobs == [(job, {"ON": "pretend"})]


def test_a_measurement_finds_its_device_and_a_capture_pretends_one(world, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process.record, "read", lambda path: {})
    world.decisive = []
    runner = Runner()
    runner.measure(CASE)
    runner.capture(CASE, "a.rec")
    job = {"where": "auto", "timeout": errors.TIMEOUT, "stacks": "python", "recording": ""}
    captured = {"where": "pretend", "stacks": "all", "recording": str(tmp_path / "a.rec")}
    assert [j for j, _ in runner.jobs] == [job, job | captured]
    with pytest.raises(NotImplementedError):
        process.Runner().run("", CASE, job, {})


JOB = {"where": "cpu", "timeout": 5.0, "stacks": "all", "recording": ""}


class Input(io.BytesIO):
    def close(self):
        self.kept = self.getvalue()
        super().close()


class Closed(io.BytesIO):
    """The input of a process that has ended, which says so when it is flushed or closed."""

    def flush(self):
        raise BrokenPipeError

    def close(self):
        super().close()
        raise BrokenPipeError


class Started:
    """A process that was started, which writes these lines."""

    def __init__(self, status=0, lines=(), late=False):
        self.status, self.late, self.waited = status, late, []
        self.stdin, self.stdout = Input(), io.BytesIO(b"".join(lines))

    def wait(self, timeout=None):
        self.waited.append(timeout)
        if self.late:
            raise subprocess.TimeoutExpired("x", timeout)
        return self.status


@pytest.fixture
def started(monkeypatch):
    """The processes that are started are those of `next`."""
    w = SimpleNamespace(next=[], commands=[], ended=[])

    def start(command, extra=None, **streams):
        w.commands.append((command[len(process.workdir.module("x")) :] or command[-1:], extra, streams))
        return w.next[len(w.commands) - 1]

    monkeypatch.setattr(process, "_start", start)
    monkeypatch.setattr(process, "end", w.ended.append)
    return w


@pytest.mark.parametrize("recording, more", [("", []), ("/a.rec", ["--recording", "/a.rec"])])
def test_a_case_in_a_process_that_is_started(started, tmp_path, recording, more):
    p = Started()
    started.next = [p]
    (tmp_path / "out").touch()
    runner = process.Fresh()
    runner.close()
    assert started.ended == []
    runner.run(str(tmp_path), CASE, JOB | {"recording": recording}, {"A": "1"})
    ((words, extra, streams),) = started.commands
    assert words[:6] == ["measure", "--request", "-", "--output", str(tmp_path / "out"), "--where"]
    assert words[6:] == ["cpu", "--stacks", "all", "--timeout", "5.0", *more] and extra == {"A": "1"}
    assert json.loads(p.stdin.kept) == CASE and p.waited == [5.0 + 6 * 3600] and started.ended == [p]
    assert streams["stdin"] == subprocess.PIPE and streams["stdout"] == subprocess.DEVNULL
    runner.close()
    assert started.ended == [p, p]


def test_a_process_that_ends_before_it_reads_its_case_says_why(started, tmp_path):
    p = Started(status=2)
    p.stdin = Closed()
    started.next = [p]

    def wait(timeout):
        (tmp_path / "stderr").write_text("memshim: no net\n")
        return 2

    p.wait = wait
    with pytest.raises(errors.CaseError, match="^no net$"):
        process.Fresh().run(str(tmp_path), CASE, JOB, {})
    assert started.ended == [p]


def test_a_server_that_ended_before_is_ended_with_its_group(started, tmp_path):
    p = Started(status=1)
    p.stdin = Closed()
    started.next = [p, Started(late=True, lines=[b'{"status": 0}\n'])]
    (tmp_path / "out").touch()
    server = process.Server()
    with pytest.raises(errors.ModelError, match="^the process ended with 1$"):
        server.run(str(tmp_path), CASE, JOB, {})
    server.run(str(tmp_path), CASE, JOB, {})
    assert json.loads(started.next[1].stdin.getvalue())["several"] is False
    started.next[1].stdin = Closed()
    server.close()
    assert started.ended == started.next[1:] and started.next[1].waited == [0.5]


def test_a_process_that_does_not_end_is_ended(started, tmp_path):
    p = Started(late=True)
    started.next = [p]
    with pytest.raises(errors.ModelError, match="^not done after 21605 s$"):
        process.Fresh().run(str(tmp_path), CASE, JOB, {})
    assert started.ended == [p]


def test_a_server_forks_a_process_for_each_case(started, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").touch()
    answers = [b'{"status": 0}\n', b'{"status": 2}\n']
    started.next = [Started(lines=answers), Started(lines=answers)]
    server = process.Server(several=True)
    server.run(str(tmp_path), CASE, JOB, {})
    (tmp_path / "stderr").write_text("memshim: no net\n")
    with pytest.raises(errors.CaseError, match="no net"):
        server.run(str(tmp_path), CASE, JOB, {})
    server.run(str(tmp_path), CASE, JOB, {"MEMSPEC_PRETEND": "t4"})
    assert [extra for _, extra, _ in started.commands] == [{}, {"MEMSPEC_PRETEND": "t4"}]
    line = json.loads(started.next[0].stdin.getvalue().splitlines()[0])
    assert line["environment"]["PYTHONIOENCODING"] and line["case"] == CASE and line["several"] is True
    assert line["output"] == str(tmp_path / "out") and line["stderr"] == str(tmp_path / "stderr")
    assert line["folder"] == str(tmp_path) and {k: line[k] for k in JOB} == JOB
    names = [streams["stderr"].name for *_, streams in started.commands]
    assert [os.path.basename(n) for n in names] == ["server", "pretending"]
    server.close()
    assert started.ended == started.next and [p.waited for p in started.next] == [[0.5]] * 2
    assert all(p.stdin.closed for p in started.next) and not os.path.exists(server._folder.name)


@pytest.mark.parametrize(
    "status, said, error",
    [
        (0, "", "the process that forks cases ended: its input was closed"),
        (1, "memshim: got no torch\n", "got no torch"),
        (-11, "", "the process ended by signal 11"),
    ],
)
def test_a_server_that_ended_says_why_and_is_started_anew(started, tmp_path, monkeypatch, status, said, error):
    started.next = [Started(status=status), Started(lines=[b'{"status": 0}\n'])]
    server = process.Server()
    (tmp_path / "out").touch()
    Path(server._said(False)).touch()

    def start(command, extra=None, **streams):
        Path(server._said(False)).write_text(said)
        started.commands.append(command)
        return started.next[len(started.commands) - 1]

    monkeypatch.setattr(process, "_start", start)
    with pytest.raises(errors.ModelError, match=f"^{error}"):
        server.run(str(tmp_path), CASE, JOB, {})
    server.run(str(tmp_path), CASE, JOB, {})
    assert len(started.commands) == 2
    server.close()


@pytest.mark.parametrize(
    "cases, jobs, repeats, fresh, servers",
    [(1, 1, False, 1, 0), (1, 9, True, 0, 1), (3, 1, False, 0, 1), (3, 2, False, 0, 2), (2, 9, False, 0, 2),
     (2, 0, False, 0, 1), (0, 4, False, 1, 0)],
)  # fmt: skip
def test_cases_run_so_many_at_a_time_in_order(monkeypatch, cases, jobs, repeats, fresh, servers):
    made = []

    def of(kind):
        def make(*a):
            made.append(SimpleNamespace(kind=kind, closed=0, measure=kind))
            made[-1].close = lambda r=made[-1]: setattr(r, "closed", r.closed + 1)
            return made[-1]

        return make

    monkeypatch.setattr(process, "Fresh", of("fresh"))
    monkeypatch.setattr(process, "runner", of("server"))
    got = list(process.each(list(range(cases)), jobs, lambda case, r: (case, r.kind), repeats))
    assert [case for case, _ in got] == list(range(cases))
    kinds = [r.kind for r in made]
    assert (kinds.count("fresh"), kinds.count("server")) == (fresh, servers) and {r.closed for r in made} == {1}
    assert list(process.measure_all([5], 1, lambda case, measure: (case, measure))) == [(5, "fresh")]


def test_an_error_of_a_case_ends_all():
    def one(case, runner):
        if case == 1:
            raise ValueError("no")
        return case

    found = process.each([0, 1, 2, 3], 1, one)
    assert next(found) == 0
    with pytest.raises(ValueError, match="^no$"):
        next(found)
    assert list(found) == []


def test_what_cases_are_run_by(monkeypatch):
    for several, server in ((True, process.runner(several=True)), (False, process.runner())):
        assert isinstance(server, process.Server) and server._several is several
        server.close()
    monkeypatch.delattr(process.os, "fork")
    assert isinstance(process.runner(), process.Fresh)
