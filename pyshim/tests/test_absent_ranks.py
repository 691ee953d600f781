"""A rank whose partners are absent, by the files that it leaves and the processes that it starts."""

import json
import os
import subprocess
import sys
import types

import pytest

pytest.importorskip("torch")
from memshim.pretend import absent
from memshim.pretend.absent import Rank, launchers, store


@pytest.fixture
def rank(tmp_path):
    return Rank(1, 4, str(tmp_path), "train.py --epochs 2")


def test_the_environment_says_which_rank_runs(monkeypatch, rank):
    monkeypatch.delenv("MEMSPEC_RANK", raising=False)
    assert absent.current() is None
    absent.watch()
    monkeypatch.setenv("MEMSPEC_RANK", json.dumps(rank._asdict()))
    assert absent.current() == rank


def test_the_first_rank_of_a_folder_stays_the_first(rank):
    assert absent.is_first(rank)
    assert not absent.is_first(rank._replace(rank=0)) and not absent.is_first(rank._replace(rank=12))
    assert absent.is_first(rank)


def test_a_journal_has_what_other_ranks_left(tmp_path):
    for number, entries in ((10, "ab"), (2, "c"), (1, "d")):
        journal = store.Journal(str(tmp_path), "store", number)
        for e in entries:
            journal.add(e)
    store.Journal(str(tmp_path), "objects", 3).add("another kind")
    assert list(store.Journal(str(tmp_path), "store", 1).earlier()) == [(2, ["c"]), (10, ["a", "b"])]


def test_an_entry_that_is_being_written_is_not_read(tmp_path):
    store.Journal(str(tmp_path), "store", 2).add("whole")
    with open(tmp_path / "store.2.pickle", "ab") as f:
        f.write(b"\x80\x04")
    assert list(store.Journal(str(tmp_path), "store", 1).earlier()) == [(2, ["whole"])]


@pytest.fixture
def spawn(monkeypatch, rank):
    """torch.multiprocessing.spawn, which starts nothing."""
    module = types.SimpleNamespace(start_processes=lambda *a, **k: (a, k))
    package = types.SimpleNamespace(start_processes=None)
    monkeypatch.setitem(sys.modules, "torch.multiprocessing.spawn", module)
    monkeypatch.setitem(sys.modules, "torch.multiprocessing", package)
    monkeypatch.setattr(launchers, "once_imported", lambda name, act: act() if name.endswith("spawn") else None)
    launchers.refuse(rank)
    assert package.start_processes is module.start_processes
    return module.start_processes


def test_one_process_may_be_spawned(spawn, rank, tmp_path):
    assert spawn(print, (1,), 1, True, daemon=True) == ((print, (1,), 1, True), {"daemon": True})
    assert spawn(print) == ((print, (), 1), {})
    assert not (tmp_path / launchers.FOUND).exists()


def test_several_processes_are_refused_with_the_command_that_runs_them(spawn, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    with pytest.raises(launchers.LauncherInside, match="memshim run --on DEVICE --count 2 -- train.py --epochs 2$"):
        spawn(print, nprocs=2)
    assert (tmp_path / launchers.FOUND).read_text() == "torch.multiprocessing.spawn"


def test_without_a_number_of_the_node_there_is_one(monkeypatch, rank):
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    assert "--count 1 --" in launchers.instead(rank)


@pytest.fixture
def met(monkeypatch):
    """Calls of the function by which ranks meet."""
    calls = []
    module = types.SimpleNamespace(_create_c10d_store=lambda *a, **k: calls.append(a) or "store")
    monkeypatch.setitem(sys.modules, "torch.distributed.rendezvous", module)
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    monkeypatch.setattr(launchers, "children", list)
    return module, calls


def test_a_rank_that_would_wait_for_ever_ends(met):
    launchers.refuse_waiting(os.getppid())
    with pytest.raises(launchers.Alone, match="got rank 3 of 8, .* memshim run --world-size 8 -- …"):
        met[0]._create_c10d_store("host", 1, 3, 8)
    assert met[0]._create_c10d_store("host", 1, 0, 1, None) == "store" and met[1] == [("host", 1, 0, 1, None)]


def test_ranks_that_are_started_are_waited_for(met, monkeypatch):
    launchers.refuse_waiting(os.getppid())
    monkeypatch.setattr(launchers, "children", lambda: ["7"])
    assert met[0]._create_c10d_store("host", 1, 0, 8) == "store"


def test_a_launchers_ranks_wait(met, monkeypatch):
    original = met[0]._create_c10d_store
    launchers.refuse_waiting(os.getppid() + 1)  # a process that the program started
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    launchers.refuse_waiting(os.getppid())
    assert met[0]._create_c10d_store is original


def test_the_processes_that_this_one_started():
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert str(child.pid) in launchers.children()
    finally:
        child.kill()
        child.wait()
    assert str(child.pid) not in launchers.children()
