"""cudaprobe, gorgonia.org/cu on the driver, asked about pretend GPUs."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pretended
import pytest

from memshim import pretend

BUILD = Path(__file__).parents[2] / "cudameasure" / "cudaprobe" / "build.sh"


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    if why := pretended.missing():
        pytest.skip(why)
    if not shutil.which("go"):
        pytest.skip("no Go here")
    out = tmp_path_factory.mktemp("probe") / "cudaprobe"
    p = subprocess.run([str(BUILD), str(out)], capture_output=True, text=True)
    if p.returncode == 3:
        pytest.skip(p.stderr.strip())
    assert p.returncode == 0, p.stderr
    return out


def test_what_the_driver_says(probe):
    environment = os.environ | pretend.environment(["t4", "rtx-4090"])
    p = subprocess.run([probe], env=environment, capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    first, second = json.loads(p.stdout)["devices"]
    assert (first["name"], first["compute_capability"], second["name"]) == (
        "Tesla T4",
        "7.5",
        "NVIDIA GeForce RTX 4090",
    )
    with subprocess.Popen([probe, "-memory"], env=environment, stdout=subprocess.PIPE, text=True) as p:
        lines = [p.stdout.readline() for _ in range(4)]
        p.kill()
    assert [line.partition(", ")[0] for line in lines] == [first["uuid"], second["uuid"]] * 2
    context = pretend.find("t4").context
    assert int(lines[0].partition(", ")[2]) == context >> 20, "what a context takes"
