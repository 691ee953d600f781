"""The plugin's hooks around a test, its fixture and its options, with a region that is a stub."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from held import Region, item_of, mark

from memshim.case import memspec_yaml
from memshim.judge import increase, items, machine, plugin, separate_process


@pytest.fixture(autouse=True)
def no_pretend_gpu(monkeypatch):
    for name in ("MEMSPEC_PRETEND", "CI"):
        monkeypatch.delenv(name, raising=False)


def call(item, result="result"):
    """The hook around a test's call."""
    generator = plugin.pytest_runtest_call(item)
    next(generator)
    try:
        generator.send(result)
    except StopIteration as e:
        return e.value


def test_a_test_is_held_to_its_marks_and_the_default():
    item = item_of(mark=[mark(allocated=10), mark(reserved=20, device=1)], memspec_budget="delta=7")
    assert call(item) == "result"
    assert item.asked == [None, 1]
    assert sorted(k for k, _ in item.user_properties if "budget" in k) == [
        "memspec.2.budget.reserved",
        "memspec.budget.allocated",
        "memspec.budget.delta",
    ]
    item = item_of()
    assert call(item) == "result" and item.asked == []


@pytest.mark.parametrize("device, asked", [(None, [None]), (1, [1, None])])
def test_a_survey_is_of_the_current_gpu(device, asked):
    item = item_of(mark=[mark(allocated=10, device=device)], memspec_report=5)
    call(item)
    assert item.asked == asked and isinstance(item.stash[plugin.SURVEY], dict)


def test_a_mark_that_cannot_be_fails_its_test():
    item = item_of(mark=[mark(alocated=10)])
    with pytest.raises(pytest.fail.Exception, match="did you mean allocated") as e:
        next(plugin.pytest_runtest_call(item))
    assert not e.value.pytrace


@pytest.mark.parametrize("kind", [items.CaseItem, items.Unreadable])
def test_cases_are_no_tests_with_budgets(kind):
    item = kind.__new__(kind)
    assert call(item) == "result"
    assert setup(item) == "result"


@pytest.mark.parametrize("strict, outcome", [(True, pytest.fail.Exception), (False, pytest.skip.Exception)])
def test_what_is_not_judged_has_not_passed(strict, outcome):
    item = item_of(Region(why_not="no GPU"), mark=[mark(allocated=1), mark(delta=1, device=1)], memspec_strict=strict)
    with pytest.raises(outcome) as e:
        call(item)
    said = "its budget is not judged: no GPU"
    assert str(e.value) == (f"INCONCLUSIVE test_a.py::test_x: {said}" if strict else said)
    assert not strict or not e.value.pytrace


def setup(item):
    generator = plugin.pytest_runtest_setup(item)
    next(generator)
    with pytest.raises(StopIteration) as e:
        generator.send("result")
    return e.value.value


@pytest.mark.parametrize(
    "why, marked, opened", [("", [mark(allocated=1)], True), ("no GPU", [mark(allocated=1)], False), ("", [], False),
                            ("", [mark()], False)]
)  # fmt: skip
def test_a_region_is_opened_before_the_fixtures_of_a_test_with_a_budget(why, marked, opened):
    region = Region(why_not=why)
    region.before_fixtures = lambda: "before"
    item = item_of(region, mark=marked)
    assert setup(item) == "result"
    assert item.stash.get(plugin.FIXTURES, None) == ("before" if opened else None)
    assert setup(item_of(Region(), mark=marked)) == "result"  # a region that has none


def test_it_is_closed_after_them():
    closed = []
    for fixtures in (None, SimpleNamespace(close=lambda: closed.append(1))):
        item = item_of()
        if fixtures:
            item.stash[plugin.FIXTURES] = fixtures
        generator = plugin.pytest_runtest_teardown(item)
        next(generator)
        with pytest.raises(StopIteration):
            generator.send(None)
    assert closed == [1]


def made(item, when="call", passed=True, excinfo=None):
    generator = plugin.pytest_runtest_makereport(item, SimpleNamespace(excinfo=excinfo))
    next(generator)
    report = SimpleNamespace(when=when, passed=passed, failed=not passed)
    with pytest.raises(StopIteration):
        generator.send(report)
    return report


def test_what_was_measured_travels_with_the_report():
    item = item_of()
    item.stash[plugin.SURVEY], item.stash[increase.NUMBERS], item.stash[plugin.BROKEN] = 1, 2, True
    report = made(item)
    assert (report.memspec_survey, report.memspec_numbers, report.memspec_broken, report.memspec_reads) == (
        1,
        2,
        True,
        [],
    )
    assert made(item, passed=False).memspec_numbers is None
    assert made(item_of()).memspec_broken is False
    assert not hasattr(made(item, "setup"), "memspec_survey")


@pytest.mark.parametrize("kind, asserted", [(None, False), (AssertionError, True), (ValueError, False)])
def test_an_assertion_is_known_from_other_errors(kind, asserted):
    assert made(item_of(), excinfo=kind and SimpleNamespace(type=kind)).memspec_asserted is asserted


def test_a_broken_budget_is_shown_as_one():
    report = made(item_of(), passed=False)
    assert plugin.pytest_report_teststatus(report) is None
    report.memspec_broken = True
    assert plugin.pytest_report_teststatus(report) == ("failed", "M", "MEMORY")
    report.when = "setup"
    assert plugin.pytest_report_teststatus(report) is None
    report.when, report.failed = "call", False
    assert plugin.pytest_report_teststatus(report) is None


def test_reads_that_other_values_change_are_listed_once(monkeypatch):
    from memshim import pretend

    def read(line, varied=True, assumed=None, file="a.py", function="f"):
        return SimpleNamespace(file=file, line=line, function=function, varied=varied, assumed=assumed)

    seen = [read(1), read(1), read(2, varied=False), read(3, assumed=0), read(4, file="", function="item")]
    monkeypatch.setattr(pretend, "report", lambda: SimpleNamespace(reads=seen))
    assert plugin._reads() == ["a.py:1 (f)", "item"]
    monkeypatch.setenv("MEMSPEC_PRETEND", "name=T4")
    assert made(item_of()).memspec_reads == ["a.py:1 (f)", "item"]


@pytest.mark.parametrize("top, want", [(None, 8), (3, 3)])
@pytest.mark.parametrize("cold", [None, True])
def test_the_region_is_of_the_cuda_allocator(monkeypatch, top, want, cold):
    monkeypatch.setattr(plugin, "CUDABudget", lambda *a: a)
    config = item_of(memspec_top=top, memspec_no_warmup=cold).config
    assert plugin.pytest_memspec_region(1, config) == (1, want, not cold)


@pytest.mark.parametrize("name, collected", [("memspec.yaml", True), ("a.memspec.yaml", True), ("other.yaml", False)])
def test_files_are_collected_by_their_name(monkeypatch, name, collected):
    parent = item_of()
    monkeypatch.setattr(plugin.SpecFile, "from_parent", lambda parent, path: path.name)
    assert plugin.pytest_collect_file(Path("x", name), parent) == (name if collected else None)


def test_a_file_name_of_a_snapshot_is_plain_and_short(tmp_path):
    for nodeid, name in (
        ("a/b.py::T::test[x y]", "a_b.py.T.test_x_y.pickle"),
        ("a.py::test[B=8,c-1+2]", "a.py.test_B=8,c-1+2.pickle"),
        ("x" * 151, "x" * 150 + ".pickle"),
    ):
        assert plugin._keep(tmp_path, nodeid, {}).name == name


def test_a_part_of_a_test_has_no_gpu_of_its_own():
    shim = plugin.Shim(item_of())
    with pytest.raises(pytest.fail.Exception, match="which is the mark's alone") as e:
        shim.budget(on="t4", allocated=1)
    assert e.value.pytrace, "the line of the call is shown"
    with shim.budget(allocated=10, device=1):
        pass
    assert shim._item.asked == [1] and shim._item.user_properties[-1] == ("memspec.outcome", "pass")


def test_a_test_checks_a_memspec_yaml(monkeypatch):
    asked = SimpleNamespace(arguments=["--answers"])
    monkeypatch.setattr(machine, "asked", lambda config: asked)
    cases = [{"name": n, "outcome": n} for n in ("pass", "warn")]
    monkeypatch.setattr(
        memspec_yaml, "check", lambda spec, names, queried: {"cases": cases, "of": (spec, names, queried)}
    )
    monkeypatch.setattr(memspec_yaml, "message", lambda spec, name, arguments: f"{spec} {name} {arguments}")
    shim = plugin.Shim(item_of())
    assert shim.check()["of"] == ("memspec.yaml", [], asked)
    assert shim.check("a.yaml", "net")["of"] == ("a.yaml", ["net"], asked)
    cases += [{"name": n, "outcome": n} for n in ("fail", "error")]
    with pytest.raises(pytest.fail.Exception, match=r"^a fail \['--answers'\]\na error \['--answers'\]$") as e:
        shim.check("a")
    assert not e.value.pytrace

    def wrong(*a, **named):
        raise memspec_yaml.SpecError("no such file")

    monkeypatch.setattr(memspec_yaml, "check", wrong)
    with pytest.raises(pytest.fail.Exception, match="^no such file$") as e:
        shim.check("a")
    assert e.value.pytrace


@pytest.mark.parametrize(
    "options, error",
    [
        ({"memspec_no_measure": True, "memspec_measure": True}, "got --memspec-no-measure beside"),
        ({"memspec_no_measure": True, "memspec_require_gpu": True}, "got --memspec-no-measure beside"),
        ({"memspec_update_baseline": True}, "want --memspec-baseline FILE beside it"),
        ({"memspec_baseline": "absent.json"}, "absent.json: no such file"),
        ({"memspec_budget": "alocated=1"}, "^memspec_budget: memory_budget: got the metric 'alocated'"),
        ({"memspec_budget": "allocated"}, "^memspec_budget: memory_budget: got size ''"),
        ({"memspec_no_measure": True}, ""),
        ({"memspec_measure": True, "memspec_require_gpu": True, "memspec_budget": "leaked=0"}, ""),
        ({"memspec_baseline": "absent.json", "memspec_update_baseline": True}, ""),
    ],
)
def test_options_that_contradict_each_other(monkeypatch, tmp_path, options, error):
    monkeypatch.chdir(tmp_path)
    config = item_of(**options).config
    registered, lines = [], []
    config.pluginmanager = SimpleNamespace(register=lambda p, name: registered.append(name))
    config.addinivalue_line = lambda *a: lines.append(a)
    monkeypatch.setattr(separate_process, "register", lambda config: registered.append("process"))
    if error:
        with pytest.raises(pytest.UsageError, match=error):
            plugin.pytest_configure(config)
    else:
        plugin.pytest_configure(config)
    assert registered == ["memspec-summary", "memspec-increase", "process"] and lines[0][0] == "markers"


@pytest.mark.parametrize("by_ini", [True, False])
def test_a_memspec_yaml_at_the_root_is_collected_too(tmp_path, by_ini):
    for name in ("memspec.yaml", "b.memspec.yaml", "a.memspec.yaml", "tests/memspec.yaml", "other.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    config = item_of().config
    sources = pytest.Config.ArgsSource
    config.args_source, config.rootpath = (sources.TESTPATHS if by_ini else sources.ARGS), tmp_path
    named = [str(tmp_path / "tests"), str(tmp_path / "b.memspec.yaml")]
    config.args = [*named]
    plugin.collect_root(config)
    more = ["memspec.yaml", "a.memspec.yaml", "memspec.yaml"][: 2 if by_ini else 0]
    assert sorted(set(config.args) - set(named)) == sorted(str(tmp_path / n) for n in more)
