"""The cases of a memspec.yaml, as the memspec binary reads them."""

from __future__ import annotations

import json
import subprocess

from memshim import binary


class SpecError(Exception):
    """The file cannot be read. The text is memspec's, one line an error."""


def call(*arguments: str) -> tuple[str, str, int]:
    """memspec's output, what it says on stderr, and its exit code."""
    p = subprocess.run([binary.find(), *arguments], capture_output=True, text=True, encoding="utf-8", errors="replace")
    return p.stdout, p.stderr.strip(), p.returncode


def ask(*arguments: str) -> dict:
    out, said, _ = call(*arguments, "--format", "json")
    if not out.strip():
        raise SpecError(said or f"memspec {' '.join(arguments)} said nothing")
    try:
        return json.loads(out)
    except ValueError:
        raise binary.BinaryError(f"{binary.find()}: got an answer that is not memspec's: {out.strip().splitlines()[0][:100]}") from None


def selected(spec: str, names: list[str]) -> list[str]:
    """The arguments that name a file and some of its cases."""
    return [str(spec), *(word for n in names for word in ("--case", n))]


def load(spec: str, names: list[str] = ()) -> list[dict]:
    """Every case, or those named: its exact name, else with * and ?."""
    return ask("cases", *selected(spec, list(names)))["cases"]


def check(spec: str, names: list[str] = (), extra: list[str] = ()) -> dict:
    """memspec check, as JSON."""
    return ask("check", *selected(spec, list(names)), *extra)


def message(spec: str, name: str, extra: list[str] = ()) -> str:
    """What memspec check says of one case: the text of a failing go test. Its last line, which counts, is left out."""
    out, said, _ = call("check", *selected(spec, [name]), *extra)
    return "\n".join(out.rstrip("\n").split("\n")[:-1]) or said
