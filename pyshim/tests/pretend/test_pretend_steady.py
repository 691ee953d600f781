"""Iterations that are like those before are left out of what is read: who holds the peak is the same."""

import json
import sys

import pretended
import warm

TRAINS = """
import json, sys, torch
from memshim.allocator import steady
from memshim.allocator.recorder import CUDARegion
from memshim.look.trace import trace
if sys.argv[1] == "all":
    steady.supported = lambda: False
region, kept = CUDARegion(0).open(), []
net = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)).cuda()
optimizer = torch.optim.AdamW(net.parameters())
held = None
for i in range(48):
    x = torch.randn(2048 if i == 29 else 512, 256, device="cuda")
    net(x).square().mean().backward()
    optimizer.step()
    if i == 38:
        held = torch.empty(1 << 20, device="cuda")  # no peak, but it is held
    if i == 41:
        try:
            torch.empty(1 << 50, device="cuda")
        except torch.OutOfMemoryError:
            pass
    if i % 4 == 3:
        kept.append(region.mark_or_skip())
    optimizer.zero_grad()
x = torch.randn(4096, 256, device="cuda")
net(x).sum().backward()
region.close()
print(json.dumps([trace.of(region, top=0).as_json(), kept, region.skipped, steady.supported()]))
"""


def test_who_holds_the_peak_is_the_same():
    found = [pretended.run(TRAINS, which) for which in ("all", "like")]
    assert [p.returncode for p in found] == [0, 0], found[0].stderr + found[1].stderr
    (wanted, every, none, _), (table, kept, skipped, supported) = (json.loads(p.stdout) for p in found)
    assert table == wanted and table["out_of_memory"] and any(r["line"] == 17 for r in table["rows"])
    assert none == 0 and len(every) == len(set(every)), "each iteration has events"
    if not supported:  # PyTorch before it could show what is held alone
        assert kept == every
        return
    grew = [i for i, (before, now) in enumerate(zip(kept, kept[1:]), 1) if now > before]
    assert skipped > 0 and kept[-1] < every[-1] / 2 + every[0]
    assert {7, 9, 10} <= set(grew), "a larger batch, a tensor that is held, memory that ran out"
    assert len(grew) < len(kept) / 2 + 1


SMALL_STEPS = """
import json, os, torch
from memshim.allocator import steady
looks, kept = [], steady.state
def counted(*a):
    looks.append(1)
    return kept(*a)
steady.state = counted
net = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(net.parameters())
for i in range(600):
    net(torch.randn(4096 if i == 500 else 8, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print(len(looks), flush=True)
"""


def test_iterations_that_are_alike_are_looked_at_less_often(tmp_path):
    """And one that is not is read whenever it comes: its line holds the peak."""
    script = tmp_path / "steps.py"
    script.write_text(SMALL_STEPS)
    found = warm.run([sys.executable, "-m", "memshim", "run", "--on", "t4", "--", str(script)])
    assert found.returncode == 0, found.stderr
    looks = int(found.stdout)
    assert looks == 0 or 8 <= looks <= 16, "0: a PyTorch that does not show what is held alone"
    assert "steps.py:12 (<module>)" in found.stderr, found.stderr


def test_the_interval_between_two_looks():
    from memshim.allocator import steady

    interval = steady.Interval()
    lengths = []
    for skipped, made in ((0, 100), (1, 200), (2, 300), (3, 400), (4, 500), (4, 600), (5, 700), (6, 60_000)):
        interval.looked(skipped, made)
        lengths.append(interval.length)
    # read first; then alike, to the longest; one that is not; many allocations
    assert lengths == [8, 16, 32, 64, 64, 8, 16, 16]
    assert [i for i in range(1, 50) if interval.is_over(i)] == [16, 32, 48]
