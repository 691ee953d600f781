"""--memspec-fail-on-increase: what a test took in the last run, or as a committed file says, held
against what it takes now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memshim import sizes
from memshim.judge import options

BEFORE = pytest.StashKey[dict[str, Any]]()
NUMBERS = pytest.StashKey[dict[str, Any]]()
CACHE = "memspec/last"
SCHEMA = 1


class Numbers(NamedTuple):
    """What a test takes on a device, by metric, in bytes."""

    device: str
    bytes: dict[str, int]


def before(config: pytest.Config) -> dict[str, dict[str, Any]]:
    """By test, what was said before: of the baseline, else of the last run."""
    if BEFORE not in config.stash:
        file = options.get(config, "memspec_baseline")
        config.stash[BEFORE] = (
            _read(Path(file), bool(options.get(config, "memspec_update_baseline"))) if file else _cached(config)
        )
    return config.stash[BEFORE]


def _cached(config: pytest.Config) -> dict[str, Any]:
    return config.cache.get(CACHE, {}) if getattr(config, "cache", None) else {}


def _read(file: Path, may_be_absent: bool) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError(f"got schema {document['schema']!r}, want {SCHEMA}")
        tests: dict[str, Any] = document["tests"]
        return tests
    except FileNotFoundError:
        if may_be_absent:
            return {}
        raise pytest.UsageError(f"{file}: no such file; --memspec-update-baseline writes it") from None
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise pytest.UsageError(f"{file}: no baseline of memspec: {e}") from None


def judge(item: pytest.Item, now: Numbers) -> None:
    """Fails the test where it takes more than before on the same device."""
    if not options.surveys(item.config):
        return
    item.stash[NUMBERS] = {"device": now.device, **now.bytes}
    if not options.get(item.config, "memspec_fail_on_increase"):
        return
    was = before(item.config).get(item.nodeid)
    if not was or was.get("device") != now.device:
        return
    said = options.get(item.config, "memspec_baseline") or "the last run"
    worse = [
        (metric, was[metric], n)
        for metric, n in now.bytes.items()
        if isinstance(was.get(metric), int) and n > was[metric]
    ]
    if worse:
        del item.stash[NUMBERS]  # else the next run would take it for good
        lines = [
            f"  {metric:10} {sizes.show(n)} ({n} B), {said}: {sizes.show(old)} ({old} B): more by {sizes.show(n - old)}"
            + (f" (+{100 * (n - old) / old:.1f}%)" if old else "")
            for metric, old, n in worse
        ]
        item.user_properties[:] = [(k, v) for k, v in item.user_properties if k != "memspec.outcome"] + [
            ("memspec.outcome", "fail")
        ]
        pytest.fail("\n".join([f"FAIL {item.name} on {now.device}: takes more than before", *lines]), pytrace=False)


class Keeper:
    """Of the process that sums up: keeps the numbers of this run."""

    def __init__(self) -> None:
        self.now: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if numbers := getattr(report, "memspec_numbers", None):
            self.now[report.nodeid] = numbers

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config = session.config
        if hasattr(config, "workerinput") or not self.now:
            return
        file = options.get(config, "memspec_baseline")
        if getattr(config, "cache", None):
            config.cache.set(CACHE, {**_cached(config), **self.now})
        if file and options.get(config, "memspec_update_baseline"):
            tests: dict[str, Any] = {**before(config), **self.now}
            Path(file).write_text(
                json.dumps({"schema": SCHEMA, "tests": dict(sorted(tests.items()))}, indent=1) + "\n", encoding="utf-8"
            )
