"""Names and texts of other people's files reach memshim's streams without commands in them."""

import ast
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import memshim
from memshim.printed import printable, say

# What writes lines for another process, or moves the cursor.
PROTOCOLS = {"printed.py", "progress.py", "workspace/query.py", "case/imported.py", "case/server.py", "gpu/devices.py"}


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain: text\n\tin two lines\n", "plain: text\n\tin two lines\n"),
        ("\x1b[31mred\x07\x9b\x7f", "\ufffd[31mred\ufffd\ufffd\ufffd"),
        ("a\rb", "a\ufffdb"),
        ("\u202etxt.exe", "\ufffdtxt.exe"),
        ("a\u200bb\u2028\u061c", "a\ufffdb\ufffd\ufffd"),
        ("got ##[set-output name=exit]0", "got ##\u200b[set-output name=exit]0"),
        ("::error::x\n  ::warning::y", ":\u200b:error::x\n  :\u200b:warning::y"),
        ("a::b", "a::b"),
    ],
)
def test_printable(monkeypatch, text, shown):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert printable(text) == shown


def test_commands_of_a_runner_are_plain_text_elsewhere(monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert printable("##[group]\n::error::x") == "##[group]\n::error::x"


def test_say(capsys):
    say("a", 1, "\x1b", end="!\n", file=sys.stderr)
    assert capsys.readouterr() == ("", "a 1 \ufffd!\n")


def test_a_stream_is_flushed_where_that_is_asked_for():
    class Stream(io.StringIO):
        flushed = 0

        def flush(self):
            self.flushed += 1

    stream = Stream()
    say("a", file=stream)
    assert stream.flushed == 0
    say("b", file=stream, flush=True)
    assert stream.flushed == 1 and stream.getvalue() == "a\nb\n"


def test_everything_is_printed_in_one_place():
    """A module that prints by itself would print other people's control letters."""
    package = Path(memshim.__file__).parent
    wrong = []
    for path in package.rglob("*.py"):
        if path.relative_to(package).as_posix() in PROTOCOLS:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("print", "sys.stdout.write", "sys.stderr.write"):
                wrong.append(f"{path.relative_to(package)}:{node.lineno}: {called}")
    assert wrong == []


def test_an_error_that_quotes_a_file(tmp_path):
    (tmp_path / "memspec.yaml").write_text('version: 1\nmodels: {"##[set-output name=exit]0\\e[2J": 1}\n')
    p = subprocess.run(
        [sys.executable, "-m", "memshim", "measure", "--where", "cpu"],
        cwd=tmp_path,
        env={**os.environ, "GITHUB_ACTIONS": "true"},
        capture_output=True,
        text=True,
    )
    assert p.returncode == 2
    assert "set-output" in p.stderr
    assert "##[" not in p.stderr and "\x1b" not in p.stderr, p.stderr
