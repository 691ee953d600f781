"""Profiler on CPU tensors. On the allocator's own history: gpu/test_profile.py."""

import csv
import io
import weakref

import pytest

import memshim

torch = pytest.importorskip("torch")

from odd import ODD  # noqa: E402
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack  # noqa: E402

from memshim.allocator.cpu_region import watcher  # noqa: E402
from memshim.gpu.storages import nbytes  # noqa: E402
from memshim.look.breakdown import Parts  # noqa: E402

WEIGHTS = 4 * (64 * 128 + 128 + 128 * 8 + 8)


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))


def test_profiler(tmp_path):
    m, out, file = net(), io.StringIO(), tmp_path / "p.csv"
    optimizer = torch.optim.Adam(m.parameters())
    with memshim.Profiler(m, print_period=2, csv=file, file=out) as p:
        for _ in range(2):
            for _ in range(3):
                optimizer.zero_grad()
                m(torch.zeros(16, 64)).sum().backward()
                optimizer.step()
                s = p.record_stats()
            rows = p.epoch_end()
    parts = s.parts
    assert s.breakdown.phase == "step" and s.breakdown.where.startswith("pyshim/tests/test_profile.py:"), (
        "Adam's temporaries"
    )
    assert (parts.weights, parts.gradients, parts.optimizer_state, parts.inputs) == (
        WEIGHTS,
        WEIGHTS,
        2 * WEIGHTS + 4 * 4,
        0,
    ), "x is gone"
    assert parts.total() == s.peak_allocated and not parts.rounding and not parts.workspace
    assert s.peak_cached is None and s.current_cached is None and s.breakdown.cached is None
    assert [(r.layer, r.type, r.weights) for r in rows if not r.tensor and r.layer != "(outside of the model)"] == [
        ("0", "Linear", 4 * (64 * 128 + 128)),
        ("2", "Linear", 4 * (128 * 8 + 8)),
    ]
    text = out.getvalue()
    assert text.count("\niteration ") + text.startswith("iteration ") == 3 + 2, (
        "every second iteration, and each epoch's highest"
    )
    assert "epoch 1, 3 iterations (CPU tensors" in text and "0 Linear" in text
    lines = list(csv.DictReader(file.open()))
    assert [r["kind"] for r in lines].count("iteration") == 6 and {r["where"] for r in lines} == {"cpu"}
    assert all(
        sum(int(r[x]) for x in Parts._fields) == int(r["peak_allocated"]) for r in lines if r["kind"] == "iteration"
    )


def test_activations_by_layer_at_a_peak_in_the_backward():
    """Of 4096 rows a layer's input and result are far more than its weights."""
    m = net()
    with memshim.Profiler(m, print_period=0) as p:
        x = torch.zeros(4096, 64, requires_grad=True)
        m(x).sum().backward()
        s = p.record_stats()
    held = {r.layer: r.activations for r in s.breakdown.rows if not r.tensor}
    assert s.breakdown.phase == "backward" and held["1"] == 4096 * 128 * 4, "ReLU's result, which its backward needs"
    assert s.parts.total() == s.peak_allocated


def step(m, *inputs):
    m(*inputs).sum().backward()


@pytest.mark.parametrize("name", ODD)
def test_what_trains_without_it_trains_with_it(name, tmp_path):
    """With all that looks at once."""
    m, go = ODD[name]("cpu")
    tracker = memshim.Tracker(str(tmp_path / "log"))
    tracker.track()
    with memshim.Profiler(m, print_period=0) as p, memshim.trace(file=None) as t:
        for _ in range(2):
            go()
            s = p.record_stats()
            assert s.parts.total() == s.peak_allocated
    assert s.parts.weights == nbytes([*m.parameters(), *m.buffers()])
    assert t.peak.churn > 0 and tracker.track().census.nbytes >= s.parts.weights
    assert not _get_current_dispatch_mode_stack() and not watcher.tag


def test_optimizers():
    """LBFGS keeps lists; state may be older than the profiler; another model's optimizer is the
    other's."""

    def profile(**kw):
        with memshim.Profiler(m, print_period=0, **kw) as p:
            step(m, torch.ones(2, 64))
            return p.record_stats().parts

    m = net()
    alone, other = profile().other_models, net()  # what other tests left
    theirs = torch.optim.Adam(other.parameters())
    step(other, torch.ones(2, 64))
    theirs.step()
    optimizer = torch.optim.LBFGS(m.parameters(), max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = m(torch.ones(5, 64)).square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    parts = profile()
    state = optimizer.state[next(iter(optimizer.state))]
    kept = [t for v in state.values() for t in (v if isinstance(v, list) else [v]) if isinstance(t, torch.Tensor)]
    assert parts.optimizer_state == nbytes(kept) > WEIGHTS
    assert parts.other_models - alone == 4 * WEIGHTS + 16, "weights, gradients and state"
    assert profile(optimizer=theirs).optimizer_state == 2 * WEIGHTS + 16


def test_a_shared_weight_belongs_to_one_layer():
    m = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(inplace=True), torch.nn.Linear(8, 8))
    m[2].weight = m[0].weight
    with memshim.Profiler(m, print_period=0) as p:
        step(m, torch.zeros(1, 8))
        s = p.record_stats()
    layers = {r.layer: r.weights for r in s.breakdown.rows if not r.tensor}
    assert (layers["0"], layers["2"]) == (4 * 72, 4 * 8)


def test_it_ends_with_its_last_reference_and_pauses_between_epochs():
    def train():
        m = net()
        p = memshim.Profiler(m, print_period=0)
        step(m, torch.ones(2, 64))
        p.record_stats()
        p.epoch_end()
        assert not _get_current_dispatch_mode_stack(), "nothing is watched, and all code is as fast as before"
        kept = torch.zeros(100_000)
        step(m, torch.ones(2, 64))
        s = p.record_stats()
        assert s.parts.other >= 400_000 and s.epoch == 1 and s.parts.total() == s.peak_allocated and len(kept)
        return weakref.ref(p)

    assert train()() is None
    assert not _get_current_dispatch_mode_stack() and not watcher.regions


def test_wrong_arguments():
    with pytest.raises(ValueError, match="got rows 'all', want layer, tensor or an empty text"):
        memshim.Profiler(net(), rows="all")
    with pytest.raises(FileNotFoundError):
        memshim.Profiler(net(), csv="/absent/folder/p.csv")
    assert not watcher.regions
