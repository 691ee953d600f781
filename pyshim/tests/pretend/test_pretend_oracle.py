"""The static engine against PyTorch on a pretend GPU, for a few models: all of them by `make
truth-pretend`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import warm

from memshim.pretend import support

ROOT = Path(__file__).parents[3]
TOOLS = ROOT / "pyshim" / "tools" / "truth"


@pytest.mark.skipif(not (TOOLS / "oracle").is_dir(), reason="the wheel is tested alone")
def test_what_is_exact_is_equal(tmp_path):
    """Depthwise convolutions in half precision, casts of TorchScript's executor, numbers that a
    traced archive has on the device, attention."""
    pytest.importorskip("torchvision")
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(TOOLS)])}
    command = [
        sys.executable,
        "-m",
        "oracle",
        "torchvision",
        "shufflenet_v2_x0_5",
        "--cache",
        str(tmp_path),
        "--device",
        "t4",
        "--batch",
        "4",
        "--setting",
        "float32",
        "--setting",
        "autocast",
        "-v",
    ]
    p = warm.run(command, env=environ, timeout=None)
    assert p.returncode == 0, f"{' '.join(command)}\n{p.stdout}\n{p.stderr[-2000:]}"
    by_formula = support.torch_here().release < (2, 8)  # before that, cuDNN answers nothing without a device
    said = "8 estimate equal" if by_formula else "2 estimate equal, 6 exact equal"
    assert p.stdout.splitlines()[-1] == f"1 models: {said}"


LATER = """
import memshim
memshim.pretend("t4")
import torch
from list_read import Model, inputs

torch._C._jit_set_texpr_fuser_enabled(False)
module, given = torch.jit.script(Model()), [x.cuda() for x in inputs()]
with torch.no_grad():
    for _ in range(3):
        torch.cuda.reset_peak_memory_stats()
        result = module(*given)
        print(torch.cuda.max_memory_allocated())
        del result
"""


@pytest.mark.skipif(not (TOOLS / "oracle").is_dir(), reason="the wheel is tested alone")
def test_later_passes_run_another_graph():
    """What the note later-graph says: the first pass of list_read takes what memspec predicts,
    later ones go without the list, which held 8 KiB."""
    environ = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "pyshim" / "src"), str(ROOT / "testdata" / "artifacts" / "small")])
    }
    p = subprocess.run([sys.executable, "-W", "ignore", "-c", LATER], env=environ, capture_output=True, text=True)
    assert p.stdout.split() == ["43008", "34816", "34816"], p.stderr[-2000:]
