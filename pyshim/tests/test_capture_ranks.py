"""memshim capture of a memspec.yaml's program with ranks: of a program for torchrun, and what memspec
makes of the recordings."""

import json
import shutil

import pretended
import pytest
from captured import capture, decode

from memshim import binary

pytest.importorskip("torch")

SHARDS = """
import os, sys
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),), mesh_dim_names=("dp",))
width = int(open("width.txt").read())
model = torch.nn.Sequential(torch.nn.Linear(256, width), torch.nn.Linear(width, 24)).cuda()
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters())
while True:
    model(torch.randn(int(sys.argv[-1]), 256, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
RANKS = """
version: 1
models:
  train:
    program: train.py
    args: [--batch]
    steps: 2
    device: t4
    ranks: {world_size: 512, nproc_per_node: 8, run: [0, last]}
    cases:
      - {args: ["8"], ranks: {world_size: 16}, budget: {allocated: 1GiB}}
"""


@pytest.fixture(scope="module")
def of_ranks(tmp_path_factory):
    if why := pretended.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("ranks")
    for name, text in {"train.py": SHARDS, "width.txt": "250", "memspec.yaml": RANKS}.items():
        (folder / name).write_text(text)
    p = capture(folder, "memspec.yaml")
    assert p.returncode == 0, p.stderr
    return folder


@pytest.fixture
def ranks(of_ranks, tmp_path):
    """A copy of the folder with the recordings of a program's ranks."""
    return shutil.copytree(of_ranks, tmp_path / "ranks")


def test_a_recording_of_each_rank(ranks):
    """By arithmetic: 250 rows in 16 shards are 16 a rank and 10 of the last one, 24 are 2 of each of the
    first twelve and none of others; AdamW has two states, float32."""
    kept = sorted(f.name.partition(".")[2] for f in (ranks / ".memspec").iterdir())
    assert kept == ["rank0.rec", "rank15.rec", "ranks.json"]
    list_ = json.loads(next((ranks / ".memspec").glob("*.json")).read_text())
    assert [(r["rank"], r["place"]) for r in list_["ranks"]] == [(0, "dp 0 of 16"), (15, "dp 15 of 16")]
    assert list_["not_run"] == [{"why": "uneven shards", "ranks": [12]}]
    for rank, rows, of_second in ((0, 16, 2), (15, 10, 0)):
        header, events = decode(next((ranks / ".memspec").glob(f"*.rank{rank}.rec")))
        assert [f["path"] for f in header["made"]["read"]] == ["../width.txt"]
        assert [p["name"] for p in header["phases"]] == ["baseline", "first", "steady"]
        states = [e["size"] for e in events if e["category"] == "optimizer_state" and e["action"] == "alloc"]
        assert header["nccl"]["communicators"] == 1 and 0 == header["nccl"]["low"] < header["nccl"]["high"]
        assert header["notes"] == []
        assert sum(states) == 2 * 4 * (rows * 257 + of_second * 251)


def test_ranks_are_judged_without_python(ranks):
    spec = str(ranks / "memspec.yaml")
    said = binary.call("check", spec)
    where = "rank 0 (dp 0 of 16; 2 of 16 ranks run; 1 that differ did not)"
    assert said.code == 3 and where in " ".join(said.out.split()), said.out + said.err
    said = binary.call("explain", spec, "--case", "train[world_size=16,8]", "--rank", "15")
    assert said.code == 0 and "rank 15 (dp 15 of 16;" in said.out and "train.py:" in said.out, said.out + said.err
    said = binary.call("explain", spec, "--case", "train[world_size=16,8]", "--rank", "12")
    assert said.code == 2 and "got rank 12, want one that ran: [0 15]" in said.err, said.out
    said = binary.call("estimate", str(next((ranks / ".memspec").glob("*.rank15.rec"))), "--device", "t4")
    assert said.code == 0 and "eager, training" in said.out and "quality exact" in " ".join(said.out.split()), said.out


@pytest.mark.parametrize("changed", ["train.py", "width.txt"])
def test_ranks_are_stale_by_what_they_read(ranks, changed):
    assert "is up to date" in capture(ranks, "memspec.yaml").stdout
    with (ranks / changed).open("a") as f:
        f.write(" \n")
    said = binary.call("check", str(ranks / "memspec.yaml"))
    assert said.code == 3 and f"{changed} has changed since the artifact was made" in " ".join(said.out.split())


ENDS = """
import os, sys
import torch, torch.distributed as dist

last = os.environ["RANK"] == "15"
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
if last and sys.argv[1] == "fails":
    raise ValueError("only the last")
held = torch.empty((20 if last else 1) << 30, dtype=torch.uint8, device="cuda")
"""
BAD = """
version: 1
models:
  train:
    program: train.py
    device: t4
    budget: {reserved: 90%}
    ranks: {world_size: 16, nproc_per_node: 8, run: [0, last]}
    cases:
      - {name: fails, args: [fails]}
      - {name: much, args: [much], ranks: {run: [last]}}
"""


def test_a_rank_that_ends_badly(tmp_path):
    """One that fails leaves no recording of any rank; one whose memory does not suffice is judged."""
    if why := pretended.missing():
        pytest.skip(why)
    for name, text in {"train.py": ENDS, "memspec.yaml": BAD}.items():
        (tmp_path / name).write_text(text)
    p = capture(tmp_path, "memspec.yaml")
    assert p.returncode == 2, p.stderr
    assert p.stderr == "memshim capture: fails: rank 15 ended with 1: [rank15]: ValueError: only the last\n"
    kept = sorted(f.name.partition("-")[2].partition(".")[2] for f in (tmp_path / ".memspec").iterdir())
    assert kept == ["rank15.rec", "ranks.json"]
    said = binary.call("check", str(tmp_path / "memspec.yaml"))
    text = " ".join(said.out.split())
    assert said.code == 1 and "INCONCLUSIVE fails on t4: got no recording of it" in text, said.out + said.err
    assert "FAIL much on t4, eager, rank 15 (1 of 16 ranks run): does not fit: 20.00 GiB asked for" in text, said.out
