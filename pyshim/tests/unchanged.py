"""A file's tests that passed are not run again until something changes that they could read, as go
test has it: of the whole suite, as make test runs it. MEMSPEC_AGAIN=1 runs them all.

What they could read: every file of the checkout but Go's tests and other files of tests; the corpus
beside it; Python, what is installed for it, compilers, devices and the variables of the
environment. The network and the time decide no test."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parents[1]
FILES = sorted((*TESTS.glob("test_*.py"), *TESTS.glob("pretend/test_*.py")))
PASSED = ROOT / ".cache" / "passed"  # a file for each file of tests: the state in which it passed
OTHERS = re.compile(r"pyshim/tests/(pretend/)?test_\w+\.py|.*_test\.go")
# Variables that differ from run to run and decide nothing.
PASSING = re.compile(r"_$|PWD|OLDPWD|SHLVL|TMPDIR|TERM|COLUMNS|LINES|MAKE|MFLAGS|PYTEST_|SSH_|XDG_SESSION|GO")


@functools.cache
def everything() -> str:
    """The state of all but the files of tests; empty where there is no git to list it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        return ""
    state = hashlib.sha256("\n".join(around()).encode())
    for name in sorted(set(filter(None, listed.stdout.split("\0")))):
        path = ROOT / name
        if path.is_file() and not OTHERS.fullmatch(name):
            state.update(f"{name} {path.stat().st_mode} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    for path in sorted((ROOT.parent / "shared").rglob("*")):
        if path.is_file():
            state.update(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}\n".encode())
    return state.hexdigest()


def around() -> Iterable[str]:
    """Python, its packages, the compilers, the devices and the environment."""
    yield from (sys.version, sys.executable, platform.platform(), str(os.cpu_count()), str(os.geteuid()))
    yield from sorted({f"{d.name} {d.version}" for d in importlib.metadata.distributions()})
    for name, usual in {"CC": "cc", "CXX": "g++", "GO": "go"}.items():
        program = shutil.which(os.environ.get(name, usual))
        yield f"{program} {os.stat(program).st_mtime_ns if program else 0}"
    yield from sorted(map(str, Path("/dev").glob("nvidia*")))
    yield from sorted(f"{n}={v}" for n, v in os.environ.items() if not PASSING.match(n))


def state(path: Path) -> str:
    """Of a file of tests, with those that it names."""
    digest = hashlib.sha256(everything().encode())
    named, rest = {path}, [path]
    while rest:
        words = set(re.findall(r"\w+", rest.pop().read_text()))
        more = [f for f in FILES if f.stem in words and f not in named]
        named.update(more)
        rest += more
    for file in sorted(named):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def note(path: Path) -> Path:
    return PASSED / path.relative_to(TESTS).as_posix().replace("/", "-")


class Unchanged:
    """The plugin. Of several processes the one that collects their reports says what the others leave
    out, and notes what passed."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.states: dict[Path, str] = {}
        self.collected: set[str] = set()
        self.ended: set[str] = set()
        self.failed: set[Path] = set()
        given = getattr(config, "workerinput", {}).get("left_out")
        if given is None:
            self.states = {f: state(f) for f in FILES}  # before anything ran that might change a file
            given = [str(f) for f, s in self.states.items() if note(f).is_file() and note(f).read_text() == s]
        self.left_out: list[str] = given

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node) -> None:
        node.workerinput["left_out"] = self.left_out

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.config.hook.pytest_deselected(items=[i for i in items if str(i.path) in self.left_out])
        items[:] = [i for i in items if str(i.path) not in self.left_out]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected.update(i.nodeid for i in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.collected.update(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.ended.add(report.nodeid)
        if report.failed:
            self.failed.add(self.file(report.nodeid))

    def file(self, test: str) -> Path:
        return self.config.rootpath / test.partition("::")[0]

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if not self.states:  # one of several processes
            return
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.left_out:  # the others are skipped whole
            session.exitstatus = pytest.ExitCode.OK
        PASSED.mkdir(parents=True, exist_ok=True)
        cut_short = {self.file(test) for test in self.collected - self.ended}
        for path in {self.file(test) for test in self.ended} - self.failed - cut_short:
            note(path).write_text(self.states[path])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left_out:
            terminalreporter.write_line(
                f"{len(self.left_out)} of {len(FILES)} files of tests passed before and nothing has changed that they "
                "could read: not run (MEMSPEC_AGAIN=1 runs them)"
            )


def wanted(config: pytest.Config) -> bool:
    """Whether a run is one of the whole suite: no test is chosen by name, and none is to be run again."""
    if hasattr(config, "workerinput"):
        return "left_out" in config.workerinput
    option, environ = config.option, os.environ
    chosen = option.keyword or option.markexpr or option.deselect or option.maxfail or option.collectonly
    whole = [Path(a).resolve() for a in config.args] == [TESTS] and not environ.get("MEMSPEC_SHARD")
    return bool(
        environ.get("MEMSPEC_WHOLE") and not environ.get("MEMSPEC_AGAIN") and whole and not chosen and everything()
    )
