"""Each scene is a program that runs in a separate process on pretend devices and prints what it
saw, as one JSON object: case → result. A case that raised has {"error": type, "text": message}."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm

from memshim import pretend
from memshim.pretend import build, support

SCENES = Path(__file__).parent / "scenes"


def pytest_addoption(parser):
    parser.addoption(
        "--all-calls",
        action="store_true",
        help="every recorded call of an operator on the pretend GPU, not every fifth",
    )


@pytest.fixture(scope="session", autouse=True)
def possible(found_binary):
    """A pretend GPU can be had here; else what it needs is named."""
    try:
        support.check_machine()
        support.torch_here()
        build.library()
    except (support.Unsupported, build.BuildError) as e:
        pytest.skip(str(e))


class Seen(dict):
    """What a scene printed, and how it ended."""

    stderr = ""


def play(scene, device="t4", *arguments, environ=(), fresh=False, **options):
    """Run a scene (a file of scenes/, or Python source) on a device. fresh: in a process that is
    started, not forked from one that has torch's libraries."""
    command = [sys.executable, *(["-c", scene] if "\n" in scene else [str(SCENES / f"{scene}.py")]), *arguments]
    env = os.environ | pretend.environment(device, **options) | dict(environ)
    env["PYTHONPATH"] = os.pathsep.join([str(SCENES), env.get("PYTHONPATH", "")])
    if fresh:
        p = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    else:
        p = warm.run(command, env=env, timeout=600)
    words = " ".join(command[:2] if "\n" not in scene else command[:1])
    again = f"reproduce: memshim.pretend.environment({device!r}, **{options}) and {words}"
    assert p.returncode == 0, f"{p.stderr[-3000:]}\n{again}"
    seen = Seen(json.loads(p.stdout.strip().rpartition("\n")[2]))
    seen.stderr = p.stderr
    return seen


@pytest.fixture(name="play", scope="session")
def play_fixture():
    return play
