"""memory_budget on tests. A stub for the GPU's allocator says what was measured."""

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
    def leaked(self, kept): return left[-1] if left else 0
    def leaks(self): return "left.py:1"
    def holders(self): return "peak of it all"
    def drop(self): pass

def pytest_memspec_region(device): return Region()

left = []

@pytest.fixture
def takes():
    left.clear()
    def takes(allocated, reserved=0, delta=0, leaked=0):
        peaks.append(Peaks("Stand-in", allocated, reserved, delta, 0, 10 << 30))
        left.append(leaked)
    return takes
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
    r.stdout.fnmatch_lines(
        [
            "FAIL test_it on Stand-in: peak allocated 3.0 MiB, budget 1.0 MiB: over by 2.0 MiB (+200.0%)",
            "  budget     test_the_account_of_a_broken_budget.py:2  memory_budget(allocated='1 MiB') (1048576 B)",
            "             reserved 5.0 MiB: over by 3.0 MiB",
            "  measured   5242880 B reserved, 3145728 B allocated, 7 B of it by the test",
            "  held at the peak:",
            "    peak of it all",
            "  reproduce  pytest test_the_account_of_a_broken_budget.py::test_it",
            "1 budget: 1 fail",
        ]
    )


def test_its_numbers_are_in_junit_xml(gpu):
    gpu.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(allocated="1KiB")
        def test_it(takes): takes(1000, 2000, 300)
    """)
    gpu("--junit-xml=out.xml")
    found = {p.get("name"): p.get("value") for p in ET.parse(gpu.path / "out.xml").iter("property")}
    assert found == {
        "memspec.measured.allocated": "1000",
        "memspec.measured.reserved": "2000",
        "memspec.measured.delta": "300",
        "memspec.budget.allocated": "1024",
        "memspec.outcome": "pass",
    }


def test_a_test_that_fails_on_its_own_is_reported_as_that(gpu):
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


def test_the_closest_mark_decides_a_metric(gpu):
    gpu.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(reserved=10, allocated=1)
        class TestIt:
            @pytest.mark.memory_budget(allocated=10)
            def test_a_reserved_of_the_class(self, takes): takes(5, 11)
            @pytest.mark.memory_budget(allocated=10, reserved=20)
            def test_passes(self, takes): takes(10, 20)
            def test_c_of_the_class(self, takes): takes(2, 5)
    """)
    r = gpu("-rA")
    r.assert_outcomes(passed=1, failed=2)
    r.stdout.fnmatch_lines_random(
        [
            "FAIL test_a_reserved_of_the_class *: peak reserved 11 B, budget 10 B*",
            "FAIL test_c_of_the_class *: peak allocated 2 B, budget 1 B*",
        ]
    )


def test_marks_are_read_when_the_test_runs(gpu):
    """Whoever adds them: conftest.py's hooks, a fixture, another plugin."""
    gpu.makeconftest(
        STAND_IN
        + """
def pytest_collection_modifyitems(items):
    for item in items:
        if item.name.startswith("test_all"):
            item.add_marker(pytest.mark.memory_budget(allocated=10))

@pytest.fixture
def tight(request):
    request.node.add_marker(pytest.mark.memory_budget(allocated=10))
"""
    )
    gpu.makepyfile("""
        def test_all(takes): takes(11)
        def test_fixture(takes, tight): takes(11)
        def test_neither(takes): takes(11)
    """)
    gpu().assert_outcomes(passed=1, failed=2)


def test_what_is_left_behind(gpu):
    gpu.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(leaked="1KiB")
        def test_it(takes): takes(0, leaked=1024)
        @pytest.mark.memory_budget(leaked="1KiB", allocated=5)
        def test_more(takes): takes(5, leaked=1025)
    """)
    r = gpu()
    r.assert_outcomes(passed=1, failed=1)
    r.stdout.fnmatch_lines(
        [
            "FAIL test_more on Stand-in: leaked 1.0 KiB, budget 1.0 KiB: over by 1 B (+0.1%)",
            "  measured   0 B reserved, 5 B allocated, 0 B of it by the test, 1025 B left behind",
            "  left behind:",
            "    left.py:1",
        ]
    )
    r.stdout.no_fnmatch_line("*held at the peak*")


@pytest.mark.parametrize("taken, outcome", [(1 << 30, "passed"), ((1 << 30) + 1, "failed")])
def test_a_share_of_the_devices_memory(gpu, taken, outcome):
    gpu.makepyfile(f"""
        import pytest
        @pytest.mark.memory_budget(allocated="10%")
        def test_it(takes): takes({taken})
    """)
    gpu().assert_outcomes(**{outcome: 1})


def test_the_budget_of_every_test(gpu):
    """Of the ini; a test's own mark is closer."""
    gpu.makeini("[pytest]\nmemspec_budget = allocated=10 leaked=0\n")
    gpu.makepyfile("""
        import pytest
        def test_a(takes): takes(11)
        def test_b(takes): takes(10, leaked=1)
        @pytest.mark.memory_budget(allocated=20)
        def test_c(takes): takes(20)
    """)
    r = gpu("-v")
    r.assert_outcomes(passed=1, failed=2)
    r.stdout.fnmatch_lines(["*::test_a MEMORY*", "*::test_b MEMORY*", "*::test_c PASSED*"])


def test_async_tests(gpu):
    """Whoever runs them."""
    gpu.makeconftest(
        STAND_IN
        + """
import asyncio, inspect

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        names = pyfuncitem._fixtureinfo.argnames
        asyncio.run(pyfuncitem.obj(**{n: pyfuncitem.funcargs[n] for n in names}))
        return True
"""
    )
    gpu.makepyfile("""
        import asyncio, pytest
        @pytest.mark.memory_budget(allocated=10)
        async def test_it(takes):
            await asyncio.sleep(0)
            takes(11)
    """)
    r = gpu()
    r.assert_outcomes(failed=1)
    r.stdout.fnmatch_lines(["FAIL test_it on Stand-in: peak allocated 11 B, budget 10 B*"])


def test_every_budget_of_a_test_has_properties_of_its_own(gpu):
    """Also where the test fails by itself."""
    gpu.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(allocated=100)
        def test_it(takes, memshim):
            with memshim.budget(delta=5): takes(50, 0, 4)
            takes(60)
            assert False
    """)
    gpu("--junit-xml=out.xml")
    names = [(p.get("name"), p.get("value")) for p in ET.parse(gpu.path / "out.xml").iter("property")]
    assert len(dict(names)) == len(names)
    found = dict(names)
    assert (found["memspec.2.outcome"], found["memspec.2.measured.delta"], found["memspec.measured.allocated"]) == (
        "pass",
        "4",
        "60",
    )
    assert "memspec.outcome" not in found, "it was not judged"


def test_a_test_that_takes_more_than_before(gpu):
    def run(n, *more):
        gpu.makepyfile(f"def test_it(takes): takes(1000, 0, {n})")
        return gpu("--memspec-fail-on-increase", *more)

    run(100).assert_outcomes(passed=1)
    run(100).assert_outcomes(passed=1)
    r = run(150)
    r.assert_outcomes(failed=1)
    r.stdout.fnmatch_lines(
        [
            "FAIL test_it on Stand-in: takes more than before",
            "  delta      150 B (150 B), the last run: 100 B (100 B): more by 50 B (+50.0%)",
        ]
    )
    run(150).assert_outcomes(failed=1)
    run(90).assert_outcomes(passed=1)
    run(95).assert_outcomes(failed=1)


def test_the_report_of_every_test(gpu):
    gpu.makepyfile("""
        def test_a(takes): takes(1000, 0, 100)
        def test_b(takes): takes(1000, 0, 300)
        def test_c(takes): takes(1000, 0, 200)
    """)
    for more in ((), ("-n", "2")):
        r = gpu("--memspec-report=2", *more, fork=bool(more))
        r.assert_outcomes(passed=3)
        r.stdout.fnmatch_lines(
            [
                "the 2 of 3 tests that took the most (allocated on *",
                "*::test_b: 300 B by the test, peak 1000 B allocated*",
                "*::test_c: 200 B by the test*",
            ]
        )
        r.stdout.no_fnmatch_line("*::test_a: *")


def test_histogram():
    from memshim.judge.region import BINS
    from memshim.judge.summary import histogram

    assert histogram([0] * (len(BINS) + 1)) == "none"
    assert histogram([1, 0, 16, 0, 8, 0, 0, 0, 2]) == "≤512 B ▁ 1, ≤32.0 KiB █ 16, ≤1.0 MiB ▄ 8, >1.00 GiB ▁ 2"


@pytest.mark.parametrize(
    "mark, error",
    [
        ('allocated="24 MB"', "the unit 'MB', want MiB"),
        ("'1GiB'", "got '1GiB' without a metric"),
        ("weights=1", "got the metric 'weights', want one of allocated, reserved, delta, leaked"),
        ("alocated=1", "want one of allocated, reserved, delta, leaked, did you mean allocated?"),
        ("", "got no limit"),
        ("allocated=-1", "want 0 or more"),
        ("allocated='110%'", "got '110%', want 0% to 100%"),
        ("allocated='x%'", "got 'x%', want 0% to 100%"),
        ("allocated=1.5", "got size 1.5, want one such as"),
        ("allocated=1, device='cpu'", "got device 'cpu', want a GPU: a number or cuda:N"),
        ("allocated=1, device='tpu'", "got device 'tpu', want cuda, cuda:N or cpu"),
    ],
)
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
    r.stdout.no_fnmatch_line("*During handling of*")


def test_without_a_gpu_a_budget_is_not_judged_and_says_so(run_pytest, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (run_pytest.path / "memspec.yaml").unlink()
    run_pytest.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(allocated=0)
        def test_it(): pass
    """)
    monkeypatch.delenv("CI", raising=False)
    r = run_pytest("-rs")
    r.assert_outcomes(skipped=1)
    r.stdout.fnmatch_lines(["1 budget: 1 not judged: no GPU here", "SKIPPED*its budget is not judged: no GPU here"])
    for strict in (("--memspec-strict",), ("-o", "memspec_strict=true"), ()):
        if not strict:
            monkeypatch.setenv("CI", "true")
        r = run_pytest(*strict)
        r.assert_outcomes(failed=1)
        r.stdout.fnmatch_lines(["INCONCLUSIVE *::test_it: its budget is not judged: no GPU here"])
    run_pytest("--memspec-no-strict").assert_outcomes(skipped=1)
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
    assert memory_budget(allocated=1e9) == Budget((Limit("allocated", "1000000000", 10**9),))
    b = memory_budget(allocated="1KiB", reserved=5, device="cuda:1")
    assert b == memory_budget(allocated="1KiB", reserved=5, device=1)
    assert b == Budget((Limit("allocated", "1KiB", 1024), Limit("reserved", "5", 5)), 1)
    assert b.broken(Peaks("", 1024, 6, 0)) == [(Limit("reserved", "5", 5), 6)]
