"""Marks with on=: a test in a process of its own, on a pretend GPU."""

import pytest

import pretended
from memshim import pretend

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


@pytest.fixture(autouse=True)
def possible():
    if why := pretended.missing():
        pytest.skip(why)


def test_each_in_a_process_of_its_own(run_pytest):
    run_pytest.makepyfile(TESTS)
    result = run_pytest("-v", "test_each_in_a_process_of_its_own.py")
    result.assert_outcomes(passed=3, failed=5, skipped=1)
    text = result.stdout.str()
    assert "PASSED" in text and "test_held[1] PASSED" in text and "test_held[50] MEMORY" in text
    assert "FAIL test_held[50] on a pretend Tesla T4: peak allocated 50.0 MiB, budget 20.0 MiB: over by 30.0 MiB (+150.0%)" in text
    assert "  pretended  52428800 B reserved, 52428800 B allocated" in text and "its own error" in text
    assert "the test's own process ended by signal 11 before it was done" in text
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
    run_pytest.makepyfile(test_one=ONE.replace("    assert torch.cuda.get_device_name() == \"Tesla T4\"\n", "").replace(', device="cuda"', ""))
    result = run_pytest("--memspec-on", "t4", "test_one.py")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*1 budget: 1 not judged: * want Linux on x86-64*"])


def test_on_is_the_marks_alone(run_pytest):
    run_pytest.makepyfile("def test_part(memshim):\n    with memshim.budget(delta='1MiB', on='t4'):\n        pass\n")
    result = run_pytest("test_on_is_the_marks_alone.py")
    result.stdout.fnmatch_lines(["*memshim.budget: got on=, which is the mark's alone*"])
