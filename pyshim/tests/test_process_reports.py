"""What processes left: their reports, and the library's figures of those that ended without one."""

import json
import os
import subprocess

import pytest

from memshim.pretend import device
from memshim.program import process_reports
from memshim.program.process_reports import GPU, GPUS, HEAD, MARK

MIB = 1 << 20
RUNNING, EXITED, EXITED_AT_ONCE = 0, 1, 2
CARD = (b"Tesla T4", 0, 100 * MIB, 10 * MIB, 20 * MIB, 40 * MIB, 7 * MIB, 8 * MIB, 0, 0)


def figures(folder, pid, number=0, end=EXITED, status=0, pinned=5, command=b"python\0train.py\0-x", cards=()):
    rows = [GPU.pack(*c) for c in cards] + [bytes(GPU.size)] * (GPUS - len(cards))
    head = HEAD.pack(MARK, pid, end, status, 0, pinned, command)
    path = folder / f"{pid}.{number}.figures"
    path.write_bytes(head + b"".join(rows))
    return path


def left(folder, pid, of="", **more):
    report = process_reports._empty(pid, ["train.py"]) | {"figures": of, "torch": "2.15"} | more
    (folder / f"{pid}.json").write_text(json.dumps(report))


def test_figures_are_read_once_they_are_whole(tmp_path):
    other = (b"L4\0rest", 3, MIB, 1, 2, 3, 4, 5, 6, 7)
    path = figures(
        tmp_path, 12, end=EXITED_AT_ONCE, status=3, cards=[CARD, (b"unused", 1, 0, 0, 0, 0, 0, 0, 0, 0), other]
    )
    found = process_reports.read_figures(path)
    assert found[:5] == (12, EXITED_AT_ONCE, 3, 5, ["python", "train.py", "-x"])
    assert [c.name for c in found.cards] == ["Tesla T4", "L4"]
    assert found.cards[1][1:] == (3, MIB, 1, 2, 3, 4, 5, 6, 7)
    data = path.read_bytes()
    for wrong in (data[:-1], b"memspec2" + data[8:], b""):
        path.write_bytes(wrong)
        assert process_reports.read_figures(path) is None


def test_a_process_that_ended_does_not_run():
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert process_reports.running(child.pid) is True
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert process_reports.running(child.pid) is False, "nobody asked for it yet"
    finally:
        child.wait()
    assert process_reports.running(child.pid) is False


@pytest.mark.parametrize(
    "end, code, status, said",
    [
        (RUNNING, 0, -9, ("SIGKILL", 137)),
        (EXITED, 0, -15, ("SIGTERM", 143)),
        (RUNNING, 0, -99, ("signal 99", 227)),
        (EXITED_AT_ONCE, 259, None, ("os._exit", 3)),
        (EXITED, 257, 1, ("exit", 1)),
        (RUNNING, 0, 4, ("exit", 4)),
        (RUNNING, 0, 0, ("exit", 0)),
    ],
)
def test_how_a_process_ended(end, code, status, said):
    assert process_reports.how(process_reports.Figures(1, end, code, 0, [], []), status) == said


@pytest.mark.parametrize("runs, said", [(True, ("", None)), (False, ("a signal", None))])
def test_a_process_that_nobody_waited_for(monkeypatch, runs, said):
    monkeypatch.setattr(process_reports, "running", lambda pid: runs)
    assert process_reports.how(process_reports.Figures(1, RUNNING, 0, 0, [], []), None) == said


def read(folder, pid=1, **statuses):
    return process_reports.read(folder, pid, {int(n[1:]): s for n, s in statuses.items()})


def shown(reports, *names):
    return [tuple(p[n] for n in ("pid", "ended", "code", "failed", *names)) for p in reports]


def test_the_programs_own_process_comes_first(tmp_path):
    for pid in (30, 4, 7):
        figures(tmp_path, pid)
        left(tmp_path, pid, f"{pid}.0.figures")
    assert shown(read(tmp_path, 7, p7=0), "torch", "host_pinned") == [
        (7, "", 0, False, "2.15", 5),
        (4, "", 0, False, "2.15", 5),
        (30, "", 0, False, "2.15", 5),
    ]
    assert all("figures" not in p for p in read(tmp_path))


def test_a_process_without_a_report_has_the_librarys_figures(tmp_path):
    figures(tmp_path, 1, status=3, cards=[CARD])
    (found,) = read(tmp_path)
    assert shown([found], "arguments", "exact") == [(1, "exit", 3, True, ["train.py", "-x"], False)]
    assert found["devices"] == [
        {
            "index": 0, "name": "Tesla T4", "memory": 100 * MIB, "context": 32 * MIB, "allocated": 7 * MIB,
            "reserved": 8 * MIB, "total": 40 * MIB, "managed": 0, "iterations": [], "ooms": 0, "lines": None,
            "table": "",
        }
    ]  # fmt: skip
    figures(tmp_path, 1, command=b"train")
    assert read(tmp_path)[0]["arguments"] == ["train"] and read(tmp_path)[0]["exact"] is True


@pytest.mark.parametrize("most, managed, is_there", [(10, 0, False), (11, 0, True), (10, 1, True)])
def test_a_card_on_which_nothing_but_a_context_lies_is_left_out(tmp_path, most, managed, is_there):
    card = (b"Tesla T4", 0, 100, 10, 10, most, 0, 0, 0, managed)
    figures(tmp_path, 1, cards=[card])
    assert bool(read(tmp_path)[0]["devices"]) is is_there


def test_what_the_library_knows_beside_a_report(tmp_path):
    figures(tmp_path, 1, cards=[CARD[:-1] + (3,), (b"L4", 1, 100, 10, 10, 50, 1, 2, 0, 0)])
    left(tmp_path, 1, "1.0.figures", devices=[{"index": 0, "name": "own", "managed": 0}])
    (found,) = read(tmp_path)
    assert [(d["index"], d["name"], d["managed"]) for d in found["devices"]] == [(0, "own", 3), (1, "L4", 0)]
    assert (found["exact"], found["host_pinned"]) == (False, 5)


def test_a_report_says_itself_how_its_process_ended(tmp_path):
    figures(tmp_path, 1)
    left(tmp_path, 1, "1.0.figures")
    assert shown(read(tmp_path, p1=1)) == [(1, "", 0, False)]
    assert shown(read(tmp_path, p1=-9)) == [(1, "SIGKILL", 137, True)]
    figures(tmp_path, 1, status=7)
    assert shown(read(tmp_path)) == [(1, "", 7, True)]


def test_a_process_of_which_nobody_knows_fails_where_it_used_a_device(tmp_path, monkeypatch):
    monkeypatch.setattr(process_reports, "running", lambda pid: True)
    figures(tmp_path, 1, end=RUNNING)
    assert shown(read(tmp_path)) == [(1, "still running", None, False)]
    figures(tmp_path, 1, end=RUNNING, cards=[CARD])
    assert shown(read(tmp_path)) == [(1, "still running", None, True)]


def test_a_program_that_another_took_the_place_of(tmp_path):
    figures(tmp_path, 1, 0, end=RUNNING)
    figures(tmp_path, 1, 1, status=2)
    figures(tmp_path, 1, 10, status=3)
    assert shown(read(tmp_path)) == [(1, "exec", 0, False), (1, "exit", 2, True), (1, "exit", 3, True)]


def test_a_process_that_used_no_device_has_its_report(tmp_path):
    left(tmp_path, 1)
    left(tmp_path, 2)
    assert shown(read(tmp_path, p2=3), "host_pinned") == [(1, "", None, False, None), (2, "", 3, True, None)]


def test_a_report_that_could_not_be_written(tmp_path):
    figures(tmp_path, 1)
    for pid in (1, 9):
        (tmp_path / f"{pid}.lost").touch()
    assert shown(read(tmp_path, p9=1), "exact") == [
        (1, "no report", 0, True, False),
        (9, "no report", 1, True, False),
    ]


def test_the_total_of_a_card_is_a_range():
    card = next(d for d in map(device.find, device.names()) if d.uncertain)
    other = device.find("t4")
    of = {"index": 0, "name": card.driver, "total": 100}
    nccl = {"nccl": {"low": 1, "high": 3}}

    def total(d, *cards):
        (report,) = process_reports.ranges([{"devices": [dict(d)]}], list(cards))
        return tuple(report["devices"][0]["total_range"].values())

    assert total(of, card) == (100, 100 + card.uncertain)
    assert total(of | nccl, card) == (101, 103 + card.uncertain)
    assert total(of, other) == (100, 100), "a card that is not known"
    assert total(of | {"index": 1}, card, other) == (100, 100 + card.uncertain), "it has another index there"
    same = card.__class__(**{**card.__dict__, "context_high": None})
    assert total(of | {"index": 1}, card, same) == (100, 100), "the card at that index, where it has the name"
