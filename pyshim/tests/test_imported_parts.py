"""Processes that wait with an imported source, without starting any: which cases share one, when it ends, and
what it answers."""

import contextlib
import io
import json
import os
import sys
import types

import pytest

torch = pytest.importorskip("torch")

from memshim.case import build, imported, request, settings  # noqa: E402
from memshim.case.imported import Sources, Waiting  # noqa: E402


def job(source="zoo.py:net", **more):
    case = {"source": source, "dir": "d", "alloc_conf": "", "cublas_workspace": "", "flags": {"deterministic": False}}
    return {
        "case": case,
        "where": "pretend",
        "recording": "x.rec",
        "several": False,
        "folder": "f",
        "environment": {"A": "1"},
        "timeout": 9,
    } | more


@pytest.mark.parametrize(
    "given, shares",
    [
        (job(), True),
        (job(where="cuda"), False),
        (job(recording=""), False),
        (job(source=""), False),
    ],
)
def test_recordings_on_a_pretend_gpu_share_a_source(given, shares):
    assert imported._shares(given) is shares


def test_what_an_import_depends_on():
    key = imported._key(job())
    assert key == imported._key(job(environment={"A": "1", "MEMSPEC_VALUES": "most"}))
    others = [job("a.py:net"), job(folder="g"), job(environment={"A": "2"})]
    others.append(job() | {"case": job()["case"] | {"dir": "e"}})
    others.append(job() | {"case": job()["case"] | {"cublas_workspace": ":16:8"}})
    assert len({key, *map(imported._key, others)}) == 6


class There:
    """A process that has a source, and answers as it is set."""

    holds = 0

    def __init__(self, *statuses):
        self.statuses, self.ran, self.ended = list(statuses), [], 0

    def run(self, job):
        self.ran.append(job["case"]["source"])
        return self.statuses.pop(0) if self.statuses else 0

    def end(self):
        self.ended += 1


@pytest.fixture
def sources(monkeypatch):
    s = Sources(9, None)
    s.begun = []
    monkeypatch.setattr(s, "_begin", lambda job: s.begun.append(job["case"]["source"]) or s.next.pop(0))
    return s


def test_the_second_case_of_a_source_is_forked(sources):
    sources.next = [There(5, 6)]
    assert sources.run(job()) is None, "the first"
    sources.ran(job(), 1)
    sources.ran(job(where="cuda"), 0)
    assert sources.run(job()) is None, "none ran to its end"
    sources.ran(job(), 0)
    assert (sources.run(job()), sources.run(job())) == (5, 6) and sources.begun == ["zoo.py:net"]
    assert sources.run(job(where="cuda")) is None


def test_of_several_cases_the_first_is_forked(sources):
    sources.next = [There(0)]
    assert sources.run(job(several=True)) == 0


def test_a_source_that_cannot_be_shared_is_tried_once(sources):
    sources.next = [None]
    assert sources.run(job(several=True)) is None and sources.run(job(several=True)) is None
    assert sources.begun == ["zoo.py:net"]
    sources.close()


def test_a_source_that_has_changed_is_imported_again_once(sources):
    first, second = There(None), There(3)
    sources.next = [first, second]
    assert sources.run(job(several=True)) == 3 and (first.ended, second.ended) == (1, 0)
    third = There(None)
    second.statuses, sources.next = [None], [third]
    assert sources.run(job(several=True)) is None and (second.ended, third.ended) == (1, 1)
    sources.next = [There(4)]
    assert sources.run(job(several=True)) == 4, "and by the next case again"


def test_too_many_processes_end_those_that_were_used_first(monkeypatch):
    s = Sources(9, None)
    there = {name: There() for name in "abcd"}
    s._waiting = {"none": None, **there}
    s._end_others()
    assert [t.ended for t in there.values()] == [1, 0, 0, 0] and [*s._waiting] == ["none", "b", "c", "d"]
    s._end_others()
    assert [*s._waiting] == ["none", "b", "c", "d"], "three, and one more"
    there["c"].holds, there["d"].holds = imported.LARGE + 1, imported.LARGE
    s._end_others()
    assert [*s._waiting] == ["none", "b", "d"] and there["c"].ended == 1
    s.close()
    assert [t.ended for t in there.values()] == [1, 1, 1, 1]


def test_the_source_that_was_used_last_ends_last(sources):
    sources.next = [There(), There()]
    for name in ("a.py:n", "b.py:n", "a.py:n"):
        sources.run(job(name, several=True))
    assert [json.loads(k)[0] for k in sources._waiting] == ["b.py:n", "a.py:n"]


# One of them.


@pytest.fixture
def waiting():
    read, write = os.pipe()
    to = io.StringIO()
    w = Waiting(77, to, os.fdopen(read))
    w.says = os.fdopen(write, "w")
    w.to = to
    yield w
    w.says.close()


def say(w, answer):
    print(json.dumps(answer), file=w.says, flush=True)


def test_a_process_answers_with_a_status_and_what_it_holds(waiting):
    say(waiting, {"status": 0, "holds": 5})
    assert waiting.run({"a": 1}) == 0 and waiting.holds == 5 and waiting.to.getvalue() == '{"a": 1}\n'
    say(waiting, {"status": None})
    assert waiting.answer() is None and waiting.holds == 5
    waiting.says.close()
    assert waiting.answer() is None, "it ended"


def test_with_whoever_asked_it_ends(waiting, monkeypatch):
    parents = iter([1, 1, 2])
    monkeypatch.setattr(imported.select, "select", lambda *given: ([], [], []))
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    ended = []
    monkeypatch.setattr(waiting, "end", lambda: ended.append(1))
    with pytest.raises(SystemExit) as e:
        waiting.answer()
    assert e.value.code == 1 and ended == [1] and next(parents, None) is None


class Broken(io.StringIO):
    def write(self, text):
        raise BrokenPipeError


def test_a_job_for_a_process_that_ended_is_not_written(waiting):
    waiting._to = Broken()
    say(waiting, {"status": 4})
    assert waiting.run({}) == 4


@pytest.mark.parametrize("looks, killed", [(1, []), (20, []), (21, [(77, 9)])])
def test_a_process_that_does_not_end_is_killed(waiting, monkeypatch, looks, killed):
    done, kills, asked = [], [], []

    def wait(pid, how):
        asked.append(pid)
        return (pid if len(asked) >= looks else 0, 0)

    monkeypatch.setattr(os, "waitpid", wait)
    monkeypatch.setattr(os, "kill", lambda *given: kills.append(given))
    monkeypatch.setattr(imported.time, "sleep", done.append)
    waiting.end()
    assert kills == killed and len(asked) == looks and len(done) == min(looks - 1, 20) and waiting.to.closed


# What it answers.


@pytest.mark.parametrize(
    "read, changed, statuses",
    [
        (None, False, [-1, None, None]),
        ({}, False, [0, 7, 7]),
        ({"x": (1, 2)}, True, [0, None, None]),
    ],
)
def test_jobs_are_served_while_no_file_has_changed(monkeypatch, read, changed, statuses):
    monkeypatch.setattr(imported, "_changed", lambda files: changed)
    out, given = io.StringIO(), []

    def forked(job, enters):
        given.append((job, enters))
        return 7

    imported._serve(read, 5, ['{"n": 1}', '{"n": 2}'], out, forked)
    said = [json.loads(line) for line in out.getvalue().splitlines()]
    assert said == [{"status": statuses[0], "holds": 5}, {"status": statuses[1]}, {"status": statuses[2]}]
    assert given == ([({"n": 1}, False), ({"n": 2}, False)] if statuses[1] else [])


def test_a_file_has_changed_by_its_time_or_size(tmp_path):
    file = tmp_path / "a"
    file.write_text("12")
    os.utime(file, (5, 5))
    there, absent = imported._stamp(str(file)), imported._stamp(str(tmp_path / "b"))
    assert (there, absent) == ((5_000_000_000, 2), None)
    assert not imported._changed({str(file): there, str(tmp_path / "b"): None})
    assert imported._changed({str(file): (5_000_000_000, 3)}) and imported._changed({str(tmp_path / "b"): there})


def test_the_projects_files_that_were_read(tmp_path, monkeypatch):
    root = tmp_path / "p"
    for name in ("zoo.py", "data", "site-packages/x.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    asked = []
    monkeypatch.setattr(imported.provenance, "root", lambda *given: asked.append(given) or str(root))
    found = [str(root / "zoo.py"), str(root / "site-packages/x.py"), str(tmp_path / "other")]
    monkeypatch.setattr(imported.provenance, "imported", lambda *given: asked.append(given) or found)
    read = types.SimpleNamespace(opened={str(root / "data"): None, str(tmp_path / "p2"): None})
    case = {"source": "zoo.py:net", "dir": str(root)}
    assert set(imported._files(case, read)) == {str(root / "zoo.py"), str(root / "data")}
    assert asked == [(str(root), str(root)), (str(root), str(root / "zoo.py"))]
    imported._files(case | {"source": "zoo:net"}, read)
    assert asked[2:] == [(str(root), str(root)), (str(root), None)]


# Whether it is as each case's process would be.


@pytest.fixture
def world(monkeypatch):
    """A process in which nothing stands against sharing."""
    w = types.SimpleNamespace(entered=[], read=types.SimpleNamespace(began=5.0), model=torch.nn.Linear(2, 3), frozen=[])
    monkeypatch.setattr(imported, "enter", w.entered.append)
    monkeypatch.setattr(imported, "Reads", lambda: types.SimpleNamespace(begin=lambda: w.read))
    monkeypatch.setattr(imported, "current", lambda: w.read)
    monkeypatch.setattr(settings, "apply", lambda case: w.entered.append("settings"))
    monkeypatch.setattr(request, "limit", lambda seconds: w.entered.append(seconds) or contextlib.nullcontext())
    monkeypatch.setattr(build, "named", lambda *given: w.entered.append(given))
    monkeypatch.setattr(build, "load", lambda *given: w.model)
    monkeypatch.setattr(build, "keep", lambda *given: w.entered.append(given))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    monkeypatch.setattr(imported.threading, "active_count", lambda: 1)
    monkeypatch.setattr(imported, "_alone", lambda: True)
    monkeypatch.setattr(imported, "_refused_after_fork", lambda: False)
    monkeypatch.setattr(imported, "_bound", lambda before: False)
    monkeypatch.setattr(imported, "look_up_distributions", lambda: w.entered.append("distributions"))
    monkeypatch.setattr(imported, "overloads", lambda: w.entered.append("overloads"))
    monkeypatch.setattr(imported.gc, "collect", lambda: 0)
    monkeypatch.setattr(imported.gc, "freeze", lambda: w.frozen.append(1))
    monkeypatch.setattr(imported.gc, "get_objects", lambda: [3])
    monkeypatch.setattr(imported, "_files", lambda case, read: {"files": (1, 2)})
    return w


AGAINST = {
    "CUDA": lambda patch: patch.setattr(torch.cuda, "is_initialized", lambda: True),
    "a thread of Python's": lambda patch: patch.setattr(imported.threading, "active_count", lambda: 2),
    "a thread": lambda patch: patch.setattr(imported, "_alone", lambda: False),
    "a query of CUDA": lambda patch: patch.setattr(imported, "_refused_after_fork", lambda: True),
    "a function that is replaced": lambda patch: patch.setattr(imported, "_bound", lambda before: True),
}


def test_a_source_is_imported_as_its_process_does(world):
    assert imported.imported(job()) == {"files": (1, 2)} and world.read.began == 0.0 and world.frozen == [1]
    assert world.entered == [job(), "settings", 9, ("zoo.py:net", "d"), "distributions", "overloads"]


@pytest.mark.parametrize("against", [*AGAINST, "random numbers"])
def test_what_a_fork_would_not_repeat_is_not_shared(world, monkeypatch, against):
    if against == "random numbers":
        monkeypatch.setattr(build, "named", lambda *given: torch.rand(1))
    else:
        AGAINST[against](monkeypatch)
    assert imported.imported(job()) is None and "distributions" not in world.entered


@pytest.mark.parametrize("reachable", [torch.nn.ReLU(), torch.optim.SGD.__new__(torch.optim.SGD)])
def test_models_that_a_case_finds_are_not_frozen(world, monkeypatch, reachable):
    monkeypatch.setattr(imported.gc, "get_objects", lambda: [3, reachable])
    assert imported.imported(job()) and world.frozen == []


def test_a_model_is_made_for_all(world):
    threads = torch.get_num_threads()
    assert imported.made(job()) == ({"files": (1, 2)}, 4 * 9) and torch.get_num_threads() == threads
    assert world.entered == [9, ("zoo.py:net", "d", world.model)]


@pytest.mark.parametrize("against", [*AGAINST, "no module", "a device", "an error", "no reads"])
def test_a_model_that_a_fork_would_not_repeat_is_not_made(world, monkeypatch, against):
    def fails(*given):
        raise KeyboardInterrupt

    if against in AGAINST:
        AGAINST[against](monkeypatch)
    elif against == "an error":
        monkeypatch.setattr(build, "load", fails)
    elif against == "no reads":
        world.read = None
    else:
        world.model = 3 if against == "no module" else torch.nn.Linear(2, 3, device="meta")
    assert imported.made(job()) is None and world.entered == [9]


def test_a_module_that_holds_what_memshim_replaces(monkeypatch):
    before = set(sys.modules)
    module = types.ModuleType("own_of_a_test")
    module.number = 3
    monkeypatch.setitem(sys.modules, "own_of_a_test", module)
    assert not imported._bound(before)
    module.step = torch.autograd.backward
    assert imported._bound(before) and not imported._bound({*before, "own_of_a_test"})


@pytest.mark.parametrize("threads, alone, looks", [([1], True, 0), ([3, 2, 1], True, 2), ([2] * 20, False, 20)])
def test_a_thread_may_need_a_moment_to_go(monkeypatch, threads, alone, looks):
    slept, left = [], list(threads)
    monkeypatch.setattr(os, "listdir", lambda path: [0] * left.pop(0))
    monkeypatch.setattr(imported.time, "sleep", slept.append)
    assert imported._alone() is alone and len(slept) == looks and not left


def test_a_jobs_folder_and_environment(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(os, "environ", {"B": "2"})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").mkdir()
    imported.enter(job(folder=str(tmp_path / "f")))
    assert os.environ == {"A": "1"} and os.getcwd() == str(tmp_path / "f") == sys.path[0]


# Forks: each side by the number that a fork gives it.


class Ended(BaseException):
    """os._exit was called."""


@pytest.fixture
def forks(monkeypatch):
    """os.fork gives this number; what else is done to processes is noted."""
    w = types.SimpleNamespace(pid=77, said=[], waits=[0, 0, 77], parents=[1], pipes=[])
    pipe = os.pipe

    def ends(code):
        w.said.append(("exit", code))
        raise Ended

    def piped():
        w.pipes.append(pipe())
        return w.pipes[-1]

    monkeypatch.setattr(os, "pipe", piped)
    monkeypatch.setattr(os, "fork", lambda: w.pid)
    monkeypatch.setattr(os, "_exit", ends)
    monkeypatch.setattr(os, "waitpid", lambda pid, how: (w.waits.pop(0), 0))
    monkeypatch.setattr(os, "getppid", lambda: w.parents.pop(0) if len(w.parents) > 1 else w.parents[0])
    monkeypatch.setattr(os, "kill", lambda *given: w.said.append(given))
    monkeypatch.setattr(imported.time, "sleep", lambda seconds: w.said.append(seconds))
    return w


@pytest.mark.parametrize("text, could", [(b"1", True), (b"", False)])
def test_another_process_serves_in_its_place(forks, monkeypatch, text, could):
    monkeypatch.setattr(os, "fork", lambda: (os.write(forks.pipes[0][1], text), 77)[1])
    assert imported._in_its_place(None, [], None, None) is could and forks.said == [0.02, 0.02]
    for fd in forks.pipes[0]:
        with pytest.raises(OSError):
            os.fstat(fd)


def test_with_whoever_asked_both_end(forks):
    forks.parents = [1, 1, 2]
    with pytest.raises(Ended):
        imported._in_its_place(None, [], None, None)
    assert forks.said == [0.02, (77, 9), ("exit", 1)]


@pytest.mark.parametrize("found, said", [(None, b""), (({}, 5), b"1")])
def test_the_other_process_says_that_it_has_the_model(forks, monkeypatch, found, said):
    served = []
    monkeypatch.setattr(imported, "_serve", lambda *given: served.append(given))
    forks.pid = 0
    with pytest.raises(Ended):
        imported._in_its_place(lambda: found, ["job"], "answers", "forked")
    assert served == ([({}, 5, ["job"], "answers", "forked")] if found else []) and forks.said == [("exit", 0)]
    if not found:
        os.close(forks.pipes[0][1])
    assert os.read(forks.pipes[0][0], 9) == said
    os.close(forks.pipes[0][0])


@pytest.mark.parametrize(
    "read, could, served, code",
    [
        (None, True, [(None, 0)], 0),
        ({"f": None}, False, [({"f": None}, 0)], 0),
        ({"f": None}, True, [], 0),
        ("error", True, [], 1),
    ],
)
def test_a_process_waits_with_what_it_could_import(forks, monkeypatch, read, could, served, code):
    given = []

    def imports(job):
        if read == "error":
            raise Ended
        return read

    monkeypatch.setattr(os, "dup2", lambda *of: None)
    monkeypatch.setattr(imported, "imported", imports)
    monkeypatch.setattr(imported, "made", lambda job: ("made", job))
    monkeypatch.setattr(imported, "_in_its_place", lambda make, *more: given.append((make(), *more)) or could)
    monkeypatch.setattr(imported, "_serve", lambda *more: given.append(more[:2]))
    with pytest.raises(Ended):
        imported._wait_for_jobs("job", ["jobs"], "answers", "forked")
    tried = [(("made", "job"), ["jobs"], "answers", "forked")] if isinstance(read, dict) else []
    assert given == [*tried, *served] and forks.said == [("exit", code)]


@pytest.mark.parametrize("answer, begun", [(0, True), (imported.FAILED, False), (None, False)])
def test_a_process_that_cannot_share_ends_at_once(forks, monkeypatch, answer, begun):
    ended = []
    monkeypatch.setattr(Waiting, "answer", lambda self: answer)
    monkeypatch.setattr(Waiting, "end", lambda self: ended.append(self._pid))
    s = Sources(9, None)
    there = s._begin(job())
    assert (there is not None) is begun and ended == ([] if begun else [77])
    (to_read, to), (read, to_answer) = forks.pipes
    for fd in (to_read, to_answer):
        with pytest.raises(OSError):
            os.fstat(fd)
    assert there is None or there.descriptors == (to, read)


def test_what_waits_keeps_no_pipe_of_another(forks, monkeypatch):
    closed, given = [], []

    def waits(*more):
        given.append(more)
        raise Ended

    monkeypatch.setattr(os, "close", closed.append)
    monkeypatch.setattr(os, "fdopen", lambda fd, mode="r": fd)
    monkeypatch.setattr(imported, "_wait_for_jobs", waits)
    forks.pid = 0
    s = Sources(9, "forked")
    s._waiting = {"none": None, "a": types.SimpleNamespace(descriptors=(101, 102), holds=0)}
    with pytest.raises(Ended):
        s._begin(job())
    (to_read, to), (read, to_answer) = forks.pipes
    assert closed == [to, read, 9, 101, 102] and given == [(job(), to_read, to_answer, "forked")]
    monkeypatch.undo()
    for fd in (to_read, to, read, to_answer):
        os.close(fd)
