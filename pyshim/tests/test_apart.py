"""Marks with on=: a test in a separate process, on a pretend GPU."""

import types

import pytest
import warm

from memshim import pretend
from memshim.judge import separate_process

pytest.importorskip("torch")

TESTS = """
import os
import pytest
import torch

MIB = 1 << 20

@pytest.fixture(scope="module", params=[1, 50])
def held(request):
    print("a fixture may print")
    return torch.empty(request.param * MIB, dtype=torch.uint8, device="cuda")

def test_before():
    assert not os.environ.get("MEMSPEC_PRETEND"), "tests beside it are untouched"

@pytest.mark.memory_budget(allocated="20MiB", on="t4")
def test_held(held):
    assert torch.cuda.get_device_name() == "Tesla T4"
    assert "PYTEST_OF_THE_PARENT" not in os.environ, "pytest's variables here are those of this process"

@pytest.mark.memory_budget(allocated="1GiB", on="NVIDIA A10G")
def test_fails():
    assert torch.cuda.get_device_properties(0).total_memory < 24 << 30
    assert not "its own error"

@pytest.mark.memory_budget(allocated="1GiB", on="t4")
def test_crashes():
    os.kill(os.getpid(), 11)

@pytest.mark.memory_budget(allocated="1GiB", on="t4")
@pytest.mark.skip(reason="not now")
def test_skipped():
    pass

@pytest.mark.memory_budget(allocated="1GiB", on="t4")
def test_nothing():
    torch.zeros(3)

@pytest.mark.memory_budget(allocated="1GiB", on="toaster")
def test_unknown():
    pass

@pytest.mark.memory_budget(allocated="1GiB", on="t4")
@pytest.mark.memory_budget(reserved="1GiB", on="a10g")
def test_two():
    pass

def test_after():
    assert not os.environ.get("MEMSPEC_PRETEND")
"""


pytestmark = pytest.mark.usefixtures("pretend_gpu")


@pytest.fixture
def forked(monkeypatch):
    """The processes of the tests are forked; test_all_marks_on_one_device starts one."""
    run = types.SimpleNamespace(run=lambda words, cwd, env, **kw: warm.run(words, cwd, env))
    monkeypatch.setattr(separate_process, "subprocess", run)


def test_each_in_a_process_of_its_own(run_pytest, forked, monkeypatch):
    monkeypatch.setenv("PYTEST_OF_THE_PARENT", "1")
    monkeypatch.delenv("CI", raising=False)  # where what is not judged fails
    run_pytest.makepyfile(TESTS)
    result = run_pytest("-v", "test_each_in_a_process_of_its_own.py")
    result.assert_outcomes(passed=3, failed=5, skipped=2)
    text = result.stdout.str()
    assert "PASSED" in text and "test_held[1] PASSED" in text and "test_held[50] MEMORY" in text
    assert (
        "FAIL test_held[50] on a pretend Tesla T4: peak allocated 50.0 MiB, budget 20.0 MiB: over by 30.0 MiB (+150.0%)"
        in text
    )
    assert "  pretended  52428800 B reserved, 52428800 B allocated" in text and "its own error" in text
    assert "the test's own process ended by signal 11 before it was done" in text
    assert "1 not judged: it allocates nothing on a pretend Tesla T4" in text
    assert "got device 'toaster', want a known device" in text
    assert "memory_budget: got marks on a10g and t4, want one device a test" in text
    assert "measured" not in text.replace("memspec", "")


ONE = """
import pytest, torch

@pytest.mark.memory_budget(allocated="20MiB")
def test_one():
    assert torch.cuda.get_device_name() == "Tesla T4"
    kept = torch.empty(30 << 20, dtype=torch.uint8, device="cuda")

def test_without_a_mark():
    assert not torch.cuda.is_available()
"""


def test_all_marks_on_one_device(run_pytest):
    run_pytest.makepyfile(test_one=ONE)
    result = run_pytest("--memspec-on", "t4", "test_one.py")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*1 budget: 1 fail*"])


def test_a_device_that_is_none(run_pytest):
    run_pytest.makepyfile(test_one=ONE)
    result = run_pytest("--memspec-on", "toaster", "test_one.py")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--memspec-on: got device 'toaster', want a known device*"])


def test_where_none_can_be_had_the_budget_is_not_judged(run_pytest, monkeypatch):
    def never(*a, **kw):
        raise pretend.Unsupported("macOS")

    monkeypatch.setattr(pretend, "environment", never)
    run_pytest.makepyfile(
        test_one=ONE.replace('    assert torch.cuda.get_device_name() == "Tesla T4"\n', "").replace(
            ', device="cuda"', ""
        )
    )
    result = run_pytest("--memspec-on", "t4", "--memspec-no-strict", "test_one.py")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*1 budget: 1 not judged: * want Linux on x86-64*"])


def test_on_is_the_marks_alone(run_pytest, forked):
    run_pytest.makepyfile("def test_part(memshim):\n    with memshim.budget(delta='1MiB', on='t4'):\n        pass\n")
    result = run_pytest("test_on_is_the_marks_alone.py")
    result.stdout.fnmatch_lines(["*memshim.budget: got on=, which is the mark's alone*"])


BRANCHES = """
import pytest
import torch

def branch():
    x = torch.randn(1 << 20, device="cuda")
    return torch.cat([x] * 100) if x.abs().mean() > 1e-9 else x

@pytest.mark.memory_budget(allocated="20MiB", on="t4")
def test_between():
    branch()

@pytest.mark.memory_budget(allocated="1GiB", on="t4")
def test_above():
    branch()

@pytest.mark.memory_budget(allocated="1GiB", on="t4")
def test_asserts():
    assert torch.randn(4, device="cuda").sum() == 0

@pytest.mark.memory_budget(allocated="1GiB", on="t4")
def test_raises():
    [0, 1][int(torch.randint(2, (), device="cuda")) * 2 - 1 + int(torch.randn(4, device="cuda").sum() > 0)]
"""


def test_a_budget_between_the_ends_of_what_values_decide_is_not_judged(run_pytest, forked, monkeypatch):
    monkeypatch.setenv("CI", "true")
    run_pytest.makepyfile(test_branches=BRANCHES)
    result = run_pytest("test_branches.py")
    result.assert_outcomes(passed=2, failed=2)
    said = "its budget is not judged: values that no kernel computed decide, read at test_branches.py:"
    between = f"{said}6 (branch): the budget is kept as they are read, and not with most and skewed values"
    result.stdout.fnmatch_lines(
        [
            f"INCONCLUSIVE test_branches.py::test_between: {between}",
            f"INCONCLUSIVE test_branches.py::test_raises: {said}22 "
            "(test_raises): the budget is kept as they are read, and with most values the test "
            "does not come to its end",
        ]
    )
    result.stdout.fnmatch_lines(["4 budgets: 2 pass, 1 not judged: *"])
    result = run_pytest("--memspec-no-strict", "-rs", "-k", "between", "test_branches.py")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"SKIPPED*{between}"])
