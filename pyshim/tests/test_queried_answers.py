"""The answers of one command: which calls cuDNN is asked for, how often memspec runs, what is said."""

import json
from types import SimpleNamespace

import pytest

from memshim import binary
from memshim.workspace import answers, command, profiles, torchwheel

BY = ("cudnn", "9.26.0", "sm86")


def call(n):
    return {"op": "conv", "direction": "forward", "dtype": "float32", "groups": n} | {
        name: [1, 1] for name in profiles._DIMS
    }


def wanted(*numbers, version="9.26.0"):
    return {
        "library": "cudnn",
        "version": version,
        "class": "sm86",
        "torch": ["2.15"],
        "calls": [call(n) for n in numbers],
    }


@pytest.fixture
def queried(tmp_path, monkeypatch):
    """A library that answers the calls with fewer than 1000 groups, and a cache that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(command.os, "cpu_count", lambda: 2)
    found = torchwheel.Found("folder", (), (9, 26, 0))
    monkeypatch.setattr(torchwheel, "find", lambda *arguments: found)
    with answers.Queried() as q:
        q.asked = []

        def answer(group, profile, options, cache):
            q.asked.append((len(group.calls), options.jobs, group.by, cache))
            for c in group.calls:
                if c["groups"] < 1000:
                    profile.add(group.by, c, {"bytes": c["groups"], "engine": 1})
                else:
                    group.failures.append((c, ValueError()))

        monkeypatch.setattr(command, "answer", answer)
        yield q


def test_a_call_is_asked_for_once(queried, tmp_path):
    assert queried._query([wanted(1, 2)]) and queried.count == 2
    assert not queried._query([wanted(1, 2)]), "nothing is new"
    assert queried._query([wanted(2, 3)]), "one is new"
    assert queried.asked == [(2, 1, BY, tmp_path / "cache" / "memspec"), (1, 1, BY, tmp_path / "cache" / "memspec")]


def test_the_answers_are_given_to_memspec(queried):
    assert queried.arguments == []
    queried._query([wanted(1)])
    option, path = queried.arguments
    assert option == "--answers" and profiles.load(queried._answers).get(BY, call(1))["bytes"] == 1
    assert path == str(queried._answers)


@pytest.mark.parametrize("calls, jobs", [(127, 1), (128, 2), (999, 2)])
def test_another_process_is_started_for_each_128_calls(queried, calls, jobs):
    queried._query([wanted(*range(1, calls + 1))])
    assert [(n, j) for n, j, *_ in queried.asked] == [(calls, jobs)]


def test_answers_in_the_cache_are_taken_without_the_library(queried):
    kept = profiles.Profile()
    kept.add(BY, call(1), {"bytes": 7, "engine": 1})
    command.remember(kept, BY, queried._cache)
    assert queried._query([wanted(1, 2)])
    assert [n for n, *_ in queried.asked] == [1], "the other one"
    assert queried._profile.get(BY, call(1))["bytes"] == 7
    assert queried._query([wanted(3)]) and [n for n, *_ in queried.asked] == [1, 1]


def test_answers_that_cannot_be_written_end_the_command(queried, monkeypatch):
    def full(self, path):
        raise profiles.ProfileError("no space")

    monkeypatch.setattr(profiles.Profile, "write", full)
    with pytest.raises(binary.BinaryError, match="^no space$"):
        queried._query([wanted(1)])


@pytest.mark.parametrize("error", [torchwheel.NotFound("none"), ValueError("got cuDNN version nine")])
def test_an_absent_library_is_named_once(queried, monkeypatch, error):
    def find(*arguments):
        raise error

    monkeypatch.setattr(torchwheel, "find", find)
    assert not queried._query([wanted(1), wanted(1, version="9.10.2")])
    assert queried.lines() == [
        "cuDNN 9.10.2 (torch 2.15), 9.26.0 (torch 2.15) is not installed here, or does not answer without a device: "
        "its workspace is by formula; python -m memshim workspace says which wheel has it"
    ]
    assert queried.lines() == []


@pytest.mark.parametrize(
    "calls, want",
    [
        ((1,), []),
        ((1000,), ["cuDNN has no answer to 1 call: their workspace is by formula"]),
        ((1, 1000, 1001), ["cuDNN has no answer to 2 calls: their workspace is by formula"]),
    ],
)
def test_calls_without_an_answer_are_counted(queried, calls, want):
    queried._query([wanted(*calls)])
    assert queried.lines() == want


def test_memspec_runs_again_while_answers_are_new(queried):
    runs = []

    def run(arguments):
        runs.append(arguments)
        at = arguments.index("--missing") + 1 if "--missing" in arguments else None
        if at and len(runs) < 4:
            queried._missing.write_text(json.dumps({"groups": [wanted(min(len(runs), 2))]}))
        return len(runs)

    assert queried.settle(run) == 4
    assert [("--answers" in r, "--missing" in r) for r in runs] == [
        (False, True),
        (True, True),
        (True, True),
        (True, False),  # the third run asked for nothing new
    ]
    assert queried.lines() == []


def test_memspec_runs_twelve_times_at_most(queried):
    runs = []

    def run(arguments):
        runs.append("--missing" in arguments)
        queried._missing.write_text(json.dumps({"groups": [wanted(len(runs))]}))

    queried.settle(run)
    assert runs == [True] * 12 + [False]
    assert queried.lines() == [
        "other sizes were looked at 12 times over as cuDNN answered: the last of them are by formula"
    ]
    assert queried.settle(lambda arguments: "--missing" in arguments), "what the run before missed is forgotten"


def test_unrecorded_cases_are_listed_once_by_recording(queried):
    assert queried.unrecorded() == []
    first, last = {"recording": "a.rec", "name": "one"}, {"recording": "a.rec", "name": "two"}
    queried._missing.write_text(json.dumps({"groups": [], "cases": [first, last, {"recording": "b.rec"}]}))
    assert queried.unrecorded() == [last, {"recording": "b.rec"}]
    assert not queried._missing.exists()
    queried._missing.write_text(json.dumps({"groups": []}))
    assert queried.unrecorded() == [] and queried._missing.exists(), "what is missing is still to be asked for"


def test_files_are_gone_at_the_end():
    with answers.Queried() as q:
        folder = q._answers.parent
        assert folder.is_dir()
    assert not folder.exists()


@pytest.fixture
def memspec(monkeypatch):
    """memspec is a program that does nothing and ends with 5; its calls are returned."""
    calls = []

    def run(command):
        calls.append(command[1:2] + [a for a in command[2:] if "/" not in a])
        return SimpleNamespace(returncode=5)

    monkeypatch.setattr(answers.binary, "find", lambda: "memspec")
    monkeypatch.setattr(answers.subprocess, "run", run)
    return calls


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_memspecs_with_what_memshim_adds(memspec, capsys, option):
    assert answers.passed("fit", ["net", option]) == 5
    assert memspec == [["fit", "net", option]]
    assert capsys.readouterr().out.startswith("\npython -m memshim fit is memspec fit, and queries cuDNN")


def test_a_command_is_run_with_its_arguments(memspec, capsys, monkeypatch):
    monkeypatch.setattr(answers.Queried, "lines", lambda self: ["one", "two"])
    assert answers.init(["net.pt"]) == 5
    assert memspec == [["init", "--missing", "net.pt"]]
    assert capsys.readouterr() == ("", "memshim: one\nmemshim: two\n")


def test_without_memspec_the_exit_code_is_of_wrong_usage(monkeypatch, capsys):
    def find():
        raise binary.BinaryError("got no memspec")

    monkeypatch.setattr(answers.binary, "find", find)
    assert answers.passed("fit", []) == 2
    assert capsys.readouterr() == ("", "memshim: got no memspec\n")
