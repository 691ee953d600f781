"""An exported program's sidecar has what a recording has: the files, variables and releases that the
export depends on. python -m truth stale tries it in another clone, with another HOME, by another user."""

import sys
from pathlib import Path

import pytest
import warm

pytest.importorskip("torch")

TOOL = Path(__file__).parents[1] / "tools" / "truth" / "truth_stale.py"


def test_a_sidecar_is_stale_as_a_recording_is():
    p = warm.run([sys.executable, str(TOOL), "exported"])
    rows = [line.split()[0] for line in p.stdout.splitlines()[1:-1]]
    assert p.returncode == 0 and len(rows) == 5, p.stdout + p.stderr
    assert p.stdout.splitlines()[-1] == "0 not as they should be"
