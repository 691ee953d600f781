"""memory_budget on tests. A stand-in for the GPU's allocator says what was measured."""

import xml.etree.ElementTree as ET

import pytest

from memshim.judge.marks import Budget, Limit, Peaks, memory_budget

# A region whose peaks the test itself sets: what the CUDA allocator would answer.
STAND_IN = """
import pytest
from memshim.judge.marks import Peaks

peaks = []

class Region:
    why_not = ""
    def start(self): peaks.clear()
    def stop(self): return peaks[-1] if peaks else Peaks("Stand-in", 0, 0, 0)
    def holders(self): return "peak of it all"
    def drop(self): pass

def pytest_memspec_region(device): return Region()

@pytest.fixture
def takes():
    return lambda allocated, reserved=0, delta=0: peaks.append(Peaks("Stand-in", allocated, reserved, delta))
"""


@pytest.fixture
def gpu(run_pytest):
    (run_pytest.path / "memspec.yaml").unlink()
    run_pytest.makeconftest(STAND_IN)
    return run_pytest


@pytest.mark.parametrize("taken, outcome", [(1 << 30, "passed"), ((1 << 30) + 1, "failed"), (0, "passed")])
def test_exactly_at_the_limit_passes(gpu, taken, outcome):
    gpu.makepyfile(f"""
        import pytest
        @pytest.mark.memory_budget(allocated="1GiB")
        def test_it(takes): takes({taken})
    """)
    gpu().assert_outcomes(**{outcome: 1})


def test_the_account_of_a_broken_budget(gpu):
    gpu.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(allocated="1 MiB", reserved="2MiB", delta=10)
        def test_it(takes): takes(3 << 20, 5 << 20, 7)
    """)
    r = gpu()
    r.assert_outcomes(failed=1)
    r.stdout.fnmatch_lines([
        "FAIL test_it on Stand-in: peak allocated 3.0 MiB, budget 1.0 MiB: over by 2.0 MiB (+200.0%)",
        "  budget     test_the_account_of_a_broken_budget.py:2  memory_budget(allocated='1 MiB') (1048576 B)",
        "             reserved 5.0 MiB: over by 3.0 MiB",
        "  measured   5242880 B reserved, 3145728 B allocated, 7 B of it by the test",
        "  held at the peak:", "    peak of it all",
        "  reproduce  pytest test_the_account_of_a_broken_budget.py::test_it",
        "1 budget: 1 fail",
    ])


def test_its_numbers_are_in_junit_xml(gpu):
    gpu.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(allocated="1KiB")
        def test_it(takes): takes(1000, 2000, 300)
    """)
    gpu("--junit-xml=out.xml")
    found = {p.get("name"): p.get("value") for p in ET.parse(gpu.path / "out.xml").iter("property")}
    assert found == {"memspec.measured.allocated": "1000", "memspec.measured.reserved": "2000", "memspec.measured.delta": "300",
                     "memspec.budget.allocated": "1024", "memspec.outcome": "pass"}


def test_a_test_that_fails_on_its_own_is_told_as_that(gpu):
    gpu.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(allocated=1)
        def test_it(takes): takes(100); assert False, "its own reason"
    """)
    r = gpu()
    r.assert_outcomes(failed=1)
    r.stdout.fnmatch_lines(["*its own reason*"])
    r.stdout.no_fnmatch_line("*budget 1 B*")


def test_the_fixture_holds_a_part_of_a_test_to_a_budget(gpu):
    gpu.makepyfile("""
        def test_it(takes, memshim):
            with memshim.budget(delta="1KiB"): takes(0, 0, 1024)
            with memshim.budget(delta="1KiB"): takes(0, 0, 1025)
    """)
    r = gpu()
    r.assert_outcomes(failed=1)
    r.stdout.fnmatch_lines(["FAIL test_it on Stand-in: delta 1.0 KiB, budget 1.0 KiB: over by 1 B (+0.1%)"])


def test_a_mark_of_a_class_and_of_a_test_both_count(gpu):
    gpu.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(reserved=10)
        class TestIt:
            @pytest.mark.memory_budget(allocated=10)
            def test_a(self, takes): takes(5, 11)
            def test_b(self, takes): takes(11, 5)
    """)
    gpu().assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize("mark, error", [
    ('allocated="24 MB"', "the unit 'MB', want MiB"),
    ("'1GiB'", "got '1GiB' without a metric"),
    ("weights=1", "got the metric 'weights', want one of allocated, reserved, delta"),
    ("", "got no limit"),
    ("allocated=-1", "want 0 or more"),
])
def test_a_mark_that_cannot_be_fails_its_test_alone(gpu, mark, error):
    gpu.makepyfile(f"""
        import pytest
        def test_other(): pass
        @pytest.mark.memory_budget({mark})
        def test_it(): raise RuntimeError("ran")
    """)
    r = gpu()
    r.assert_outcomes(passed=1, failed=1)
    r.stdout.fnmatch_lines([f"memory_budget: *{error.replace('[', '[[]')}*"])
    r.stdout.no_fnmatch_line("*RuntimeError*")


def test_without_a_gpu_a_budget_is_not_judged_and_says_so(run_pytest, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (run_pytest.path / "memspec.yaml").unlink()
    run_pytest.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(allocated=0)
        def test_it(): pass
    """)
    r = run_pytest()
    r.assert_outcomes(passed=1)
    r.stdout.fnmatch_lines(["1 budget: 1 not judged: no GPU here"])
    r = run_pytest("--memspec-require-gpu")
    r.assert_outcomes(failed=1)
    r.stdout.fnmatch_lines(["INCONCLUSIVE *::test_it: no GPU here, and a GPU is required"])


def test_check_from_a_test(run_pytest):
    run_pytest.makepyfile("""
        def test_good(memshim): assert memshim.check(case="net[B=1]")["cases"][0]["report"]["device"] == "none"
        def test_bad(memshim): memshim.check()
    """)
    r = run_pytest("-k", "test_")
    r.assert_outcomes(passed=1, failed=1, deselected=4)
    r.stdout.fnmatch_lines(["FAIL small on none, eager: peak allocated *"])


def test_several_limits():
    b = memory_budget(allocated="1KiB", reserved=5, device=1)
    assert b == Budget((Limit("allocated", "1KiB", 1024), Limit("reserved", "5", 5)), 1)
    assert b.broken(Peaks("", 1024, 6, 0)) == [(Limit("reserved", "5", 5), 6)]
