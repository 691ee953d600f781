"""The report of single ranks for people (memshim.program.ranks_report)."""

import re

import pytest

from memshim.program import ranks as ranks_of
from memshim.program import ranks_report


def row(rank, **more):
    took = {"allocated": 1 << 20, "reserved": 2 << 20, "total_range": {"low": 3 << 20, "high": 3 << 20}}
    own = {"place": [], "stages": [], "differ": [], "phases": [], "first": None, "later": None, "exit": 0, "fits": True}
    return {"rank": rank, "out_of_memory": "", "quality": "exact", "processes": [], **took, **own, **more}


def said(*rows):
    found = {"world_size": 8, "nproc_per_node": 4, "program": ["train.py"], "worst": 0, "not_run": []}
    return ranks_report.text(found | {"ranks": list(rows)}).splitlines()


def test_a_rank_that_failed_is_named_last():
    """Beside ranks that came to their end; one whose memory did not suffice has its figures."""
    lines = said(row(0), row(3, exit=5, fits=None), row(4, exit=1, fits=False, out_of_memory="CUDA out of memory."))
    assert lines[-1] == "memshim: undecided: rank 3 ended with 5: its figures are of a part of its run"
    assert [line.split()[-1] for line in lines[2:5]] == ["MiB", "5", "fit"]
    assert not any("undecided" in line for line in said(row(0)))


def test_phases_that_did_not_run():
    lines = said(row(0, phases=["forward", "backward", "optimizer", "checkpoint"]))
    assert lines[-2:] == [
        "  phases seen      forward, backward, optimizer, checkpoint",
        "  not seen         evaluation, gathering of state dicts: what they take is no part of the figures",
    ]


def of_interest(ranks, *groups, stages=False):
    return ranks_of.of_interest(ranks, [{"why": w, "ranks": r} for w, r in groups], stages)


def test_the_ranks_to_run_are_those_that_differ(monkeypatch):
    experts, stage = ("experts", [0, 3, 5]), ("pipeline stage", [0, 8])
    assert of_interest([0], experts, stage) == [0, 3, 5, 8]
    assert of_interest([0], experts, stage, stages=True) == [0, 8]
    monkeypatch.setattr(ranks_of, "MOST", 4)
    assert of_interest([0], ("experts", [0, 3, 5, 7])) == [0, 3, 5, 7]
    assert of_interest([0], ("experts", [0, 3, 5, 7, 9])) == [0, 3, 5, 9], "the last of more than can run"
    assert of_interest([0], ("experts", [0, 3, 5, 7]), stage) == [0, 3, 5, 7]
    assert of_interest([0], ("experts", [0, 3, 5]), ("zero", [0, 4, 6])) == [0, 3, 5, 6]


def test_the_ranks_that_differ_and_did_not_run():
    differ = [{"why": "experts", "ranks": [0, 3]}, {"why": "stage", "ranks": [0, 1]}]
    assert ranks_of.missing(differ, {0: {}, 1: {}}) == [{"why": "experts", "ranks": [3]}]


def process(reserved, **more):
    device = {"reserved": reserved, "allocated": 1, "total": 2, "memory": 3, "context": 4, **more}
    return {"devices": [device], "phases": [f"phase of {reserved}"]}


def test_a_rank_is_the_process_that_took_most():
    steps = [{"allocated": 5, "reserved": 9}, {"allocated": 4, "reserved": 8, "compiled": True}]
    steps += [{"allocated": 3, "reserved": 2}, {"allocated": 1, "reserved": 7}]
    ended = {"exit": 0, "fits": True, "quality": "exact", "out_of_memory": ""}
    found = {"processes": [process(1), process(8, iterations=steps) | {"rank": {"stages": [2]}}], **ended}
    row = ranks_of.row(3, found)
    assert (row["rank"], row["reserved"], row["phases"], row["stages"]) == (3, 8, ["phase of 8"], [2])
    assert row["first"] == {"allocated": 5, "reserved": 9}, "up to the last that compiled"
    assert row["later"] == {"allocated": 3, "reserved": 7}
    assert "ends" not in row
    plain = ranks_of.row(0, {"processes": [process(8, iterations=steps[2:])], "ends": [1], **ended})
    assert (plain["first"], plain["later"], plain["ends"]) == (steps[2], steps[3], [1])


def test_a_rank_that_took_nothing():
    row = ranks_of.row(1, {"processes": [], "exit": 1, "fits": None, "quality": "none", "out_of_memory": ""})
    nothing = {n: 0 for n in ("allocated", "reserved", "total", "memory", "context")}
    unsaid = {n: [] for n in ("place", "stages", "differ", "phases", "processes")}
    assert row == nothing | unsaid | {
        "rank": 1, "first": None, "later": None, "total_range": {"low": 0, "high": 0}, "exit": 1, "fits": None,
        "quality": "none", "out_of_memory": "", "undecided": False,
    }  # fmt: skip


def test_ranks_are_a_row_each():
    place = [{"name": "dp", "index": 1, "size": 2}, {"name": "tp", "index": 0, "size": 1}]
    steps, total = {"allocated": 4 << 20, "reserved": 4 << 20}, {"low": 3 << 20, "high": 5 << 20}
    rows = [row(0, first=steps, place=place, stages=[2]), row(12, stages=[0, 1], total_range=total, fits=None)]
    lines = ranks_report.table(rows)
    assert [re.split("  +", line.strip()) for line in lines] == [
        ["rank", "place", "first step", "later steps", "allocated", "reserved", "total"],
        ["0", "dp 1 of 2, stage 2", "4.0 MiB", "1.0 MiB", "2.0 MiB", "3.0 MiB"],
        ["12", "stages 0 and 1", "1.0 MiB", "2.0 MiB", "3.0 MiB to 5.0 MiB", "undecided"],
    ]
    assert [line.index(word) for line, word in zip(lines, ("place", "dp", "stages"))] == [6, 6, 6], "to the left"
    assert [line.rindex(word) + 3 for line, word in zip(lines[1:], ("MiB", "MiB"))] == [len(lines[0])] * 2, "right"


@pytest.mark.parametrize(
    "more, verdict",
    [
        ({}, ""),
        ({"fits": None}, "undecided"),
        ({"exit": 3, "fits": None}, "ended with 3"),
        ({"exit": 1, "out_of_memory": "CUDA out of memory."}, "does not fit"),
    ],
)
def test_what_became_of_a_rank(more, verdict):
    assert ranks_report.verdict(row(0, **more)) == verdict
