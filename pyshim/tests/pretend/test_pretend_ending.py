"""The end of a process after a backward pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memshim import pretend
from memshim.pretend import build

LATE = Path(__file__).parent / "native" / "late.c"
PROGRAM = """
import time, torch

class Held:
    "The interpreter is ending when this goes, and is free for a moment."
    def __del__(self, sleep=time.sleep):
        sleep(0.5)

held = Held()
torch.ones(3, device="cuda", requires_grad=True).sum().backward()
time.sleep(1)
print("done")
"""


@pytest.mark.parametrize("values", [True, False])
def test_a_thread_of_autograds_that_is_late_aborts_nothing(values, tmp_path):
    """On a busy machine the interpreter ends between two instructions of a thread that releases a
    pass: here it always does."""
    library = tmp_path / "late.so"
    p = subprocess.run(
        [build.compiler(), "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", library, LATE, "-ldl"],
        capture_output=True,
        text=True,
    )
    assert p.returncode == 0, p.stderr
    env = os.environ | pretend.environment("t4", values=values)
    env["LD_PRELOAD"] += f":{library}"
    # it ends as a user's does
    env["PYTHONPATH"] = os.pathsep.join(
        p for p in env["PYTHONPATH"].split(os.pathsep) if Path(p).parent.name != "tests"
    )
    p = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=120)
    if "late" not in p.stderr:
        pytest.skip("this Python is linked in a way that its functions cannot be replaced")
    assert (p.returncode, p.stdout) == (0, "done\n"), f"{p.stderr}\nreproduce: pytest {__file__}"
