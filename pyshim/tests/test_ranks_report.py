"""The report of single ranks for people (memshim.program.ranks_report)."""

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
