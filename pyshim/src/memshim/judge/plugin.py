"""The pytest plugin: every case of a memspec.yaml is a test, and any test may have a memory budget.

    memspec.yaml::resnet50[B=8]                                   collected where a file of that name is
    @pytest.mark.memory_budget(allocated="1GiB")                  on any test: the CUDA allocator's peaks
    @pytest.mark.memory_budget(allocated="1GiB", on="t4")         the same in a separate process, on a pretend GPU
    def test_x(memshim): with memshim.budget(delta="1MiB"): …     on a part of one

torch is imported only where a test with a budget runs and there may be a GPU.
"""

from __future__ import annotations

import contextlib
import pickle
import re
import shlex
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from memshim.case import memspec_yaml
from memshim.gpu.where import pretended
from memshim.judge import increase, machine, marks, options, separate_process
from memshim.judge.items import CaseItem, SpecFile, Unreadable
from memshim.judge.region import TOP, CUDABudget, Region
from memshim.judge.summary import Summary

Note = Callable[[str, object], None]  # writes a property of a test

COUNT = pytest.StashKey[int]()  # budgets of a test so far
SURVEY = pytest.StashKey[Any]()
UNJUDGED = pytest.StashKey[list[str]]()  # why budgets of a test could not be judged
FIXTURES = pytest.StashKey[Any]()  # the region that began before a test's fixtures
BROKEN = pytest.StashKey[bool]()
VIEWER = "https://docs.pytorch.org/memory_viz"


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "memory_budget(allocated=, reserved=, delta=, leaked=, device=, on=): at most so much GPU memory while the "
        "test runs; with "
        "on= in a separate process, on that GPU, pretended",
    )
    config.pluginmanager.register(Summary(config), "memspec-summary")
    config.pluginmanager.register(increase.Keeper(), "memspec-increase")
    separate_process.register(config)
    options.check(config)

    def get(name: str) -> Any:
        return options.get(config, name)

    if get("memspec_no_measure") and (get("memspec_measure") or get("memspec_require_gpu")):
        raise pytest.UsageError(
            "got --memspec-no-measure beside --memspec-measure or --memspec-require-gpu, want one of them"
        )
    if get("memspec_update_baseline") and not get("memspec_baseline"):
        raise pytest.UsageError("got --memspec-update-baseline, want --memspec-baseline FILE beside it")
    if get("memspec_baseline"):
        increase.before(config)
    try:
        default_budget(config)
    except (ValueError, TypeError) as e:
        raise pytest.UsageError(f"memspec_budget: {e}") from None
    collect_root(config)


def collect_root(config: pytest.Config) -> None:
    """A memspec.yaml at the root is collected whatever `testpaths` says: that names folders of
    Python tests."""
    if getattr(config, "args_source", None) == pytest.Config.ArgsSource.TESTPATHS:
        named = [Path(a).resolve() for a in config.args]
        for pattern in config.getini("memspec_files"):
            config.args += [
                str(f)
                for f in sorted(config.rootpath.glob(pattern))
                if not any(f.resolve().is_relative_to(n) for n in named)
            ]


def pytest_unconfigure(config: pytest.Config) -> None:
    machine.close(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if any(file_path.match(pattern) for pattern in parent.config.getini("memspec_files")):
        return SpecFile.from_parent(parent, path=file_path)
    return None


def default_budget(config: pytest.Config) -> marks.Budget | None:
    text = options.get(config, "memspec_budget")
    return marks.budget_of(text) if text else None


def budgets_of(item: pytest.Item) -> list[marks.Budget]:
    """As its marks say now: whatever a conftest.py or a fixture has added counts."""
    found = [read(*mark.args, **mark.kwargs) for name, read in marks.MARKS.items() for mark in item.iter_markers(name)]
    default = default_budget(item.config)
    return marks.closest([*found, *([default] if default else [])])


def _budgets_or_error(item: pytest.Item) -> tuple[list[marks.Budget], str]:
    try:
        return budgets_of(item), ""
    except (ValueError, TypeError) as e:
        return [], str(e)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    if isinstance(item, (CaseItem, Unreadable)):
        return (yield)
    budgets, wrong = _budgets_or_error(item)
    if wrong:
        pytest.fail(wrong, pytrace=False)
    if options.surveys(item.config) and not any(b.device is None for b in budgets):
        budgets.append(marks.Budget(()))
    with contextlib.ExitStack() as stack:
        for budget in budgets:
            stack.enter_context(held_to(item, budget, whole=budget.device is None))
        result = yield
    _unjudged(item)
    return result


def _unjudged(item: pytest.Item) -> None:
    """What was not judged has not passed."""
    whys = list(dict.fromkeys(item.stash.get(UNJUDGED, ())))
    if whys and options.strict(item.config):
        pytest.fail(f"INCONCLUSIVE {item.nodeid}: its budget is not judged: {'; '.join(whys)}", pytrace=False)
    if whys:
        pytest.skip(f"its budget is not judged: {'; '.join(whys)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """What fixtures allocate has its lines, too."""
    with contextlib.suppress(ValueError, TypeError):
        if not isinstance(item, (CaseItem, Unreadable)) and budgets_of(item):
            region = item.config.hook.pytest_memspec_region(device=None, config=item.config)
            if not region.why_not and hasattr(region, "before_fixtures"):
                item.stash[FIXTURES] = region.before_fixtures()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    try:
        return (yield)
    finally:
        if region := item.stash.get(FIXTURES, None):
            region.close()


@contextlib.contextmanager
def held_to(item: pytest.Item, budget: marks.Budget, whole: bool = False) -> Generator[None, Any, Any]:
    """whole: it is all of the test, which a report and a comparison with earlier runs say of."""
    try:
        region = item.config.hook.pytest_memspec_region(device=budget.device, config=item.config)
    except ValueError as e:
        pytest.fail(str(e), pytrace=False)
    why_not = item.stash.get(separate_process.NO_PRETEND, "") or region.why_not
    note = _notes(item) if budget.limits else lambda name, value: None
    surveyed = whole and options.surveys(item.config)
    if why_not:
        if surveyed:
            on = options.get(item.config, "memspec_on")
            unmarked = on and on not in options.PLACES and not budget.limits
            item.stash[SURVEY] = f"without a memory_budget they do not run on a pretend {on}" if unmarked else why_not
        yield
        if budget.limits:
            if options.of_check(item.config).require_gpu:
                pytest.fail(f"INCONCLUSIVE {item.nodeid}: {why_not}, and a GPU is required", pytrace=False)
            _not_judged(item, note, why_not)
        return
    if (fixtures := item.stash.get(FIXTURES, None)) and hasattr(region, "after"):
        region.after(fixtures)
    region.start()
    try:
        try:
            yield
        except pytest.skip.Exception:
            raise
        except BaseException as e:  # reported as what it is, with what was taken so far
            peaks = region.stop()
            _write_figures(note, peaks, budget)
            if said := _out_of_memory(e):
                if budget.limits:
                    _fail_oom(item, peaks, region, note, said)
                item.add_report_section("call", "memspec: who held the memory", region.holders())
            raise
        peaks = region.stop()
        if budget.wants("leaked") or surveyed:
            peaks = peaks._replace(
                leaked=region.leaked([*getattr(item, "funcargs", {}).values(), getattr(item, "instance", None)])
            )
        _write_figures(note, peaks, budget)
        if surveyed:
            item.stash[SURVEY] = _survey(region, peaks)
        if budget.limits and not budget.nothing() and hasattr(region, "took_nothing") and region.took_nothing():
            _not_judged(item, note, f"it allocates nothing on {peaks.device}")
        elif budget.limits:
            _judge(item, budget, peaks, region, note)
        if surveyed:
            increase.judge(item, increase.Numbers(peaks.device, {"delta": peaks.delta, "leaked": peaks.leaked}))
    finally:
        region.drop()


def _notes(item: pytest.Item) -> Note:
    """Writes a budget's properties: of the first of a test memspec.NAME, of the second
    memspec.2.NAME."""
    n = item.stash[COUNT] = item.stash.get(COUNT, 0) + 1
    prefix = "memspec." if n == 1 else f"memspec.{n}."
    return lambda name, value: item.user_properties.append((prefix + name, value))


def _write_figures(note: Note, peaks: marks.Peaks, budget: marks.Budget) -> None:
    for m in marks.METRICS:
        if m != "leaked" or budget.wants("leaked"):
            note(f"{'pretended' if pretended() else 'measured'}.{m}", getattr(peaks, m))
    for x in budget.limits:
        note(f"budget.{x.metric}", x.of(peaks.total).bytes)


def _not_judged(item: pytest.Item, note: Note, why: str) -> None:
    note("not_judged", why)
    item.stash.setdefault(UNJUDGED, []).append(why)


def _out_of_memory(e: BaseException) -> str:
    """What is said of the memory that ran out; empty where that is not the cause."""
    from memshim.gpu.failure import out_of_memory

    return out_of_memory(e) if isinstance(e, Exception) else ""


def _fail_oom(item: pytest.Item, peaks: marks.Peaks, region: Region, note: Note, said: str) -> NoReturn:
    """Memory that runs out in a test with a budget breaks it, whatever its limits are."""
    note("outcome", "fail")
    item.stash[BROKEN] = True
    asked = " ".join(re.split(r"(?<=\.) ", said)[:2])
    held = "".join(f"\n    {line}" for line in region.holders().splitlines())
    pytest.fail(
        f"FAIL {item.name} on {peaks.device}: it does not fit: {asked}\n  who held the memory:{held}\n"
        f"  reproduce  {shlex.join(['pytest', item.nodeid])}",
        pytrace=False,
    )


def _reads() -> list[str]:
    """The lines that read values which no kernel computed, and which are others with
    MEMSPEC_VALUES."""
    from memshim import pretend
    from memshim.frames import shorten

    seen = pretend.report().reads
    return list(
        dict.fromkeys(
            f"{shorten(r.file)}:{r.line} ({r.function})" if r.file else r.function
            for r in seen
            if r.varied and r.assumed is None
        )
    )


def _survey(region: Region, peaks: marks.Peaks) -> dict[str, Any]:
    from memshim.gpu import where

    facts = (
        region.survey() if hasattr(region, "survey") else {"churn": 0, "allocations": 0, "histogram": [], "lines": []}
    )
    return {**peaks._asdict(), "where": where.words("cuda"), **facts}


def _judge(item: pytest.Item, budget: marks.Budget, peaks: marks.Peaks, region: Region, note: Note) -> None:
    broken = budget.broken(peaks)
    note("outcome", "fail" if broken else "pass")
    if not broken:
        return
    item.stash[BROKEN] = True
    path, line, _ = item.reportinfo()
    place = f"{item.nodeid.split('::')[0]}:{line + 1}" if line is not None else str(path)
    facts = {}
    if any(x.metric == "leaked" for x, _ in broken):
        facts["left behind:"] = region.leaks()
    if any(x.metric != "leaked" for x, _ in broken):
        facts["held at the peak:"] = region.holders()
    folder = options.get(item.config, "memspec_snapshot")
    if folder and hasattr(region, "snapshot"):
        facts["snapshot"] = f"{_keep(Path(folder), item.nodeid, region.snapshot())} ({VIEWER} opens it)"
    facts["reproduce"] = shlex.join(["pytest", item.nodeid])
    pytest.fail(marks.message(item.name, place, budget, peaks, facts), pytrace=False)


def _keep(folder: Path, nodeid: str, snapshot: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / (re.sub(r"[^\w.=,+-]+", "_", nodeid.replace("::", ".")).strip("_")[-150:] + ".pickle")
    with open(file, "wb") as f:
        pickle.dump(snapshot, f)
    return file


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """What was measured travels with the report, also from xdist's processes."""
    report = yield
    if report.when == "call":
        report.memspec_survey = item.stash.get(SURVEY, None)
        report.memspec_numbers = item.stash.get(increase.NUMBERS, None) if report.passed else None
        report.memspec_broken = item.stash.get(BROKEN, False)
        report.memspec_reads = _reads() if pretended() else []
        report.memspec_asserted = call.excinfo is not None and issubclass(call.excinfo.type, AssertionError)
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    if report.when == "call" and report.failed and getattr(report, "memspec_broken", False):
        return "failed", "M", "MEMORY"
    return None


class Specs:
    """What a plugin or conftest.py may take the place of."""

    @pytest.hookspec(firstresult=True)
    def pytest_memspec_region(self, device: int | None, config: pytest.Config) -> Region:
        """What measures a region of a test."""
        raise NotImplementedError


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(Specs)


@pytest.hookimpl(trylast=True)
def pytest_memspec_region(device: int | None, config: pytest.Config) -> Region:
    return CUDABudget(device, options.get(config, "memspec_top") or TOP, not options.get(config, "memspec_no_warmup"))


class Shim:
    """The memshim fixture."""

    def __init__(self, item: pytest.Item):
        self._item = item

    def budget(
        self, *, device: int | str | None = None, **limits: str | int | float
    ) -> contextlib.AbstractContextManager[Any]:
        """The mark's budget on a part of the test."""
        __tracebackhide__ = True  # what is wrong with the call is reported at the caller's line
        try:
            if "on" in limits:
                raise ValueError("memshim.budget: got on=, which is the mark's alone: a test is on one GPU as a whole")
            words: dict[str, Any] = {**limits}
            budget = marks.memory_budget(device=device, **words)
        except ValueError as e:
            wrong = str(e)
        else:
            return held_to(self._item, budget)
        pytest.fail(wrong)

    def check(self, spec: str = "memspec.yaml", case: str | None = None) -> dict[str, Any]:
        """Fails unless every case passes (as memspec check says); gives what it says."""
        __tracebackhide__ = True
        try:
            asked = machine.asked(self._item.config)
            checked, wrong = memspec_yaml.check(spec, [case] if case else [], queried=asked), ""
        except memspec_yaml.SpecError as e:
            checked, wrong = {}, str(e)
        if wrong:
            pytest.fail(wrong)
        bad = [c["name"] for c in checked["cases"] if c["outcome"] not in ("pass", "warn")]
        if bad:
            pytest.fail("\n".join(memspec_yaml.message(spec, name, asked.arguments) for name in bad), pytrace=False)
        return checked

    def trace(self, *args: Any, **kw: Any) -> contextlib.AbstractContextManager[Any]:
        """memshim.trace."""
        from memshim.look.trace import trace

        return trace(*args, **kw)


@pytest.fixture
def memshim(request: pytest.FixtureRequest) -> Shim:
    """Memory budgets on parts of a test: memshim.budget(allocated=…), memshim.check(…),
    memshim.trace(…)."""
    return Shim(request.node)
