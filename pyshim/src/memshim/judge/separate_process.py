"""Tests that run on a pretend GPU, each in a separate process: those beside it are untouched.

The process is pytest's own, on that one test, with the settings of this run; what it reports is
reported here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memshim import binary, pretend
from memshim.case.compare_values import OTHERS
from memshim.judge import options

OPTION = "--memspec-reports"  # of the process: the file where it leaves what it reports


def environment(device: str) -> dict[str, str]:
    """The variables of a process on that device. pretend.Unsupported, pretend.BuildError: there can
    be none here."""
    return pretend.environment(device)


def command(item: pytest.Item, reports: str) -> list[str]:
    """pytest on that test alone, as this run is set up."""
    config, o = item.config, item.config.option
    words = [
        sys.executable,
        "-m",
        "pytest",
        item.nodeid,
        OPTION,
        reports,
        "--rootdir",
        str(config.rootpath),
        "-p",
        "no:cacheprovider",
    ]
    if config.pluginmanager.hasplugin("xdist"):
        words += ["-n", "0"]  # whatever the ini file says
    if config.inipath:
        words += ["-c", str(config.inipath)]
    for flag, values in (("-p", o.plugins), ("-o", o.override_ini), ("-W", o.pythonwarnings)):
        words += [w for v in values or () if v != "no:cacheprovider" for w in (flag, v)]
    return [*words, "--import-mode", o.importmode, "--capture", "fd" if o.capture == "no" else o.capture]


def run(item: pytest.Item, environ: dict[str, str]) -> list[pytest.TestReport]:
    """What the test came to; where it read values that no kernel computed, with others too."""
    reports = once(item, environ)
    call = called(reports)
    if call is not None and outcomes(call) and (lines := getattr(call, "memspec_reads", None)):
        others = {values: called(once(item, environ | {"MEMSPEC_VALUES": values})) for values in OTHERS}
        judge_ends(item, call, others, lines)
    return reports


def called(reports: list[pytest.TestReport]) -> pytest.TestReport | None:
    return next((r for r in reports if r.when == "call"), None)


def outcomes(report: pytest.TestReport) -> dict[str, str]:
    """Of the budgets of a test, by property; none of one that failed before they were judged."""
    return {k: str(v) for k, v in report.user_properties if k.startswith("memspec.") and k.endswith("outcome")}


def judge_ends(
    item: pytest.Item, call: pytest.TestReport, others: dict[str, pytest.TestReport | None], lines: list[str]
) -> None:
    """A budget that is kept with some values and broken with others is not judged, nor is one where
    a run has no known end. A run in which an assertion of the test fails counts for nothing: the
    test fails there whatever it takes."""
    own = outcomes(call)
    found = {values: outcomes(r) if r else {} for values, r in others.items()}
    unknown = [
        values for values, got in found.items() if not got and not getattr(others[values], "memspec_asserted", False)
    ]
    differ = [values for values, got in found.items() if got and got != own]
    undecided = {k: v for k, v in own.items() if unknown or any(found[values].get(k) != v for values in differ)}
    if not undecided or any(v == "fail" and k not in undecided for k, v in own.items()):
        return
    which = f"{'broken' if 'fail' in undecided.values() else 'kept'} as they are read, and "
    which += (
        f"not with {' and '.join(differ)} values"
        if differ
        else f"with {' and '.join(unknown)} values the test does not come to its end"
    )
    why = f"values that no kernel computed decide, read at {', '.join(lines[:4])}: the budget is {which}"
    properties = [
        (k, v) if k not in undecided else (k.removesuffix("outcome") + "not_judged", why)
        for k, v in call.user_properties
    ]
    call.user_properties = properties
    call.memspec_broken = False  # type: ignore[attr-defined]  # ours, for pytest_report_teststatus
    if options.strict(item.config):
        call.outcome, call.longrepr = "failed", f"INCONCLUSIVE {call.nodeid}: its budget is not judged: {why}"
    else:
        path, line, _ = call.location
        call.outcome, call.longrepr = "skipped", (path, (line or 0) + 1, f"Skipped: its budget is not judged: {why}")


def once(item: pytest.Item, environ: dict[str, str]) -> list[pytest.TestReport]:
    """What the test came to in a process."""
    with tempfile.TemporaryDirectory(prefix="memshim-") as folder:
        file = os.path.join(folder, "reports")
        words = command(item, file)
        environ = {k: v for k, v in (os.environ | environ).items() if not k.startswith("PYTEST_")}
        p = subprocess.run(
            words, cwd=item.config.rootpath, env=environ, capture_output=True, text=True, errors="replace"
        )
        lines = Path(file).read_text(encoding="utf-8").splitlines() if os.path.exists(file) else []
    reports = [
        item.config.hook.pytest_report_from_serializable(config=item.config, data=json.loads(line)) for line in lines
    ]
    for r in reports:
        if isinstance(r.longrepr, list):  # a tuple's JSON: file, line and reason of a skip
            r.longrepr = tuple(r.longrepr)
    if not any(r.when == "teardown" for r in reports):
        how = f"by signal {-p.returncode}" if p.returncode < 0 else f"with {p.returncode}"
        text = f"the test's own process ended {how} before it was done\n{(p.stdout + p.stderr).strip()}"
        reports.append(pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call"))
    return reports


NO_PRETEND = pytest.StashKey[str]()  # of a test: why there can be no pretend GPU here


def register(config: pytest.Config) -> None:
    """In a process that runs one test: leave its reports. In another: run such tests in theirs."""
    named = options.get(config, "memspec_on")
    if named and named not in options.PLACES:
        try:
            pretend.find(named)
        except (ValueError, binary.BinaryError) as e:
            raise pytest.UsageError(f"--memspec-on: {e}") from None
    file = options.get(config, OPTION.removeprefix("--").replace("-", "_"))
    config.pluginmanager.register(
        Reports(config, file) if file else Apart(named if named not in options.PLACES else ""), "memspec-apart"
    )


class Apart:
    """Runs tests elsewhere whose marks say on=, or all with a mark where everywhere names a
    device."""

    def __init__(self, everywhere: str | None):
        self._everywhere = everywhere or ""

    def device_of(self, item: pytest.Item) -> str:
        """Empty for a test that runs here."""
        wanted = {
            pretend.find(name).name
            for m in item.iter_markers("memory_budget")
            if (name := m.kwargs.get("on") or self._everywhere)
        }
        if len(wanted) > 1:
            raise ValueError(f"got marks on {' and '.join(sorted(wanted))}, want one device a test")
        return next(iter(wanted), "")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        try:
            device = self.device_of(item)
            environ = environment(device) if device else {}
        except (pretend.Unsupported, pretend.BuildError) as e:
            item.stash[NO_PRETEND] = f"no pretend GPU: {e}"
            return None
        except (ValueError, binary.BinaryError) as e:
            self._report(
                item,
                nextitem,
                [pytest.TestReport(item.nodeid, item.location, {}, "failed", f"memory_budget: {e}", "call")],
            )
            return True
        if not device:
            return None
        self._report(item, nextitem, run(item, environ))
        return True

    def _report(self, item: pytest.Item, nextitem: pytest.Item | None, reports: list[pytest.TestReport]) -> None:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        item.session._setupstate.teardown_exact(nextitem)


class Reports:
    """In the test's process: leaves each report for whoever started it."""

    def __init__(self, config: pytest.Config, file: str):
        self._config, self._file = config, file

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        with open(self._file, "a", encoding="utf-8") as f:
            f.write(json.dumps(data, default=str) + "\n")
