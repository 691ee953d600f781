"""Single ranks of a world, without a process: which run and with what, what is kept of them, and how the
command ends."""

import argparse
import io
import json
import os
import pickle
import sys
from types import SimpleNamespace

import pytest

from memshim.pretend import absent
from memshim.program import places, ranks
from memshim.program.ranks import Unusable, Wanted

WORDS = {
    "on": ["t4"], "count": 1, "sandbox": False, "world_size": 8, "nproc_per_node": 0, "rank": "", "jobs": 1,
    "program": ["--", "train.py"],
}  # fmt: skip


def asked(**change):
    return ranks.wanted(SimpleNamespace(**(WORDS | change)))


@pytest.mark.parametrize(
    "said, numbers",
    [
        ("", None),
        ("stages", None),
        ("0,last", [0, 7]),
        ("3, first", [0, 3]),
        ("first", [0]),
        ("all", list(range(8))),
        ("stages,5", [5]),
    ],
)
def test_ranks_by_name(said, numbers):
    assert Wanted(8, 8, said).numbers() == numbers


@pytest.mark.parametrize("said", ["8", "-1", "some"])
def test_a_rank_that_does_not_exist(said):
    with pytest.raises(Unusable, match=f"got --rank {said}, want numbers from 0 to 7, first, last"):
        Wanted(8, 8, said).numbers()


@pytest.mark.parametrize(
    "words, want",
    [
        ("", (0, 0, "", 1)),
        ("--world-size 8 --nproc-per-node 4 --rank 0,last --jobs 2", (8, 4, "0,last", 2)),
    ],
)
def test_the_words_of_a_world(words, want):
    p = argparse.ArgumentParser()
    ranks.add_arguments(p)
    a = p.parse_args(words.split())
    assert (a.world_size, a.nproc_per_node, a.rank, a.jobs) == want


@pytest.mark.parametrize(
    "change, want",
    [
        ({}, Wanted(8, 8)),
        ({"world_size": 1}, Wanted(1, 1)),
        ({"world_size": 4}, Wanted(4, 4)),
        ({"world_size": 16}, Wanted(16, 8)),
        ({"nproc_per_node": 2, "rank": "0,last", "jobs": 3}, Wanted(8, 2, "0,last", 3)),
        ({"world_size": 0}, None),
        ({"program": ["train.py", "torchrun"]}, Wanted(8, 8)),
        ({"program": ["-m", "accelerate.commands"]}, Wanted(8, 8)),
        ({"program": ["accelerate", "config"]}, Wanted(8, 8)),
    ],
)
def test_the_world_that_is_asked_for(change, want):
    assert asked(**change) == want


@pytest.mark.parametrize(
    "change, said",
    [
        ({"world_size": 0, "rank": "1"}, "got --rank without --world-size, want both"),
        ({"world_size": 0, "nproc_per_node": 4}, "got --nproc-per-node without --world-size, want both"),
        ({"world_size": -1}, "got --world-size -1 and -1 ranks a node, want a multiple of them"),
        ({"world_size": 12}, "got --world-size 12 and 8 ranks a node, want a multiple of them"),
        ({"nproc_per_node": -4}, "got --world-size 8 and -4 ranks a node, want a multiple of them"),
        ({"count": 2}, "got --count with --world-size, want one of them"),
        ({"sandbox": True}, "got --sandbox with --world-size, want one of them"),
        ({"jobs": 0}, "got --jobs 0, want 1 or more"),
        ({"rank": "8"}, "got --rank 8, want numbers from 0 to 7, first, last, stages or all"),
    ],
)
def test_a_world_that_cannot_be_run(change, said):
    with pytest.raises(Unusable) as e:
        asked(**change)
    assert str(e.value) == said


@pytest.mark.parametrize(
    "program, launcher",
    [
        (["--", "/usr/bin/torchrun", "a.py"], "torchrun"),
        (["mpirun", "-n", "8", "a.py"], "mpirun"),
        (["accelerate", "launch", "a.py"], "accelerate launch"),
        (["-m", "torch.distributed.launch", "a.py"], "torchrun"),
        (["python", "-m", "deepspeed.launcher.runner", "a.py"], "deepspeed"),
        (["python", "-m", "accelerate.commands.launch"], "accelerate launch"),
    ],
)
def test_what_starts_ranks_itself_is_refused(program, launcher):
    with pytest.raises(Unusable) as e:
        asked(program=program, nproc_per_node=4)
    line = " ".join(w for w in program if w != "--")
    assert str(e.value) == (
        f"got {launcher}, which starts ranks, under --world-size, want it without: memshim run --on t4 --count 4 -- "
        f"{line}"
    )


@pytest.mark.parametrize("threads", [None, "3"])
def test_the_variables_of_a_rank_are_torchruns(monkeypatch, tmp_path, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if threads:
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
    found = Wanted(8, 2).variables(5, "train.py -x", tmp_path)
    said = {"rank": 5, "world_size": 8, "folder": str(tmp_path), "program": "train.py -x"}
    assert json.loads(found.pop(absent.VARIABLE)) == said
    assert found == {
        "RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "2",
        "GROUP_WORLD_SIZE": "4", "NODE_RANK": "2", "ROLE_RANK": "5", "ROLE_WORLD_SIZE": "8", "ROLE_NAME": "default",
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "OMP_NUM_THREADS": threads or "1",
        "TORCHELASTIC_RUN_ID": "memshim", "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_USE_AGENT_STORE": "False", "TORCH_NCCL_ENABLE_MONITORING": "0",
    }  # fmt: skip


PROGRAM = SimpleNamespace(
    words=["python", "train.py"], line="train.py", on=["t4"], said=["--", "train.py"], steps=3, record="a.rec",
    environment=lambda own: {"OWN": own.name, "SLURM_PROCID": "3", "OMPI_COMM_WORLD_RANK": "1", "MY_SLURM_": "kept"},
)  # fmt: skip


@pytest.fixture
def world(monkeypatch):
    """Ranks that run at once as they are asked; differ is what the first of them says."""
    w = SimpleNamespace(ran=[], said=[], differ=[], data=[b"data"], then=lambda folder, rank, beside: None, together=[])

    def run(program, words, environ, own, beside):
        rank = int(environ["RANK"])
        w.ran.append(rank)
        w.environ = environ
        assert (words, own.is_dir(), own.name, environ["OWN"]) == (PROGRAM.words, True, str(rank), str(rank))
        w.then(own.parent, rank, beside)
        return {"of": rank}, w.data

    def together(run, numbers, jobs, folder):
        w.together.append((numbers, jobs, folder.is_dir()))
        return {n: run(n) for n in reversed(numbers)}

    monkeypatch.setattr(ranks, "with_ends", run)
    monkeypatch.setattr(ranks, "side_by_side", together)
    monkeypatch.setattr(ranks, "row", lambda rank, found: {"rank": rank, "differ": w.differ, **found})
    monkeypatch.setattr(ranks, "summary", lambda program, wanted, rows, missing: (rows, missing))
    w.run = lambda *wanted: ranks.run_ranks(PROGRAM, Wanted(*wanted), w.said.append)
    return w


STAGES, ZERO = {"why": "pipeline stage", "ranks": [0, 4]}, {"why": "ZeRO", "ranks": [0, 7]}


@pytest.mark.parametrize(
    "named, ran, missing",
    [
        ("", [0, 4, 7], []),
        ("3,1", [1, 3], [STAGES, ZERO]),
        ("stages", [0, 4], [{"why": "ZeRO", "ranks": [7]}]),
        ("stages,5", [5, 0, 4], [{"why": "ZeRO", "ranks": [7]}]),
    ],
)
def test_the_ranks_that_are_named_run_or_those_that_differ(world, named, ran, missing):
    world.differ = [STAGES, ZERO]
    (rows, left), recordings = world.run(8, 8, named)
    assert (world.ran, left) == (ran, missing)
    assert [r["of"] for r in rows] == sorted(ran) == list(recordings)
    later = [f"rank {rank} of 8 ({i} of {len(ran)})" for i, rank in enumerate(ran[1:], 2)]
    assert world.said == [f"rank {ran[0]} of 8", *later]
    assert world.together == []


def test_which_ranks_differ():
    """Stages in order; of a long group the first ones and the last; stages alone where only they are
    wanted."""
    stages = {"why": places.STAGE, "ranks": [0, 8, 16]}
    many = {"why": places.ZERO, "ranks": list(range(64))}
    assert ranks.of_interest([0], [stages], False) == [0, 8, 16]
    assert ranks.of_interest([0], [many], False) == [*range(15), 63]
    assert ranks.of_interest([0], [many, stages], True) == [0, 8, 16]
    assert ranks.missing([many], dict.fromkeys([*range(15), 63])) == [
        {"why": places.ZERO, "ranks": list(range(15, 63))}
    ]


def test_ranks_after_the_first_run_side_by_side(world):
    world.differ = [STAGES, ZERO]
    (rows, _), recordings = world.run(8, 8, "", 2)
    assert world.together == [([4, 7], 2, True)] and [r["of"] for r in rows] == [0, 4, 7] == list(recordings)
    assert world.said == ["rank 0 of 8", "ranks 4, 7 of 8, 2 at once"]
    world.differ = []
    world.run(8, 8, "", 2)
    assert len(world.together) == 1, "there is one"


def test_a_rank_without_a_recording_has_none(world):
    world.data = []
    assert world.run(2, 2, "all")[1] == {}


def test_a_rank_has_nothing_of_a_scheduler(world):
    world.run(2, 2, "1")
    environ = world.environ
    assert {n: v for n, v in environ.items() if n in ("OWN", "MY_SLURM_", "RANK", "WORLD_SIZE")} == {
        "OWN": "1", "MY_SLURM_": "kept", "RANK": "1", "WORLD_SIZE": "2",
    }  # fmt: skip
    assert not {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK"} & set(environ)


@pytest.mark.parametrize("first, sent", [("0", []), ("1", ["a.sent", "first"])])
def test_what_a_rank_sends_with_other_values_is_for_no_other(world, first, sent):
    """Its run with others finds what other ranks have sent, and of the first rank that it is the first unless it is
    itself."""
    found = []

    def then(folder, rank, beside):
        for name in ("x.0.pickle", "x.1.pickle", "a.sent"):
            (folder / name).write_text(name)
        (folder / absent.FIRST).write_text(first)
        aside = folder / "0.most"
        variables = beside("most")
        found.append((variables, sorted(os.listdir(aside))))
        assert variables == Wanted(2, 2, "0").variables(0, "train.py", aside)

    world.then = then
    world.run(2, 2, "0")
    ((_, names),) = found
    assert names == sorted(["x.1.pickle", *sent])


def test_a_program_that_starts_ranks_itself_is_run_without(world):
    world.then = lambda folder, rank, beside: (folder / ranks.FOUND).write_text("torchrun")
    with pytest.raises(Unusable) as e:
        world.run(4, 2)
    assert str(e.value) == (
        "got torchrun, which starts ranks, under --world-size, want it without: memshim run --on t4 --count 2 -- "
        "train.py"
    )


def row(rank=0, **change):
    plain = {"fits": True, "quality": "exact", "out_of_memory": "", "reserved": 5, "total": 7, "exit": 0}
    return {"rank": rank, "undecided": False} | plain | change


@pytest.mark.parametrize(
    "rows, code",
    [
        ([], 0),
        ([row()], 0),
        ([row(), row(exit=3, fits=False), row(exit=4)], 3),
        ([row(undecided=True), row(fits=False)], 1),
        ([row(), row(undecided=True, fits=None)], 3),
        ([row(fits=None)], 0),
    ],
)
def test_the_exit_code_is_of_the_worst_rank(rows, code):
    assert ranks.exit_code(iter(rows)) == code


@pytest.mark.parametrize(
    "rows, missing, worst, fits, quality",
    [
        ([row(0), row(1)], [], 0, True, "exact"),
        ([row(0), row(1, total=8)], [], 1, True, "exact"),
        ([row(0, total=9), row(1, reserved=6)], [], 1, True, "exact"),
        ([row(0, reserved=9), row(1, out_of_memory="CUDA", fits=False)], [], 1, False, "exact"),
        ([row(0, fits=None), row(1, quality="bound")], [], 0, None, "bound"),
        (
            [row(0, fits=None), row(1, fits=False, quality="estimate"), row(2, quality="bound")],
            [],
            0,
            False,
            "estimate",
        ),
        ([row(0, quality="bound")], [{"why": "experts", "ranks": [3]}], 0, True, "estimate"),
    ],
)
def test_the_summary_is_of_the_worst_rank(rows, missing, worst, fits, quality):
    assert ranks.summary(PROGRAM, Wanted(8, 4), rows, missing) == {
        "schema": ranks.ranks_report.SCHEMA, "where": "pretend", "on": ["t4"], "program": ["--", "train.py"],
        "world_size": 8, "nproc_per_node": 4, "steps": 3, "ranks": rows, "worst": worst, "not_run": missing,
        "fits": fits, "quality": quality, "exit": ranks.exit_code(rows),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["out.rec", "out"])
def test_each_rank_has_its_own_recording(tmp_path, name):
    files = [str(tmp_path / f"out.rank{rank}.rec") for rank in (0, 12)]
    assert ranks.keep({0: b"zero", 12: b"twelve"}, str(tmp_path / name)) == files
    assert [open(f, "rb").read() for f in files] == [b"zero", b"twelve"]


@pytest.fixture
def command(monkeypatch):
    """The command with what its ranks came to, and the pages that it wrote."""
    w = SimpleNamespace(found={"exit": 3}, recordings={0: b"zero", 4: b"four"}, error=None, pages=[])

    def run(program, wanted, announce):
        announce(f"rank 0 of {wanted.world_size}")
        if w.error:
            raise w.error
        return w.found, w.recordings

    monkeypatch.setattr(ranks, "run_ranks", run)
    monkeypatch.setattr(ranks.ranks_report, "text", lambda found: f"ended with {found['exit']}")
    monkeypatch.setattr(ranks.page, "write", lambda named, to, record: w.pages.append((named, to, record)) or to)
    return w


BEGUN = "memshim: rank 0 of 8\n"


def test_what_ranks_printed_comes_before_the_report(command, monkeypatch):
    order = []
    monkeypatch.setattr(ranks.ranks_report, "text", lambda found: order.append("report") or "")
    with monkeypatch.context() as stream:
        stream.setattr(sys, "stdout", SimpleNamespace(flush=lambda: order.append("printed")))
        ranks.main(PROGRAM, Wanted(8, 8), None)
    assert order == ["printed", "report"]


def test_what_the_command_writes(command, tmp_path, capsys):
    to, record = tmp_path / "o.json", str(tmp_path / "o.rec")
    assert ranks.main(PROGRAM, Wanted(8, 8), str(to), record, "o.html") == 3
    assert to.read_text() == json.dumps(command.found, indent=2) + "\n"
    assert sorted(os.listdir(tmp_path)) == ["o.json", "o.rank0.rec", "o.rank4.rec"]
    assert command.pages == [({"rank 0": b"zero", "rank 4": b"four"}, "o.html", "a.rec")]
    lines = [f"  recording        {tmp_path}/o.rank{rank}.rec" for rank in (0, 4)]
    said = "\n".join(["ended with 3", *lines, "  page             o.html", ""])
    assert capsys.readouterr() == ("", BEGUN + said)


def test_a_command_that_is_asked_for_no_file_writes_none(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert ranks.main(PROGRAM, Wanted(8, 8), None) == 3
    assert (os.listdir(tmp_path), command.pages) == ([], [])
    assert capsys.readouterr() == ("", f"{BEGUN}ended with 3\n")


@pytest.mark.parametrize("error", [Unusable("got torchrun"), OSError("no space")])
def test_ranks_that_cannot_be_run_are_wrong_usage(command, capsys, error):
    command.error = error
    assert ranks.main(PROGRAM, Wanted(8, 8), None) == 2
    assert capsys.readouterr() == ("", f"{BEGUN}memshim run: {error}\n")


@pytest.mark.parametrize("ended, code", [(0, 2), (3, 3)])
def test_a_file_that_cannot_be_written_is_an_error_of_a_command_that_has_none(command, tmp_path, capsys, ended, code):
    command.found = {"exit": ended}
    (tmp_path / "file").touch()
    to = str(tmp_path / "file" / "o.json")
    assert ranks.main(PROGRAM, Wanted(8, 8), to) == code
    assert f"\nmemshim run: [Errno 17] File exists: '{to}'\n" in capsys.readouterr().err


class Forks:
    """Processes that run their rank as they are waited for and leave its answer; a lost one leaves none."""

    def __init__(self, monkeypatch, folder, lost=()):
        self.most, self.running, self.begun, self.folder, self.lost = 0, {}, [], folder, lost
        monkeypatch.setattr(ranks, "time", SimpleNamespace(sleep=self.sleep))
        monkeypatch.setattr(ranks.os, "fork", self.fork)
        monkeypatch.setattr(ranks.os, "waitpid", self.waitpid)
        self.slept = []

    def fork(self):
        pid = 100 + len(self.begun)
        self.begun.append(pid)
        self.running[pid] = 2  # it has ended when it is waited for a second time
        self.most = max(self.most, len(self.running))
        return pid

    def waitpid(self, pid, options):
        assert options == os.WNOHANG
        self.running[pid] -= 1
        if self.running[pid]:
            return 0, 0
        del self.running[pid]
        rank = pid - 100 + 1
        if rank not in self.lost:
            (self.folder / f"{rank}.done").write_bytes(pickle.dumps(({"of": rank}, b"data")))
        return pid, 0

    def sleep(self, seconds):
        self.slept.append(seconds)


@pytest.mark.parametrize("jobs, most, rounds", [(1, 1, 6), (2, 2, 4), (3, 3, 2), (9, 3, 2)])
def test_so_many_ranks_run_side_by_side(monkeypatch, tmp_path, jobs, most, rounds):
    forks = Forks(monkeypatch, tmp_path)
    found = ranks.side_by_side(None, [1, 2, 3], jobs, tmp_path)
    assert found == {rank: ({"of": rank}, b"data") for rank in (1, 2, 3)}
    assert (len(forks.begun), forks.most, forks.slept) == (3, most, [0.02] * rounds)


def test_a_rank_that_leaves_no_answer_is_named(monkeypatch, tmp_path):
    Forks(monkeypatch, tmp_path, lost=(2, 3))
    with pytest.raises(RuntimeError, match="^got no answer of rank 2$"):
        ranks.side_by_side(None, [1, 2, 3], 2, tmp_path)


class Exited(BaseException):
    """In the place of the end of a process."""


@pytest.mark.parametrize("error", [None, KeyboardInterrupt("no"), ValueError("no")])
def test_a_fork_leaves_the_answer_of_its_rank_and_ends(monkeypatch, tmp_path, error):
    """With 0, whatever becomes of it; and with its parent. What it printed is not lost."""
    parents, flushed = [], []

    class Stream(io.StringIO):
        def flush(self):
            flushed.append(self)

    def run(rank):
        if error:
            raise error
        return {"of": rank}, b"data"

    def leave(code):
        raise Exited(code)

    monkeypatch.setattr(ranks.os, "fork", lambda: 0)
    monkeypatch.setattr(ranks.os, "_exit", leave)
    monkeypatch.setattr(ranks.launch, "end_with_parent", parents.append)
    out, err = Stream(), Stream()
    with monkeypatch.context() as streams, pytest.raises(Exited) as e:
        streams.setattr(sys, "stdout", out)
        streams.setattr(sys, "stderr", err)
        ranks.side_by_side(run, [3], 1, tmp_path)
    assert (e.value.args, parents, flushed) == ((0,), [os.getpid()], [out, err])
    said = err.getvalue()
    if error:
        assert said.endswith(f"{type(error).__name__}: no\n") and not os.listdir(tmp_path)
    else:
        assert (said, pickle.loads((tmp_path / "3.done").read_bytes())) == ("", ({"of": 3}, b"data"))
