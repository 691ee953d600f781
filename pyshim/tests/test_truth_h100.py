"""The comparison with an H100: what each row's name says, and what is printed of one. `make
truth-h100` runs them."""

import sys
from pathlib import Path

import pytest
import torch

TOOLS = Path(__file__).parents[1] / "tools"
if not (TOOLS / "truth").is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
sys.path.insert(0, str(TOOLS / "truth"))
import models_of_h100  # noqa: E402
import truth_h100  # noqa: E402


def test_every_row_names_a_model_that_can_be_built():
    names = [r["model"] for r in truth_h100.recorded("models")]
    cases = [models_of_h100.parse(n) for n in names]
    assert len(names) == 64
    assert {c.source for c in cases} == {"synthetic", "torchvision", "transformers"}
    assert {c.model for c in cases if c.source == "transformers"} == set(models_of_h100.SIZES)
    assert {c.mode for c in cases} == {"inference", "training", "decode"}


def test_a_name_says_how_a_model_runs():
    case = models_of_h100.parse("torchvision/resnet18 script bfloat16 B=8 training opt=adamw")
    assert case == ("torchvision", "resnet18", "script", torch.bfloat16, 8, "training", {"opt": "adamw"})


def test_every_row_names_a_program_that_is_here():
    rows = truth_h100.recorded("programs")
    assert len(rows) == 34
    assert [r["program"] for r in rows if not truth_h100.file_of(r["program"].split()[0]).exists()] == []


@pytest.mark.parametrize(
    ("size", "said"),
    [(2000, "2000 | equal"), (2100, "2000 | +100 (+5.00 %)"), (1999, "2000 | -1 (-0.05 %)")],
)
def test_a_figure_is_equal_or_its_error_is_printed(size, said):
    assert truth_h100.compared({"allocated": "2000"}, {"allocated": size}, "allocated") == said


def test_a_row_that_is_not_there_is_refused(capsys):
    assert truth_h100.main(["gpt2"]) == 2
    assert capsys.readouterr().err == "truth h100: got 'gpt2', want models, programs or the name of a row\n"
