"""A case of a memspec.yaml as a test: what it says of its outcomes, and when it fails."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from memshim import binary
from memshim.case import capture, memspec_yaml
from memshim.judge import check, increase, items, machine, options
from memshim.judge.items import CaseItem, SpecFile, Unreadable

FINDING = {"metric": "reserved", "limit": 10, "predicted": 8}
PEAK = {"allocated": 1, "reserved": 2}
REPORT = {"device": "t4", "torch": "2.15", "runtime": "eager", "quality": None, "peak": PEAK}


def checked(outcome="pass", report=REPORT, findings=(FINDING,)):
    return {"outcome": outcome, "report": report, "findings": list(findings)}


def measured(outcome="pass", text="measured text", record=None, rows=None):
    comparison = SimpleNamespace(rows=rows) if rows is not None else None
    return SimpleNamespace(outcome=outcome, text=text, record=record, comparison=comparison)


@pytest.fixture
def world(monkeypatch, tmp_path):
    """memspec and the machine, which say what is set here; captured: the runs of a capture."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    w = SimpleNamespace(checked=checked(), measured=None, captured=[], asked=[], options={}, judged=[], path=tmp_path)
    queried = SimpleNamespace(arguments=["--answers", "a"], lines=lambda: ["cuDNN is absent"])

    def refresh(spec, cases, runner):
        w.captured.append((spec, cases, runner))
        return ["captured"]

    def verify(*arguments):
        w.asked.append(arguments)
        return w.measured

    def check_one(spec, names, queried):
        assert (spec, names) == ("memspec.yaml", ["net[B=1]"])
        if isinstance(w.checked, Exception):
            raise w.checked
        return {"cases": [w.checked]}

    monkeypatch.setattr(capture, "refresh", refresh)
    monkeypatch.setattr(check, "verify", verify)
    monkeypatch.setattr(machine, "asked", lambda config: queried)
    monkeypatch.setattr(machine, "runner", lambda config: SimpleNamespace(measure=lambda *a: ("ran", *a)))
    monkeypatch.setattr(machine, "seen", lambda config: "seen")
    monkeypatch.setattr(memspec_yaml, "check", check_one)
    text = "FAIL net\n  budget\n  reproduce  memspec check"
    monkeypatch.setattr(memspec_yaml, "message", lambda spec, name, extra: text)
    monkeypatch.setattr(memspec_yaml, "headline", lambda spec, name, extra: f"head {spec} {name} {extra}")
    monkeypatch.setattr(increase, "judge", lambda item, numbers: w.judged.append(numbers))
    return w


class Case(CaseItem):
    nodeid = "memspec.yaml::net[B=1]"


def item_of(world, **case):
    item = Case.__new__(Case)
    item.path, item.name = world.path / "memspec.yaml", "net[B=1]"
    item.config = SimpleNamespace(option=SimpleNamespace(**world.options), getini=lambda name: None)
    item.user_properties, item.keywords = [], {}
    item.sections = []
    item.add_report_section = lambda *a: item.sections.append(a)
    item.case = {"spec": "memspec.yaml:7", "device": {"name": "t4"}} | case
    return item


def run(world, **case):
    item = item_of(world, **case)
    item.setup()
    item.runtest()
    return item


def test_a_case_that_passes(world):
    item = run(world)
    assert item.user_properties == [
        ("memspec.device", "t4"),
        ("memspec.torch", "2.15"),
        ("memspec.runtime", "eager"),
        ("memspec.budget.reserved", 10),
        ("memspec.predicted.reserved", 8),
        ("memspec.outcome", "pass"),
    ]
    assert item.sections == [("setup", "memspec", "cuDNN is absent")] and world.captured == []
    assert world.judged == [increase.Numbers("t4", {"predicted allocated": 1, "predicted reserved": 2})]


@pytest.mark.parametrize(
    "given, recording, captured",
    [
        ({}, "a.rec", True),
        ({}, None, False),
        ({"memspec_on": "real"}, "a.rec", False),
        ({"memspec_on": "none"}, "a.rec", False),
        ({"memspec_on": "t4"}, "a.rec", True),
    ],
)
def test_a_recording_is_captured_first(world, given, recording, captured):
    world.options = given
    item = run(world, recording=recording)
    assert len(world.captured) == captured
    if captured:
        assert world.captured[0][:2] == ("memspec.yaml", [item.case])
        assert item.sections[0] == ("setup", "memspec", "captured")


@pytest.mark.parametrize("given, asked", [({"memspec_no_measure": True}, 0), ({"memspec_measure": True}, 1)])
def test_where_it_is_run(world, given, asked):
    world.options = given
    item = run(world)
    assert len(world.asked) == asked
    for spec, case, seen, o, measure in world.asked:
        assert (spec, case, seen) == ("memspec.yaml", item.case, "seen")
        assert (o.when, o.extra) == ("always", ("--answers", "a")) and measure(1, 2) == ("ran", 1, 2)


@pytest.mark.parametrize("outcome, fails", [("pass", 0), ("warn", 0), ("fail", 1), ("inconclusive", 1)])
def test_a_case_fails_by_its_budgets(world, outcome, fails):
    world.checked = checked(outcome)
    if fails:
        with pytest.raises(pytest.fail.Exception) as e:
            run(world)
        assert not e.value.pytrace and world.judged == []
        assert str(e.value).splitlines()[2:] == [
            "  reproduce  pytest 'memspec.yaml::net[B=1]'",
            "             memspec check",
        ]
    else:
        assert ("memspec.outcome", outcome) in run(world).user_properties


@pytest.mark.parametrize(
    "outcome, fails, worst", [("pass", 0, "pass"), ("warn", 0, "warn"), ("skipped", 0, "pass"), ("fail", 1, "fail"),
                              ("inconclusive", 1, "inconclusive")]
)  # fmt: skip
def test_a_case_fails_by_what_was_measured(world, outcome, fails, worst):
    world.measured = measured(outcome)
    item = item_of(world)
    item.setup()
    if fails:
        with pytest.raises(pytest.fail.Exception, match="^measured text$"):
            item.runtest()
    else:
        item.runtest()
    said = dict(item.user_properties)
    assert (said["memspec.measured"], said["memspec.outcome"]) == (outcome, worst)
    assert said.get("memspec.not_measured") == ("measured text" if outcome == "skipped" else None)


@pytest.mark.parametrize("of", ["checked", "measured"])
def test_an_error_is_no_failure(world, of):
    if of == "checked":
        world.checked, said = checked("error", report=None, findings=()), "FAIL net\n"
    else:
        world.measured, said = measured("error"), "measured text"
    item = item_of(world)
    with pytest.raises(pytest.fail.Exception) as e:
        item.setup()
    assert str(e.value).startswith(said) and not e.value.pytrace
    assert ("memspec.outcome", "error") in item.user_properties


@pytest.mark.parametrize("error", [memspec_yaml.SpecError("no file"), binary.BinaryError("no file")])
def test_a_case_that_cannot_be_checked_is_an_error(world, error):
    world.checked = error
    item = item_of(world)
    with pytest.raises(pytest.fail.Exception, match="^no file$") as e:
        item.setup()
    assert not e.value.pytrace and item.user_properties == [("memspec.outcome", "error")]


def test_of_two_outcomes_the_worst_counts(world):
    world.checked, world.measured = checked("warn"), measured("fail")
    item = item_of(world)
    item.setup()
    assert ("memspec.outcome", "fail") in item.user_properties
    assert item.messages == [item.reproducible(memspec_yaml.message("", "", ())), "measured text"]


@pytest.mark.parametrize("where, word", [("pretend", "pretended"), ("cuda", "measured")])
def test_measured_numbers_are_properties(world, where, word):
    rows = [{"phase": "peak", "metric": "reserved", "measured": 9}]
    world.measured = measured(record={"where": where}, rows=rows)
    assert (f"memspec.{word}.peak.reserved", 9) in run(world).user_properties
    world.measured = measured(rows=rows)
    assert ("memspec.measured.peak.reserved", 9) in run(world).user_properties


@pytest.mark.parametrize(
    "outcome, of_run, warning",
    [
        ("pass", "pass", None),
        ("warn", "pass", "head memspec.yaml net[B=1] ['--answers', 'a']"),
        ("pass", "warn", "measured text"),
        ("warn", "warn", "head memspec.yaml net[B=1] ['--answers', 'a']"),
    ],
)
def test_a_warning_is_one_line(world, outcome, of_run, warning):
    world.checked, world.measured = checked(outcome), measured(of_run, "measured text\nmore")
    assert dict(run(world).user_properties).get("memspec.warning") == warning


@pytest.mark.parametrize("report", [None, REPORT | {"peak": None}])
def test_without_a_peak_nothing_is_compared_with_earlier_runs(world, report):
    world.checked = checked(report=report)
    run(world)
    assert world.judged == [increase.Numbers("t4", {})]


@pytest.mark.parametrize("spec, line", [("memspec.yaml:7", 6), ("memspec.yaml", None)])
def test_its_place_is_its_line_of_the_file(world, spec, line):
    item = item_of(world, spec=spec)
    assert item.reportinfo() == (world.path / "memspec.yaml", line, "net[B=1]")


def test_paths_are_as_people_write_them(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert items.near(tmp_path / "a" / "b") == os.path.join("a", "b")
    assert items.near(tmp_path.parent / "c") == str(tmp_path.parent / "c")

    def relpath(path):
        raise ValueError("another drive")

    monkeypatch.setattr(items.os.path, "relpath", relpath)
    assert items.near(Path("x")) == "x"


def test_a_file_gives_its_cases(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(CaseItem, "from_parent", lambda parent, **named: ("case", named))
    monkeypatch.setattr(Unreadable, "from_parent", lambda parent, **named: ("unreadable", named))
    file = SpecFile.__new__(SpecFile)
    file.path = tmp_path / "memspec.yaml"
    monkeypatch.setattr(memspec_yaml, "load", lambda spec: [{"name": n, "spec": spec} for n in "ab"])
    assert list(file.collect()) == [("case", {"name": n, "case": {"name": n, "spec": "memspec.yaml"}}) for n in "ab"]

    def load(spec):
        raise memspec_yaml.SpecError("no cases")

    monkeypatch.setattr(memspec_yaml, "load", load)
    assert list(file.collect()) == [("unreadable", {"name": "(unreadable)", "why": "no cases"})]


def test_a_file_that_cannot_be_read_is_an_error():
    item = Unreadable.__new__(Unreadable)
    item.why, item.user_properties = "line 3", []
    with pytest.raises(pytest.fail.Exception, match="^line 3$") as e:
        item.setup()
    assert not e.value.pytrace and item.user_properties == [("memspec.outcome", "error")]


def config(ini=None, **given):
    return SimpleNamespace(option=SimpleNamespace(**given), getini=lambda name: (ini or {}).get(name))


@pytest.mark.parametrize(
    "ini, given, name, want",
    [
        ({}, {}, "memspec_top", None),
        ({"memspec_top": "3"}, {}, "memspec_top", 3),
        ({"memspec_top": "3"}, {"memspec_top": 0}, "memspec_top", 0),
        ({"memspec_strict": False}, {}, "memspec_strict", None),
        ({"memspec_strict": True}, {}, "memspec_strict", True),
        ({"memspec_on": "t4"}, {}, "memspec_on", "t4"),
        ({"memspec_on": ""}, {}, "memspec_on", None),
    ],
)
def test_the_command_line_comes_before_the_ini_file(ini, given, name, want):
    assert options.get(config(ini, **given), name) == want


def test_an_ini_value_that_is_no_number():
    with pytest.raises(pytest.UsageError, match="^memspec_top: got 'x', want a number$"):
        options.check(config({"memspec_top": "x"}))


@pytest.mark.parametrize(
    "given, when",
    [
        ({}, "auto"),
        ({"memspec_on": "none"}, "never"),
        ({"memspec_on": "real"}, "real"),
        ({"memspec_on": "pretend"}, "pretend"),
        ({"memspec_on": "t4"}, "pretend"),
        ({"memspec_on": "t4", "memspec_measure": True}, "always"),
        ({"memspec_on": "t4", "memspec_no_measure": True}, "never"),
    ],
)
def test_where_cases_run(given, when):
    assert options.of_check(config(**given)) == check.Options(when, False, None)
    got = options.of_check(config(memspec_require_gpu=True, memspec_output="out"))
    assert got == check.Options("auto", True, "out")


@pytest.mark.parametrize(
    "ci, given, strict",
    [
        (None, {}, False),
        ("true", {}, True),
        ("True", {}, True),
        ("false", {}, False),
        ("true", {"memspec_no_strict": True}, False),
        (None, {"memspec_strict": True}, True),
        (None, {"memspec_strict": True, "memspec_no_strict": True}, False),
    ],
)
def test_what_is_not_judged_fails_in_ci(monkeypatch, ci, given, strict):
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", ci)
    assert options.strict(config(**given)) is strict


@pytest.mark.parametrize(
    "given, surveys",
    [
        ({}, False),
        ({"memspec_report": 5}, True),
        ({"memspec_fail_on_increase": True}, True),
        ({"memspec_update_baseline": True}, True),
        ({"memspec_baseline": "file"}, False),
    ],
)
def test_when_every_test_is_measured(given, surveys):
    assert options.surveys(config(**given)) is surveys


def test_each_option_is_of_the_command_line_and_the_ini_file():
    flags, ini = {}, {}
    group = SimpleNamespace(addoption=lambda flag, **named: flags.update({flag: named}))
    parser = SimpleNamespace(
        getgroup=lambda name, text: group, addini=lambda name, text, type, default: ini.update({name: (type, default)})
    )
    options.add(parser)
    for o in options.OPTIONS:
        named = dict(flags["--" + o.name.replace("_", "-")])
        assert named.pop("help") == o.help
        if o.kind is bool:
            assert named == {"action": "store_true", "default": None} and ini[o.name] == ("bool", None)
        else:
            more = {"nargs": "?", "const": 5} if o.name == "memspec_report" else {}
            assert named == {"type": o.kind, "metavar": o.metavar} | more and ini[o.name] == ("string", None)
    assert ini["memspec_files"] == ("args", ["memspec.yaml"])
