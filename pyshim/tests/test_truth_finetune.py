"""The table of fine-tuning programs: which there are, and what is said of one that fails. `make
truth-finetune` runs them."""

import ast
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
if not (TOOLS / "truth").is_dir():
    pytest.skip("the tools are not beside this checkout", allow_module_level=True)
sys.path.insert(0, str(TOOLS))
from truth import truth_finetune as finetune  # noqa: E402


def test_every_program_is_run():
    files = {f.stem for f in finetune.PROGRAMS.glob("*.py")} - {"tiny"}
    assert files == set(finetune.PROGRAM_ARGUMENTS)
    for name, arguments in finetune.PROGRAM_ARGUMENTS.items():
        text = (finetune.PROGRAMS / f"{name}.py").read_text()
        assert ("sys.argv" in text) == (arguments != ("",)), name
        assert ast.get_docstring(ast.parse(text)), name


@pytest.mark.parametrize(
    "names, wanted",
    [
        (["qlora"], {"qlora": ["nf4", "int8", "dora"]}),
        (["qlora int8", "peft_merged"], {"qlora": ["int8"], "peft_merged": [""]}),
        (["nothing"], {}),
    ],
    ids=["a program", "with one argument", "no program"],
)
def test_programs_are_chosen_by_name(names, wanted):
    assert finetune.chosen(names) == wanted


@pytest.mark.parametrize(
    "output, line",
    [
        ("a\nValueError: first\nRuntimeError: second\nmore\n", "RuntimeError: second"),
        ("torch.OutOfMemoryError: CUDA out of memory\n", "torch.OutOfMemoryError: CUDA out of memory"),
        (
            "memspec: cusolverDnCreate of cuSOLVER is not stood in for on a pretend GPU: it fails\nRuntimeError: x\n",
            "memspec: cusolverDnCreate of cuSOLVER is not stood in for on a pretend GPU: it fails",
        ),
        ("only this\n\n", "only this"),
        ("", "nothing was said"),
    ],
    ids=["the last exception", "with its module", "the missing call first", "no exception", "silent"],
)
def test_a_failure_is_one_line(output, line):
    assert finetune.last_line(output) == line
