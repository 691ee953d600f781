"""A program's run: its variables, its command, and when it is run again with other values."""

import json
import os

import pytest

from memshim import pretend
from memshim.program import call, once
from memshim.program.once import Program


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.setattr(
        once.pretend, "environment", lambda cards, assume: {"CARDS": str(len(cards)), "ASSUME": str(assume)}
    )
    for name in (once.VALUES, "WANDB_MODE", "MEMSPEC_ALLOW_WRITES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", "/own")
    monkeypatch.setenv("COMET_START_ONLINE", "1")


def program(**more):
    return Program(["train.py", "-x"], more.pop("said", ["train.py", "-x"]), [pretend.find("t4")] * 2, ["t4"], **more)


def test_the_line_is_the_program_as_it_was_said():
    assert program(said=["--", "train.py"]).line == "train.py" and program().line == "train.py -x"


def test_what_its_processes_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = json.loads(program(top=3, record="a.rec", command=("memshim", "run"), steps=2).wanted(tmp_path / "f"))
    assert asked == {
        "folder": str(tmp_path / "f"), "top": 3, "record": str(tmp_path / "a.rec"), "command": ["memshim", "run"],
        "steps": 2, "parent": os.getpid(),
    }  # fmt: skip
    assert json.loads(program(of_case={"case": "net"}).wanted(tmp_path))["case"] == "net"
    assert json.loads(program().wanted(tmp_path))["record"] == ""


def test_the_variables_of_a_run(tmp_path):
    environ = program(assume={"a:1": 2}, nccl=7).environment(tmp_path)
    assert (environ["CARDS"], environ["ASSUME"], environ[once.VALUES]) == ("2", "{'a:1': 2}", "balanced")
    assert environ["PYTHONPATH"] == f"{once.STARTUP}{os.pathsep}/own"
    assert environ[once.process_reports.FIGURES] == str(tmp_path)
    assert json.loads(environ[once.communicators.STATED]) == {"nvlink": [False, False], "stated": 7}
    assert environ["WANDB_MODE"] == "offline" and environ["COMET_START_ONLINE"] == "1", "the user's own stays"
    assert "MEMSPEC_ALLOW_WRITES" not in environ
    environ = program(allow_writes=True, send=True, values="most").environment(tmp_path)
    assert (environ["MEMSPEC_ALLOW_WRITES"], environ[once.VALUES]) == ("1", "most") and "WANDB_MODE" not in environ


def test_without_a_search_path_of_the_users_there_is_ours_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH")
    assert program().environment(tmp_path)["PYTHONPATH"] == once.STARTUP


def test_a_run_ends_as_in_a_shell(tmp_path, monkeypatch):
    monkeypatch.setattr(once.process_reports, "read", lambda folder, pid, statuses: [])
    for status, code in ((3, 3), (-9, 137), (0, 0)):
        monkeypatch.setattr(once.launch, "run", lambda words, environ, status=status: (7, {7: status}))
        found, pid = once.once(program(), ["x"], {once.VALUES: "most"}, tmp_path)
        assert (found["exit"], found["values"], pid) == (code, "most", 7)


@pytest.fixture
def ran(monkeypatch):
    """Runs of a program that reads a value, and what the first came to."""
    runs, first = [], {"exit": 0, "values": "balanced", "fits": True, "out_of_memory": "", "processes": []}

    def repeat(words, environ, values, cards, record):
        runs.append((words, values, environ.get("BESIDE"), record))
        return {"values": values, "fits": True, "failed": False, "peaks": []}, [b"other"]

    monkeypatch.setattr(once, "once", lambda *_: (dict(first), 7))
    monkeypatch.setattr(once.other_values, "lines", lambda found: ["train.py:3"])
    monkeypatch.setattr(once.other_values, "repeat", repeat)
    monkeypatch.setattr(once.other_values, "judge", lambda found, ends: found.update(ends=ends))
    monkeypatch.setattr(once.other_values, "merged", lambda data, found, runs: [b"merged", *data])
    monkeypatch.setattr(once.other_values, "verdict", lambda found: "verdict")
    return runs, first


def with_ends(folder, **more):
    (folder / "7.0.rec").write_bytes(b"own")
    environ = {once.WANTED: json.dumps({"record": "a.rec"})}
    beside = {"beside": lambda v: {"BESIDE": f"of {v}"}} if more.pop("beside", False) else {}
    return once.with_ends(program(**more), ["x"], environ, folder, **beside)


def test_a_program_that_reads_values_is_run_with_each_other_one(tmp_path, ran):
    found, data = with_ends(tmp_path, check_values=True, record="a.rec", beside=True)
    assert ran[0] == [(["x"], v, f"of {v}", "a.rec") for v in ("least", "most", "skewed")]
    assert (found["fits"], [e["values"] for e in found["ends"]]) == ("verdict", ["least", "most", "skewed"])
    assert data == [b"merged", b"own"]
    ran[0].clear()
    ran[1]["values"] = "most"
    with_ends(tmp_path, check_values=True)
    assert [(v, beside) for _, v, beside, _ in ran[0]] == [("balanced", None), ("least", None), ("skewed", None)]


def test_a_program_is_run_once_where_nothing_else_is_asked_for(tmp_path, ran, monkeypatch):
    assert with_ends(tmp_path, record="a.rec") == ({**ran[1], "ends": []}, [b"own"])
    assert with_ends(tmp_path)[1] == [], "without a recording"
    ran[1]["exit"] = 1
    found, data = with_ends(tmp_path, check_values=True, record="a.rec")
    assert (found["fits"], data) == (True, [b"own"]), "it failed"
    ran[1]["exit"] = 0
    monkeypatch.setattr(once.other_values, "lines", lambda found: [])
    assert with_ends(tmp_path, check_values=True)[0]["ends"] == [] and ran[0] == [], "it reads none"


@pytest.fixture
def called(monkeypatch):
    """The words of the command that a call is, and whether it is of ranks."""
    words = []

    def prepared(a, given):
        words.append(given)
        return program(record=a.record or ""), a.world_size

    monkeypatch.setattr(call.command, "prepared", prepared)
    monkeypatch.setattr(call.ranks, "run_ranks", lambda wanted, of: ({"ranks": of}, "recordings"))
    monkeypatch.setattr(call.ranks, "keep", lambda recordings, to: words.append((recordings, to)))
    monkeypatch.setattr(call.command, "keep", lambda data, to: words.append((data, to)))
    monkeypatch.setattr(Program, "environment", lambda self, folder: {})
    return words


def test_a_call_is_the_command(called, monkeypatch):
    found = {"out_of_memory": "", "exit": 0, "processes": []}
    monkeypatch.setattr(call, "with_ends", lambda *_: (found, [b"data"]))
    assert call.run(["train.py", 3], on="t4", record="a.rec") is found
    assert called == [
        ["--on", "t4", "--jobs", "1", "--steps", "0", "--top", "20", "--record", "a.rec", "--", "train.py", "3"],
        ([b"data"], "a.rec"),
    ]
    called.clear()
    found["exit"] = 1
    call.run(
        ["train.py"],
        on=["t4", "l4"],
        count=2,
        memory="4GiB",
        nccl=0,
        values="most",
        check_values=True,
        allow_writes=True,
    )
    assert called == [
        "--on t4 --on l4 --memory 4GiB --count 2 --jobs 1 --steps 0 --nccl 0 --top 20 --values most --check-values "
        "--allow-writes -- train.py".split()
    ], "a recording of a part of a run is not kept"


def test_a_call_for_ranks(called):
    assert call.run(["train.py"], on="t4", world_size=8, nproc_per_node=4, rank=[0, "last"], jobs=2) == {"ranks": 8}
    words, kept = called
    assert " ".join(words) == (
        "--on t4 --world-size 8 --nproc-per-node 4 --rank 0,last --jobs 2 --steps 0 --top 20 -- train.py"
    )
    assert kept == ("recordings", "")
    call.run(["train.py"], on="t4", world_size=8, rank=3)
    assert "--rank 3 " in " ".join(called[2])


def test_a_program_is_words():
    with pytest.raises(ValueError, match="got the program 'train.py -x', want a list of words"):
        call.run("train.py -x", on="t4")
