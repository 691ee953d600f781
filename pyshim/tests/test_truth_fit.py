"""The table of the largest batches: which programs there are, which batches are run beside an answer,
and what counts as wrong. `make truth-fit` runs them."""

import ast
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
if not (TOOLS / "truth").is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
sys.path[:0] = [str(TOOLS), str(TOOLS / "truth")]
from truth import truth_fit as fit  # noqa: E402


def test_every_program_is_a_function_or_a_class_of_its_file():
    for name, program in fit.TABLE.items():
        file, _, function = program.source.partition(":")
        names = {getattr(n, "name", "") for n in ast.parse((fit.PROGRAMS / f"{file}.py").read_text()).body}
        assert function in names, name
    files = {f.stem for f in fit.PROGRAMS.glob("*.py")} - {
        "token_model",
        *(f.file.removesuffix(".py") for f in fit.FINDERS.values()),
    }
    assert files == {p.source.partition(":")[0] for p in fit.TABLE.values()}
    assert len(fit.TABLE) == 20


def test_a_program_is_a_case_with_its_step():
    (model,) = fit.spec(["squeezenet"], "l4")["models"].values()
    assert model == {
        "source": "of_torchvision.py:squeezenet",
        "inputs": {"x": "float32[B,3,224,224]"},
        "dims": {"B": 1},
        "mode": "training",
        "loss": "mean",
        "optimizer": "AdamW",
        "device": "l4",
        "budget": {},
        "autocast": "float16",
    }


@pytest.mark.parametrize(
    ("answer", "near", "wanted"),
    [
        (90, 2, [10, 20, 30, 40, 50, 60, 70, 80, 88, 89, 90, 91, 92]),
        (3, 2, [1, 2, 3, 4, 5]),
        (0, 1, [1]),
    ],
)
def test_the_batches_around_an_answer_and_eight_below_are_run(answer, near, wanted):
    assert fit.to_run(answer, near) == wanted


@pytest.mark.parametrize(
    ("fits", "holes", "wanted", "why"),
    [
        ({8: True, 9: True, 10: False}, [], ([], [], []), "right"),
        ({9: True, 10: True}, [], ([10], [], []), "a larger batch fits"),
        ({9: False, 10: False}, [], ([9], [], []), "the answer does not fit"),
        ({7: False, 8: False, 9: True}, [8], ([], [8], [7]), "smaller ones do not fit: one is named"),
        ({8: True, 9: True}, [8], ([8], [], []), "what is named as a hole fits"),
    ],
)
def test_what_is_wrong_with_an_answer(fits, holes, wanted, why):
    assert tuple(fit.compare(9, holes, fits)) == wanted, why


@pytest.mark.parametrize(
    ("name", "theirs", "ours", "same"),
    [
        ("lightning", 321, 321, True),
        ("lightning", 320, 321, False),
        ("deepspeed", 321, 321, True),
        ("deepspeed", 322, 321, False),
        ("accelerate-emptied", 318, 321, True),  # of 1,024, 921, … 354, 318, 286
        ("accelerate-emptied", 318, 354, False),
        ("accelerate-emptied", 286, 321, False),
        ("accelerate", 318, 409, False),  # as it is: the tries before took the memory
        ("accelerate", 354, 321, False),
    ],
)
def test_a_finder_agrees_as_far_as_it_looks(name, theirs, ours, same):
    assert fit.agrees(name, theirs, ours) == same
