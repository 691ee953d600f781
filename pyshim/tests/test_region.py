"""What measures a test, over an allocator, a recorder and a PyTorch that are stubs."""

import contextlib
import sys
from types import SimpleNamespace

import pytest

from memshim.gpu import devices
from memshim.judge import region
from memshim.judge.marks import Peaks

MIB = 1 << 20


class Recorder:
    """A region of the recorder; what happens to it is listed."""

    def __init__(self, device):
        self.index, self.allocated_before = device or 0, 3
        self.events, self.calls = [], []

    def open(self):
        self.calls.append("open")
        return self

    def close(self):
        self.calls.append("close")

    def mark(self):
        self.calls.append("mark")
        return 5

    def peaks(self):
        return {"allocated": 10, "reserved": 20}


class Table:
    def __init__(self, region, since=0, top=None):
        self.of = region, since, top

    def table(self):
        return f"head\nsince {self.of[1]} top {self.of[2]} of {self.of[0].index}"


@pytest.fixture
def torch(monkeypatch):
    """PyTorch with two GPUs; its calls are listed."""
    calls = []

    def does(name):
        return lambda *a: calls.append((name, *a))

    cuda = SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 2,
        current_device=lambda: 1,
        init=does("init"),
        empty_cache=does("empty"),
        synchronize=does("synchronize"),
        get_device_properties=lambda index: SimpleNamespace(name=f"GPU {index}", total_memory=99),
    )
    made = SimpleNamespace(cuda=cuda, calls=calls)
    lines = type("Lines", (), {"__enter__": lambda s: (calls.append("lines"), s)[1],
                               "__exit__": lambda s, *e: calls.append("lines end")})  # fmt: skip
    made.collected = []
    monkeypatch.setattr(region.gc, "collect", lambda: made.collected.append(1))
    monkeypatch.setitem(sys.modules, "torch", made)
    for name, has in (
        ("allocator.recorder", {"CUDARegion": Recorder}),
        ("attribution.forward_lines", {"Lines": lines}),
        ("look.trace", {"trace": SimpleNamespace(of=Table)}),
    ):
        monkeypatch.setitem(sys.modules, f"memshim.{name}", SimpleNamespace(**has))
    monkeypatch.setattr(region, "warm_up", lambda device: calls.append(("warm", device)))
    monkeypatch.delenv("MEMSPEC_PRETEND", raising=False)
    return made


def test_without_torch_and_a_driver_nothing_is_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(devices, "hinted", lambda: False)
    assert region.CUDABudget().why_not == devices.NONE and "torch" not in sys.modules
    monkeypatch.setattr(devices, "hinted", lambda: True)
    monkeypatch.setitem(sys.modules, "torch", None)  # an ImportError
    assert region.CUDABudget().why_not == "no torch here"


@pytest.mark.parametrize("available, count, why", [(True, 0, devices.NONE), (False, 2, devices.NONE), (True, 2, "")])
def test_why_there_is_no_gpu(torch, monkeypatch, available, count, why):
    monkeypatch.setattr(devices, "hinted", lambda: False)  # torch is imported already
    torch.cuda.is_available, torch.cuda.device_count = lambda: available, lambda: count
    assert region.CUDABudget().why_not == why


@pytest.mark.parametrize("device, there", [(None, True), (0, True), (1, True), (2, False), (3, False)])
def test_a_device_that_is_not_there(torch, device, there):
    if there:
        assert region.CUDABudget(device).why_not == ""
    else:
        with pytest.raises(ValueError, match=f"^memory_budget: got device {device}, but PyTorch finds 2 GPU here$"):
            region.CUDABudget(device)


@pytest.mark.parametrize("warm", [True, False])
def test_a_region_is_measured_from_an_empty_cache(torch, warm):
    budget = region.CUDABudget(1, warm=warm)
    budget.start()
    assert torch.calls == [("init",), *([("warm", 1)] if warm else []), ("empty",), "lines"]
    assert budget.region.calls == ["open"] and budget.region.index == 1 and torch.collected == [1]
    torch.calls.clear()
    assert budget.stop() == Peaks("GPU 1", 10, 20, 7, 0, 99)
    assert torch.calls == ["lines end", ("synchronize", 1)]


def test_a_pretend_gpu_is_called_one(torch, monkeypatch):
    monkeypatch.setenv("MEMSPEC_PRETEND", "name=T4")
    budget = region.CUDABudget()
    budget.start()
    assert budget.stop().device == "a pretend GPU 0"


@pytest.mark.parametrize("warm", [True, False])
def test_what_fixtures_allocate_is_recorded_before_the_test(torch, warm):
    budget = region.CUDABudget(1, top=3, warm=warm)
    fixtures = budget.before_fixtures()
    assert torch.calls == [("init",), *([("warm", 1)] if warm else [])] and fixtures.calls == ["open"]
    budget.after(fixtures)
    budget.start()
    assert fixtures.calls == ["open", "mark"]
    assert budget.holders() == "head\nsince 5 top 3 of 1"
    assert fixtures.calls[-1] == budget.region.calls[-1] == "close"


def test_fixtures_on_another_gpu_are_left(torch):
    budget = region.CUDABudget(1)
    budget.after(Recorder(0))
    budget.start()
    assert budget.holders() == "head\nsince 0 top 8 of 1"


@pytest.mark.parametrize(
    "theirs, own, nothing", [([], [], True), ([], ["alloc"], False), (["alloc"], [], False), (["free"], [], True)]
)
def test_whether_anything_was_allocated(torch, theirs, own, nothing):
    budget = region.CUDABudget()
    fixtures = Recorder(0)
    fixtures.events = [SimpleNamespace(action=a) for a in [*theirs, *own]]
    budget.after(fixtures)
    budget.start()
    fixtures.calls.clear()
    assert budget.took_nothing() == nothing and fixtures.calls == ["mark"]
    budget = region.CUDABudget()
    budget.start()
    budget.region.events = [SimpleNamespace(action=a) for a in own]
    assert budget.took_nothing() == (not own) and budget.region.calls == ["open", "mark"]


def test_the_survey_counts_allocations_by_size(torch):
    budget = region.CUDABudget(top=2)
    budget.start()
    sizes = [1, 512, 513, 4096, 32 << 10, 256 << 10, MIB, MIB + 1, 10 * MIB, 100 * MIB, 1 << 30, (1 << 30) + 1]
    budget.region.events = [SimpleNamespace(action="alloc", size=n) for n in sizes]
    budget.region.events.append(SimpleNamespace(action="free_completed", size=7))
    assert budget.survey() == {
        "churn": sum(sizes),
        "allocations": 12,
        "histogram": [2, 2, 1, 1, 1, 2, 1, 1, 1],
        "lines": ["since 0 top 2 of 0"],
    }


def test_what_is_left_behind_is_not_what_fixtures_hold(torch, monkeypatch):
    held = [SimpleNamespace(event=SimpleNamespace(key=k), block=10 * k) for k in (1, 2, 3)]
    rows = [SimpleNamespace(mem=MIB, count=2, frame="a.py:1", backward=True),
            SimpleNamespace(mem=512, count=1, frame=None, backward=False)]  # fmt: skip
    given = []
    history = SimpleNamespace(
        replay=lambda r: r,
        moment=lambda r, replayed, at: given.append(at) or SimpleNamespace(held=held),
        by_line=lambda r, leaks: rows if leaks == held[:1] + held[2:] else None,
    )
    monkeypatch.setitem(sys.modules, "memshim.allocator.history", history)
    monkeypatch.setattr(region, "_addresses", lambda kept: {2} if kept == ["fixture"] else None)
    collected = []
    monkeypatch.setattr(region.gc, "collect", lambda: collected.append(1))
    budget = region.CUDABudget(1)
    budget.start()
    collected.clear(), torch.calls.clear()
    budget.region.events = [1, 2, 3, 4]
    assert budget.leaked(["fixture"]) == 40 and given == [4]
    assert collected and torch.calls == [("synchronize", 1)] and budget.region.calls[-1] == "mark"
    lines = ["   1.0 MiB      2  a.py:1, backward", "     512 B      1  no Python line"]
    assert budget.leaks() == "\n".join(lines)
    budget._top = 1
    assert budget.leaks() == "\n".join([lines[0], "… 1 more"])


def test_dropping_ends_what_was_started(torch):
    budget = region.CUDABudget()
    budget.drop()
    assert torch.calls == []
    budget.start()
    budget.drop()
    budget.drop()
    assert torch.calls.count("lines end") == 1 and budget.region.calls == ["open", "close", "close"]


class Tensor:
    grad, is_leaf = None, True

    def __init__(self, *storages):
        self.storages = storages


def storage(at, nbytes=8, kind="cuda"):
    return SimpleNamespace(device=SimpleNamespace(type=kind), nbytes=lambda: nbytes, data_ptr=lambda: at)


@pytest.mark.parametrize(
    "make, want",
    [
        (lambda t: t, {1}),
        (lambda t: {"a": [(t,)]}, {1}),  # within containers
        (lambda t: SimpleNamespace(model=t), {1}),  # and objects
        (lambda t: [t, t, Tensor(storage(2), storage(3))], {1, 2, 3}),
        (lambda t: Tensor(storage(2, nbytes=0), storage(3, kind="cpu")), set()),
        (lambda t: lambda: t, set()),  # what a function knows is no fixture's
        (lambda t: type("Class", (), {"tensor": t}), set()),
        (lambda t: of_pytest(t), set()),
    ],
)
def test_the_storages_that_fixtures_hold(monkeypatch, make, want):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor))
    stub = SimpleNamespace(aside=contextlib.nullcontext, storages=lambda t: t.storages)
    monkeypatch.setitem(sys.modules, "memshim.gpu.storages", stub)
    assert region._addresses([make(Tensor(storage(1)))]) == want


def of_pytest(t):
    node = type("Node", (), {"__module__": "_pytest.nodes"})()
    node.t = t
    return node


@pytest.mark.parametrize("is_leaf, want", [(True, {1, 2}), (False, {1})])
def test_a_gradient_is_held_by_a_leaf_alone(monkeypatch, is_leaf, want):
    class Leaf:
        __slots__ = ("storages",)
        is_leaf = property(lambda self: is_leaf)
        grad = property(lambda self: Other(storage(2)) if is_leaf else pytest.fail("a warning of PyTorch's"))

    class Other(Leaf):
        grad = None

        def __init__(self, *storages):
            self.storages = storages

    held = Leaf()
    held.storages = (storage(1),)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Leaf))
    stub = SimpleNamespace(aside=contextlib.nullcontext, storages=lambda t: t.storages)
    monkeypatch.setitem(sys.modules, "memshim.gpu.storages", stub)
    assert region._addresses([held]) == want


def test_libraries_are_warmed_up_once_a_gpu(monkeypatch):
    calls, forked = [], []
    torch = SimpleNamespace(
        float32="float32",
        float16="float16",
        no_grad=contextlib.nullcontext,
        random=SimpleNamespace(fork_rng=lambda devices: (forked.append(devices), contextlib.nullcontext())[1]),
        cuda=SimpleNamespace(current_device=lambda: 1, synchronize=lambda index: calls.append(("synchronize", index))),
        zeros=lambda *sizes, dtype, device: (calls.append((sizes[0] == sizes[1], dtype, device)), ["row"])[1],
        addmm=lambda row, a, b: calls.append(("addmm", row)),
        mm=lambda a, b: calls.append("mm"),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(region, "_warm", set())
    region.warm_up(None)
    each = [[(True, dtype, "cuda:1"), ("addmm", "row"), "mm"] for dtype in ("float32", "float16")]
    assert calls == [*each[0], *each[1], ("synchronize", 1)] and forked == [[]]
    region.warm_up(1)
    assert len(calls) == 7, "it is warm"
    region.warm_up(0)
    assert calls[7] == (True, "float32", "cuda:0") and calls[-1] == ("synchronize", 0)


def test_sizes_of_the_histogram():
    assert region.BINS == (512, 4096, 32768, 262144, 1048576, 10485760, 104857600, 1073741824) and region.TOP == 8
