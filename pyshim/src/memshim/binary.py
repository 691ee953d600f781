"""Find the memspec binary and call it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memshim import private
from memshim.printed import say

VARIABLE = "MEMSPEC"
PACKAGE = Path(__file__).resolve().parent
NAME = "memspec.exe" if os.name == "nt" else "memspec"


class BinaryError(Exception):
    """memspec is not there, or what it says cannot be read. The text is for the user."""


def find() -> str:
    """The variable MEMSPEC, then beside this package (in the wheel), then the checkout above this
    file (built once), then PATH."""
    named = os.environ.get(VARIABLE)
    if named:
        if not shutil.which(named):
            raise BinaryError(f"got {VARIABLE}={named}, which is no program that can be run")
        return named
    beside = PACKAGE / "bin" / NAME
    if beside.is_file():
        return str(beside)
    root = checkout()
    if root and shutil.which("go"):
        return build(root)
    on_path = shutil.which("memspec")
    if on_path and not _ours(on_path):
        return on_path
    raise BinaryError(
        f"got no memspec: set {VARIABLE}, or put it on PATH (go install github.com/memspec/memspec/cmd/memspec@latest)"
    )


def _ours(program: str) -> bool:
    """Whether it is the script that main is called by, which would call itself for ever."""
    try:
        with open(program, "rb") as f:
            return b"memshim.binary" in f.read(4096)
    except OSError:
        return False


def checkout(package: Path = PACKAGE) -> Path | None:
    """The checkout of memspec that this package lies in, as pyshim/src/memshim. A package that is
    installed in a folder of some checkout is of none: what it builds and runs is not that one's."""
    root = package.parents[2]
    ours = package == root / "pyshim" / "src" / "memshim" and (root / "go.mod").is_file()
    return root if ours and (root / "cmd" / "memspec" / "main.go").is_file() else None


def newest(root: Path) -> float:
    """When the checkout's Go code last changed."""
    files = [root / "go.mod"]
    for folder in ("cmd", "internal", "cudameasure", "engine"):
        files += (root / folder).rglob("*" if folder == "engine" else "*.go")
    return max(f.stat().st_mtime for f in files if f.is_file() and "testdata" not in f.parts)


def build(root: Path) -> str:
    """The checkout's own binary, built where it is not there or older than the code."""
    out = root / ".cache" / "memshim" / NAME
    if out.is_file() and out.stat().st_mtime >= newest(root):
        return str(out)
    try:
        private.folder(out.parent)
    except private.NotPrivate as e:
        raise BinaryError(str(e)) from None
    with tempfile.TemporaryDirectory(dir=out.parent) as tmp:
        made = os.path.join(tmp, NAME)
        p = subprocess.run(
            ["go", "build", "-ldflags=-s -w", "-o", made, "./cmd/memspec"],
            cwd=root,
            capture_output=True,
            text=True,
            env=os.environ | {"CGO_ENABLED": "0"},
        )
        if p.returncode:
            raise BinaryError(f"go build ./cmd/memspec failed in {root}:\n{p.stderr.strip()}")
        os.replace(made, out)
    return str(out)


class Said(NamedTuple):
    """What memspec wrote, and how it ended."""

    out: str
    err: str
    code: int


class Answer(NamedTuple):
    """What memspec answered as JSON; None where it wrote nothing, and err says why."""

    json: dict[str, Any] | None
    err: str
    code: int


def call(*arguments: str, columns: int | None = None) -> Said:
    """Run memspec; its text is laid out to so many columns (None: as it would do by itself)."""
    env = None if columns is None else os.environ | {"COLUMNS": str(columns)}
    p = subprocess.run(
        [find(), *arguments], capture_output=True, text=True, encoding="utf-8", errors="replace", env=env
    )
    return Said(p.stdout, p.stderr.strip(), p.returncode)


def ask(*arguments: str, more: Sequence[str] = ()) -> Answer:
    """Run memspec and read its JSON. more are arguments that no message repeats."""
    said = call(*arguments, *more, "--format", "json")
    if not said.out.strip():
        return Answer(None, said.err or f"memspec {' '.join(arguments)} said nothing", said.code)
    try:
        return Answer(json.loads(said.out), said.err, said.code)
    except ValueError:
        raise BinaryError(
            f"{find()}: got an answer that is not memspec's: {said.out.strip().splitlines()[0][:100]}"
        ) from None


def main() -> int:
    """The command memspec of the installed package: the binary in its place."""
    try:
        program = find()
    except BinaryError as e:
        say(f"memspec: {e}", file=sys.stderr)
        return 2
    if os.name == "nt":
        return subprocess.run([program, *sys.argv[1:]]).returncode
    os.execv(program, ["memspec", *sys.argv[1:]])
