"""What a row of python -m truth ranks says of two runs. make truth-ranks makes the rows."""

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
if not (TOOLS / "truth").is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
sys.path[:0] = [str(TOOLS), str(TOOLS / "truth")]
from truth import truth_ranks as ranks  # noqa: E402

A, B = ("alloc", 512, 0, 0), ("alloc", 1024, 0, 1)
FREE_A, FREE_B = ("free_requested", 512, 0, 0), ("free_requested", 1024, 0, 1)


def ran(*events, peaks=(1536, 2 << 20), error=""):
    return {"error": error, "events": list(events), "peaks": peaks}


def never():
    raise AssertionError("processes run again only where the moments of frees differ")


def another():
    """In one order, too, they differ."""
    return [ran(A)], [ran(B)]


@pytest.mark.parametrize(
    "real, alone, again, said",
    [
        (ran(A, FREE_A), ran(A, FREE_A), never, "equal: 2 events"),
        (ran(A, FREE_A), ran(error="ValueError: bad"), never, "rank 0 alone failed: ValueError: bad"),
        (
            ran(A, B, FREE_A, FREE_B),
            ran(A, FREE_A, B, FREE_B),
            iter([[ran(A, B, FREE_A, FREE_B)]] * 3 + [[ran(A, B, FREE_B, FREE_A)]]).__next__,
            "equal: 4 events, except the moments of frees, in which real processes differ from each other too",
        ),
        (
            ran(A, B, FREE_A, FREE_B),
            ran(A, FREE_A, B, FREE_B),
            iter([[ran(A, B, FREE_A, FREE_B)], [ran(A, FREE_A, B, FREE_B)]]).__next__,
            "equal: 4 events, as in one of several runs of real processes",
        ),
        (
            ran(A, B, FREE_A, FREE_B),
            ran(A, FREE_A, B, FREE_B),
            lambda: [ran(A, B, FREE_A, FREE_B)],
            f"rank 0 differs from event 1 of 4 on (4 alone): {B} is {FREE_A}; the same peaks",
        ),
        (
            ran(A, B, FREE_A),
            ran(A, B, FREE_B),
            lambda: [ran(A, B)],
            f"rank 0 differs from event 2 of 3 on (3 alone): {FREE_A} is {FREE_B}; the same peaks",
        ),
        (
            ran(A, B, FREE_A),
            ran(A, B),
            iter([[ran(A, B)]]).__next__,
            "equal: 3 events, as in one of several runs of real processes",
        ),
        (
            ran(A, B, FREE_A),
            ran(A, FREE_A, B, peaks=(1024, 2 << 20)),
            None,
            f"rank 0 differs from event 1 of 3 on (3 alone): {B} is {FREE_A}; "
            "peaks (1536, 2097152) are (1024, 2097152)",
        ),
    ],
    ids=[
        "equal",
        "an error",
        "as real processes differ",
        "as one of several",
        "real processes agree",
        "another free",
        "held at the end",
        "another peak",
    ],
)
def test_what_a_row_says(real, alone, again, said):
    ordered = never if again is never else another
    assert ranks.said([real], [alone], ordered, again or never) == said


def test_a_row_that_one_order_makes_equal():
    real, alone = [ran(A, B, FREE_A, FREE_B)], [ran(A, B, FREE_B, FREE_A)]
    equal = "equal: 4 events, in one order of threads and sets"
    assert ranks.said(real, alone, lambda: (real, real), never) == equal
    more = [ran(A, B, FREE_B, FREE_A, peaks=(1536, 4 << 20))]
    peaks = "; as PyTorch is, peaks (1536, 2097152) of rank 0 are (1536, 4194304)"
    assert ranks.said(real, more, lambda: (real, real), never) == equal + peaks
    failed = [ran(error="ValueError: bad")]
    assert ranks.said(real, alone, lambda: (failed, failed), lambda: alone).endswith(
        "as in one of several runs of real processes"
    )
