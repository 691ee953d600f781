"""What looking at the allocator asks of a process that is not there yet."""

import subprocess
import sys

import pretended

BEFORE_CUDA = """
import os, torch, memshim
t = memshim.trace(file=None).start()
tracker = memshim.Tracker(file=open(os.devnull, "w"))
tracker.track()
profiler = memshim.Profiler(torch.nn.Linear(2, 2), print_period=0)
assert not torch.cuda.is_initialized()
if os.fork() == 0:
    torch.zeros(1, device="cuda")  # PyTorch refuses where the parent has looked at the devices
    os._exit(0)
assert os.wait()[1] == 0
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:200"
x = torch.zeros(1 << 20, device="cuda")
peak = t.stop()
assert torch.cuda.memory._snapshot()["allocator_settings"]["max_split_size"] == 200 << 20
assert [(x.mem, x.frame.line) for x in peak.lines] == [(4 << 20, 13)] and t.where == "pretend"
assert tracker.track().census.allocator.peak == 4 << 20
"""


def test_looking_does_not_start_cuda():
    """A region that is opened before begins when the program starts it."""
    p = pretended.run(BEFORE_CUDA)
    assert p.returncode == 0, p.stderr


WITHOUT_ADDR2LINE = """
import sys, torch, memshim
assert "torch._dynamo" not in sys.modules, "else this shows nothing"
model = torch.nn.Linear(300, 300).cuda()
with memshim.Profiler(model, print_period=0) as p:
    model(torch.zeros(99, 300, device="cuda")).sum().backward()
    s = p.record_stats()
assert s.parts.workspace > 1 << 20, "cuBLAS's, recognized by C++ frames"
with memshim.trace(file=None) as t:
    model(torch.zeros(99, 300, device="cuda")).sum().backward()
assert not {"torch._dynamo", "torch._inductor"} & set(sys.modules), "nobody imports what the program does not"
from memshim.allocator.pytorch_snapshot import without_inductor
with without_inductor():
    assert not hasattr(torch._inductor, "codecache") and torch._inductor.config.triton, "others get the real one"
import torch._inductor
assert torch._inductor.config is sys.modules["torch._inductor.config"]
assert torch._inductor is sys.modules["torch._inductor"]
"""


def test_c_frames_need_no_other_program():
    """PyTorch before 2.15 starts addr2line, unless it is set otherwise; and nobody wants inductor,
    which takes 2 s to import."""
    environ = pretended.environment() | {"PATH": "/absent"}
    started = [sys.executable, "-X", "utf8", "-c", WITHOUT_ADDR2LINE]  # with an option it is not forked (tests/warm.py)
    p = subprocess.run(started, env=environ, capture_output=True, text=True)
    assert p.returncode == 0, p.stderr


def test_an_allocator_without_a_history_is_said():
    run = "with memshim.trace(file=None) as t: x = torch.zeros(1 << 20, device='cuda')"
    code = f"import torch, memshim\n{run}\nprint(t.table())"
    p = pretended.run(code, variables={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"})
    assert p.returncode == 0, p.stderr
    assert "peak 4.0 MiB" in p.stdout and "incomplete: the allocator cudaMallocAsync keeps no history" in p.stdout
