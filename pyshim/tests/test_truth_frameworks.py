"""The table of frameworks of distributed training: which programs there are, and how each runs. `make
truth-frameworks` runs them."""

import ast
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
if not (TOOLS / "truth").is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
sys.path[:0] = [str(TOOLS / "truth"), str(TOOLS)]
from truth import truth_frameworks as frameworks  # noqa: E402


def test_every_program_is_run():
    files = {f.stem for f in frameworks.PROGRAMS.glob("*.py")}
    assert files == {r.program for r in frameworks.rows()}
    for name in files:
        assert ast.get_docstring(ast.parse((frameworks.PROGRAMS / f"{name}.py").read_text())), name


@pytest.mark.parametrize(
    "how, program, before, after",
    [
        ("alone", "accelerate_train", ["--world-size", "8", "--rank", "first,last", "--"], ["ddp"]),
        ("launched", "accelerate_train", ["--count", "2", "--", *frameworks.ACCELERATE], ["ddp"]),
        ("alone", "lightning_fit", ["--world-size", "8", "--rank", "first,last", "--"], ["ddp", "8"]),
        ("launched", "lightning_fit", ["--count", "2", "--"], ["ddp", "2"]),
    ],
)
def test_how_a_program_runs(how, program, before, after):
    row = next(r for r in frameworks.rows() if r.program == program)
    assert frameworks.command(row, how, 8) == [*before, str(frameworks.PROGRAMS / f"{program}.py"), *after]


@pytest.mark.parametrize(
    "exits, reserved, works",
    [((0, 0), (1, 1), True), ((0, 1), (1, 1), False), ((0, 0), (1, 0), False)],
    ids=["undecided whether it fits", "a rank that fails", "a rank without a device"],
)
def test_what_works_ended_well_on_two_devices(exits, reserved, works):
    ranks = [{"exit": code, "reserved": size} for code, size in zip(exits, reserved)]
    assert frameworks.works({"exit": 3, "ranks": ranks}, ranks) is works
    devices = [{"reserved": size} for size in reserved]
    assert frameworks.works({"exit": max(exits), "processes": []}, devices) is works
