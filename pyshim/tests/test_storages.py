"""What counts as memory, and what is seen of it on CPU tensors."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import memshim

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from memshim.allocator.cpu_region import CPURegion, watcher  # noqa: E402
from memshim.gpu.storages import nbytes, storages  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20


class Wrapper(torch.Tensor):
    """Has a separate storage in name only."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Flat(Wrapper):
    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner, meta, size, stride):
        return Flat(inner["inner"])


class Refuses(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError("never asked")


def fake(n):
    with FakeTensorMode():
        return torch.empty(n, dtype=torch.uint8)


def bytes_(n):
    return torch.zeros(n, dtype=torch.uint8)


@pytest.mark.parametrize(
    "make, want",
    [
        (lambda: bytes_(100), 100),
        (lambda: bytes_(100)[50:], 100),
        (lambda: bytes_(100).as_subclass(Refuses), 100),
        (lambda: torch.nn.Parameter(torch.zeros(25)), 100),
        (lambda: fake(1 << 30), 0),
        (lambda: torch.empty(1 << 30, device="meta"), 0),
        (lambda: Wrapper(bytes_(100)), 0),
        (lambda: Flat(bytes_(100)), 100),
        (lambda: torch.nn.LazyLinear(3).weight, 0),
        (lambda: torch._efficientzerotensor(1000), 0),
        (lambda: torch._to_functional_tensor(torch.zeros(25)), 100),
        (lambda: torch.eye(4).to_sparse(), 4 * 2 * 8 + 4 * 4),
        (
            lambda: torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.ones(2)),
            3 * 8 + 2 * 8 + 2 * 4,
        ),
        (
            lambda: torch.sparse_csc_tensor(torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.ones(2)),
            3 * 8 + 2 * 8 + 2 * 4,
        ),
        (lambda: torch.quantize_per_tensor(torch.zeros(100), 0.1, 0, torch.qint8), 100),
        (
            lambda: torch.quantize_per_channel(
                torch.zeros(10, 10), torch.ones(10).double(), torch.zeros(10).long(), 0, torch.qint8
            ),
            100 + 10 * 8 * 2,
        ),
        (lambda: torch.nested.nested_tensor([torch.zeros(5), torch.zeros(20)]), 100),
        (lambda: torch.nested.nested_tensor([torch.zeros(5), torch.zeros(20)], layout=torch.jagged), 100 + 3 * 8),
        (lambda: torch.zeros(16).to_mkldnn(), 0),
    ],
)
def test_the_bytes_behind_a_tensor(make, want):
    t = make()
    assert nbytes([t, t]) == want


def test_inside_vmap_and_grad():
    seen = []

    def f(x):
        seen.append(nbytes([x]))
        return (x * 2).sum()

    torch.vmap(f)(torch.zeros(5, 5))
    torch.func.grad(f)(torch.zeros(25))
    torch.func.vmap(torch.func.grad(f))(torch.zeros(5, 5))
    assert seen == [100, 100, 100]


def test_a_sharded_tensor_counts_what_this_process_holds():
    code = """
import os, torch, memshim
from torch.testing._internal.distributed.fake_pg import FakeStore
import torch.distributed as dist
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())
whole = torch.zeros(1 << 20)
d = distribute_tensor(whole, init_device_mesh("cpu", (4,)), [Shard(0)])
from memshim.gpu.storages import nbytes
assert nbytes([d]) == 1 << 20
t = memshim.Tracker(file=open(os.devnull, "w"))
t.track()
with memshim.trace(file=None) as trace:
    e = d + 1
assert trace.peak.churn == 1 << 20, trace.peak.churn
assert [(k.nbytes, k.type, n) for k, n in t.track().added.items()] == [(1 << 20, "DTensor", 1)], t.changes[-1]
"""
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr


@pytest.mark.parametrize(
    "there",
    [
        lambda: fake(256 * MIB),
        lambda: torch.nn.LazyLinear(4),
        lambda: torch.empty(256 * MIB, device="meta"),
        lambda: Wrapper(fake(256 * MIB)),
    ],
)
def test_what_has_no_bytes_counts_nowhere(there, tmp_path):
    kept = there()
    net, x = torch.nn.Linear(4, 4), torch.zeros(2, 4)
    with memshim.trace(file=None) as t:
        more = there()
        if torch.is_tensor(more) and not isinstance(more, Wrapper):
            more.view(-1)
    assert t.peak.total - t.peak.before.mem < MIB and t.peak.before.mem < 300 * MIB
    assert memshim.track(str(tmp_path / "log")).change.census.nbytes < 300 * MIB
    assert memshim.modelsize(net, x, file=None).parameters == 80
    memshim.Profiler(net, print_period=0).close()
    assert kept is not None


def test_what_another_thread_makes_is_seen():
    with memshim.trace(file=None) as t:
        with ThreadPoolExecutor(2) as pool:
            kept = list(pool.map(bytes_, [3 * MIB, 5 * MIB]))
        thread = threading.Thread(target=lambda: kept.append(bytes_(7 * MIB)))
        thread.start()
        thread.join()
    assert t.peak.churn == 15 * MIB and t.rows()[0]["function"] == "bytes_" and len(kept) == 3
    assert threading.Thread.start.__module__ == "threading", "as it was"


def test_no_mode_stays_and_none_of_the_programs_goes():
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    class Theirs(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            Theirs.calls += 1
            return func(*args, **(kwargs or {}))

    a, b = memshim.trace(file=None).start(), memshim.trace(file=None).start()
    theirs = Theirs().__enter__()
    x = bytes_(KIB)
    a.stop()
    y = bytes_(2 * KIB)
    b.stop()
    assert _get_current_dispatch_mode_stack() == [theirs]
    z = bytes_(KIB)
    theirs.__exit__(None, None, None)
    assert not _get_current_dispatch_mode_stack() and not watcher.regions and not watcher.live
    assert (a.peak.churn, b.peak.churn) == (KIB, 3 * KIB) and Theirs.calls == 3 and len(x) + len(y) + len(z)
    assert not torch.utils._python_dispatch.is_in_torch_dispatch_mode()


def test_regions_beside_each_other_read_what_they_read_alone():
    def work(at):
        with at:
            a = bytes_(30 * KIB)
            del a
            b = bytes_(3 * KIB)
        return b

    alone = memshim.trace(file=None)
    work(alone)
    inner = memshim.trace(file=None)
    before = bytes_(5 * KIB)
    with memshim.trace(file=None) as outer:
        kept = work(inner)
    assert [r["mem"] for r in inner.rows() if r["line"]] == [r["mem"] for r in alone.rows() if r["line"]] == [30 * KIB]
    assert outer.peak.churn == 33 * KIB and len(kept) + len(before)


def test_one_trace_records_once_at_a_time():
    t = memshim.trace(file=None).start()
    with pytest.raises(RuntimeError, match="recording already"):
        t.start()
    t.stop()
    with pytest.raises(RuntimeError, match="not recording"):
        t.stop()
    assert not watcher.regions


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_what_is_compiled_stays_compiled_and_what_is_not_seen_is_said(capsys, backend):
    fast = torch.compile(lambda x: torch.tanh(x) + 1, backend=backend, fullgraph=True)
    with memshim.trace() as t:
        y = fast(torch.zeros(1000))
        y.view(10, 100)
    assert t.peak.churn >= 8000 and len(y) == 1000
    assert ("what compiled code makes" in capsys.readouterr().out) == (backend == "inductor")
    with memshim.trace():
        torch.zeros(3)
    assert "what compiled code makes" not in capsys.readouterr().out


def test_a_region_that_is_never_ended_costs_little_memory():
    """Each restart gives up the events before it."""
    r = CPURegion(stacks="").open()
    for _ in range(50):
        for _ in range(20):
            bytes_(KIB)
        assert r.peaks()["requested"] >= KIB
        r.restart()
    assert len(watcher._events) == 0
    r.close()


def test_nothing_that_a_tensor_may_be_ends_the_program():
    class Broken(Wrapper):
        def __tensor_flatten__(self):
            raise ValueError("no")

    assert storages(Broken(bytes_(5))) == []
