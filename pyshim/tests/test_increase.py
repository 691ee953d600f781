"""--memspec-fail-on-increase: what a test took before and takes now."""

import json
import types

import pytest

from memshim.judge import increase
from memshim.judge.increase import Numbers

NOW = Numbers("t4", {"allocated": 2048, "reserved": 4096})


class Cache(dict):
    def set(self, key, value):
        self[key] = value


@pytest.fixture
def config(monkeypatch):
    """A run of pytest with options."""
    given = {"memspec_fail_on_increase": True}
    monkeypatch.setattr(increase.options, "surveys", lambda config: not given.get("off"))
    monkeypatch.setattr(increase.options, "get", lambda config, name: given.get(name))
    return types.SimpleNamespace(stash={}, cache=Cache(), given=given)


def item(config):
    return types.SimpleNamespace(
        config=config, nodeid="a::b", name="b", stash={}, user_properties=[("memspec.outcome", "pass"), ("x", 1)]
    )


def judged(config, was, now=NOW):
    """What the test fails by, "" for nothing, and what is kept of it."""
    config.cache[increase.CACHE] = {"a::b": was} if was else {}
    config.stash.clear()
    one = item(config)
    try:
        increase.judge(one, now)
    except pytest.fail.Exception as e:
        assert one.user_properties == [("x", 1), ("memspec.outcome", "fail")]
        return str(e), one.stash.get(increase.NUMBERS)
    return "", one.stash.get(increase.NUMBERS)


KEPT = {"device": "t4", "allocated": 2048, "reserved": 4096}


def test_more_than_before_fails(config):
    said, kept = judged(config, {"device": "t4", "allocated": 1024, "reserved": 4096})
    assert said.splitlines() == [
        "FAIL b on t4: takes more than before",
        "  allocated  2.0 KiB (2048 B), the last run: 1.0 KiB (1024 B): more by 1.0 KiB (+100.0%)",
    ]
    assert kept is None, "else the next run would take it for good"
    assert judged(config, {"device": "t4", "allocated": 0})[0].endswith("0 B (0 B): more by 2.0 KiB")


@pytest.mark.parametrize(
    "was",
    [
        None,
        KEPT,
        KEPT | {"allocated": 9999},
        {"device": "l4", "allocated": 1},
        {"allocated": 1},
        {"device": "t4", "allocated": None, "reserved": "1"},
    ],
)
def test_what_is_no_more_passes_and_is_kept(config, was):
    assert judged(config, was) == ("", KEPT)


def test_without_the_option_numbers_are_kept_alone(config):
    config.given["memspec_fail_on_increase"] = False
    assert judged(config, {"device": "t4", "allocated": 1}) == ("", KEPT)
    config.given["off"] = True
    assert judged(config, {"device": "t4", "allocated": 1}) == ("", None)


def baseline(config, path, text=None, update=False):
    config.given |= {"memspec_baseline": str(path), "memspec_update_baseline": update}
    config.stash.clear()
    if text is not None:
        path.write_text(text)
    return increase.before(config)


def test_a_baseline_is_a_committed_file(config, tmp_path):
    path = tmp_path / "base.json"
    config.cache[increase.CACHE] = {"other": {}}
    with pytest.raises(pytest.UsageError, match="base.json: no such file; --memspec-update-baseline writes it"):
        baseline(config, path)
    assert baseline(config, path, update=True) == {}
    document = {"schema": 1, "tests": {"a::b": {"device": "t4", "allocated": 1024}}}
    assert baseline(config, path, json.dumps(document)) == document["tests"]
    path.unlink()
    assert increase.before(config) == document["tests"], "read once"
    path.write_text(json.dumps(document))
    with pytest.raises(pytest.fail.Exception, match="base.json: 1.0 KiB"):
        increase.judge(item(config), NOW)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"schema": 2, "tests": {}}', '{"schema": 1}'])
def test_a_baseline_that_is_none(config, tmp_path, text):
    with pytest.raises(pytest.UsageError, match="base.json: no baseline of memspec: "):
        baseline(config, tmp_path / "base.json", text, update=True)


def test_without_a_cache_nothing_was_before(config):
    config.cache = None
    assert increase.before(config) == {}


def ended(config, *reports):
    keeper = increase.Keeper()
    for nodeid, numbers in reports:
        report = types.SimpleNamespace(nodeid=nodeid)
        if numbers:
            report.memspec_numbers = numbers
        keeper.pytest_runtest_logreport(report)
    keeper.pytest_sessionfinish(types.SimpleNamespace(config=config))
    return config.cache.get(increase.CACHE) if config.cache is not None else None


def test_numbers_of_a_run_are_added_to_those_of_the_last(config):
    config.cache[increase.CACHE] = {"old": {"a": 1}, "b": {"a": 2}}
    assert ended(config, ("b", {"a": 3}), ("c", {"a": 4}), ("d", None)) == {
        "old": {"a": 1},
        "b": {"a": 3},
        "c": {"a": 4},
    }


def test_a_run_without_numbers_and_a_process_of_xdist_keep_nothing(config):
    assert ended(config, ("d", None)) is None
    config.workerinput = {}
    assert ended(config, ("b", {"a": 3})) is None


def test_a_baseline_is_written_where_that_is_asked_for(config, tmp_path):
    path = tmp_path / "base.json"
    baseline(config, path, json.dumps({"schema": 1, "tests": {"z": {"a": 1}, "b": {"a": 1}}}))
    ended(config, ("b", {"a": 3}))
    assert json.loads(path.read_text())["tests"]["b"] == {"a": 1}
    config.given["memspec_update_baseline"] = True
    config.cache = None
    ended(config, ("b", {"a": 3}))
    assert path.read_text() == json.dumps({"schema": 1, "tests": {"b": {"a": 3}, "z": {"a": 1}}}, indent=1) + "\n"
