"""What absent ranks say of a distributed checkpoint: memshim run --world-size of programs that save
and load."""

import sys

import pretended
import pytest
import warm

pytest.importorskip("torch")

PROGRAM = """
import hashlib, os, pickle, sys, torch, torch.distributed as dist
from torch.distributed import checkpoint
from torch.distributed.checkpoint import DefaultLoadPlanner, DefaultSavePlanner, FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

rank = int(os.environ["RANK"])
mesh = init_device_mesh("cuda", eval(sys.argv[1]), mesh_dim_names=eval(sys.argv[2]))
model = torch.nn.Sequential(torch.nn.Linear(64, 100), torch.nn.Linear(100, 5000)).cuda()
fully_shard(model, mesh=mesh[eval(sys.argv[3])])
optimizer = torch.optim.AdamW(model.parameters())
model(torch.randn(8, 64, device="cuda")).sum().backward()
optimizer.step()

def said(what, rank, value):
    print(what, rank, hashlib.sha256(pickle.dumps(pickle.loads(pickle.dumps(value)))).hexdigest()[:16], flush=True)

def all_said(what, values):
    for of, value in enumerate(values):
        said(what, of, value)

class Save(DefaultSavePlanner):
    def create_local_plan(self):
        plan = super().create_local_plan()
        said("plan", rank, plan)
        return plan

    def create_global_plan(self, plans):
        all_said("plan", plans)
        return super().create_global_plan(plans)

class Writer(FileSystemWriter):
    def write_data(self, plan, planner):
        out = super().write_data(plan, planner)
        said("written", rank, out.value())
        return out

    def finish(self, metadata, results):
        all_said("written", results)
        super().finish(metadata, results)

class Load(DefaultLoadPlanner):
    def create_local_plan(self):
        plan = super().create_local_plan()
        said("read", rank, plan)
        return plan

    def create_global_plan(self, plans):
        all_said("read", plans)
        return super().create_global_plan(plans)

parts, state = get_state_dict(model, optimizer)
states = {"model": parts, "optimizer": state, "step": 1, "name": "some"}
group = dist.new_group(backend="gloo") if sys.argv[4:] else None
if os.path.exists("all saved"):
    checkpoint.load(states, storage_reader=FileSystemReader("saved"), planner=Load(), process_group=group)
else:
    checkpoint.save(states, storage_writer=Writer("saved"), planner=Save(), process_group=group)
"""


@pytest.mark.parametrize(
    "world, mesh",
    [
        (3, ("(3,)", "('shard',)", "'shard'")),
        (4, ("(2, 2)", "('other', 'shard')", "'shard'", "gloo")),
    ],
    ids=["uneven", "a part of a mesh, gloo"],
)
def test_what_absent_ranks_say_is_what_they_say_themselves(tmp_path, world, mesh):
    """Rank 0 runs first and derives what each other one says; each of those runs then, and says it. What all
    saved is read in a second run."""
    if why := pretended.missing():
        pytest.skip(why)
    (tmp_path / "train.py").write_text(PROGRAM)
    options = ["--world-size", str(world), "--nproc-per-node", "1", "--rank", "all"]
    command = [sys.executable, "-m", "memshim", "run", "--on", "t4", *options, "--", "train.py", *mesh]

    def said():
        p = warm.run(command, cwd=tmp_path)
        assert p.returncode in (0, 3), p.stderr
        return [tuple(line.split()) for line in p.stdout.splitlines()]

    lines = said()
    (tmp_path / "all saved").touch()
    lines += said()
    for what in ("plan", "written", "read"):
        found = [(int(rank), text) for w, rank, text in lines if w == what]
        assert len(found) == 2 * world, "each rank of itself, the first of all"
        assert [len({text for r, text in found if r == rank}) for rank in range(world)] == [1] * world, what
