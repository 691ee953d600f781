"""What is said at the end of a run of pytest."""

from types import SimpleNamespace

import pytest

from memshim.judge import summary


def config(**options):
    return SimpleNamespace(option=SimpleNamespace(**options), getini=lambda name: None)


class Terminal:
    def __init__(self, verbosity=0):
        self.lines, self.verbosity = [], verbosity

    def section(self, title):
        self.lines.append(f"= {title}")

    def write_line(self, line):
        self.lines.append(line)


def report(nodeid, when="call", passed=True, survey=None, **properties):
    named = [("memspec." + k.replace("__", "."), v) for k, v in properties.items()]
    return SimpleNamespace(
        nodeid=nodeid, when=when, passed=passed, memspec_survey=survey, user_properties=[("other", 1), *named]
    )


def said(*reports, verbosity=0, **options):
    s = summary.Summary(config(**options))
    for r in reports:
        s.pytest_runtest_logreport(r)
    terminal = Terminal(verbosity)
    s.pytest_terminal_summary(terminal)
    return terminal.lines


def test_budgets_are_counted_by_outcome():
    assert said(
        report("a", outcome="pass"),
        report("b", outcome="fail", **{"2__outcome": "warn"}),
        report("c", "setup", False, outcome="error"),
        report("d", not_judged="no GPU"),
        report("e", **{"2__not_judged": "no GPU"}),
        report("f", "teardown", outcome="inconclusive"),
        report("g", "setup", True, outcome="inconclusive"),
        report("h", "budgetoutcome", **{"budget__allocated": 1}),
    ) == ["= memspec", "6 budgets: 1 pass, 1 warn, 1 fail, 1 error, 2 not judged: no GPU"]


def test_one_budget():
    assert said(report("a", outcome="pass")) == ["= memspec", "1 budget: 1 pass"]


def test_without_a_budget_nothing_is_said():
    assert said(report("a"), report("b", **{"measured__allocated": 3})) == []


def test_no_summary():
    assert said(report("a", outcome="pass"), memspec_no_summary=True) == []


@pytest.mark.parametrize("verbosity, more", [(0, []), (1, ["NOT MEASURED a: no GPU here"])])
def test_warnings_and_what_was_not_measured(verbosity, more):
    assert said(
        report("b", outcome="pass", not_measured="NOT MEASURED a: no GPU here"),
        report("a", outcome="warn", warning="close to the limit", not_measured="NOT MEASURED b: no GPU here"),
        verbosity=verbosity,
    ) == [
        "= memspec",
        "close to the limit  (a)",
        *more,
        "2 budgets: 1 pass, 1 warn, 2 not measured: no GPU here",
    ]


def taken(delta, **more):
    return {
        "delta": delta, "allocated": 2048, "reserved": 4096, "leaked": 0, "churn": 1024, "allocations": 3,
        "histogram": [0] * 9, "lines": ["x.py:1", "y.py:2"], "where": "pretend",
    } | more  # fmt: skip


def test_the_report_shows_who_took_the_most():
    lines = said(
        report("a", survey=taken(1)),
        report("c", survey=taken(3)),
        report("b", survey=taken(3)),
        report("d", survey="no GPU"),
        report("e", survey="no GPU"),
        report("f", survey="another"),
        memspec_report=2,
    )
    assert lines[:6] == [
        "= memspec report",
        "1 test not measured: another",
        "2 tests not measured: no GPU",
        "the 2 of 3 tests that took the most (allocated on a pretend GPU)",
        "",
        "b: 3 B by the test, peak 2.0 KiB allocated, 4.0 KiB reserved, 0 B left behind",
    ]
    assert lines[6:9] == ["  1.0 KiB in 3 allocations: none", "  x.py:1", "  y.py:2"]
    assert lines[10].startswith("c: 3 B") and len(lines) == 14


def test_a_report_of_nothing_but_tests_that_were_not_measured():
    assert said(report("d", survey="no GPU"), memspec_report=2) == ["= memspec report", "1 test not measured: no GPU"]
    assert said(report("d", survey="no GPU")) == [] == said(report("d"), memspec_report=2)


@pytest.mark.parametrize(
    "counts, text",
    [
        ([0] * 9, "none"),
        ([], "none"),
        ([8, 1, 0, 4, 0, 0, 0, 0, 5], "≤512 B █ 8, ≤4.0 KiB ▁ 1, ≤256.0 KiB ▄ 4, >1.00 GiB ▅ 5"),
        ([0, 16, 1, 2, 3], "≤4.0 KiB █ 16, ≤32.0 KiB ▁ 1, ≤256.0 KiB ▁ 2, ≤1.0 MiB ▂ 3"),
    ],
)
def test_a_bar_is_an_eighth_of_the_most_rounded_up(counts, text):
    assert summary.histogram(counts) == text


def test_what_a_terminal_would_act_upon_is_not_written():
    assert said(report("a\x1b[31m", outcome="warn", warning="w"))[1] == "w  (a\ufffd[31m)"
