"""python -m memshim run --world-size: one rank of many in one process."""

import json
import os
import sys

import pretended
import pytest
import run_schema
import warm

from memshim.pretend import absent
from memshim.program import command, places

pytest.importorskip("torch")
from memshim.pretend.absent import store

MIB = 1 << 20


def run(*arguments, **kw):
    if why := pretended.missing():
        pytest.skip(why)
    return warm.run([sys.executable, "-m", "memshim", "run", "--on", "t4", *arguments], **kw)


PIPELINE = """
import os, sys, torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.fsdp import fully_shard

rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("pp", "dp"))
assert (mesh["pp"].size(), mesh["dp"].get_local_rank()) == (2, rank % 2)
at = mesh["pp"].get_local_rank()
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(1 + at)]).cuda()
fully_shard(model, mesh=mesh["dp"])
stage = PipelineStage(model, at, 2, torch.device("cuda"), group=mesh.get_group("pp"))
schedule = Schedule1F1B(stage, n_microbatches=2, loss_fn=lambda out, target: (out - target).square().mean())
optimizer = torch.optim.AdamW(model.parameters())
for i in range(9):
    x = torch.randn(8, 256, device="cuda")
    schedule.step(*[x][at:], **({"target": x} if at else {}))
    if i == 0:
        sent = ["all", rank] if rank == 0 else [None, None]
        dist.broadcast_object_list(sent, src=0)
        part, every = [None], [None] * 4
        dist.scatter_object_list(part, [f"part {r}" for r in range(4)] if rank == 0 else None, src=0)
        dist.all_gather_object(every, rank * "mine")
        dist.monitored_barrier(dist.new_group(backend="gloo"))
        seed, sums = torch.tensor([7 - rank], device="cuda"), torch.ones(4, dtype=torch.long, device="cuda")
        dist.broadcast(seed, src=0)
        dist.all_gather_into_tensor(sums, torch.tensor([rank + 3], device="cuda"))
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8).cuda())
        print(rank, local, sent, part, every, seed.item(), sums[0].item(), flush=True)
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_pipeline_of_shards(tmp_path):
    """The default ranks are one of each stage; what rank 0 sent arrives, objects and small tensors, groups
    have their sizes, DDP finds the same parameters everywhere, and the program ends after its steps."""
    (tmp_path / "train.py").write_text(PIPELINE)
    arguments = (
        "--world-size",
        "4",
        "--nproc-per-node",
        "2",
        "--steps",
        "3",
        "--nccl",
        "1MiB",
        "--json",
        "out.json",
        "--record",
        "o.rec",
        "--html",
        "o.html",
    )
    p = run(*arguments, "--", "train.py", cwd=tmp_path)
    assert p.returncode == 0, p.stderr
    assert p.stdout.splitlines() == [f"{r} {r % 2} ['all', 0] ['part {r}'] {4 * [r * 'mine']} 7 3" for r in (0, 2)]
    found = json.loads((tmp_path / "out.json").read_text())
    assert [r["rank"] for r in found["ranks"]] == [0, 2] and found["not_run"] == []
    lines = {PIPELINE.splitlines()[q["line"] - 1].strip() for r in found["ranks"] for q in r["processes"][0]["reads"]}
    assert all(line.startswith("schedule.step") for line in lines), "the others' votes for static shapes alone"
    assert [[(d["name"], d["index"], d["size"]) for d in r["place"]] for r in found["ranks"]] == [
        [("pp", 0, 2), ("dp", 0, 2)],
        [("pp", 1, 2), ("dp", 0, 2)],
    ]
    assert [len(r["processes"][0]["devices"][0]["iterations"]) for r in found["ranks"]] == [3, 3]
    assert (found["worst"], found["fits"], found["exit"]) == (2, True, 0)
    assert run_schema.wrong(found) == []
    assert [r["phases"] for r in found["ranks"]] == [["forward", "backward", "optimizer"]] * 2
    assert "\n  not seen         evaluation, checkpoint, gathering of state dicts: what they take" in p.stderr
    device = found["ranks"][1]["processes"][0]["devices"][0]
    assert device["nccl"] == {"low": MIB, "high": MIB, "communicators": 3}, "the world and two of its parts"
    assert device["total_range"]["low"] == device["total"] + MIB == device["reserved"] + device["context"] + MIB
    assert found["ranks"][1]["allocated"] > found["ranks"][0]["allocated"]
    assert "\n     2  pp 1 of 2, dp 0 of 2, stage 1  " in p.stderr and "2 of 4 ranks run" in p.stderr
    assert sorted(f.name for f in tmp_path.glob("*.rec")) == ["o.rank0.rec", "o.rank2.rec"]
    page = (tmp_path / "o.html").read_text()
    assert [page.count(f"<h3>rank {r} on t4</h3>") for r in range(4)] == [1, 0, 1, 0]
    assert page.count(' data-beside="yes"') == 2 and '<div id="beside"' in page


SPAWN = """
import torch

def rank(i):
    pass

if __name__ == "__main__":
    torch.multiprocessing.spawn(rank, nprocs=2)
"""


@pytest.mark.parametrize(
    "program, launcher",
    [
        (("spawn.py",), "torch.multiprocessing.spawn"),
        (("torchrun", "--nproc-per-node", "2", "spawn.py"), "torchrun"),
        (("-m", "torch.distributed.run", "spawn.py"), "torchrun"),
        (("accelerate", "launch", "spawn.py"), "accelerate launch"),
    ],
)
def test_a_launcher_inside_is_refused(tmp_path, program, launcher):
    (tmp_path / "spawn.py").write_text(SPAWN)
    p = run("--world-size", "2", "--", *program, cwd=tmp_path)
    assert p.returncode == 2
    assert p.stderr.splitlines()[-1] == (
        f"memshim run: got {launcher}, which starts ranks, under --world-size, want it without: "
        f"memshim run --on t4 --count 2 -- {' '.join(program)}"
    )


def test_a_schedulers_variables_without_a_launcher(tmp_path):
    """One process that would wait for others which nobody starts ends with an error."""
    (tmp_path / "train.py").write_text("import torch.distributed as dist\ndist.init_process_group('nccl')\n")
    scheduled = {"RANK": "0", "WORLD_SIZE": "8", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
    p = run("--", "train.py", cwd=tmp_path, env=os.environ | scheduled, generations=1)
    assert p.returncode == 1 and "want memshim run --world-size 8 -- …" in p.stderr


def test_an_object_that_no_run_has_sent(tmp_path):
    (tmp_path / "train.py").write_text(
        "import torch.distributed as dist\ndist.init_process_group('gloo')\ndist.broadcast_object_list([None], 0)\n"
    )
    p = run("--world-size", "4", "--rank", "2", "--", "train.py", cwd=tmp_path)
    assert p.returncode == 1
    said = "/train.py:3: rank 2 waits in broadcast_object_list for an object of rank 0, which no run has sent: "
    assert f"{said}want --rank 0,2" in p.stderr


def test_no_absent_rank_has_failed(tmp_path):
    """PyTorch's NCCL group looks for keys that a failing rank sets; all else others have set already."""
    found = store.AbsentStore(absent.Rank(0, 4, str(tmp_path), "train.py"))
    failures = ["default_pg/0//exception_dump", "remote_error"]
    assert found.check(["default_pg/1//barrier"]) and not any(found.check([key]) for key in failures)
    found.set("remote_error", "rank 0")
    assert found.check(["remote_error"])


FLAT = """
import sys, torch, torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel

dist.init_process_group("nccl" if sys.argv[1:] else "cpu:gloo,cuda:nccl")
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8), torch.nn.Linear(8, 9)).cuda()
model[0].requires_grad_(False)
model = FullyShardedDataParallel(model, use_orig_params=True)
optimizer = torch.optim.AdamW(p for p in model.parameters() if p.requires_grad)
model(torch.randn(4, 8, device="cuda")).sum().backward()
optimizer.step()
states = FullyShardedDataParallel.optim_state_dict(model, optimizer)["state"]
print({name: (s["step"].item(), tuple(s["exp_avg"].shape)) for name, s in states.items()})
"""


@pytest.mark.parametrize("backend", [(), ("nccl",)], ids=["gloo beside NCCL", "NCCL"])
def test_states_of_a_flat_parameter(tmp_path, backend):
    """FSDP1 gathers the states of parameters of which other ranks alone hold a part."""
    (tmp_path / "train.py").write_text(FLAT)
    p = run("--world-size", "4", "--nproc-per-node", "1", "--rank", "last", "--", "train.py", *backend, cwd=tmp_path)
    assert p.returncode == 0, p.stderr
    shapes = {"1.weight": (8, 8), "1.bias": (8,), "2.weight": (9, 8), "2.bias": (9,)}
    assert p.stdout.splitlines() == [str({name: (1.0, shapes[name]) for name in sorted(shapes)})]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("--rank", "1"), "got --rank without --world-size, want both"),
        (("--world-size", "6", "--nproc-per-node", "4"), "got --world-size 6 and 4 ranks a node"),
        (("--world-size", "4", "--sandbox"), "got --sandbox with --world-size, want one of them"),
        (("--world-size", "4", "--jobs", "0"), "got --jobs 0, want 1 or more"),
    ],
)
def test_worlds_that_cannot_be(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").touch()
    assert command.main(["--on", "t4", *arguments, "--", "a.py"]) == 2
    assert said in capsys.readouterr().err


EXPERTS = """
import os, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
of = torch.tensor([0, 0, 1, 2], device="cuda")  # the ranks of four experts
scores = torch.nn.Linear(256, 4, device="cuda")(torch.randn(512, 256, device="cuda"))
counts = torch.bincount(scores.argmax(-1), minlength=4)
sent = torch.zeros(3, dtype=torch.long, device="cuda").index_add_(0, of, counts)
received = torch.empty_like(sent)
dist.all_to_all_single(received, sent)
into, out = received.tolist(), sent.tolist()
print(out, into, flush=True)
tokens = torch.empty(sum(into), 4096, device="cuda")
dist.all_to_all_single(tokens, torch.empty(512, 4096, device="cuda"), into, out)
"""


def test_experts_of_ranks(tmp_path):
    """Ranks of two experts and of one differ. Tokens are balanced, each rank sends as this one does; the ends
    are those of what other ranks may send: nothing, and all of theirs but one for each other expert."""
    (tmp_path / "train.py").write_text(EXPERTS)
    p = run("--world-size", "3", "--rank", "0", "--check-values", "--json", "o.json", "--", "train.py", cwd=tmp_path)
    assert p.returncode == 0, p.stderr
    assert p.stdout == "[256, 128, 128] [256, 256, 256]\n"
    found = json.loads((tmp_path / "o.json").read_text())
    assert run_schema.wrong(found) == []
    assert found["not_run"] == [{"why": "experts", "ranks": [1]}]
    rank, row = found["ranks"][0], 4096 * 4
    peaks = {e["values"]: e["peaks"][0]["allocated"] - rank["allocated"] for e in rank["ends"]}
    # of 512: least, expert 0 has all of this rank, which receives nothing else; most, expert 2 has all of this rank's
    # but one for each other, and each other rank sends all of its
    assert peaks["least"] == (512 - 3 * 256) * row and peaks["most"] == (2 + 2 * 512 - 3 * 256) * row
    assert (rank["quality"], found["quality"], rank["fits"]) == ("bound", "estimate", True)


def test_the_number_of_experts():
    """Of tokens that are spread evenly, give or take one an expert."""
    assert places.experts_of([684, 341, 682, 341], 6) == [2, 1, 2, 1]
    assert places.experts_of([3, 2, 2], 4) == [2, 1, 1]
    assert places.experts_of([3, 2], 0) == [3, 2], "no router chose"
    assert places.first_of_each_number([2, 1, 2, 1, 3]) == [0, 1, 4]


def test_the_place_of_a_program_that_ends_its_groups(monkeypatch):
    """A part of a mesh asks for the rank, which there is none of after destroy_process_group."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    monkeypatch.setattr(DeviceMesh, "__init__", DeviceMesh.__init__)  # which is replaced
    for module in (dist, sys.modules["torch.distributed.device_mesh"]):
        monkeypatch.setattr(module, "init_device_mesh", init_device_mesh)
    found = places.Places(5, 8)
    found._watch_meshes()
    dist.init_process_group("fake", rank=5, world_size=8, store=FakeStore())
    try:
        mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
        mesh["tp"], mesh["dp"]
    finally:
        dist.destroy_process_group()
    assert found.place() == [{"name": "dp", "index": 1, "size": 2}, {"name": "tp", "index": 1, "size": 4}]


def test_a_mesh_that_does_not_cover_the_world(tmp_path):
    """PyTorch lets ranks be outside of a mesh: the first of them runs too, and its end is the command's."""
    lines = ["import torch.distributed as dist", "mesh = dist.init_device_mesh('cuda', (3, 2))"]
    (tmp_path / "train.py").write_text("\n".join([*lines, "print(mesh.get_coordinate())", "mesh.get_group(0)"]))
    p = run("--world-size", "8", "--", "train.py", cwd=tmp_path)
    assert p.returncode == 1, p.stderr
    assert [line.replace("[", "(").replace("]", ")") for line in p.stdout.splitlines()] == ["(0, 0)", "None"]
    mesh = "outside of the mesh (3, 2) at train.py:2, which has 6 of 8 ranks"
    assert f"\n  outside          rank 6 and those after it are {mesh}\n" in p.stderr
    assert p.stderr.splitlines()[-1] == (
        "memshim: undecided: rank 6 ended with 1: its figures are of a part of its run"
    )
    p = run("--world-size", "8", "--rank", "0", "--", "train.py", cwd=tmp_path)
    assert p.returncode == 0 and f"\n  not run          1 ranks that differ ({mesh}), the first: 6\n" in p.stderr


def test_shards_of_uneven_size():
    """torch.chunk: the last chunks are smaller or empty, and one rank of each size is enough."""
    assert places.first_of_each([10], 4) == [0, 3]  # 3 3 3 1
    assert places.first_of_each([5], 4) == [0, 2, 3]  # 2 2 1 0
    assert places.first_of_each([8], 4) == [0]
