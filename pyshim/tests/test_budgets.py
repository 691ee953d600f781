"""How a test is held to a budget: what is judged, written, skipped and failed, with a region that is a stub."""

import pickle
from pathlib import Path

import pytest
from held import Region, item_of

from memshim.judge import increase, marks, plugin, separate_process
from memshim.judge.marks import Peaks


@pytest.fixture(autouse=True)
def no_pretend_gpu(monkeypatch):
    for name in ("MEMSPEC_PRETEND", "CI"):
        monkeypatch.delenv(name, raising=False)


def budget(**limits):
    return marks.memory_budget(**limits)


def run(item, limits=None, whole=True, does=lambda: None):
    with plugin.held_to(item, limits or marks.Budget(()), whole):
        does()


def test_a_budget_that_is_kept():
    region = Region()
    item = item_of(region)
    run(item, budget(allocated=10, reserved="50%", device=1))
    assert region.calls == ["start", "stop", "drop"] and item.asked == [1]
    assert item.user_properties == [
        ("memspec.measured.allocated", 10),
        ("memspec.measured.reserved", 20),
        ("memspec.measured.delta", 7),
        ("memspec.budget.allocated", 10),
        ("memspec.budget.reserved", 50),
        ("memspec.outcome", "pass"),
    ]
    run(item, budget(delta=7))
    assert item.user_properties[-1] == ("memspec.2.outcome", "pass") and plugin.BROKEN not in item.stash


def test_a_budget_that_is_broken(tmp_path):
    region = Region()
    region.snapshot = lambda: {"a": 1}
    item = item_of(region, memspec_snapshot=str(tmp_path / "a" / "b"))
    with pytest.raises(pytest.fail.Exception) as e:
        run(item, budget(allocated=9))
    assert not e.value.pytrace and item.stash[plugin.BROKEN] is True
    assert item.user_properties[-1] == ("memspec.outcome", "fail") and region.calls[-1] == "drop"
    assert str(e.value).splitlines() == [
        "FAIL test_x on GPU: peak allocated 10 B, budget 9 B: over by 1 B (+11.1%)",
        "  budget     test_a.py:4  memory_budget(allocated='9') (9 B)",
        "  measured   20 B reserved, 10 B allocated, 7 B of it by the test",
        "  held at the peak:",
        "    holders",
        "    of two lines",
        f"  snapshot   {tmp_path}/a/b/test_a.py.test_x.pickle (https://docs.pytorch.org/memory_viz opens it)",
        "  reproduce  pytest test_a.py::test_x",
    ]
    assert pickle.loads((tmp_path / "a" / "b" / "test_a.py.test_x.pickle").read_bytes()) == {"a": 1}


def test_what_is_left_behind_has_its_own_lines():
    region = Region()
    item = item_of(region, memspec_snapshot="never used: the region has none")
    item.reportinfo = lambda: (Path("test_a.py"), None, "test_x")
    with pytest.raises(pytest.fail.Exception) as e:
        run(item, budget(leaked=4))
    assert region.kept == [1, "self"], "what fixtures hold is not left behind"
    assert "memspec.measured.leaked" in dict(item.user_properties)
    lines = str(e.value).splitlines()
    assert lines[1].startswith("  budget     test_a.py  memory") and lines[2].endswith(", 5 B left behind")
    assert lines[3:] == [
        "  left behind:",
        "    leaks",
        "    of two lines",
        "  reproduce  pytest test_a.py::test_x",
    ]


def test_a_budget_of_another_metric_asks_for_nothing_left_behind():
    region = Region()
    item = item_of(region)
    del item.funcargs, item.instance
    run(item, budget(delta=7))
    assert region.kept is None and "memspec.measured.leaked" not in dict(item.user_properties)
    run(item, budget(leaked=5))
    assert region.kept == [None]


@pytest.mark.parametrize(
    "limits, took_nothing, judged",
    [
        ({"allocated": 10}, True, False),
        ({"allocated": 10}, False, True),
        ({"delta": 0}, True, True),  # code that takes nothing keeps it
        ({"leaked": 0}, True, True),
    ],
)
def test_a_test_that_allocates_nothing_is_not_judged(limits, took_nothing, judged):
    region = Region(peaks=Peaks("GPU", 0, 0, 0))
    region.took_nothing, region.leaked = lambda: took_nothing, lambda kept: 0
    item = item_of(region)
    run(item, budget(**limits))
    last = ("memspec.outcome", "pass") if judged else ("memspec.not_judged", "it allocates nothing on GPU")
    assert item.user_properties[-1] == last
    assert item.stash.get(plugin.UNJUDGED, []) == ([] if judged else ["it allocates nothing on GPU"])


@pytest.mark.parametrize(
    "of_process, of_region, why",
    [("", "no GPU", "no GPU"), ("no card", "no GPU", "no card"), ("no card", "", "no card")],
)
def test_without_a_gpu_it_runs_and_is_not_judged(of_process, of_region, why):
    region = Region(why_not=of_region)
    item = item_of(region)
    if of_process:
        item.stash[separate_process.NO_PRETEND] = of_process
    ran = []
    run(item, budget(allocated=1), does=lambda: ran.append(1))
    assert ran and region.calls == [] and item.user_properties == [("memspec.not_judged", why)]
    with pytest.raises(pytest.fail.Exception, match="^INCONCLUSIVE test_a.py::test_x: no GPU, and a GPU is required$"):
        run(item_of(Region(why_not="no GPU"), memspec_require_gpu=True), budget(allocated=1))


@pytest.mark.parametrize(
    "on, limits, why",
    [
        (None, {}, "no GPU"),
        ("t4", {}, "without a memory_budget they do not run on a pretend t4"),
        ("t4", {"allocated": 1}, "no GPU"),
        ("pretend", {}, "no GPU"),
    ],
)
def test_a_report_says_why_a_test_was_not_measured(on, limits, why):
    item = item_of(Region(why_not="no GPU"), memspec_report=5, memspec_on=on)
    run(item, budget(**limits) if limits else None)
    assert item.stash[plugin.SURVEY] == why
    item = item_of(Region(why_not="no GPU"), memspec_report=5)
    run(item, whole=False)
    assert plugin.SURVEY not in item.stash and item.user_properties == [] == item.stash.get(plugin.UNJUDGED, [])


def test_a_region_that_cannot_be_is_the_tests_error():
    with pytest.raises(pytest.fail.Exception, match="^got device 3$") as e:
        run(item_of(ValueError("got device 3")))
    assert not e.value.pytrace


def test_what_fixtures_took_is_given_to_the_region():
    region = Region()
    region.after = lambda fixtures: region.calls.append(fixtures)
    item = item_of(region)
    run(item, budget(delta=7))
    item.stash[plugin.FIXTURES] = "fixtures"
    run(item, budget(delta=7))
    assert region.calls == ["start", "stop", "drop", "fixtures", "start", "stop", "drop"]
    item = item_of(Region())
    item.stash[plugin.FIXTURES] = "fixtures"
    run(item, budget(delta=7))  # a region that takes none


@pytest.mark.parametrize("survey", [None, {"churn": 1, "lines": ["x"]}])
def test_every_test_is_measured_for_the_report(survey):
    region = Region()
    if survey:
        region.survey = lambda: survey
    item = item_of(region, memspec_report=5)
    run(item)
    took = {"device": "GPU", "allocated": 10, "reserved": 20, "delta": 7, "leaked": 5, "total": 100, "where": "cuda"}
    empty = {"churn": 0, "allocations": 0, "histogram": [], "lines": []}
    assert item.stash[plugin.SURVEY] == took | (survey or empty)
    assert item.stash[increase.NUMBERS] == {"device": "GPU", "delta": 7, "leaked": 5}
    assert item.user_properties == [], "it has no budget"


def test_a_part_of_a_test_is_not_in_the_report():
    item = item_of(memspec_report=5)
    run(item, budget(allocated=10), whole=False)
    assert plugin.SURVEY not in item.stash and increase.NUMBERS not in item.stash


def out_of_memory(e):
    return "Tried to allocate 2 GiB. GPU 0 has 1 GiB. More is said. And more." if isinstance(e, MemoryError) else ""


@pytest.fixture
def oom(monkeypatch):
    from memshim.gpu import failure

    monkeypatch.setattr(failure, "out_of_memory", out_of_memory)


def raising(e):
    def does():
        raise e

    return does


def test_memory_that_runs_out_breaks_a_budget(oom):
    item = item_of()
    with pytest.raises(pytest.fail.Exception) as e:
        run(item, budget(allocated=100), does=raising(MemoryError()))
    assert not e.value.pytrace and item.stash[plugin.BROKEN] is True
    assert ("memspec.measured.allocated", 10) in item.user_properties
    assert item.user_properties[-1] == ("memspec.outcome", "fail")
    assert str(e.value).splitlines() == [
        "FAIL test_x on GPU: it does not fit: Tried to allocate 2 GiB. GPU 0 has 1 GiB.",
        "  who held the memory:",
        "    holders",
        "    of two lines",
        "  reproduce  pytest test_a.py::test_x",
    ]


def test_memory_that_runs_out_without_a_budget_is_shown(oom):
    item = item_of()
    with pytest.raises(MemoryError):
        run(item, does=raising(MemoryError()))
    assert item.sections == [("call", "memspec: who held the memory", "holders\nof two lines")]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_test_that_fails_otherwise_is_reported_as_that(oom, error):
    region = Region()
    item = item_of(region)
    with pytest.raises(error):
        run(item, budget(allocated=1), does=raising(error()))
    assert region.calls == ["start", "stop", "drop"] and item.sections == []
    assert ("memspec.measured.allocated", 10) in item.user_properties
    assert "memspec.outcome" not in dict(item.user_properties)


def test_a_test_that_skips_itself_is_not_measured():
    region = Region()
    item = item_of(region)
    with pytest.raises(pytest.skip.Exception, match="later"):
        run(item, budget(allocated=1), does=lambda: pytest.skip("later"))
    assert region.calls == ["start", "drop"] and item.user_properties == []


def test_a_pretended_number_is_called_one(monkeypatch):
    monkeypatch.setenv("MEMSPEC_PRETEND", "name=T4")
    item = item_of()
    run(item, budget(allocated=10))
    assert item.user_properties[0] == ("memspec.pretended.allocated", 10)
