"""A rank alone, with a group of gloo's beside NCCL's, with every release."""

import subprocess
import sys

PROGRAM = """
import datetime, torch, torch.distributed as dist
from torch.distributed.distributed_c10d import _set_pg_timeout

dist.init_process_group("cpu:gloo,cuda:nccl", device_id=torch.device("cuda", 0))
total, objects = torch.ones(2), [{"from": dist.get_rank()}]
dist.all_reduce(total)
group = dist.new_group(backend="gloo")
_set_pg_timeout(datetime.timedelta(seconds=9), group)
dist.monitored_barrier(group)
dist.broadcast_object_list(objects, 0, group=group)
print(dist.get_world_size(group), objects)
"""


def test_a_group_of_the_cpu(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "memshim", "run", "--on", "t4", "--world-size", "4", "--rank", "0", "--"]
    p = subprocess.run([*command, "train.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert p.returncode in (0, 3), p.stderr
    assert p.stdout == "4 [{'from': 0}]\n"
