"""examples/dask: a sweep over the workers of a Dask cluster, here two on this machine."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pretended
import pytest

from memshim import workdir

EXAMPLE = Path(__file__).parents[2] / "examples" / "dask"


def test_each_part_is_recorded_by_a_worker_and_all_are_judged(tmp_path):
    pytest.importorskip("distributed", reason="dask's distributed is not installed")
    if why := pretended.missing():
        pytest.skip(why)
    folder = shutil.copytree(EXAMPLE, tmp_path / "dask")
    environment = os.environ | {"PYTHONPATH": workdir.search_path(os.environ)}
    ended = subprocess.run(
        [sys.executable, "sweep.py", "--parts", "2"], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "part 1 of 2: recorded" in ended.stdout and "part 2 of 2: recorded" in ended.stdout
    assert len(list((folder / ".memspec").glob("*.rec"))) == 6
    with (folder / "peaks.csv").open() as f:
        judged = [r for r in csv.DictReader(f) if r["metric"] == "reserved"]
    assert len({r["case"] for r in judged}) == len(judged) == 6
    assert {r["outcome"] for r in judged} == {"pass"}
