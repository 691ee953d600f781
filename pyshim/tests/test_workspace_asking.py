"""Asking a library with several processes, and what is said afterwards, without a process."""

import importlib.util
import itertools
import sys
from types import SimpleNamespace

import pytest

from memshim import binary
from memshim.workspace import command, profiles, query, torchwheel

BY = ("cudnn", "9.10.2", "sm89")
OLD = ("cudnn", "9.1.0", "sm89")


def call(n):
    return {"op": "conv", "direction": "forward", "dtype": "float32", "groups": n} | {d: [1] for d in profiles._DIMS}


def wanted(by, *numbers):
    return {"library": by[0], "version": by[1], "class": by[2], "calls": [call(n) for n in numbers]}


def of(**entries):
    """A profile by the library's version, with _ for a dot."""
    made = profiles.Profile()
    for name, numbers in entries.items():
        for n in numbers:
            made.add(("cudnn", name[1:].replace("_", "."), "sm89"), call(n), {"bytes": 100 * n, "engine": n})
    return made


@pytest.fixture
def processes():
    """What starts a process that is lost on odd calls; those that were started, and whether they were closed."""
    made = []

    def start():
        one = SimpleNamespace(closed=False)

        def ask(call, seconds):
            if call["groups"] % 2:
                raise query.Lost(f"lost in {seconds:g} s")
            return {"bytes": call["groups"], "engine": 1}

        one.ask, one.close = ask, lambda: setattr(one, "closed", True)
        made.append(one)
        return one

    start.made = made
    return start


@pytest.mark.parametrize(
    "numbers, closed",
    [((2, 4), [True]), ((2, 3), [False]), ((3, 2), [False, True]), ((), [])],
)
def test_a_process_is_closed_unless_it_was_lost(processes, numbers, closed):
    got = []
    command.ask(processes, [call(n) for n in numbers], 1, lambda c, answer: got.append((c["groups"], str(answer))))
    assert [p.closed for p in processes.made] == closed
    assert got == [(n, "lost in 60 s" if n % 2 else str({"bytes": n, "engine": 1})) for n in numbers]


@pytest.mark.parametrize(
    "by, file, want",
    [
        (BY, {"v9_10_2": (1,)}, [2]),
        (BY, {"v9_26_0": (1, 2)}, [1, 2]),
        (OLD, {"v9_26_0": (1,), "v9_10_2": (2,)}, []),
        (OLD, {"v9_26_0": (1,)}, [2]),
        (("cudnn", "9.7.9", "sm89"), {"v9_26_0": (1,)}, [2]),
        (("cudnn", "9.8.0", "sm89"), {"v9_26_0": (1,)}, [1, 2]),
    ],
)
def test_calls_to_a_library_that_is_not_here_need_an_answer_in_the_file(by, file, want):
    """Of a release that does not answer itself, any other of its class will do."""
    lines = [f"{' '.join(by)}: {profiles.key(call(n))}: got nothing in the file, want an answer" for n in want]
    assert command.unanswered(of(**file), [wanted(by, 1, 2)]) == lines


def test_answers_of_another_class_do_not_stand_in():
    other = wanted(("cudnn", "9.1.0", "sm80"), 1)
    assert len(command.unanswered(of(v9_26_0=(1,)), [other])) == 1


@pytest.mark.parametrize("driver, folder", [(("a.so", "b.so"), "workspace-compiler"), ((), "workspace")])
def test_answers_without_a_driver_are_kept_apart(monkeypatch, tmp_path, driver, folder):
    monkeypatch.setattr(query, "driver", lambda: driver)
    spec = importlib.util.spec_from_file_location("own_command", command.__file__)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "own_command", module)
    spec.loader.exec_module(module)
    assert module.cache_file(tmp_path, BY) == tmp_path / folder / "cudnn-9.10.2-sm89.json"


@pytest.fixture
def found(monkeypatch, tmp_path):
    """memspec wants two calls; the library that is there answers nothing of itself."""
    (tmp_path / "memspec.yaml").touch()
    groups = [wanted(BY, 1, 2)]
    monkeypatch.setattr(binary, "ask", lambda *words: binary.Answer({"groups": groups}, "", 0))
    monkeypatch.setattr(torchwheel, "find", lambda *given: torchwheel.Found("folder", (), (9, 10, 2)))

    def ask(start, calls, jobs, answered):
        for c in calls:
            answered(c, {"bytes": 5, "engine": 1})

    monkeypatch.setattr(command, "ask", ask)
    return [str(tmp_path / "memspec.yaml"), "--cache", str(tmp_path / "cache")]


def test_how_long_asking_took_is_said(found, monkeypatch, capsys, tmp_path):
    times = iter([100.0, 102.5])
    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=lambda: next(times)))
    assert command.main(found) == 0
    assert capsys.readouterr().out == f"{tmp_path}/memspec.workspace.json: 2 entries, 2 calls asked in 2.5 s\n"


@pytest.mark.parametrize(
    "words, asked",
    [
        ([], ["--missing", "--workspace", "{file}"]),
        (["--fresh"], []),
        (["--check"], []),
        (["--prune"], []),
        (["--fresh", "--torch", "2.10", "--device", "t4"], ["--torch", "2.10", "--device", "t4"]),
    ],
)
def test_all_calls_are_wanted_where_the_file_does_not_count(found, monkeypatch, tmp_path, words, asked):
    said = []
    monkeypatch.setattr(binary, "ask", lambda *given: said.append(list(given)) or binary.Answer({"groups": []}, "", 0))
    command.main([*found, *words])
    file = str(tmp_path / "memspec.workspace.json")
    assert said == [["workspace", found[0], *(w.format(file=file) for w in asked)]]


def test_a_library_that_cannot_be_asked_is_started_once():
    started, got = [], []

    def start():
        started.append(1)
        raise query.Unable("no such class")

    command.ask(start, [call(n) for n in (1, 2, 3)], 1, lambda c, answer: got.append(str(answer)))
    assert (len(started), got) == (1, ["no such class"] * 3)


@pytest.mark.parametrize("groups, code, want", [([], 2, 2), ([wanted(BY, 1)], 2, 2), ([], 0, 0)])
def test_what_memspec_can_read_of_a_file_is_asked_all_the_same(found, monkeypatch, tmp_path, groups, code, want):
    """Its exit code is the command's, after the answers that can be had."""
    monkeypatch.setattr(binary, "ask", lambda *words: binary.Answer({"groups": groups}, "", code))
    assert command.main(found) == want
    assert (tmp_path / "memspec.workspace.json").exists() is bool(groups)


def test_a_process_that_answers_in_between_is_not_given_up(processes, monkeypatch):
    monkeypatch.setattr(command, "PATIENCE", 2)
    monkeypatch.setattr(command, "WASTE", 0.0)
    got = []
    numbers = [1, 2, 3, 4, 5, 7, 9, 2]
    command.ask(processes, [call(n) for n in numbers], 1, lambda c, answer: got.append(type(answer).__name__))
    assert got == ["Lost", "dict", "Lost", "dict", "Lost", "Lost", "GivenUp", "GivenUp"]


@pytest.mark.parametrize("version, nearer", [((9, 8, 1), ""), ((9, 10, 2), "; nearer is {wheel}, see --cudnn")])
def test_a_nearer_library_is_named_where_there_is_one(monkeypatch, tmp_path, capsys, version, nearer):
    monkeypatch.setattr(torchwheel, "find", lambda *given: torchwheel.Found("folder", (), version))
    (group,), absent, errors = command.locate([wanted(OLD, 1)], command.parser().parse_args([]), tmp_path)
    name = ".".join(map(str, version))
    assert (group.by, group.calls, absent, errors) == (("cudnn", name, "sm89"), [call(1)], [], [])
    assert capsys.readouterr().err == (
        f"memshim: cuDNN 9.1.0 does not answer without a device, {name} answers in its place"
        f"{nearer.format(wheel=torchwheel.OLDEST_WHEEL)}\n"
    )


def test_without_a_library_it_is_not_said_that_there_is_nothing_to_ask_for(found, monkeypatch, capsys):
    def nothing(*given):
        raise torchwheel.NotFound("got no cuDNN 9.10.2")

    monkeypatch.setattr(torchwheel, "find", nothing)
    assert command.main(found) == 2
    assert capsys.readouterr() == ("", "memshim: got no cuDNN 9.10.2\n")


def test_where_no_call_is_answered_it_is_not_said_that_there_is_nothing_to_ask_for(found, monkeypatch, capsys):
    def ask(start, calls, jobs, answered):
        for c in calls:
            answered(c, query.Refusal("no plan"))

    monkeypatch.setattr(command, "ask", ask)
    assert command.main(found) == 3
    said = "memshim: no answer of cudnn 9.10.2 sm89 to 2 calls: no plan\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize("seconds, given_up", [(10.0, [1, 3]), (9.0, [3]), (0.1, [])])
def test_quick_losses_in_a_row_are_borne_longer(monkeypatch, processes, seconds, given_up):
    """Two of ten seconds each are as much as may be wasted."""
    clock, got = itertools.count(0.0, seconds), []
    monkeypatch.setattr(command, "PATIENCE", 2)
    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=lambda: next(clock)))

    def answered(call, answer):
        if isinstance(answer, command.GivenUp):
            got.append(call["groups"])

    command.ask(processes, [call(n) for n in (7, 9, 1, 3)], 1, answered)
    assert got == given_up


@pytest.mark.parametrize("processors, jobs", [(None, 1), (1, 1), (3, 3), (64, 4)])
def test_a_few_processes_ask_where_nobody_says_how_many(monkeypatch, processors, jobs):
    monkeypatch.setattr(command.os, "cpu_count", lambda: processors)
    assert command.parser().parse_args([]).jobs == jobs
