"""The table of published peaks of clusters: what is asked of each row. `python -m truth clusters` runs
them."""

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
if not (TOOLS / "truth").is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
sys.path[:0] = [str(TOOLS), str(TOOLS / "truth")]
from truth import truth_clusters as clusters  # noqa: E402


def test_every_row_can_be_run(found_binary):
    from memshim.pretend import device

    rows = clusters.rows()
    for r in rows:
        assert r.measured > 0 and r.source and device.find(r.gpu).name == r.gpu, r
    assert len({r.row for r in rows}) == len(rows)


def test_how_a_row_runs():
    row = clusters.Row("8B", "h200-sxm", 8, "last", "--compile.components 'model loss'", 82.4, "a report")
    options = clusters.options(row)
    assert options[:7] == ["--world-size", "8", "--nproc-per-node", "8", "--rank", "last", "--"]
    assert options[-2:] == ["--compile.components", "model loss"]


def test_an_error_is_in_percent_of_what_was_measured():
    row = clusters.rows()[0]._replace(measured=80.0)
    assert clusters.error(row, 78 << 30) == pytest.approx(-2.5)
