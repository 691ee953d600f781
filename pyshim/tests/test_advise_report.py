"""What memshim advise found, as text and as JSON."""

import re
import types

import pytest

from memshim.judge import advise_report
from memshim.judge.remedies import Remedy

MIB = 1 << 20
HALF = Remedy("16-bit", "autocast", ("autocast: float16",), "with autocast:\n    loss")
CARD = Remedy("device", "on l4", ("device: l4",), "", gpus=2)


def trial(allocated, kept="yes", remedies=(HALF,), more=(0, 0), work=(), ran_out=False):
    """Of so many MiB; more and work: beside the case as it is."""
    return types.SimpleNamespace(
        what=" + ".join(r.what for r in remedies), lines=[line for r in remedies for line in r.lines],
        remedies=list(remedies), allocated=allocated * MIB, reserved=2 * allocated * MIB, kept=kept, ran_out=ran_out,
        load=allocated, why="it failed", more=lambda base: more, work=lambda base: dict(work),
    )  # fmt: skip


def advice(*single, together=(), failed=(), base=None, budgets=({"metric": "allocated", "text": "1GiB", "limit": 0},)):
    case = {"name": "net", "device": {"name": "t4"}, "budgets": budgets}
    return types.SimpleNamespace(
        case=case, base=base or trial(8, "no"), single=list(single), together=list(together), failed=list(failed),
        runs=3, absent="",
    )  # fmt: skip


def lines(*single, **more):
    return advise_report.text(advice(*single, **more)).splitlines()


@pytest.mark.parametrize(
    "budgets, kept, said",
    [
        ((), "no", "the card is not kept"),
        ((), "yes", "the card is kept"),
        ((), "undecided", "whether the card is kept is not known"),
        (({"metric": "reserved", "text": "", "limit": MIB},), "no", "the budget reserved 1.0 MiB is not kept"),
        (
            ({"metric": "a", "text": "1GiB", "limit": 1}, {"metric": "b", "text": "2GiB", "limit": 2}),
            "undecided",
            "whether the budget a 1GiB, b 2GiB is kept is not known",
        ),
    ],
)
def test_the_first_line_is_the_case_as_it_is(budgets, kept, said):
    assert lines(budgets=budgets, base=trial(8, kept)) == [
        f"net on t4: allocated 8.0 MiB, reserved 16.0 MiB; {said}",
        "  nothing could be tried",
    ]
    out = trial(8, kept, ran_out=True)
    assert lines(budgets=budgets, base=out)[0].startswith("net on t4: runs out of memory at allocated 8.0 MiB, ")


def test_changes_are_a_row_each_and_what_to_write_stands_below():
    found = lines(
        trial(6, "no", ran_out=True),
        trial(4, more=(2, MIB)),
        together=[trial(3, remedies=(HALF, CARD), more=None)],
        failed=[trial(0)],
    )
    cells = [re.split("  +", line.strip()) for line in found]
    assert cells[1:5] == [
        ["kept", "allocated", "saved", "reserved", "saved", "more per step", "change"],
        ["yes", "4.0 MiB", "4.0 MiB", "8.0 MiB", "8.0 MiB", "+2 blocks, +1.0 MiB", "autocast"],
        ["ran out", "6.0 MiB", "2.0 MiB", "12.0 MiB", "4.0 MiB", "the same", "autocast"],
        ["yes", "3.0 MiB", "5.0 MiB", "6.0 MiB", "10.0 MiB", "not known", "autocast + on l4"],
    ]
    assert found[5:] == [
        "  3 changes were run on a pretend GPU. What to write:",
        "    autocast",
        "      memspec.yaml  autocast: float16",
        "      program       with autocast:",
        "      program           loss",
        "    on l4",
        "      memspec.yaml  device: l4",
        "  The recordings of these runs stay in .memspec/; memspec prune removes those of no case.",
        "  failed: autocast: it failed",
    ]
    assert found[1].index("kept") == found[2].index("yes") == 2, "words stand to the left"
    assert found[1].index("allocated") + 9 == found[2].index("4.0 MiB") + 7, "and sizes to the right"


@pytest.mark.parametrize(
    "more, work, paid",
    [
        ((0, 0), {}, "the same"),
        ((-2, -MIB), {"operators": 24}, "+24 operators, -2 blocks, -1.0 MiB"),
        ((0, 512), {}, "+0 blocks, +512 B"),
        ((3, 0), {}, "+3 blocks, +0 B"),
        ((0, 0), {"operators": -1, "copied": -MIB}, "-1 operators, -1.0 MiB copied"),
        ((0, 0), {"collectives": 2, "communicated": MIB}, "+2 collectives of 1.0 MiB"),
    ],
)
def test_what_a_step_does_more(more, work, paid):
    assert advise_report._paid(trial(8), trial(4, more=more, work=work)) == paid


def test_what_saves_nothing():
    assert re.split("  +", lines(trial(8))[2].strip())[1:5] == ["8.0 MiB", "0", "16.0 MiB", "0"]
    assert (advise_report._signed(0), advise_report._signed(-MIB)) == ("0", "-1.0 MiB")


def test_a_package_that_is_not_installed_is_said_last():
    found = advice()
    found.absent = "AdamW of 8 bits was not tried"
    assert advise_report.text(found).splitlines()[-1] == "  AdamW of 8 bits was not tried"


def test_the_same_as_json():
    found = advise_report.as_json(
        advice(trial(4, more=(2, MIB), work={"operators": 3}), together=[trial(3, remedies=(HALF, CARD), more=None)],
               failed=[trial(0)])
    )  # fmt: skip
    assert {k: found[k] for k in ("schema", "case", "device", "runs", "not_installed")} == {
        "schema": 1, "case": "net", "device": "t4", "runs": 3, "not_installed": "",
    }  # fmt: skip
    assert found["base"] == {"allocated": 8 * MIB, "reserved": 16 * MIB, "kept": "no", "ran_out": False}
    assert found["advice"] == [
        {
            "what": "autocast", "kinds": ["16-bit"], "lines": ["autocast: float16"], "code": [HALF.code],
            "allocated": 4 * MIB, "reserved": 8 * MIB, "kept": "yes", "ran_out": False,
            "saved": {"allocated": 4 * MIB, "reserved": 8 * MIB}, "gpus": 1,
            "paid": {"blocks": 2, "bytes": MIB, "operators": 3},
        }
    ]  # fmt: skip
    (both,) = found["together"]
    assert (both["kinds"], both["gpus"], both["paid"]) == (["16-bit", "device"], 2, None)
    assert found["failed"] == [{"what": "autocast", "lines": ["autocast: float16"], "why": "it failed"}]
