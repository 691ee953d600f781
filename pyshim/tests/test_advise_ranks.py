"""Advice of several GPUs: how the one rank that runs is judged."""

import pytest

from memshim.judge import advise


@pytest.mark.parametrize(
    "notes, reserved, metric, kept",
    [
        ([], 80, "reserved", "yes"),
        ([], 120, "reserved", "no"),
        ([], 80, "total", "undecided"),
        (["value-read"], 80, "reserved", "undecided"),
        (["timing-decides"], 80, "reserved", "undecided"),
        (["workspace-unknown"], 80, "reserved", "undecided"),
        (["workspace-unknown"], 120, "reserved", "no"),
    ],
)
def test_one_rank_of_several_is_judged_by_its_own_peaks(notes, reserved, metric, kept):
    header = {"phases": [{"allocated": 1, "reserved": reserved}], "oom": None, "notes": [{"id": n} for n in notes]}
    case = {"budgets": [{"metric": metric, "limit": 100}], "device": {"memory": 0, "context": 0}}
    assert advise._of_rank((), advise.NOTHING._replace(header=header), case).kept == kept
