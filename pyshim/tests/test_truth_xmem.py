"""The table of xMem's measured training peaks: what is asked of each row, and how rows are summed up.
`make truth-xmem` runs them."""

import os
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
if not (TOOLS / "truth").is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
sys.path[:0] = [str(TOOLS), str(TOOLS / "truth")]
from truth import forked_rows, xmem  # noqa: E402


def test_every_row_can_be_run(found_binary):
    from memshim.pretend import device

    rows = xmem.measured(xmem.KINDS)
    assert [sum(r["kind"] == k for r in rows) for k in xmem.KINDS] == [28, 17]
    for r in rows:
        assert r["model"] in (xmem.LANGUAGE if r["kind"] == "language" else xmem.VISION), r
        assert r["zero_grad"] in ("", "start", "before backward", "end"), r
        assert device.find(r["gpu"]).name == r["gpu"] and int(r["batch"]) > 0 and int(r["measured"]) > 0, r
        assert r["path"] and r["commit"], "where it comes from"


def test_rows_are_summed_up_by_the_size_of_their_errors():
    row = {"measured": "1000"}
    errors = [xmem.off(row, v) for v in ("900", 1019, "1005", "")]
    assert errors[:3] == pytest.approx([-10, 1.9, 0.5]) and errors[3] is None
    found = list(xmem.summary("language", {"pretend": errors[:3], "llmem": []}))
    assert found == ["| language | pretend | 3 | 2 | 4.13 | 1.90 | 10.00 |", "| language | llmem | 0 | | | | |"]


def test_the_formula_is_compared_with_a_newer_cudnn():
    text = xmem.apart([(90, 100), (120, 100)])
    assert text.startswith("convolutional, 2 rows: reserved by formula is -10.0 to +20.0 % off that with")
    assert text.endswith(", 15.0 % in the mean")


def test_rows_by_formula_run_as_if_no_newer_cudnn_were_named(monkeypatch):
    """The pretend GPU names the library to load by other variables, from what is set then."""
    from memshim import pretend

    monkeypatch.setenv(xmem.NEWER, "/opt/cudnn")
    monkeypatch.setattr(pretend, "environment", lambda gpu, values: {"LD_PRELOAD": os.environ.get(xmem.NEWER, "none")})
    found = forked_rows.environment("t4", [xmem.NEWER])
    assert (found.get(xmem.NEWER), found["LD_PRELOAD"]) == (None, "none")
    assert os.environ[xmem.NEWER] == "/opt/cudnn"
    assert forked_rows.environment("t4", [])["LD_PRELOAD"] == "/opt/cudnn"
