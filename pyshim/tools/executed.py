"""Which tests execute a line of memshim, and tests in forked processes.

The bytecode of a copy of memshim marks each statement in a file that all processes share, under the
number of the test that runs: in this process, in those that are forked, in programs that are
started. The sources stay as they are, so that lines and tracebacks are right. A file of tests is
recorded once, in a folder that later runs find.
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import importlib.util
import json
import marshal
import mmap
import os
import py_compile
import signal
import struct
import sys
import time
import traceback
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HEAD = 4096  # bytes of the shared file before its rows: the place of the row of the test that runs
ROWS = 160  # tests of a file; the last row is of all further ones
LIMIT = 1500  # seconds in which a file of tests is recorded
# Of a module, before its first statement: the rows, and where the row of the test that runs begins.
BEGIN = """
try:
    __executed__
except NameError:
    exec({0!r}, {{}})
"""
OPEN = """
import builtins, mmap, os
try:
    number = os.open({0!r}, os.O_RDWR)
    rows = memoryview(mmap.mmap(number, 0))
    os.close(number)
except OSError:
    rows = memoryview(bytearray({1}))
builtins.__executed__, builtins.__row__ = rows, rows[:4].cast("I")
"""


class Statement(NamedTuple):
    """Where a statement of memshim lies."""

    file: str  # relative to the root
    line: int
    end: int
    within: bool  # a function: it runs when that is called, not when the module is imported


class Ran(NamedTuple):
    """A test as it was recorded."""

    name: str
    outcome: str  # passed, failed or skipped
    seconds: float  # of processor time, its processes included


def marked(file: str, source: bytes, out: list[Statement]) -> ast.Module:
    """The module with a mark before each statement; what they mark is added to out."""
    tree = ast.parse(source)

    def visit(body: list[ast.stmt], within: bool) -> list[ast.stmt]:
        new: list[ast.stmt] = []
        for i, s in enumerate(body):
            text = isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)
            if not (i == 0 and text or isinstance(s, ast.ImportFrom) and s.module == "__future__"):
                first = min([s.lineno, *(d.lineno for d in getattr(s, "decorator_list", ()))])
                mark = ast.parse(f"__executed__[__row__[0] + {len(out)}] = 1").body[0]
                out.append(Statement(file, first, s.end_lineno or s.lineno, within))
                new.append(ast.copy_location(mark, s))
            inner = within or isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))
            for name in ("body", "orelse", "finalbody"):
                if isinstance(below := getattr(s, name, None), list) and below:
                    setattr(s, name, visit(below, inner))
            for part in [*getattr(s, "handlers", ()), *getattr(s, "cases", ())]:
                part.body = visit(part.body, inner)
            new.append(s)
        return new

    tree.body = visit(tree.body, False)
    return tree


def bytecode(path: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(path)))


def compile_as_it_is(path: Path) -> None:
    """The bytecode of a source, which Python takes whatever the source's time is."""
    py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


class Tests:
    """The tests of a copy of the checkout."""

    def __init__(self, folder: Path, sources: str) -> None:
        self.folder, self.sources = folder, sources
        for path in (folder / "pyshim").rglob("*.py"):
            if "scenes" not in path.parts:
                compile_as_it_is(path)

    def run(
        self, names: list[str], limit: float, first: bool = True, watch: Any = None
    ) -> tuple[list[Ran], int | None]:
        """What pytest came to in a forked process, and its exit code; None where it did not end in so many
        seconds. first: it ends with the first test that fails."""
        said = self.folder / "ran.json"
        said.unlink(missing_ok=True)
        pid = os.fork()
        if not pid:
            try:
                self._become(names, first, said, watch)
            except BaseException:
                traceback.print_exc()
            os._exit(99)
        code, until = None, time.monotonic() + limit
        while code is None and time.monotonic() < until:
            ended, status = os.waitpid(pid, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if ended else None
            time.sleep(0 if ended else 0.02)
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if code is None:
            os.waitpid(pid, 0)
        lines = said.read_text().splitlines() if said.exists() else []
        return [Ran(*json.loads(line)) for line in lines], code

    def _become(self, names: list[str], first: bool, said: Path, watch: Any) -> None:
        os.setsid()
        weakref.finalize._registry.clear()  # type: ignore[attr-defined]  # the other process's, such as its folder
        os.chdir(self.folder)
        for fd, name in ((0, os.devnull), (1, "log"), (2, "log")):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | (os.O_APPEND if fd == 2 else os.O_TRUNC)), fd)
        source = str(self.folder / self.sources)
        os.environ |= {"PYTHONPATH": os.path.dirname(source), "PYTHONDONTWRITEBYTECODE": "1"}
        os.environ["MEMSPEC_OBJECTS"] = str(self.folder)
        sys.dont_write_bytecode = True
        tools = os.path.dirname(os.path.abspath(__file__))
        sys.path[:] = [os.path.dirname(source), *(p for p in sys.path if os.path.abspath(p) != tools)]
        import pytest

        words = ["-q", *(["-x"] if first else []), "-p", "no:cacheprovider", "-p", "no:xdist"]
        code = pytest.main([*words, *names], plugins=[Reporter(said, watch)])
        sys.stdout.flush()
        atexit._run_exitfuncs()
        os._exit(int(code))


class Reporter:
    """A plugin of pytest that writes how each test ended, a line each."""

    def __init__(self, said: Path, watch: Any) -> None:
        self.out, self.watch, self.number = open(said, "w", buffering=1), watch, 0
        self.outcome, self.began = "passed", 0.0

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.number += 1
        self.outcome, self.began = "passed", sum(os.times()[:4])
        if self.watch:
            self.watch(self.number)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed and self.outcome != "failed":
            self.outcome = report.outcome

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        name = nodeid if nodeid.startswith("pyshim/") else f"pyshim/{nodeid}"  # pytest's root is that folder
        self.out.write(json.dumps([name, self.outcome, round(sum(os.times()[:4]) - self.began, 3)]) + "\n")


class Lines:
    """Which tests execute each statement, recorded in a copy of the checkout."""

    def __init__(self, folder: Path, sources: str, kept: Path) -> None:
        self.tests, self.kept, self.shared = Tests(folder, sources), kept, folder / "executed"
        self.statements: list[Statement] = []
        self.records: dict[str, dict[str, Any]] = {}
        trees = {
            path: marked(path.relative_to(folder).as_posix(), path.read_bytes(), self.statements)
            for path in sorted((folder / sources).rglob("*.py"))
        }
        size = HEAD + ROWS * len(self.statements)
        begin = ast.parse(BEGIN.format(OPEN.format(str(self.shared), size))).body
        for path, tree in trees.items():
            at = 0
            while at < len(tree.body) and isinstance(tree.body[at], (ast.Expr, ast.ImportFrom)):
                s = tree.body[at]
                if isinstance(s, ast.ImportFrom) and s.module != "__future__":
                    break
                at += 1
            tree.body[at:at] = begin
            code = compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)
            head = importlib.util.MAGIC_NUMBER + struct.pack("<I8x", 1)  # whatever the source is
            bytecode(path).write_bytes(head + marshal.dumps(code))
        with open(self.shared, "wb") as f:
            f.truncate(size)
        kept.mkdir(parents=True, exist_ok=True)

    def passes(self, test: str) -> bool:
        """Whether a test passes by itself without a mutant."""
        return self.tests.run([test], LIMIT)[1] == 0

    def of(self, file: str) -> dict[str, Any]:
        """The record of a file of tests: made where there is none, or where tests or sources are others."""
        if file not in self.records:
            folder = self.tests.folder
            parts = [folder / file, *sorted((folder / self.tests.sources).rglob("*.py"))]
            key = hashlib.sha256(b"\0".join(p.read_bytes() for p in parts)).hexdigest()
            at = self.kept / (file.replace("/", "+") + ".json")
            found = json.loads(at.read_text()) if at.exists() else {}
            if found.get("key") != key:
                found = {"key": key, "tests": self._record(file)}
                at.write_text(json.dumps(found))
            self.records[file] = found
        tests: dict[str, Any] = self.records[file]["tests"]
        return tests

    def _record(self, file: str) -> dict[str, Any]:
        n = len(self.statements)
        with open(self.shared, "r+b") as f:
            f.truncate(0)
            f.truncate(HEAD + ROWS * n)
            f.write(struct.pack("I", HEAD))

        def watch(number: int) -> None:
            with open(self.shared, "r+b") as f, mmap.mmap(f.fileno(), 0) as rows:
                rows[:4] = struct.pack("I", HEAD + min(number, ROWS - 1) * n)

        ran, _ = self.tests.run([file], LIMIT, first=False, watch=watch)
        data = self.shared.read_bytes()
        out = {}
        for number, test in enumerate(ran, 1):
            begin = HEAD + min(number, ROWS - 1) * n
            out[test.name] = [test.outcome, test.seconds, [i for i in range(n) if data[begin + i]]]
        return out

    def executing(self, file: str, line: int, tests: str) -> Iterator[Ran]:
        """Of a file of tests those that pass and execute the statement of a line of memshim, quick ones first.
        What runs when a module is imported, as a decorator, is of all that call a function in it, or in its module."""
        of_file = [i for i, s in enumerate(self.statements) if s.file == file]
        around = [i for i in of_file if self.statements[i].line <= line <= self.statements[i].end]
        inner = min(around, key=lambda i: self.statements[i].end - self.statements[i].line, default=-1)
        wanted = {inner}
        if not self.statements[inner].within:
            begin, end = self.statements[inner].line, self.statements[inner].end
            called = {i for i in of_file if self.statements[i].within}
            wanted = {i for i in called if begin <= self.statements[i].line <= end} or called
        found = [Ran(n, how, s) for n, (how, s, hits) in self.of(tests).items() if not wanted.isdisjoint(hits)]
        yield from sorted((r for r in found if r.outcome == "passed"), key=lambda r: r.seconds)
