"""Symmetric memory of one rank alone: peers' blocks, the switch's multicast object, other nodes, and
NCCL's own allocator."""

import sys

import pretended
import pytest
import warm

pytest.importorskip("torch")

PROGRAM = """
import os, torch, torch.distributed as dist
from torch.distributed import _symmetric_memory as memory

rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
node = [dist.new_group([0, 1]), dist.new_group([2, 3])][rank // 2].group_name
memory.enable_symm_mem_for_group(node)
before = torch.cuda.mem_get_info()[0]
tensor = memory.empty(1 << 20, device="cuda")
handle = memory.rendezvous(tensor, node)
taken, blocks = before - torch.cuda.mem_get_info()[0], set(handle.buffer_ptrs)
print(rank, handle.rank, len(blocks), bool(handle.multicast_ptr), taken >> 20, flush=True)
torch.ops.symm_mem.one_shot_all_reduce(tensor, "sum", node)
backend = dist.group.WORLD._get_backend(torch.device("cuda"))
before = torch.cuda.mem_get_info()[0]
with torch.cuda.use_mem_pool(torch.cuda.MemPool(backend.mem_allocator)):
    kept = torch.empty(1 << 20, device="cuda")
print("pool", before - torch.cuda.mem_get_info()[0] >> 20, flush=True)
memory.enable_symm_mem_for_group(dist.group.WORLD.group_name)
memory.rendezvous(memory.empty(8, device="cuda"), dist.group.WORLD.group_name)
"""


@pytest.mark.parametrize("device, rank, multicasts", [("h100-sxm-80gb", 3, True), ("t4", 2, False)])
def test_a_rank_alone(tmp_path, device, rank, multicasts):
    """A block of 4 MiB with its signals takes 6 MiB of this card, and its table 2 MiB of PyTorch's
    allocator; that of the peer takes nothing. A pool over ncclMemAlloc has a segment of 20 MiB.
    A group over two nodes is an error that names them: no file descriptor reaches another."""
    if why := pretended.missing():
        pytest.skip(why)
    (tmp_path / "train.py").write_text(PROGRAM)
    words = ["--world-size", "4", "--nproc-per-node", "2", "--rank", str(rank), "--", "train.py"]
    p = warm.run([sys.executable, "-m", "memshim", "run", "--on", device, *words], cwd=tmp_path)
    assert p.returncode == 1, p.stderr
    assert p.stdout.splitlines() == [f"{rank} {rank % 2} 2 {multicasts} 8", "pool 20"], p.stderr
    assert "got symmetric memory of ranks" in p.stderr and "want ranks of one node" in p.stderr
