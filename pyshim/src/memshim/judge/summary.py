"""What is said at the end of a run. With xdist it is the controller that says it: what is measured
travels with the reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from memshim import sizes
from memshim.gpu import where
from memshim.judge import options
from memshim.judge.region import BINS
from memshim.printed import printable

OUTCOMES = ("pass", "warn", "fail", "error", "inconclusive")
_BARS = "▁▂▃▄▅▆▇█"


class Summary:
    """The short summary, and the report of every test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.results: list[tuple[str, dict[str, Any]]] = []
        self.surveys: list[tuple[str, dict[str, Any]]] = []
        self.unmeasured: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown" or report.when == "setup" and report.passed:
            return
        properties = {k.removeprefix("memspec."): v for k, v in report.user_properties if k.startswith("memspec.")}
        if properties:
            self.results.append((report.nodeid, properties))
        survey = getattr(report, "memspec_survey", None)
        if isinstance(survey, str):
            self.unmeasured[survey] += 1
        elif survey:
            self.surveys.append((report.nodeid, survey))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        top = options.get(self._config, "memspec_report")
        if top and (self.surveys or self.unmeasured):
            self._report(terminalreporter, top)
        judged = [
            (nodeid, p)
            for nodeid, p in self.results
            if any(_is(k, "outcome") or _is(k, "not_judged") or k == "not_measured" for k in p)
        ]
        if judged and not options.get(self._config, "memspec_no_summary"):
            self._summary(terminalreporter, judged)

    def _summary(self, terminalreporter: pytest.TerminalReporter, judged: list[tuple[str, dict[str, Any]]]) -> None:
        write = _writer(terminalreporter)
        terminalreporter.section("memspec")
        for nodeid, p in sorted(judged):
            if "warning" in p:
                write(f"{p['warning']}  ({nodeid})")
            elif terminalreporter.verbosity > 0 and "not_measured" in p:
                write(p["not_measured"])
        outcomes = Counter(v for _, p in judged for k, v in p.items() if _is(k, "outcome"))
        not_judged = Counter(v for _, p in judged for k, v in p.items() if _is(k, "not_judged"))
        parts = [f"{outcomes[o]} {o}" for o in OUTCOMES if outcomes[o]]
        not_measured = Counter(p["not_measured"].rpartition(": ")[2] for _, p in judged if "not_measured" in p)
        for what, whys in (("not judged", not_judged), ("not measured", not_measured)):
            parts += [f"{n} {what}: {why}" for why, n in sorted(whys.items())]
        total = sum(outcomes.values()) + sum(not_judged.values())
        write(f"{total} budget{'s'[: total != 1]}: " + ", ".join(parts))

    def _report(self, terminalreporter: pytest.TerminalReporter, top: int) -> None:
        write = _writer(terminalreporter)
        terminalreporter.section("memspec report")
        for why, n in sorted(self.unmeasured.items()):
            write(f"{n} test{'s'[: n != 1]} not measured: {why}")
        if not self.surveys:
            return
        shown = sorted(self.surveys, key=lambda s: (-s[1]["delta"], s[0]))[:top]
        write(
            f"the {len(shown)} of {len(self.surveys)} tests that took the most ({where.LABELS[shown[0][1]['where']]})"
        )
        for nodeid, s in shown:
            write("")
            write(
                f"{nodeid}: {sizes.show(s['delta'])} by the test, peak {sizes.show(s['allocated'])} allocated, "
                f"{sizes.show(s['reserved'])} reserved, "
                f"{sizes.show(s['leaked'])} left behind"
            )
            write(f"  {sizes.show(s['churn'])} in {s['allocations']} allocations: {histogram(s['histogram'])}")
            for line in s["lines"]:
                write("  " + line)


def _is(key: str, what: str) -> bool:
    """Of the test's first budget, or of another."""
    return key == what or key.endswith("." + what)


def histogram(counts: list[int]) -> str:
    """How many allocations of up to each size."""
    most, out = max(counts, default=0), []
    for n, at_most in zip(counts, [*(f"≤{sizes.show(b)}" for b in BINS), f">{sizes.show(BINS[-1])}"]):
        if n:
            out.append(f"{at_most} {_BARS[max(0, -(-n * len(_BARS) // most) - 1)]} {n}")
    return ", ".join(out) or "none"


def _writer(terminalreporter: pytest.TerminalReporter) -> Callable[[str], None]:
    return lambda line: terminalreporter.write_line(printable(line))
