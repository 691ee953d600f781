"""The pytest plugin: every case of a memspec.yaml is a test, and any test may have a memory budget.

    memspec.yaml::resnet50[B=8]                                   collected where a file of that name is
    @pytest.mark.memory_budget(allocated="1GiB")                  on any test: the CUDA allocator's peaks, where there is a GPU
    def test_x(memshim): with memshim.budget(delta="1MiB"): …     on a part of one

torch is imported only where a test with a budget runs.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from memshim import binary, cases
from memshim.judge import check, marks
from memshim.run import gpu, process

SEEN = pytest.StashKey[Any]()
RUNNER = pytest.StashKey[Any]()
BUDGETS = pytest.StashKey[list]()
MISWRITTEN = pytest.StashKey[str]()


class CaseFailed(Exception):
    """A case that does not pass. The text is the whole account."""


def pytest_addoption(parser: pytest.Parser) -> None:
    add = parser.getgroup("memspec", "GPU memory budgets").addoption
    add("--memspec-measure", action="store_true", help="run every case of a memspec.yaml for real, on CPU tensors where there is no GPU")
    add("--memspec-no-measure", action="store_true", help="run no case for real, even where its GPU is there")
    add("--memspec-require-gpu", action="store_true", help="what was not measured on its GPU fails")
    add("--memspec-output", metavar="FOLDER", help="keep the records of measured cases there")
    parser.addini("memspec_files", "files whose cases are collected", type="args", default=["memspec.yaml"])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "memory_budget(allocated=, reserved=, delta=, device=): at most so much GPU memory while the test runs")
    config.stash[SEEN] = config.stash[RUNNER] = None
    config.pluginmanager.register(Summary(), "memspec-summary")
    o = config.option
    if o.memspec_no_measure and (o.memspec_measure or o.memspec_require_gpu):
        raise pytest.UsageError("got --memspec-no-measure beside --memspec-measure or --memspec-require-gpu, want one of them")


def options(config: pytest.Config) -> check.Options:
    o = config.option
    when = "never" if o.memspec_no_measure else "always" if o.memspec_measure else "auto"
    return check.Options(when, o.memspec_require_gpu, o.memspec_output)


def seen(config: pytest.Config) -> gpu.Seen:
    """This machine's GPU, asked once a process."""
    if config.stash[SEEN] is None:
        config.stash[SEEN] = gpu.look()
    return config.stash[SEEN]


def runner(config: pytest.Config) -> process.Fresh | process.Server:
    """What this process measures its cases by."""
    if config.stash[RUNNER] is None:
        config.stash[RUNNER] = process.runner()
    return config.stash[RUNNER]


def pytest_unconfigure(config: pytest.Config) -> None:
    if config.stash.get(RUNNER, None) is not None:
        config.stash[RUNNER].close()


def pytest_collect_file(file_path, parent: pytest.Collector) -> pytest.Collector | None:
    if any(file_path.match(pattern) for pattern in parent.config.getini("memspec_files")):
        return SpecFile.from_parent(parent, path=file_path)
    return None


def near(path) -> str:
    """From the working directory where it lies below it, as people write it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


class SpecFile(pytest.File):
    """A memspec.yaml."""

    def collect(self) -> Iterator[pytest.Item]:
        try:
            found = cases.load(near(self.path))
        except (cases.SpecError, binary.BinaryError) as e:
            yield Unreadable.from_parent(self, name="(unreadable)", why=str(e))
            return
        for case in found:
            yield CaseItem.from_parent(self, name=case["name"], case=case)


class Unreadable(pytest.Item):
    """A memspec.yaml whose cases are not known: one test that fails, so that the others still run."""

    def __init__(self, *, why: str, **kw):
        super().__init__(**kw)
        self.why = why

    def reportinfo(self):
        return self.path, None, self.name

    def runtest(self) -> None:
        self.user_properties.append(("memspec.outcome", "error"))
        raise CaseFailed(self.why)

    def repr_failure(self, excinfo, style=None):
        return str(excinfo.value)


class CaseItem(pytest.Item):
    """One case: predicted, judged, and run for real where its GPU is there."""

    def __init__(self, *, case: dict, **kw):
        super().__init__(**kw)
        self.case = case
        self.extra_keyword_matches |= {case["model"], self.name.replace("=", ":")}  # -k takes no =

    def reportinfo(self):
        line = self.case["spec"].rpartition(":")[2]
        return self.path, int(line) - 1 if line.isdigit() else None, self.name

    def note(self, name: str, value: Any) -> None:
        """A property of the test, in junit.xml too."""
        if value is not None:
            self.user_properties.append((f"memspec.{name}", value))

    def runtest(self) -> None:
        checked = cases.check(near(self.path), [self.name])["cases"][0]
        for name in ("device", "torch", "runtime", "quality"):
            self.note(name, (checked["report"] or {}).get(name))
        for f in checked["findings"]:
            self.note(f"budget.{f['metric']}", f["limit"])
            self.note(f"predicted.{f['metric']}", f["predicted"])
        messages = []
        if checked["outcome"] != "pass":
            messages.append(self.reproducible(cases.message(near(self.path), self.name)))
        measured = self.measure()
        bad = checked["outcome"] not in ("pass", "warn")
        if measured:
            self.note("measured", measured.outcome)
            if measured.outcome == "skipped":
                self.note("not_measured", measured.text)
            elif measured.outcome != "pass":
                messages.append(measured.text)
            for r in measured.comparison.rows if measured.comparison else ():
                self.note(f"measured.{r['phase']}.{r['metric']}", r["measured"])
            bad = bad or measured.outcome not in ("pass", "warn", "skipped")
        worst = [checked["outcome"], measured.outcome if measured else "pass"]
        self.note("outcome", next((o for o in ("fail", "error", "inconclusive", "warn") if o in worst), "pass"))
        if bad:
            raise CaseFailed("\n".join(messages))
        if messages:
            self.note("warning", messages[0].splitlines()[0] if checked["outcome"] == "pass" else cases.headline(near(self.path), self.name))

    def measure(self) -> check.Measured | None:
        o = options(self.config)
        if o.when == "never":
            return None
        return check.verify(near(self.path), self.case, seen(self.config), o, lambda *a: runner(self.config).measure(*a))

    def reproducible(self, text: str) -> str:
        """The commands that give the account again, this test's first."""
        command = shlex.join(["pytest", self.nodeid])
        return text.replace("\n  reproduce  ", f"\n  reproduce  {command}\n             ")

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, (CaseFailed, cases.SpecError, binary.BinaryError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks are read before anything runs; one that cannot be fails its test."""
    item.stash[BUDGETS] = []
    for name, read in marks.MARKS.items():
        for mark in item.iter_markers(name):
            try:
                item.stash[BUDGETS].append(read(*mark.args, **mark.kwargs))
            except (ValueError, TypeError) as e:
                item.stash[MISWRITTEN] = str(e)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    if MISWRITTEN in item.stash:
        pytest.fail(item.stash[MISWRITTEN], pytrace=False)
    with contextlib.ExitStack() as stack:
        for budget in item.stash.get(BUDGETS, []):
            stack.enter_context(_held_to(item, budget))
        return (yield)


@contextlib.contextmanager
def _held_to(item: pytest.Item, budget: marks.Budget) -> Iterator[None]:
    region = item.config.hook.pytest_memspec_region(device=budget.device)
    if region.why_not:
        yield
        if options(item.config).require_gpu:
            pytest.fail(f"INCONCLUSIVE {item.nodeid}: {region.why_not}, and a GPU is required", pytrace=False)
        item.user_properties.append(("memspec.not_judged", region.why_not))
        return
    region.start()
    try:
        yield  # a test that fails for reasons of its own is told as that
        peaks = region.stop()
        item.user_properties += [(f"memspec.measured.{m}", getattr(peaks, m)) for m in marks.METRICS]
        item.user_properties += [(f"memspec.budget.{x.metric}", x.bytes) for x in budget.limits]
        broken = bool(budget.broken(peaks))
        item.user_properties.append(("memspec.outcome", "fail" if broken else "pass"))
        if broken:
            path, line, _ = item.reportinfo()
            place = f"{item.nodeid.split('::')[0]}:{line + 1}" if line is not None else str(path)
            text = marks.message(item.name, place, budget, peaks, region.holders(), shlex.join(["pytest", item.nodeid]))
            pytest.fail(text, pytrace=False)
    finally:
        region.drop()


class Specs:
    """What a plugin or conftest.py may take the place of."""

    @pytest.hookspec(firstresult=True)
    def pytest_memspec_region(self, device: int | None) -> marks.Region:
        """What measures a region of a test."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(Specs)


@pytest.hookimpl(trylast=True)
def pytest_memspec_region(device: int | None) -> marks.Region:
    return marks.CUDABudget(device)


class Shim:
    """The memshim fixture."""

    def __init__(self, item: pytest.Item):
        self._item = item

    def budget(self, *, device: int | None = None, **limits: str | int) -> contextlib.AbstractContextManager:
        """The mark's budget on a part of the test."""
        return _held_to(self._item, marks.memory_budget(device=device, **limits))

    def check(self, spec: str = "memspec.yaml", case: str | None = None) -> dict:
        """Fails unless every case passes (as memspec check says); gives what it says."""
        checked = cases.check(spec, [case] if case else [])
        bad = [c["name"] for c in checked["cases"] if c["outcome"] not in ("pass", "warn")]
        if bad:
            pytest.fail("\n".join(cases.message(spec, name) for name in bad), pytrace=False)
        return checked

    def trace(self, *args, **kw):
        """memshim.trace."""
        from memshim.look.trace import trace

        return trace(*args, **kw)


@pytest.fixture
def memshim(request: pytest.FixtureRequest) -> Shim:
    """Memory budgets on parts of a test: memshim.budget(allocated=…), memshim.check(…), memshim.trace(…)."""
    return Shim(request.node)


class Summary:
    """The short summary. With xdist it is the controller's: properties travel with the reports."""

    def __init__(self) -> None:
        self.results: list[tuple[str, dict]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties = {k.removeprefix("memspec."): v for k, v in report.user_properties if k.startswith("memspec.")}
        if report.when == "call" and properties:
            self.results.append((report.nodeid, properties))

    def pytest_terminal_summary(self, terminalreporter) -> None:
        if not self.results:
            return
        write = terminalreporter.write_line
        terminalreporter.section("memspec")
        for nodeid, p in sorted(self.results):
            if "warning" in p:
                write(f"{p['warning']}  ({nodeid})")
            elif terminalreporter.verbosity > 0 and "not_measured" in p:
                write(p["not_measured"])
        outcomes = Counter(p["outcome"] for _, p in self.results if "outcome" in p)
        parts = [f"{outcomes[o]} {o}" for o in ("pass", "warn", "fail", "error", "inconclusive") if outcomes[o]]
        for key, what in (("not_judged", "not judged"), ("not_measured", "not measured")):
            whys = Counter(p[key].rpartition(": ")[2] for _, p in self.results if key in p)
            parts += [f"{n} {what}: {why}" for why, n in sorted(whys.items())]
        write(f"{len(self.results)} budget{'s'[:len(self.results) != 1]}: " + ", ".join(parts))
