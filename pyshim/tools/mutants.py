"""Small bugs put into memshim's Python and the pretend GPU's C, one at a time: which of them no test
of their package sees.

    python pyshim/tools/mutants.py [-n 40] [--seed 1] [--only TEXT] [--list]

Works on a copy, so that nothing in the tree changes. A mutant lives if the tests of its package
(TESTS) pass with it; of C those that need no PyTorch come first (UNITS). Of Python those run that
execute the line (executed.py), quick ones first, up to --seconds of processor time. Which do is
recorded once for each file of tests, which takes as long as its tests. One whose tests do not end
is counted by itself: a busy machine does that too. A change that cannot matter, as a wider log
message, lives: read each one.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import executed

ROOT = Path(__file__).resolve().parents[2]
SOURCES = "pyshim/src/memshim"
NATIVE = f"{SOURCES}/pretend/native"
LIMIT = 600  # seconds for the tests of one mutant

# The library's own tests, linked with its sources: two seconds a mutant.
UNITS = "pyshim/tests/pretend/test_pretend_native.py"
NAMED = "test_unit or threads or processes_send or figures or room or descriptions"

# The tests of a package, quick ones first, beside those that import the file. A file's own entry comes before its
# package's.
TESTS = {
    "case/step.py": "test_step.py test_capture_steps.py test_capture.py",
    "allocator/blocks.py": "test_blocks.py test_gpu.py",
    "frames.py": "test_frames.py",
    "printed.py": "test_printed.py",
    "private.py": "test_private.py",
    "pretend/native/cudnn.c": "pretend/test_pretend_convolutions.py pretend/test_pretend_features.py",
    "pretend/native/cudnn_formula.c": "pretend/test_pretend_convolutions.py",
    "pretend/native/cudnn_recurrent.c": "pretend/test_pretend_recurrent.py pretend/test_pretend_native.py",
    "pretend/native/cufft.c": "pretend/test_pretend_transforms.py pretend/test_pretend_native.py",
    "pretend/native/cusolver.c": "pretend/test_pretend_solvers.py pretend/test_pretend_native.py",
    "pretend/native/cusolver_rule.c": "pretend/test_pretend_solvers.py pretend/test_pretend_native.py",
    "pretend/native/gate.c": "pretend/test_pretend_dispatch.py",
    "pretend/native/stacks.c": "pretend/test_pretend_dispatch.py pretend/test_pretend_native.py",
    "pretend/native/nccl.c": "pretend/test_pretend_communicators.py",
    "pretend/native": "pretend/test_pretend_native.py pretend/test_pretend_device.py",
    "pretend/values/modes.py": "test_values_modes.py pretend/test_pretend_ends.py pretend/test_pretend_values.py",
    "pretend/absent": "test_absent_ranks.py test_sent_objects.py test_absent_plans.py test_run_ranks.py "
    "test_absent_checkpoints.py test_capture_ranks.py test_symmetric_memory.py",
    "pretend/writes.py": "test_writes_guard.py test_writes.py",
    "pretend": "pretend test_queries.py",
    "allocator": "test_blocks.py test_snapshot.py test_storages.py test_gpu.py",
    "attribution": "test_step.py test_saved_tensors.py test_profile.py test_recorded_program.py test_capture.py "
    "test_gpu.py",
    "case": "test_build.py test_inputs.py test_step.py test_imported.py test_lengths.py test_compiled_iterations.py "
    "test_measure_settings.py test_capture.py test_capture_cases.py test_capture_ends.py test_capture_values.py "
    "test_capture_program.py test_capture_ranks.py test_measure.py test_gpu.py",
    "exporting": "test_export_operators.py test_export.py test_retyped.py",
    "gpu": "test_failure.py test_cuda.py test_queried.py test_gpu.py",
    "judge": "test_marks.py test_search.py test_plugin.py test_apart.py test_check.py test_advise.py test_gpu.py",
    "look": "test_tools.py test_profile.py test_gpu.py",
    "origin": "test_reads.py test_up_to_date.py test_trust.py test_stale_programs.py",
    "program": "test_ranks_report.py test_run.py test_run_call.py test_run_phases.py test_run_processes.py "
    "test_run_libraries.py test_writes.py test_program_ranks.py test_run_ranks.py test_recorded_program.py",
    "serving": "test_serve.py test_serve_advice.py test_serve_generation.py test_serve_recorded.py",
    "workspace": "test_workspace_answers.py test_workspace_command.py test_workspace_library.py",
    "": "test_printed.py test_frames.py test_inputs.py test_wheel.py test_tools.py test_check.py",
}

SWAPPED: dict[type[ast.AST], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
ARITHMETIC: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
}
C_TOKEN = re.compile(
    r'(?P<skip>/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|^#.*?$)'
    r"|(?P<op><=|>=|==|!=|&&|\|\|| < | > | \+ | - )|(?P<number>\b\d+\b)|(?P<call>^\t+[a-z_]+\([^;{}]*\);$)",
    re.S | re.M,
)
C_SWAPPED = {
    "<=": "<",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "&&": "||",
    "||": "&&",
    " < ": " <= ",
    " > ": " >= ",
    " + ": " - ",
    " - ": " + ",
}


class Mutant(NamedTuple):
    file: str  # relative to the root
    line: int
    begin: int  # bytes
    end: int
    text: str  # in their place


def of_python(file: str, source: bytes) -> Iterator[Mutant]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(n: ast.expr | ast.stmt) -> tuple[int, int]:
        assert n.end_lineno is not None and n.end_col_offset is not None
        return starts[n.lineno - 1] + n.col_offset, starts[n.end_lineno - 1] + n.end_col_offset

    def between(left: ast.expr, right: ast.expr, text: str) -> Mutant | None:
        """The operator between two expressions; none where something else stands there, as a bracket."""
        begin, end = place(left)[1], place(right)[0]
        old = source[begin:end].decode()
        return Mutant(file, left.lineno, begin, end, f" {text} ") if not set("()#\\") & set(old) else None

    tree = ast.parse(source)
    annotations = {
        id(x) for n in ast.walk(tree) for a in ("annotation", "returns") for x in _below(getattr(n, a, None))
    }
    for n in ast.walk(tree):
        if id(n) in annotations:
            continue
        found: Mutant | None = None
        if isinstance(n, ast.Compare) and len(n.ops) == 1 and type(n.ops[0]) in SWAPPED:
            found = between(n.left, n.comparators[0], SWAPPED[type(n.ops[0])])
        elif isinstance(n, ast.BoolOp):
            found = between(n.values[0], n.values[1], "or" if isinstance(n.op, ast.And) else "and")
        elif (
            isinstance(n, ast.BinOp)
            and type(n.op) in ARITHMETIC
            and not isinstance(n.left, (ast.Constant, ast.JoinedStr))
        ):
            found = between(n.left, n.right, ARITHMETIC[type(n.op)][1])
        elif isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not):
            found = Mutant(file, n.lineno, place(n)[0], place(n.operand)[0], "")
        elif isinstance(n, ast.Constant) and type(n.value) in (bool, int):
            found = Mutant(
                file,
                n.lineno,
                *place(n),
                str(not n.value) if n.value in (True, False) and type(n.value) is bool else str(n.value + 1),
            )
        elif isinstance(n, ast.AugAssign) or isinstance(n, ast.Expr) and isinstance(n.value, ast.Call):
            found = Mutant(file, n.lineno, *place(n), "pass")
        elif isinstance(n, (ast.If, ast.IfExp)):
            begin, end = place(n.test)
            found = Mutant(file, n.lineno, begin, end, f"not ({source[begin:end].decode()})")
        if found is not None:
            yield found


def _below(n: ast.AST | None) -> Iterator[ast.AST]:
    return ast.walk(n) if n is not None else iter(())


def of_c(file: str, source: bytes) -> Iterator[Mutant]:
    text = source.decode()
    for m in C_TOKEN.finditer(text):
        begin, end = (len(text[:i].encode()) for i in m.span())
        line = text.count("\n", 0, m.start()) + 1
        if m["op"]:
            yield Mutant(file, line, begin, end, C_SWAPPED[m["op"]])
        elif m["number"]:
            yield Mutant(file, line, begin, end, str(int(m["number"]) + 1))
        elif m["call"]:
            yield Mutant(file, line, begin, end, ";")


def all_mutants() -> list[Mutant]:
    out: list[Mutant] = []
    for path in sorted((ROOT / SOURCES).rglob("*")):
        file = path.relative_to(ROOT).as_posix()
        if path.suffix == ".py":
            out += of_python(file, path.read_bytes())
        elif path.suffix == ".c":
            out += of_c(file, path.read_bytes())
    return out


def tests_of(file: str) -> list[list[str]]:
    """What pytest is called with for a file, one call after another."""
    name = file.removeprefix(SOURCES + "/")
    at = max((k for k in TESTS if name == k or name.startswith(k + "/") or not k), key=len)
    units = [[UNITS, "-k", NAMED]] if file.startswith(NATIVE) else []
    modules = Path(name).with_suffix("").parts[1:] or (Path(name).stem,)
    named = nearest_first(modules, [ROOT / "pyshim/tests" / t for t in TESTS[at].split()])
    return [*units, list(dict.fromkeys([*importing(name), *named]))]


def importing(name: str) -> list[str]:
    """The files of tests that import a module of memshim, or something of it, by name."""
    *packages, module = Path(name).with_suffix("").parts
    if module == "__init__":
        return []
    package = ".".join(("memshim", *packages))
    imports = re.compile(rf"from {package} import .*\b{module}\b|(from|import) {package}\.{module}\b")
    files = sorted((ROOT / "pyshim/tests").rglob("test_*.py"))
    return [f.relative_to(ROOT).as_posix() for f in files if "gpu" not in f.parts and imports.search(f.read_text())]


def nearest_first(modules: Sequence[str], tests: list[Path]) -> list[str]:
    """The files of tests, those first that have a name of a module and its packages or import it."""
    files = [f for t in tests for f in (sorted(t.glob("test_*.py")) if t.is_dir() else [t])]
    imports = re.compile("|".join(rf"import .*\b{m}\b|\.{m}\b.* import" for m in modules))
    files.sort(key=lambda f: not any(m in f.stem for m in modules) and not imports.search(f.read_text()))
    return [f.relative_to(ROOT).as_posix() for f in files]


def copied(folder: Path) -> None:
    """The checkout: pyshim as files, all else by links."""
    for entry in ROOT.iterdir():
        if entry.name not in ("pyshim", ".git"):
            (folder / entry.name).symlink_to(entry)
    shutil.copytree(
        ROOT / "pyshim", folder / "pyshim", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    )


def compiles(path: Path) -> bool:
    """Whether a mutant is one at all."""
    command = [os.environ.get("CC", "cc"), "-std=gnu11", "-D_GNU_SOURCE", "-fsyntax-only", "-w", str(path)]
    return path.suffix != ".c" or not subprocess.run(command, capture_output=True).returncode


def outcome(folder: Path, file: str) -> str:
    environ = os.environ | {"PYTHONPATH": str(folder / "pyshim/src"), "PYTHONDONTWRITEBYTECODE": "1"}
    environ["MEMSPEC_OBJECTS"] = str(folder)
    for tests in tests_of(file):
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *tests]
        run = subprocess.Popen(
            command,
            cwd=folder,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            if run.wait(LIMIT):
                return "dies"
        except subprocess.TimeoutExpired:
            return "no end"
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
    return "LIVES"


class Python:
    """Tries mutants of Python, each by the tests that execute its line."""

    def __init__(self, folder: Path, recorded: Path, seconds: float) -> None:
        import pytest  # noqa: F401  # here once, and not in each process that is forked
        import torch._dynamo  # noqa: F401

        self.lines = executed.Lines(recorded, SOURCES, ROOT / ".cache" / "executed")
        self.tests, self.seconds, self.left = executed.Tests(folder, SOURCES), seconds, seconds

    def outcome(self, m: Mutant) -> str:
        """Of a mutant whose text is in its place."""
        executed.bytecode(self.tests.folder / m.file).unlink(missing_ok=True)
        try:
            return next((how for f in tests_of(m.file)[0] if (how := self._of_file(m, f))), "LIVES")
        finally:
            self.left = self.seconds

    def _of_file(self, m: Mutant, file: str) -> str:
        """dies, no end, or nothing where the file's tests pass."""
        found = []
        for ran in self.lines.executing(m.file, m.line, file):
            if ran.seconds > self.left:
                break
            self.left -= ran.seconds
            found.append(ran)
        while found:
            limit = 120 + 15 * sum(r.seconds for r in found)
            ended, code = self.tests.run([r.name for r in found], limit)
            if not code:
                return "no end" if code is None else ""
            failed = next((r.name for r in ended if r.outcome == "failed"), found[0].name)
            if self.lines.passes(failed):
                return "dies"
            found = [r for r in found if r.name != failed]  # it fails by itself, whatever the mutant
        return ""


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-n", type=int, default=40, help="how many are tried (40)")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", default="", help="files whose path has this text")
    p.add_argument("--seconds", type=float, default=60, help="processor time of one mutant's tests of Python (60)")
    p.add_argument("--list", action="store_true", help="print them and try none")
    a = p.parse_args()
    found = [m for m in all_mutants() if a.only in m.file]
    chosen = random.Random(a.seed).sample(found, min(a.n, len(found)))
    tried, ended = Counter[str](), Counter[tuple[str, str]]()
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        folder, recorded = Path(scratch, "mutants"), Path(scratch, "recorded")
        for made in (folder, recorded):
            made.mkdir()
            copied(made)
        python = None
        if not a.list and any(m.file.endswith(".py") for m in chosen):
            python = Python(folder, recorded, a.seconds)
        for m in chosen:
            path, kind = folder / m.file, "C" if m.file.endswith(".c") else "Python"
            source = path.read_bytes()
            old = " ".join(source[m.begin : m.end].decode().split())
            what = f"{m.file}:{m.line}: {old[:60] or '()'} → {m.text.strip()[:60] or 'nothing'}"
            if a.list:
                print(what)
                continue
            began = time.monotonic()
            path.write_bytes(source[: m.begin] + m.text.encode() + source[m.end :])
            if not compiles(path):
                path.write_bytes(source)
                continue
            how = python.outcome(m) if python and kind == "Python" else outcome(folder, m.file)
            path.write_bytes(source)
            if kind == "Python":
                executed.compile_as_it_is(path)
            tried[kind] += 1
            ended[kind, how] += 1
            print(f"{how:6} {what}  ({time.monotonic() - began:.0f} s)", flush=True)
    for kind, n in tried.items():
        live, endless = ended[kind, "LIVES"], ended[kind, "no end"]
        print(
            f"{kind}: {live} of {n} live ({100 * live / n:.0f} %), {endless} without end; {len(found)} possible in all"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
