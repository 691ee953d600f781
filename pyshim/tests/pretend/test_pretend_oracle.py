"""The static engine against PyTorch on a pretend GPU, for a few models: all of them by `make truth-pretend`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TOOLS = ROOT / "pyshim" / "tools"


@pytest.mark.skipif(not (TOOLS / "oracle").is_dir(), reason="the wheel is tested alone")
def test_what_is_exact_is_equal(tmp_path):
    """Depthwise convolutions in half precision, casts of TorchScript's executor, numbers that a traced archive has on the device, attention."""
    pytest.importorskip("torchvision")
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "pyshim" / "src"), str(TOOLS)])}
    command = [sys.executable, "-m", "oracle", "torchvision", "mnasnet0_5", "shufflenet_v2_x0_5", "--cache", str(tmp_path), "--device", "t4", "--batch", "4",
               "--setting", "float32", "--setting", "autocast", "-v"]
    p = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert p.returncode == 0, f"{' '.join(command)}\n{p.stdout}\n{p.stderr[-2000:]}"
    assert p.stdout.splitlines()[-1] == "2 models: 4 estimate equal, 12 exact equal"
