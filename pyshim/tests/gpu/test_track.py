"""Tracker and modelsize on the CUDA allocator."""

import io

import pretended
import torch

import memshim

MIB = 1 << 20


def take(mib: int) -> torch.Tensor:
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


def test_what_the_allocator_holds_and_the_peak_since_the_last_call():
    memshim.clear_cache()
    t = memshim.Tracker(io.StringIO())
    start = t.track().census.allocator
    take(40)
    kept = take(3)
    a = t.track().census.allocator
    assert a.allocated - start.allocated == kept.nbytes and a.peak - start.allocated == 40 * MIB, (
        "the larger one had gone"
    )
    assert a.reserved >= 40 * MIB and f"{a.reserved - a.allocated}" and "cached" in str(a)
    b = t.track().census.allocator
    assert b.peak == b.allocated == a.allocated, "since the last call nothing rose"
    del kept
    assert t.track().census.allocator.reserved == a.reserved, "what is freed stays cached"
    assert memshim.clear_cache() >= 40 * MIB
    assert t.track().census.allocator.reserved < a.reserved
    assert torch.cuda.max_memory_allocated() >= start.allocated + 40 * MIB, (
        "the program's own peak is not reset by ours"
    )


def test_one_devices_numbers_beside_its_tensors():
    code = """
import io, torch, memshim
a = torch.empty(5 << 20, dtype=torch.uint8, device="cuda:0")
b = torch.empty(7 << 20, dtype=torch.uint8, device="cuda:1")
for device, n in (None, 5), ("cuda:0", 5), ("cuda:1", 7):
    c = memshim.Tracker(io.StringIO(), device).track().census
    assert (c.nbytes, c.allocator.allocated) == (n << 20, n << 20), (device, c)
torch.cuda.set_device(1)
assert memshim.Tracker(io.StringIO()).track().census.nbytes == 7 << 20, "the current one"
"""
    p = pretended.run(code, count=2)
    assert p.returncode == 0, p.stderr


def test_modelsize(capsys):
    m = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.Dropout(), torch.nn.Linear(1024, 8)).cuda()
    state = torch.cuda.get_rng_state()
    size = memshim.modelsize(m, torch.zeros(512, 256, device="cuda"))
    assert size.where == "pretend" and "on a pretend GPU" in capsys.readouterr().out
    assert (
        size.parameters == 4 * (256 * 1024 + 1024 + 1024 * 8 + 8)
        and size.with_backward >= size.without_backward >= 2 * 512 * 1024 * 4
    )
    assert torch.equal(torch.cuda.get_rng_state(), state) and all(p.grad is None for p in m.parameters())
