"""Profiler on the CUDA allocator's own history."""

import copy
import csv
import gc
import io
import pickle
import weakref

import pretended
import pytest
import torch
from loops import LOOPS, MLP, data
from odd import ODD

import memshim
from memshim.allocator.recorder import recorder
from memshim.gpu.storages import nbytes
from memshim.judge.region import CUDABudget
from memshim.look import profile
from memshim.look.breakdown import Breaker, Parts

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture(autouse=True)
def no_collector():
    """Cycles are collected where a test does it, not between a peak and its table."""
    gc.disable()
    yield
    gc.enable()


def fresh():
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.manual_seed(0)


def made(name: str) -> tuple:
    """The loop, and nothing beside it: what fully_shard releases lies in cycles until the
    collector comes by."""
    fresh()
    loop = LOOPS[name]()
    gc.collect()
    return loop


def traced(name: str, iterations: int) -> list:
    """The same loop, each iteration under trace: what it should be."""
    _, step = made(name)
    out = []
    for _ in range(iterations):
        with memshim.trace(file=None) as t:
            step()
        out.append(t.peak)
    return out


def profiled(name: str, iterations: int) -> tuple:
    model, step = made(name)
    with memshim.Profiler(model, print_period=1, file=io.StringIO()) as p:
        for _ in range(iterations):
            step()
            p.record_stats()
    return model, step, p.stats


@pytest.mark.parametrize("name", LOOPS)
def test_every_loop_is_what_trace_says_and_its_parts_add_up(name):
    want = traced(name, 5)
    model, step, stats = profiled(name, 5)
    assert [s.peak_allocated for s in stats] == [p.total for p in want], "to the byte, and nothing moved"
    for s, p in zip(stats, want):
        assert s.parts.total() == s.peak_allocated and not s.breakdown.lost
        layers = [r for r in s.breakdown.rows if not r.tensor]
        for part in ("weights", "gradients", "optimizer_state", "activations"):
            assert sum(getattr(r, part) for r in layers) == getattr(s.parts, part), part
        for r in layers:
            assert r.weights == sum(t.weights for t in s.breakdown.rows if t.layer == r.layer and t.tensor)
        mine = [t.to_local() if hasattr(t, "to_local") else t for t in (*model.parameters(), *model.buffers())]
        assert s.parts.weights == nbytes(mine), "of sharded ones what this process holds"
        lines = {(x.frame.line, x.backward) for x in p.lines if x.frame}
        assert s.breakdown.phase in ("forward", "backward", "step", "outside") and lines
    assert stats[-1].same_as is not None, "a steady loop is broken down once"


@pytest.mark.parametrize("name", ODD)
def test_what_trains_without_it_trains_with_it(name):
    """With all that looks at once."""
    fresh()
    m, go = ODD[name]("cuda")
    tracker, budget = memshim.Tracker(io.StringIO()), CUDABudget()
    tracker.track()
    budget.start()
    with memshim.Profiler(m, print_period=0) as p, memshim.trace(file=None) as t:
        for _ in range(2):
            go()
            s = p.record_stats()
            assert s.parts.total() == s.peak_allocated
    assert s.parts.weights == nbytes([*m.parameters(), *m.buffers()]) <= tracker.track().census.nbytes
    assert t.peak.total == budget.stop().allocated and t.peak.churn > 0
    budget.drop()


def test_two_ways_to_the_same_numbers():
    """By hand, of what is held for each weight and each row."""
    weights = 4 * (256 * 16384 + 16384 + 16384 * 10 + 10)
    _, _, stats = profiled("adam", 4)
    first, steady = stats[0], stats[-1]
    assert steady.breakdown.phase == "step"
    assert (steady.parts.weights, steady.parts.gradients, steady.parts.optimizer_state) == (
        weights,
        weights,
        2 * weights,
    )
    assert (steady.parts.inputs, steady.parts.other) == (8 * 256 * 4, 8 * 8), "x and y"
    assert steady.parts.temporaries == weights, "the foreach implementation's square roots"
    assert first.parts.optimizer_state in (0, weights, 2 * weights)
    _, _, stats = profiled("sgd, large batch", 3)
    s = stats[-1]
    rows = {r.layer: r for r in s.breakdown.rows if not r.tensor}
    assert s.breakdown.phase == "backward"
    assert rows["a"].activations == 4096 * 512 * 4, "GELU needs what it is given"
    assert rows["act"].activations == 4096 * 512 * 4
    assert s.parts.workspace > 0, "cuBLAS's"


@pytest.mark.parametrize("before", [0, 2])
def test_what_compiled_code_keeps_is_the_models(before):
    """Also where it was compiled before the profiler came."""
    fresh()
    model, step = LOOPS["compiled"]()
    for _ in range(before):
        step()
    with memshim.Profiler(model, print_period=0) as p:
        for _ in range(3):
            step()
            s = p.record_stats()
    (whole,) = (r for r in s.breakdown.rows if not r.layer and not r.tensor)
    assert (
        2 * 200 * 512 * 4 <= whole.activations <= s.parts.activations
        and s.parts.inputs == 200 * 256 * 4
        and s.parts.other < 4 * KIB
    )
    assert s.parts.other_models == 0 and s.parts.total() == s.peak_allocated


def of_gan(*networks: str) -> dict[str, list]:
    """Its iterations as profilers of these networks report them."""
    fresh()
    model, step = LOOPS["gan"]()
    profilers = {name: memshim.Profiler(model[name], print_period=0) for name in networks}
    for _ in range(6):
        step()
        for p in profilers.values():
            p.record_stats()
    for p in profilers.values():
        p.close()
    return {name: p.stats for name, p in profilers.items()}


def test_one_network_beside_another():
    """A GAN with a profiler for each network: each reads what it reads alone, which is the whole
    peak, with the other as another model."""
    whole, alone, both = traced("gan", 6), of_gan("g") | of_gan("d"), of_gan("g", "d")
    assert both == alone
    assert [s.peak_allocated for s in both["g"]] == [p.total for p in whole]
    size = {name: 4 * (256 * 512 + 512 + 512 * out + out) for name, out in (("g", 256), ("d", 1))}
    assert {name: stats[2].parts.weights for name, stats in both.items()} == size
    assert both["g"][2].parts.other_models >= size["d"] + 2 * size["d"], "its weights, and its optimizer's state"
    assert both["g"][2].parts.total() == both["d"][2].parts.total() == whole[2].total


def test_an_ema_copy_is_another_model():
    model, step, stats = profiled("ema", 3)
    assert stats[-1].parts.other_models == nbytes(step.keep.parameters())


def test_a_trace_and_a_budget_inside_an_iteration_hide_nothing():
    from memshim.judge.region import CUDABudget

    fresh()
    model, step = LOOPS["adam"]()
    p = memshim.Profiler(model, print_period=0)
    for _ in range(3):
        budget = CUDABudget()
        budget.start()
        with memshim.trace(file=None) as t:
            step()
        peaks = budget.stop()
        budget.drop()
        s = p.record_stats()
        assert s.peak_allocated == t.peak.total == peaks.allocated == s.parts.total()
    p.close()


def test_iterations_that_differ():
    """Each period is recorded, others are counted; nothing is guessed."""
    fresh()
    model = MLP().cuda()
    with memshim.Profiler(model, print_period=3, rows="", file=io.StringIO()) as p:
        for i in range(12):
            model(torch.zeros(100 + 37 * i, 256, device="cuda")).sum().backward()
            model.zero_grad()
            p.record_stats()
    recorded = [i for i, s in enumerate(p.stats) if s.breakdown]
    assert recorded == [0, 1, 2, 3, 6, 9]
    assert all(s.parts.total() == s.peak_allocated for s in p.stats if s.breakdown)
    assert "not recorded" not in p._file.getvalue()
    assert p.epoch_end() and "iteration 11: peak" in p._file.getvalue() and "not recorded" in p._file.getvalue(), (
        "the highest, and the highest known"
    )


def test_an_iteration_unlike_a_steady_loop_is_counted_then_recorded():
    fresh()
    model = MLP().cuda()
    p = memshim.Profiler(model, print_period=1, rows="", file=io.StringIO())
    for i in range(14):
        model(torch.zeros(500 if i in (8, 9) else 100, 256, device="cuda")).sum().backward()
        model.zero_grad()
        p.record_stats()
    known = [bool(s.breakdown) for s in p.stats]
    assert known[:8] == [True] * 8 and known[8:10] == [False, True] and all(known[10:])
    assert p.stats[9].same_as is None and p.stats[8].peak_allocated == p.stats[9].peak_allocated
    p.close()


def test_what_is_printed_and_written(tmp_path):
    fresh()
    model, step = LOOPS["adam"]()
    out, file = io.StringIO(), tmp_path / "p.csv"
    with memshim.Profiler(model, print_period=2, csv=file, rows="tensor", file=out) as p:
        for _ in range(2):
            for _ in range(4):
                step()
                p.record_stats()
            rows = p.epoch_end()
    text = out.getvalue()
    assert (
        "allocated in step (" in text
        and "epoch 1, 4 iterations (allocated on a pretend GPU)\n" in text
        and "  weight float32[16384,256]" in text
    )
    assert "weights 16.7 MiB + gradients 16.7 MiB + optimizer state 33.4 MiB + " in text
    lines = list(csv.DictReader(file.open()))
    assert [r["kind"] for r in lines].count("iteration") == 8, "each iteration has its line"
    tensors = [r for r in lines if r["kind"] == "tensor" and r["iteration"] == "2"]
    assert {(r["layer"], r["tensor"]) for r in tensors} == {
        ("a", "weight"),
        ("a", "bias"),
        ("b", "weight"),
        ("b", "bias"),
    }
    assert {int(r["optimizer_state"]) for r in tensors if r["tensor"] == "weight" and r["layer"] == "a"} == {
        2 * 4 * 256 * 16384
    }
    for r in (r for r in lines if r["kind"] == "iteration"):
        assert sum(int(r[part]) for part in Parts._fields) == int(r["peak_allocated"]) and r["where"] == "pretend"
    assert [r.layer for r in rows if not r.tensor and r.weights] == ["a", "b"]


def test_nothing_is_put_into_the_model():
    model, step = LOOPS["adam"]()
    with memshim.Profiler(model, print_period=0) as p:
        step()
        assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
        pickle.loads(pickle.dumps(model))
        copy.deepcopy(model)
        torch.jit.script(torch.nn.Linear(256, 2).cuda())(data()[0])
        p.record_stats()
    assert p.stats[0].parts.total() == p.stats[0].peak_allocated


def test_it_ends_with_the_loop():
    """Nobody closes it: it goes with the function, and an epoch's end pauses it."""
    from torch.nn.modules.module import _global_forward_hooks, _global_forward_pre_hooks

    def train():
        model, step = LOOPS["momentum"]()
        p = memshim.Profiler(model, print_period=0)
        for _ in range(2):
            step()
            p.record_stats()
        p.epoch_end()
        assert not torch._C._cuda_isHistoryEnabled() and not _global_forward_hooks
        kept = torch.zeros(3 * MIB, device="cuda")
        step()
        assert torch._C._cuda_isHistoryEnabled(), "the model runs again"
        s = p.record_stats()
        assert s.parts.total() == s.peak_allocated and s.parts.other >= 12 * MIB and len(kept)
        return weakref.ref(p)

    assert train()() is None
    assert not recorder.regions and not torch._C._cuda_isHistoryEnabled()
    assert not _global_forward_hooks and not _global_forward_pre_hooks
    assert not torch._C._cuda_getMemoryMetadata()


def test_a_steady_loop_is_counted_and_nothing_more():
    """What looking costs is what it records: C++ stacks in the first two iterations, other stacks
    in two more, then neither history nor hooks."""
    fresh()
    model, step = LOOPS["momentum"]()
    seen = []
    with memshim.Profiler(model, print_period=1, rows="", file=io.StringIO()) as p:
        for _ in range(7):
            kept = torch.zeros(3, device="cuda")
            names = [f["name"] for f in torch.cuda.memory._allocation_traceback(kept.data_ptr()) or ()]
            seen.append("C++" if any("::" in n for n in names) else "Python" if names else "none")
            assert (
                bool(names) == torch._C._cuda_isHistoryEnabled() == bool(torch.nn.modules.module._global_forward_hooks)
            )
            step()
            p.record_stats()
    assert seen == ["C++", "C++", "Python", "Python", "none", "none", "none"]
    assert [s.same_as for s in p.stats] == [None, None, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "name", ["convolutions", "transformer", "amp", "checkpointing, reentrant", "gan", "custom function"]
)
def test_workspace_that_comes_again_is_known_without_its_native_stack(name, monkeypatch):
    """Each iteration is broken down, and its C++ stacks are recorded in the first two, and in
    all."""
    monkeypatch.setattr(profile, "_counters", lambda region: ())
    got = profiled(name, 4)[2]
    monkeypatch.setattr(Breaker, "wants_native", property(lambda self: True, lambda self, value: None), raising=False)
    want = profiled(name, 4)[2]
    assert [s.breakdown for s in got] == [s.breakdown for s in want]
    assert all(s.same_as is None and s.parts.workspace > 0 for s in got)


def test_workspace_that_was_never_seen_is_said():
    """After two iterations that are alike a third is recorded without C++ stacks, and the one
    behind it with them."""
    fresh()
    model = MLP().cuda()
    p = memshim.Profiler(model, print_period=1, rows="", file=(out := io.StringIO()))
    for rows in (100, 100, 500, 700, 700):
        model(torch.zeros(rows, 256, device="cuda")).sum().backward()
        model.zero_grad()
        p.record_stats()
    p.close()
    lost = [s.breakdown.lost for s in p.stats]
    assert not any(lost[:2]) and not any(lost[3:]) and p.stats[3].parts.workspace > 0
    assert lost[2] == "2.9 MiB may be workspace: there are no C++ stacks"
    assert out.getvalue().splitlines()[2].endswith("; incomplete: " + lost[2])


def test_a_device_that_is_not_the_first():
    code = """
import torch, memshim
model = torch.nn.Linear(1000, 1000).to("cuda:1")
other = torch.zeros(1 << 20, device="cuda:0")
with memshim.Profiler(model, print_period=0) as p:
    for _ in range(3):
        model(torch.zeros(10, 1000, device="cuda:1")).sum().backward()
        model.zero_grad()
        s = p.record_stats()
        assert s.parts.total() == s.peak_allocated and s.parts.weights == 4004000 and s.parts.other < 1 << 20, s
"""
    p = pretended.run(code, count=2)
    assert p.returncode == 0, p.stderr
