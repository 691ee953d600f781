"""The rows of predictions compared with each release of PyTorch. `make truth-releases` runs them."""

import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
if not (TOOLS / "truth").is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
pytest.importorskip("torch")
sys.path[:0] = [str(TOOLS), str(TOOLS / "truth")]
from oracle import table  # noqa: E402
from oracle.configuration import Prediction, Run  # noqa: E402
from truth import truth_releases as releases  # noqa: E402

RUN = Run("resnet18", "t4", 1, "float32", "live")
RAN = {phase: [90, 100, 200] for phase in ("baseline", "first", "steady")}


def report(quality, allocated, workspace=()):
    sizes = {"allocated": allocated, "reserved": 200}
    passes = [{"name": n, "peak": sizes} for n in ("first", "steady")]
    return {
        "quality": quality,
        "baseline": {"allocated": 100, "reserved": 200},
        "passes": passes,
        "peak": sizes,
        "upper": {"allocated": 110, "reserved": 200},
        "workspace": list(workspace),
        "notes": [],
    }


@pytest.mark.parametrize(
    "given, counts",
    [
        (report("exact", 100), "1 | 0 | 0, 0 | 0 | 0"),
        (report("exact", 101), "0 | 1 | 0, 0 | 0 | 0"),
        (report("estimate", 100), "0 | 0 | 1, 0 | 0 | 0"),
        (report("estimate", 105), "0 | 0 | 0, 1 | 0 | 0"),
        (report("estimate", 98), "0 | 0 | 0, 0 | 1 | 0"),
        (report("incomplete", 98), "0 | 0 | 0, 0 | 0 | 1"),
        ({"error": "no such operator"}, "0 | 0 | 0, 0 | 0 | 1"),
    ],
    ids=["exact and equal", "exact and not", "an equal estimate", "within", "low by 2 %", "cannot know", "refused"],
)
def test_a_prediction_counts_where_it_belongs(given, counts):
    row = table.Row("resnet18", ["script"], {RUN: RAN}, {(Prediction("script", "eager"), RUN): given})
    assert releases.line("2.8.0", "torchvision", [row]) == f"| 2.8.0 | - | 1 of torchvision | float32 | {counts} |"


def test_a_row_says_who_answered_for_convolutions():
    reports = {
        (Prediction(kind, "eager"), RUN): report("estimate", 100, [{"basis": basis, "version": version}])
        for kind, basis, version in (("script", "rule", ""), ("trace", "stand-in", "9.10.2"), ("sidecar", "rule", ""))
    }
    row = table.Row("resnet18", ["script"], {RUN: RAN}, reports)
    assert releases.answered([row]) == "by formula, cuDNN 9.10.2 in the place of the release's"


def test_the_five_measured_models_are_among_twenty_one():
    vision, hub = releases.CATALOGS["torchvision"].models, releases.CATALOGS["transformers"].models
    assert (len(set(vision)), len(set(hub))) == (21, 10) and set(releases.MEASURED) <= set(vision)
