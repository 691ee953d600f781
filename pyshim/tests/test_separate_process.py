"""A test in a separate process: its command, what its reports come to, and what of them is not judged."""

import json
import os
import sys
from types import SimpleNamespace

import pytest

from memshim import binary, pretend
from memshim.judge import separate_process
from memshim.judge.separate_process import Apart, judge_ends


@pytest.fixture(autouse=True)
def not_in_ci(monkeypatch):
    monkeypatch.delenv("CI", raising=False)


def config_of(tmp_path, xdist=False, inipath=None, **options):
    given = {"plugins": None, "override_ini": None, "pythonwarnings": None, "importmode": "prepend", "capture": "fd"}
    return SimpleNamespace(
        option=SimpleNamespace(**(given | options)),
        getini=lambda name: None,
        rootpath=tmp_path,
        inipath=inipath,
        pluginmanager=SimpleNamespace(hasplugin=lambda name: xdist and name == "xdist"),
        hook=SimpleNamespace(pytest_report_from_serializable=lambda config, data: SimpleNamespace(**data)),
    )


def item_of(config, marks=()):
    return SimpleNamespace(
        config=config,
        nodeid="test_a.py::test_x",
        location=("test_a.py", 3, "test_x"),
        stash=pytest.Stash(),
        iter_markers=lambda name: marks if name == "memory_budget" else (),
    )


def words_of(item):
    words = separate_process.command(item, "FILE")
    assert words[:4] == [sys.executable, "-m", "pytest", item.nodeid]
    return words[4:]


def test_the_process_is_pytest_on_that_test(tmp_path):
    start = ["--memspec-reports", "FILE", "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    assert words_of(item_of(config_of(tmp_path))) == [*start, "--import-mode", "prepend", "--capture", "fd"]
    config = config_of(
        tmp_path,
        xdist=True,
        inipath=tmp_path / "pytest.ini",
        plugins=["mine", "no:cacheprovider"],
        override_ini=["a=1"],
        pythonwarnings=["error", "ignore"],
        importmode="importlib",
        capture="no",
    )
    assert words_of(item_of(config)) == [
        *start,
        *("-n", "0", "-c", str(tmp_path / "pytest.ini"), "-p", "mine", "-o", "a=1", "-W", "error", "-W", "ignore"),
        *("--import-mode", "importlib", "--capture", "fd"),
    ]
    assert words_of(item_of(config_of(tmp_path, capture="sys")))[-1] == "sys"


def report(when="call", outcome="passed", longrepr=None, **more):
    return {"when": when, "outcome": outcome, "longrepr": longrepr, "user_properties": []} | more


@pytest.fixture
def process(monkeypatch, tmp_path):
    """Stands for the process: it leaves the reports of `left`, or no file where that is None."""
    world = SimpleNamespace(left=[], returncode=0, calls=[], item=item_of(config_of(tmp_path)))

    def run(words, cwd, env, **named):
        world.calls.append((cwd, env))
        if world.left is not None:
            with open(words[5], "w") as f:
                f.writelines(json.dumps(r) + "\n" for r in world.left)
        return SimpleNamespace(returncode=world.returncode, stdout="out\n", stderr="err\n")

    monkeypatch.setattr(separate_process.subprocess, "run", run)
    return world


def test_its_reports_are_read(process, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-x")
    process.left = [report("setup"), report(longrepr=["a.py", 3, "Skipped: x"]), report("teardown", longrepr="text")]
    reports = separate_process.once(process.item, {"MEMSPEC_PRETEND": "t4"})
    assert [(r.when, r.longrepr) for r in reports] == [
        ("setup", None),
        ("call", ("a.py", 3, "Skipped: x")),
        ("teardown", "text"),
    ]
    ((cwd, environ),) = process.calls
    assert cwd == tmp_path and environ["MEMSPEC_PRETEND"] == "t4" and environ["PATH"] == os.environ["PATH"]
    assert not any(k.startswith("PYTEST_") for k in environ)


@pytest.mark.parametrize("left", [None, [], [report("setup")]])
@pytest.mark.parametrize("code, how", [(-11, "by signal 11"), (0, "with 0"), (3, "with 3")])
def test_a_process_that_ends_early_is_a_failure(process, left, code, how):
    process.left, process.returncode = left, code
    *_, last = separate_process.once(process.item, {})
    assert (last.when, last.outcome, last.nodeid) == ("call", "failed", "test_a.py::test_x")
    assert last.longrepr == f"the test's own process ended {how} before it was done\nout\nerr"


def test_where_values_were_read_it_runs_with_others_too(process, monkeypatch):
    judged = []
    monkeypatch.setattr(separate_process, "judge_ends", lambda item, *a: judged.append(a))
    reads = report(memspec_reads=["a.py:1 (f)"], user_properties=[["memspec.outcome", "pass"]])
    process.left = [reads, report("teardown")]
    separate_process.run(process.item, {"MEMSPEC_PRETEND": "t4"})
    assert [env.get("MEMSPEC_VALUES") for _, env in process.calls] == [None, "least", "most", "skewed"]
    ((call, others, lines),) = judged
    assert call.when == "call" and list(others) == ["least", "most", "skewed"] and lines == ["a.py:1 (f)"]
    assert all(r.when == "call" for r in others.values())


@pytest.mark.parametrize(
    "left",
    [
        report(memspec_reads=[], user_properties=[["memspec.outcome", "pass"]]),
        report(memspec_reads=["a.py:1"]),  # no budget was judged
        report("setup", memspec_reads=["a.py:1"], user_properties=[["memspec.outcome", "pass"]]),
    ],
)
def test_where_nothing_is_decided_it_runs_once(process, left):
    process.left = [left, report("teardown")]
    separate_process.run(process.item, {})
    assert len(process.calls) == 1


def test_the_outcomes_of_budgets():
    r = SimpleNamespace(
        user_properties=[("memspec.outcome", "pass"), ("memspec.2.outcome", "fail"), ("outcome", "x"),
                         ("memspec.budget.allocated", 3)]
    )  # fmt: skip
    assert separate_process.outcomes(r) == {"memspec.outcome": "pass", "memspec.2.outcome": "fail"}


def end(first="pass", second=None, asserted=False, none=False):
    """How a run ended; None for the budget that was not judged."""
    properties = [("memspec.measured.allocated", 5)]
    for name, outcome in (("memspec.outcome", first), ("memspec.2.outcome", second)):
        if outcome:
            properties.append((name, outcome))
    return None if none else SimpleNamespace(
        user_properties=properties,
        memspec_asserted=asserted,
        memspec_broken=True,
        outcome="passed",
        longrepr=None,
        nodeid="test_a.py::test_x",
        location=("test_a.py", 3, "test_x"),
    )  # fmt: skip


def judged(tmp_path, own, *others, strict=False, lines=("a.py:1",)):
    item = item_of(config_of(tmp_path, memspec_strict=strict))
    judge_ends(item, own, dict(zip(("least", "most", "skewed"), others)), list(lines))
    return own


@pytest.mark.parametrize(
    "own, others",
    [
        (end(), [end(), end(), end()]),
        (end("fail"), [end("fail")] * 3),
        (end(), [end(), end(None, asserted=True), end()]),  # the test fails there whatever it takes
        (end("pass", "fail"), [end("fail", "fail")] * 3),  # the second is broken with all values
    ],
)
def test_budgets_that_all_values_decide_alike_are_judged(tmp_path, own, others):
    before = list(own.user_properties)
    judged(tmp_path, own, *others)
    assert (own.outcome, own.memspec_broken, own.user_properties) == ("passed", True, before)


UNKNOWN = "values the test does not come to its end"
READ = "values that no kernel computed decide, read at a.py:1: the budget is "


@pytest.mark.parametrize(
    "own, others, why",
    [
        (end(), [end(), end("fail"), end()], "kept as they are read, and not with most values"),
        (end("fail"), [end(), end("fail"), end()], "broken as they are read, and not with least and skewed values"),
        (end(), [end(None)], f"kept as they are read, and with least {UNKNOWN}"),
        (end(), [end(), end(none=True)], f"kept as they are read, and with most {UNKNOWN}"),
        (end(), [end("fail"), end(None)], "kept as they are read, and not with least values"),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_budgets_that_values_decide_are_not_judged(tmp_path, own, others, why, strict):
    own = SimpleNamespace(**vars(own))
    judged(tmp_path, own, *others, strict=strict)
    assert ("memspec.not_judged", READ + why) in own.user_properties and own.memspec_broken is False
    assert separate_process.outcomes(own) == {} and ("memspec.measured.allocated", 5) in own.user_properties
    said = f"its budget is not judged: {READ}{why}"
    if strict:
        assert (own.outcome, own.longrepr) == ("failed", f"INCONCLUSIVE test_a.py::test_x: {said}")
    else:
        assert (own.outcome, own.longrepr) == ("skipped", ("test_a.py", 4, f"Skipped: {said}"))


def test_of_two_budgets_one_may_be_undecided(tmp_path):
    own = judged(tmp_path, end("pass", "pass"), end("pass", "fail"))
    assert separate_process.outcomes(own) == {"memspec.outcome": "pass"}
    assert "memspec.2.not_judged" in dict(own.user_properties)


def test_four_lines_are_named_and_a_test_may_have_no_line(tmp_path):
    own = end()
    own.location = ("test_a.py", None, "test_x")
    judged(tmp_path, own, end("fail"), lines="abcde")
    assert "read at a, b, c, d: the" in own.longrepr[2] and own.longrepr[1] == 1


def mark(**named):
    return SimpleNamespace(kwargs=named)


@pytest.mark.parametrize(
    "everywhere, marks, device",
    [
        (None, [mark(allocated=1)], ""),
        ("", [], ""),
        ("t4", [], ""),
        ("t4", [mark(allocated=1)], "t4"),
        ("t4", [mark(on="a10g")], "a10g"),
        (None, [mark(on="T4"), mark(on="t4"), mark()], "t4"),
    ],
)
def test_the_device_of_a_test(monkeypatch, tmp_path, everywhere, marks, device):
    monkeypatch.setattr(pretend, "find", lambda name: SimpleNamespace(name=name.lower()))
    assert Apart(everywhere).device_of(item_of(config_of(tmp_path), marks)) == device


def test_a_test_is_on_one_device(monkeypatch, tmp_path):
    monkeypatch.setattr(pretend, "find", lambda name: SimpleNamespace(name=name))
    with pytest.raises(ValueError, match="^got marks on a10g and t4, want one device a test$"):
        Apart("").device_of(item_of(config_of(tmp_path), [mark(on="t4"), mark(on="a10g")]))


@pytest.fixture
def apart(monkeypatch, tmp_path):
    """An Apart with what it reports, and an item of one device."""
    monkeypatch.setattr(pretend, "find", lambda name: SimpleNamespace(name=name))
    monkeypatch.setattr(separate_process, "environment", lambda device: {"ON": device})
    monkeypatch.setattr(separate_process, "run", lambda item, environ: [environ["ON"]])
    item = item_of(config_of(tmp_path), [mark(on="t4")])
    said = []
    item.ihook = SimpleNamespace(
        pytest_runtest_logstart=lambda nodeid, location: said.append(("start", nodeid, location)),
        pytest_runtest_logreport=lambda report: said.append(report),
        pytest_runtest_logfinish=lambda nodeid, location: said.append(("finish", nodeid, location)),
    )
    torn = []
    item.session = SimpleNamespace(_setupstate=SimpleNamespace(teardown_exact=torn.append))
    return SimpleNamespace(apart=Apart(""), item=item, said=said, torn=torn)


def test_a_test_on_a_device_is_run_elsewhere(apart):
    assert apart.apart.pytest_runtest_protocol(apart.item, "next") is True
    at = apart.item.nodeid, apart.item.location
    assert apart.said == [("start", *at), "t4", ("finish", *at)] and apart.torn == ["next"]


def test_a_test_without_a_device_runs_here(apart):
    apart.item.iter_markers = lambda name: ()
    assert apart.apart.pytest_runtest_protocol(apart.item, None) is None and apart.said == []


@pytest.mark.parametrize("error", [pretend.Unsupported("macOS"), pretend.BuildError("macOS")])
def test_where_there_can_be_no_pretend_gpu_the_test_runs_here(apart, monkeypatch, error):
    def environment(device):
        raise error

    monkeypatch.setattr(separate_process, "environment", environment)
    assert apart.apart.pytest_runtest_protocol(apart.item, None) is None and apart.said == []
    assert apart.item.stash[separate_process.NO_PRETEND] == f"no pretend GPU: {error}"


@pytest.mark.parametrize("error", [ValueError("got device 'x'"), binary.BinaryError("got device 'x'")])
def test_a_device_that_is_none_fails_its_test(apart, monkeypatch, error):
    def environment(device):
        raise error

    monkeypatch.setattr(separate_process, "environment", environment)
    assert apart.apart.pytest_runtest_protocol(apart.item, None) is True
    _, failed, _ = apart.said
    assert (failed.outcome, failed.longrepr) == ("failed", "memory_budget: got device 'x'")


def registered(tmp_path, **options):
    config = config_of(tmp_path, **options)
    found = []
    config.pluginmanager.register = lambda plugin, name: found.append((plugin, name))
    separate_process.register(config)
    ((plugin, name),) = found
    assert name == "memspec-apart"
    return plugin


@pytest.mark.parametrize("on, everywhere", [(None, ""), ("t4", "t4"), ("pretend", ""), ("real", ""), ("none", "")])
def test_a_device_of_the_command_line_is_of_all_marks(monkeypatch, tmp_path, on, everywhere):
    monkeypatch.setattr(pretend, "find", lambda name: pytest.fail("it is no device") if name in ("pretend",) else name)
    plugin = registered(tmp_path, memspec_on=on)
    assert isinstance(plugin, Apart) and plugin._everywhere == everywhere


def test_a_device_of_the_command_line_that_is_none(monkeypatch, tmp_path):
    def find(name):
        raise ValueError("got device 'toaster'")

    monkeypatch.setattr(pretend, "find", find)
    with pytest.raises(pytest.UsageError, match="^--memspec-on: got device 'toaster'$"):
        registered(tmp_path, memspec_on="toaster")


def test_the_tests_process_leaves_its_reports(tmp_path):
    plugin = registered(tmp_path, memspec_reports=str(tmp_path / "reports"))
    plugin._config.hook = SimpleNamespace(pytest_report_to_serializable=lambda config, report: {"r": report})
    for r in (1, {2}):
        plugin.pytest_runtest_logreport(r)
    assert (tmp_path / "reports").read_text().splitlines() == ['{"r": 1}', '{"r": "{2}"}']
