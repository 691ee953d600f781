"""The plugin's options: each on the command line, and in an ini file by the same name."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import pytest

from memshim.judge import region
from memshim.judge.check import Options


class Option(NamedTuple):
    """name is that of the ini, --memspec-… on the command line; const is what the word alone means
    where a value may follow."""

    name: str
    kind: type
    help: str
    metavar: str = ""
    const: Any = None


PLACES = ("pretend", "real", "none")  # words of --memspec-on that are no device
OPTIONS = (
    Option("memspec_measure", bool, "run every case of a memspec.yaml for real, on CPU tensors where there is no GPU"),
    Option(
        "memspec_on",
        str,
        "pretend, real or none: where the cases of a memspec.yaml are run (on this machine's GPU where it is the "
        "case's, else on a "
        "pretend one); or a device's name: marks without on= are judged on it, pretended, and cases too",
        "WHERE",
    ),
    Option(
        "memspec_reports",
        str,
        "leave what tests report there: of a process that runs one test on a pretend GPU",
        "FILE",
    ),
    Option("memspec_no_measure", bool, "run no case for real, even where its GPU is there"),
    Option("memspec_require_gpu", bool, "what was not measured on its GPU fails"),
    Option("memspec_output", str, "keep the records of measured cases there", "FOLDER"),
    Option(
        "memspec_budget",
        str,
        "the budget of every test, where its own marks name no limit: 'allocated=1GiB leaked=0'",
        "LIMITS",
    ),
    Option("memspec_report", int, "measure every test and show the N that took the most (5)", "N", 5),
    Option(
        "memspec_fail_on_increase",
        bool,
        "measure every test; one that takes more than in the last run, or than the baseline says, fails",
    ),
    Option("memspec_baseline", str, "the file to compare with, which can be committed", "FILE"),
    Option("memspec_update_baseline", bool, "write what is measured into the baseline"),
    Option(
        "memspec_snapshot",
        str,
        "keep a snapshot there of each test that breaks its budget, for PyTorch's memory_viz",
        "FOLDER",
    ),
    Option("memspec_top", int, f"source lines shown of who held the peak ({region.TOP})", "N"),
    Option(
        "memspec_no_warmup",
        bool,
        "let what libraries keep from their first use fall into the test that uses them first",
    ),
    Option(
        "memspec_strict",
        bool,
        "a budget that could not be judged fails its test; the default where CI=true. Without it the test is skipped",
    ),
    Option("memspec_no_strict", bool, "a budget that could not be judged skips its test, also where CI=true"),
    Option("memspec_no_summary", bool, "no summary at the end"),
)


def add(parser: pytest.Parser) -> None:
    group = parser.getgroup("memspec", "GPU memory budgets")
    for o in OPTIONS:
        flag = "--" + o.name.replace("_", "-")
        if o.kind is bool:
            group.addoption(flag, action="store_true", default=None, help=o.help)
        elif o.const is not None:
            group.addoption(flag, nargs="?", const=o.const, type=o.kind, metavar=o.metavar, help=o.help)
        else:
            group.addoption(flag, type=o.kind, metavar=o.metavar, help=o.help)
        if o.kind is bool:
            parser.addini(o.name, o.help, type="bool", default=None)
        else:
            parser.addini(o.name, o.help, type="string", default=None)
    parser.addini("memspec_files", "files whose cases are collected", type="args", default=["memspec.yaml"])


def get(config: pytest.Config, name: str) -> Any:
    """The command line's word, else the ini's; None or False for neither."""
    given = getattr(config.option, name, None)
    if given is not None:
        return given
    o = next(o for o in OPTIONS if o.name == name)
    text = config.getini(name)
    if o.kind is bool or not text:
        return text or None
    try:
        return o.kind(text)
    except ValueError:
        raise pytest.UsageError(f"{name}: got {text!r}, want {'a number' if o.kind is int else o.metavar}") from None


def check(config: pytest.Config) -> None:
    """What cannot be read is reported before anything runs."""
    for o in OPTIONS:
        get(config, o.name)


def of_check(config: pytest.Config) -> Options:
    on = get(config, "memspec_on")
    on_device = "auto" if not on else "never" if on == "none" else on if on == "real" else "pretend"
    when = "never" if get(config, "memspec_no_measure") else "always" if get(config, "memspec_measure") else on_device
    return Options(when, bool(get(config, "memspec_require_gpu")), get(config, "memspec_output"))


def strict(config: pytest.Config) -> bool:
    """Whether a budget that could not be judged fails its test."""
    if get(config, "memspec_no_strict"):
        return False
    return bool(get(config, "memspec_strict")) or os.environ.get("CI", "").lower() == "true"


def surveys(config: pytest.Config) -> bool:
    """Whether every test is measured."""
    return bool(
        get(config, "memspec_report")
        or get(config, "memspec_fail_on_increase")
        or get(config, "memspec_update_baseline")
    )
