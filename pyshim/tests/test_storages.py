"""What counts as memory, and what is seen of it on CPU tensors."""

import gc
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import memshim

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils import _python_dispatch as modes  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from memshim.allocator import storage_watch  # noqa: E402
from memshim.allocator.cpu_region import CPURegion, watcher  # noqa: E402
from memshim.allocator.storage_watch import COMPILED, Threads, Watch, found  # noqa: E402
from memshim.gpu.storages import nbytes, reachable, storages  # noqa: E402

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


def test_every_tensor_is_reached_once():
    weight = torch.nn.Parameter(torch.zeros(3))
    weight.grad = torch.ones(3)
    found = [id(t) for t in reachable()]
    assert len(found) == len(set(found)) and {id(weight), id(weight.grad)} <= set(found)


def test_a_region_says_what_it_holds_now():
    region = CPURegion("", before=[]).open()
    kept = bytes_(100)
    assert region.now() == {"requested": 100} == region.peaks()
    region.close()
    later = bytes_(50)
    assert region.now() == {"requested": 100} and len(kept) + len(later) == 150


# What a watch sees.


class Seen(Watch):
    """Notes what it sees."""

    def __init__(self, device="cpu"):
        super().__init__(device)
        self.said = []

    def birth(self, number, size, operator):
        self.said.append(("+", number, size, operator.partition(".")[0]))

    def death(self, number, size):
        self.said.append(("-", number, size))


@pytest.fixture
def nothing_compiled(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch._inductor.codecache", raising=False)


def test_a_storage_is_born_once_and_dies(nothing_compiled):
    with Seen() as watch:
        x = torch.zeros(4)
        y = x.view(2, 2).add_(1)
        z = x + 1
        assert (watch.numbers_of(y), watch.numbers_of(z), watch.numbers_of(torch.ones(1))) == ([0], [1], [2])
        del x, y
        gc.collect()
    assert [s[:3] for s in watch.said] == [("+", 0, 16), ("+", 1, 16), ("+", 2, 4), ("-", 2, 4), ("-", 0, 16)]
    assert watch.born == 3 and z.sum() == 8


def test_a_storage_that_grows_is_another():
    with Seen() as watch:
        x = torch.zeros(2)
        x.resize_(4)
        x.resize_(1)
    assert [s[:3] for s in watch.said] == [("+", 0, 8), ("+", 1, 16), ("-", 0, 8)], "it does not shrink"


def test_an_empty_storage_has_no_number():
    with Seen() as watch:
        x = torch.zeros(0)
        assert watch.said == [] and watch.numbers_of(x) == [-1] and watch.born == 0
        x.resize_(2)
        x.untyped_storage().resize_(0)
        watch.see(x.untyped_storage(), "later")
        del x
    assert [s[:3] for s in watch.said] == [("+", 0, 8), ("-", 0, 8)]


def test_what_is_forgotten_does_not_die():
    watch = Seen()
    with watch:
        x = torch.zeros(2)
    watch.forget()
    del x
    assert [s[0] for s in watch.said] == ["+"] and watch.live == {}


def test_other_devices_are_left_out():
    with Seen("cuda") as watch:
        torch.zeros(2)
    assert watch.said == []
    x = torch.zeros(3)
    empty = torch.zeros(0)
    assert [s.nbytes() for s in found([x, x[1:], empty, torch.ones(1)], "cpu")] == [12, 4]
    assert list(found([x], "cuda")) == []


def test_what_compiled_code_made_is_seen_where_it_is_given(nothing_compiled, monkeypatch):
    watch = Seen()
    x = torch.zeros(2)
    with watch:
        x.add_(1)
    assert [s[3] for s in watch.said] == ["aten"], "of an operator that returned it"
    monkeypatch.setitem(sys.modules, "torch._inductor.codecache", object())
    watch = Seen()
    with watch:
        x.add_(1)
        torch.add(x, 1, out=(y := torch.zeros(2)))
    assert watch.said[0] == ("+", 0, 8, COMPILED) and y.sum() == 6
    assert not any(s[3] == COMPILED for s in watch.said[1:] if s[0] == "+")


def stack():
    return list(modes._get_current_dispatch_mode_stack())


def test_modes_are_left_in_any_order():
    first, second, third = Seen(), Seen(), Seen()
    for mode in (first, second, third):
        mode.__enter__()
    first.__exit__(None, None, None)
    assert stack() == [second, third]
    third.__exit__(None, None, None)
    assert stack() == [second]
    torch.zeros(2)
    second.__exit__(None, None, None)
    assert stack() == [] and [len(m.said) for m in (first, second, third)] == [0, 2, 0]
    with first:
        assert stack() == [first]
    assert stack() == []


def test_a_base_does_not_say_what_becomes_of_a_storage():
    for call in (lambda w: w.birth(0, 1, ""), lambda w: w.death(0, 1)):
        with pytest.raises(NotImplementedError):
            call(Watch("cpu"))
    assert Watch.ignore_compile_internals() is True


# Threads.


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return thread


def test_threads_that_start_are_watched():
    watch, start, kept = Seen(), threading.Thread.start, []
    with Threads(watch):
        in_thread(lambda: kept.append((torch.zeros(2), len(stack()))))
        waits, goes = threading.Event(), threading.Event()
        late = threading.Thread(target=lambda: (goes.set(), waits.wait(9), kept.append((torch.zeros(3), 1))))
        late.start()
        goes.wait(9)
    waits.set()
    late.join()
    assert threading.Thread.start is start and [n for _, n in kept] == [1, 1] and stack() == []
    in_thread(lambda: kept.append((torch.zeros(4), len(stack()))))
    assert kept[-1][1] == 0 and [s[2] for s in watch.said if s[0] == "+"] == [8, 12]


def test_somebody_who_stands_before_us_goes_on_through_us(monkeypatch):
    watch, start, said = Seen(), threading.Thread.start, []
    threads = Threads(watch).__enter__()
    ours = threading.Thread.start

    def theirs(thread):
        said.append("theirs")
        ours(thread)

    monkeypatch.setattr(threading.Thread, "start", theirs)
    threads.__exit__()
    assert threading.Thread.start is theirs
    in_thread(lambda: said.append(len(stack())))
    assert said == ["theirs", 0] and watch.said == []
    monkeypatch.setattr(threading.Thread, "start", start)


def test_what_a_thread_raises_is_its_error(monkeypatch):
    errors = []
    monkeypatch.setattr(threading, "excepthook", lambda args: errors.append(args.exc_type))
    with Threads(Seen()):
        in_thread(lambda: 1 / 0)
    assert errors == [ZeroDivisionError] and storage_watch._stack_depth() == 0
