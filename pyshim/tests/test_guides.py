"""The pages of docs/guide that need PyTorch: their files are written, their commands run as they
stand there, and print what the page says. A line … stands for lines that are left out."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pretended
import pytest
import warm

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"
FENCED = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.S | re.M)


def blocks(page):
    return [
        (language, name, body)
        for language, name, body in FENCED.findall((GUIDE / f"{page}.md").read_text(encoding="utf-8"))
    ]


def commands(body):
    """Each command of a console block with the lines that it prints."""
    out = []
    for line in body.splitlines():
        if line.startswith("$ "):
            out.append((line.removeprefix("$ "), []))
        else:
            out[-1][1].append(line)
    return out


def pattern(lines):
    return "".join(r"(?:.*\n)*" if line == "…" else re.escape(line) + "\n" for line in lines)


@pytest.mark.parametrize("page", ["training-script", "many-gpus", "python-model", "pytest"])
def test_a_page_says_what_its_commands_print(page, tmp_path, found_binary):
    if why := pretended.missing():
        pytest.skip(why)
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_") and k != "CI"} | {"COLUMNS": "80"}
    ran = 0
    for language, name, body in blocks(page):
        if name:
            (tmp_path / name).write_text(body, encoding="utf-8")
        if language != "console":
            continue
        for command, lines in commands(body):
            words = shlex.split(command)
            program = [sys.executable] if words[0] == "python" else [os.path.abspath(found_binary)]
            plugin = ["-p", "memshim.judge.plugin"] if words[1:3] == ["-m", "pytest"] else []
            command_line = [*program, *words[1:], *plugin]
            with warm.programs():
                p = subprocess.run(command_line, cwd=tmp_path, env=environ, capture_output=True, text=True)
            ran += 1
            if lines:
                assert re.fullmatch(pattern(lines), p.stdout + p.stderr), f"{command}\n{p.stdout}{p.stderr}"
    assert ran
