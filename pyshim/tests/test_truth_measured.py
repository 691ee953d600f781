"""The table of published peaks: what is asked of each row, and how rows are summed up. `python -m
truth measured` runs them."""

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
if not (TOOLS / "truth").is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
sys.path[:0] = [str(TOOLS), str(TOOLS / "truth")]
from truth import adapters_of_flux, measured  # noqa: E402


def test_every_row_can_be_run(found_binary):
    from memshim.pretend import device

    rows = measured.published(list(measured.SETS))
    assert len(rows) == sum(1 for _ in measured.ROWS.open()) - 1, "each row is of a set that can be run"
    for r in rows:
        assert r["figure"] in ("allocated", "reserved") and r["unit"] in measured.UNITS, r
        assert float(r["measured"]) > 0 and r["source"] and r["torch"], r
        assert device.find(r["gpu"]).name == r["gpu"], r
    assert len({(r["set"], r["row"], r["figure"]) for r in rows}) == len(rows)


def test_each_method_of_flux_has_rows():
    assert {r["row"] for r in measured.published(["flux"])} == {"full", *adapters_of_flux.SETTINGS}


def test_a_period_of_flux_begins_with_a_hundred_and_first_step():
    steps = [adapters_of_flux.number(step) for step in range(2 * adapters_of_flux.STEPS)]
    assert steps[:2] == [1, 2] and steps[adapters_of_flux.STEPS :][:2] == [101, 102]
    assert len([n for n in steps if n <= adapters_of_flux.PERIOD]) == adapters_of_flux.STEPS


@pytest.mark.parametrize(
    "given, size, error",
    [
        ({"measured": "2", "unit": "GB"}, 1_980_000_000, -1.0),
        ({"measured": "10.0", "unit": "MiB"}, 10 * (1 << 20), 0.0),
        ({"measured": "100", "unit": "MiB"}, 103 * (1 << 20), 3.0),
    ],
    ids=["gigabytes of 10^9", "equal", "too high"],
)
def test_an_error_is_in_percent_of_what_was_measured(given, size, error):
    assert measured.error(given, size) == pytest.approx(error)


def test_the_worst_error_keeps_its_sign():
    assert measured.summary("a", [-4.0, 1.0, 0.5]) == "| a | 3 | 2 | 1.00 | 1.83 | -4.00 |"
    assert measured.summary("a", []) == "| a | 0 | | | | |"
