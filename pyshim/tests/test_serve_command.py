"""How memshim serve ends, what it writes, and what it is asked for."""

import json
import os
from types import SimpleNamespace

import pytest

from memshim.case import program_case
from memshim.serving import advice, command, larger, report
from memshim.serving.start import Recording, Unusable

FOUND = {"fits": True}


@pytest.fixture
def world(monkeypatch, tmp_path):
    """An engine of release 0.19 whose start comes to `began`."""
    monkeypatch.chdir(tmp_path)
    w = SimpleNamespace(began=None, calls=[], version="0.19.0")
    w.began = began()
    monkeypatch.setattr(command, "installed", lambda: w.version)
    monkeypatch.setattr(command, "words", lambda program: w.calls.append(("words", program)))
    monkeypatch.setattr(command, "as_devices", lambda *a: w.calls.append(("devices", *a)))
    monkeypatch.setattr(command, "gpus", lambda program: 2)
    monkeypatch.setattr(command, "start", lambda asked, version: (w.calls.append((asked, version)), w.began)[1])
    monkeypatch.setattr(report, "text", lambda found: "the table")
    monkeypatch.setattr(larger, "text", lambda card: "; a larger card" if card else "")
    monkeypatch.setattr(advice, "trials", lambda *a: "trials")
    monkeypatch.setattr(advice, "text", lambda found, trials: f"advice of {trials}")
    return w


def began(fits=True, made=None, kind=None):
    return SimpleNamespace(
        found={"fits": fits}, log=b"log", made=made, errors=[{"kind": kind}] if kind else [],
        why=lambda: "why", larger=lambda: fits is False,
    )  # fmt: skip


def run(world, *words):
    return command.main(["--on", "l4", *words, "--", "vllm", "serve", "net"])


def test_an_engine_that_starts(world, capsys):
    assert run(world) == 0
    assert capsys.readouterr() == ("the table\n", "")
    program = ["vllm", "serve", "net"]
    asked, version = world.calls[-1]
    assert world.calls[:2] == [("words", program), ("devices", "l4", 2, None)] and version == "0.19.0"
    assert asked[:] == (program, "l4", None, None, None, 0) and not os.listdir()


def test_what_is_kept_of_a_start(world, capsys):
    world.began = began(made={"variables": {"B": "1"}, "packages": {"x": "2"}})
    words = ["--count", "3", "--memory", "9GiB", "-o", "a.rec", "--json", "a.json", "--log", "a.log", "--generate", "4"]
    assert run(world, *words) == 0
    assert capsys.readouterr().out == "the table\n  recording        a.rec\n"
    assert json.loads(open("a.json").read()) == FOUND and open("a.log").read() == "log"
    made = json.loads(open("a.rec").read())["made"]
    assert made["packages"] == {"vllm": "0.19.0", "x": "2"} and made["variables"]["B"] == "1"
    asked = world.calls[-1][0]
    assert (asked.number, asked.memory, asked.generate) == (3, "9GiB", 4)
    assert ("devices", "l4", 3, "9GiB") in world.calls
    assert asked.recording == Recording(
        "a.rec", os.getcwd(), ["python", "-m", "memshim", "serve", "--on", "l4", *words, "--", "vllm", "serve", "net"],
        [[], []],
    )  # fmt: skip


@pytest.mark.parametrize(
    "fits, kind, advise, code, said",
    [
        (False, None, False, 1, "why; a larger card; --advise tries what would fit"),
        (False, None, True, 1, "why; a larger card"),
        (None, None, False, 2, "why"),
        (None, "ValueError", False, 2, "why"),
        (None, "Unclear", False, 3, "why"),
    ],
)
def test_an_engine_that_does_not_start(world, capsys, fits, kind, advise, code, said):
    world.began = began(fits, kind=kind)
    assert run(world, *(["--advise"] if advise else []), "-o", "a.rec") == code
    out, err = capsys.readouterr()
    assert err == f"memshim serve: {said}\n" and out == ("advice of trials\n" if advise else "")
    assert os.listdir() == [], "nothing was made"


@pytest.mark.parametrize("fits, kept", [(True, True), (False, True), (None, False)])
def test_a_recording_is_of_what_is_known(world, fits, kept):
    world.began = began(fits, made={"variables": {}, "packages": {}})
    run(world, "-o", "a.rec")
    assert os.path.exists("a.rec") is kept


@pytest.mark.parametrize("fits, advised", [(True, True), (False, True), (None, False)])
def test_advice_is_of_what_is_known(world, capsys, fits, advised):
    world.began = began(fits)
    run(world, "--advise")
    assert ("advice of trials" in capsys.readouterr().out) is advised


@pytest.mark.parametrize(
    "words, said",
    [
        (["--generate", "-1"], "--generate: got -1, want a number of tokens"),
        (["-o", "a", "--json", "./a"], "got -o and --json of one file, ./a, want two files"),
        (["--json", "a", "--log", "a"], "got --json and --log of one file, a, want two files"),
    ],
)
def test_wrong_usage(world, capsys, words, said):
    assert run(world, *words) == 2
    assert capsys.readouterr().err == f"memshim serve: {said}\n" and len(world.calls) < 3


def test_without_an_engine_it_says_what_to_install(world, capsys):
    world.version = ""
    assert run(world) == 2
    assert f"pip install vllm=={report.TRIED[-1]}" in capsys.readouterr().err


def test_an_engine_that_cannot_be_used(world, capsys, monkeypatch):
    def start(asked, version):
        raise Unusable("no")

    monkeypatch.setattr(command, "start", start)
    assert run(world) == 2 and capsys.readouterr().err == "memshim serve: no\n"


@pytest.mark.parametrize("output", [True, False])
def test_a_case_of_a_memspec_yaml(world, monkeypatch, output):
    entered = []
    of = {"record": "r", "dir": "d", "command": ["c"], "depends": [("a",), ()]}
    case = SimpleNamespace(enter=lambda: entered.append(1), wanted=lambda: of, case="case", device="its own")
    monkeypatch.setattr(program_case, "read", lambda file: case)
    monkeypatch.setattr(program_case, "variables", lambda case: {"X": "1"})
    assert run(world, program_case.OF_CASE, "f", *(["-o", "a.rec"] if output else [])) == 0
    asked = world.calls[-1][0]
    assert entered == [1] and asked.device == "its own"
    assert asked.recording == (Recording("r", "d", ["c"], [["a"], []], {"X": "1"}) if output else None)


@pytest.mark.parametrize("spec, error, version", [(None, None, ""), (1, None, "0.19"), (1, ValueError, "")])
def test_the_release_that_is_installed(monkeypatch, spec, error, version):
    def of(name):
        if error:
            raise error
        return "0.19"

    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: spec)
    monkeypatch.setattr(command.importlib.metadata, "version", of)
    assert command.installed() == version
