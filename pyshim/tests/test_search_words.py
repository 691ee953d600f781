"""memshim fit and sweep, without memspec: the words that it is run with, how often, and what is refused."""

import contextlib
import json
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from memshim import binary
from memshim.case.errors import ModelError
from memshim.judge import search


def ended(code=0, out='{"dims": []}', err=""):
    return subprocess.CompletedProcess([], code, out, err)


@pytest.fixture
def ran(monkeypatch, tmp_path):
    """Calls of run, which ends as the last element says."""
    monkeypatch.chdir(tmp_path)

    class Calls(list):
        answer = ended()

    calls = Calls()
    monkeypatch.setattr(search, "run", lambda *given, **named: calls.append((*given, named)) or calls.answer)
    return calls


JSON = ["--multiple-of", "1", "--format", "json"]


@pytest.mark.parametrize(
    "given, words",
    [
        ({}, JSON),
        ({"dim": "B"}, ["--dim", "B", *JSON]),
        ({"dim": ["B", "T"], "most": 64}, ["--dim", "B", "--dim", "T", "--most", "64", *JSON]),
        ({"multiple_of": 8}, ["--multiple-of", "8", "--format", "json"]),
        ({"world_size": (1, 512)}, [*JSON, "--world-size=1..512"]),
    ],
)
def test_the_largest_sizes_of_a_case(ran, given, words):
    assert search.largest("net[B=8]", "s.yaml", jobs=3, **given) == {"dims": []}
    command = ["python", "-m", "memshim", "fit", "net[B=8]", "s.yaml", *words]
    assert ran == [("fit", ["net[B=8]", "s.yaml", *words], command, subprocess.PIPE, 3, {})]


@pytest.mark.parametrize(
    "given, own, command",
    [
        ({"vary": {"N": (1, 512)}}, ["--dim", "N", "--most", "512"], ["--vary", "N=1..512"]),
        ({"world_size": (2, 8)}, ["--world-size=2..8"], ["--world-size", "2..8"]),
        ({"vary": {"N": (4, 4)}}, ["--dim", "N", "--most", "4"], ["--vary", "N=4..4"]),
    ],
)
def test_the_largest_sizes_of_a_program(ran, given, own, command):
    search.largest(program=["train.py", "{N}"], on="t4", **given)
    ((name, words, line, to, jobs, named),) = ran
    assert (name, words[0], words[2:], to, jobs, named) == ("fit", "train", [*own, *JSON], subprocess.PIPE, 1, {})
    assert line == ["python", "-m", "memshim", "fit", "--on", "t4", *command, "--", "train.py", "{N}"]


def test_what_memspec_refuses_is_raised(ran):
    ran.answer = ended(2, "", " no such case\n")
    with pytest.raises(search.Unusable, match="^no such case$"):
        search.largest("x")
    with pytest.raises(search.Unusable, match="^got no --on, want a device of memspec devices$"):
        search.largest(program=["train.py"])


def test_memspec_is_run_until_it_lacks_no_recording(monkeypatch, capsys):
    lacking, recorded, runs = [["a"], ["b", "c"]], [], []

    class Queried:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def unrecorded(self):
            return lacking.pop(0) if lacking else []

        def settle(self, searched):
            return searched(["--missing", "m"])

        def lines(self):
            return ["by formula"]

    class Recorder:
        def __init__(self, command, jobs):
            recorded.append((command, jobs))

        def record(self, cases):
            recorded.append(cases)

        def close(self):
            recorded.append("closed")

    monkeypatch.setattr(search, "Queried", Queried)
    monkeypatch.setattr(search, "Recorder", Recorder)
    monkeypatch.setattr(binary, "find", lambda: "memspec")
    monkeypatch.setattr(subprocess, "run", lambda words, **named: runs.append((words, named)) or len(runs))
    assert search.run("fit", ["x"], ["command"], subprocess.PIPE, 2) == 3
    words = ["memspec", "fit", "--missing", "m", "x"]
    assert runs == [(words, {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True})] * 3
    assert recorded == [(["command"], 2), ["a"], ["b", "c"], "closed"]
    assert capsys.readouterr().err == "memshim: by formula\n"
    recorded.clear()
    search.run("fit", ["x"], ["command"])
    assert recorded == [(["command"], 1), "closed"], "one at a time"
    assert runs[3][1] == {"stdout": None, "stderr": None, "text": True}


def test_a_search_of_very_many_runs_is_refused(monkeypatch):
    monkeypatch.setattr(search, "RECORDINGS", 2)
    monkeypatch.setattr(search.process, "runner", lambda several: SimpleNamespace(capture=lambda *a, **kw: 0))
    of = search.Recorder(["fit"])
    cases = [{"recording": r, "model": "net", "dims": {}} for r in ("a", "b", "c")]
    of.record(cases[:2])
    with pytest.raises(search.Unusable, match="^got more than 2 runs, want a narrower search .--most.$"):
        of.record(cases[2:])
    with pytest.raises(search.Unusable, match="^net: got a recording that does not count as soon as it is made: old$"):
        of.record([cases[0] | {"stale": "old"}])
    with pytest.raises(search.Unusable, match="memspec does not find it$"):
        of.record([cases[0]])


@pytest.mark.parametrize(
    "words, want, jobs",
    [
        (["net", "--dim", "B"], ["net", "--dim", "B"], 1),
        (["net", "--on", "t4", "--on", "l4", "--jobs", "3"], ["net", "--on", "t4", "--on", "l4"], 3),
        (["net", "--world-size", "2..4"], ["net", "--world-size", "2..4"], 1),
    ],
)
def test_a_cases_words_go_to_memspec(ran, words, want, jobs):
    ran.answer = ended(3)
    assert search.sweep(words) == 3
    assert ran == [("sweep", want, ["python", "-m", "memshim", "sweep", *words], {"jobs": jobs})]


@pytest.mark.parametrize("name, values", [("fit", "1..512"), ("sweep", "8,16,32")])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_memspecs_and_ours(ran, monkeypatch, capsys, name, values, option):
    asked = []
    monkeypatch.setattr(binary, "find", lambda: "memspec")
    monkeypatch.setattr(subprocess, "run", lambda words: asked.append(words) or ended(4))
    assert search._search(name, [option]) == 4 and asked == [["memspec", name, "--help"]] and not ran
    assert (
        f"python -m memshim {name} --on DEVICE --vary N={values} -- train.py --batch {{N}}\n" in capsys.readouterr().out
    )


@pytest.mark.parametrize("error", [search.Unusable("u"), binary.BinaryError("b"), ModelError("m"), OSError("o")])
def test_every_error_is_one_line(ran, monkeypatch, capsys, error):
    def fails(*given, **named):
        raise error

    monkeypatch.setattr(search, "run", fails)
    assert search.fit(["net"]) == 2 and capsys.readouterr() == ("", f"memshim fit: {error}\n")


@pytest.mark.parametrize(
    "words, said",
    [
        (["--vary", "N=1..4"], "got no --on, want a device of memspec devices"),
        (["--on", "t4", "--vary", "N=1..4"], "got no program, want -- train.py --batch {N}"),
        (["--on", "t4", "--vary", "N=2..1", "--", "a.py"], "--vary: got N=2..1, want a range such as N=1..512"),
    ],
)
def test_what_cannot_be_searched(ran, capsys, words, said):
    assert search.fit(words) == 2 and capsys.readouterr().err == f"memshim fit: {said}\n" and not ran


def test_the_last_values_of_what_is_varied(ran):
    with search.of_program(["t4"], ["N=3..9", "T=5"], ["dir/train.py", "x"], last=True) as (name, options):
        written = json.loads(Path(options[0]).read_text())
    want = {"device": "t4", "args": ["x"], "dims": {"N": 9, "T": 5}, "budget": {}, "program": "dir/train.py"}
    assert written == {"version": 1, "models": {"train": want}}
    assert (name, options[1:]) == ("train", ["--dim", "N", "--most", "9"])
    with search.of_program(["t4"], ["N=1..1"], ["a.py"]) as (name, options):
        assert options[1:] == ["--dim", "N", "--most", "1"]


@pytest.mark.parametrize(
    "case, name",
    [
        ({"dims": {"B": 4, "T": 2}}, "net, B=4, T=2"),
        ({"dims": {}, "program": None}, "net"),
        ({"dims": {}, "program": {"ranks": None}}, "net"),
        ({"dims": {"B": 4}, "program": {"ranks": {"world_size": 3}}}, "net, B=4, world_size=3"),
    ],
)
def test_a_case_is_named_by_its_sizes(case, name):
    assert search._named(case | {"model": "net"}) == name
    assert [search._whole(c) for c in ({}, {"whole": 0}, {"whole": True})] == [False, False, True]


def test_a_run_that_fails_ends_those_beside_it_and_begins_no_other(monkeypatch):
    ended, asked = threading.Event(), []

    def capture(case, *given, **named):
        asked.append(case["model"])
        if case["model"] == "a":
            raise ModelError("no")
        assert ended.wait(5), "it goes on until its runner is closed"

    monkeypatch.setattr(search.process, "runner", lambda several: SimpleNamespace(capture=capture, close=ended.set))
    of = search.Recorder(["fit"], jobs=2)
    with pytest.raises(ModelError, match="^a: no$"):
        of.record([{"recording": m, "model": m, "dims": {}} for m in "abcd"])
    assert ended.is_set() and "d" not in asked


def test_one_case_is_recorded_at_a_time_unless_more_are_asked_for(monkeypatch):
    made = []

    def runner(several):
        made.append(several)
        return SimpleNamespace(capture=lambda *given, **named: 0)

    monkeypatch.setattr(search.process, "runner", runner)
    cases = [{"recording": m, "model": m, "dims": {}} for m in "abc"]
    search.Recorder(["fit"]).record(cases)
    assert made == [True]
    search.Recorder(["fit"], jobs=2).record(cases)
    search.Recorder(["fit"], jobs=9).record(cases)
    assert made == [True] * (1 + 2 + 3)


@pytest.mark.parametrize(
    "name, words, program, more",
    [
        ("fit", ["--vary", "N=1..4", "--", "a.py", "--", "{N}"], ["a.py", "--", "{N}"], {}),
        ("sweep", ["--vary", "N=1,2", "--", "-m", "a"], ["-m", "a"], {"sweeps": True}),
        (
            "fit",
            ["--world-size", "--nproc-per-node", "4", "--", "a.py"],
            ["a.py"],
            {"world": "", "nproc_per_node": 4},
        ),
    ],
)
def test_what_follows_the_dashes_is_the_program(ran, monkeypatch, name, words, program, more):
    given = []

    @contextlib.contextmanager
    def of_program(on, varied, program, **named):
        given.append((on, varied, program, named))
        yield "case", ["file", "--dim", "N"]

    monkeypatch.setattr(search, "of_program", of_program)
    words = ["--on", "t4", "--most", "9", *words]
    assert search._search(name, words) == 0
    varied = [w for w in words if w.startswith("N=")]
    plain = {"world": None, "nproc_per_node": 0, "sweeps": False}
    assert given == [(["t4"], varied, program, plain | more)]
    command = ["python", "-m", "memshim", name, *words]
    assert ran == [(name, ["case", "file", "--dim", "N", "--most", "9"], command, {"jobs": 1})]


def test_a_case_is_recorded_with_the_allocators_defaults(monkeypatch):
    given = []
    made = SimpleNamespace(capture=lambda *words, **named: given.append((*words, named)))
    monkeypatch.setattr(search.process, "runner", lambda several: made)
    case = {"recording": "a", "model": "net", "dims": {}, "alloc_conf": "x", "memory_fraction": 0.5, "whole": 1}
    search.Recorder(["fit"]).record([case])
    wanted = case | {"command": ["fit"], "alloc_conf": "", "memory_fraction": 0}
    assert given == [(wanted, "a", "pretend", search.TIMEOUT, {"whole": True})]
