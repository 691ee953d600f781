"""What a model takes, how it is said, and that nothing of the model has changed after."""

import builtins
import contextlib
import io
import random
import sys

import pytest

torch = pytest.importorskip("torch")

from memshim.allocator import history  # noqa: E402
from memshim.allocator.events import Event  # noqa: E402
from memshim.look import modelsize as module  # noqa: E402
from memshim.look.modelsize import ModelSize, modelsize  # noqa: E402

CPU = torch.device("cpu")


class Region:
    """A region in which certain events happen; a gradient's key is 2."""

    where, index, lost = "cpu", None, ""

    def __init__(self, *events):
        self.events, self.before, self.calls = events, {}, []

    def open(self):
        self.calls.append("open")
        return self

    def close(self):
        self.calls.append("close")

    def keys_of(self, tensor):
        return [2]


@pytest.fixture
def of_events(monkeypatch):
    """A region of events that is opened next; what it is opened for is listed first."""

    def made(*events):
        r = Region(*events)
        monkeypatch.setattr(history, "region", lambda device, stacks="python": r.calls.append((device, stacks)) or r)
        return r

    return made


def alloc(key, size):
    return Event("alloc", key, size)


def free(key, size):
    return Event("free_completed", key, size)


def linear():
    return torch.nn.Linear(1, 1, bias=False)


X = torch.ones(2, 1)
EVENTS = alloc(2, 10), free(2, 10), alloc(1, 5), alloc(2, 7), free(2, 7), alloc(3, 4), alloc(5, 2)


@pytest.mark.parametrize("backward, most", [(True, 11), (False, 12)])
def test_of_an_address_only_its_last_life_is_a_gradients(of_events, backward, most):
    r = of_events(*EVENTS)
    assert module._intermediates(linear(), (X,), {}, CPU, backward) == most
    assert r.calls == [(CPU, ""), "open", "close"]


def test_a_gradient_of_a_byte_is_one(of_events):
    of_events(alloc(2, 1))
    assert module._intermediates(linear(), (X,), {}, CPU, True) == 0


@pytest.mark.parametrize("backward", [True, False])
def test_a_gradient_is_made_only_where_it_is_wanted(of_events, backward):
    of_events()
    model = linear()
    assert module._intermediates(model, (), {"input": X}, CPU, backward) == 0
    assert (model.weight.grad is not None) is backward


def test_a_region_is_closed_where_the_model_fails(of_events):
    r = of_events()
    with pytest.raises(RuntimeError):
        module._intermediates(linear(), (torch.ones(2, 3),), {}, CPU, True)
    assert r.calls == [(CPU, ""), "open", "close"]


class Table(torch.nn.Module):
    """Of buffers alone."""

    def __init__(self):
        super().__init__()
        self.register_buffer("t", torch.zeros(3, dtype=torch.float16))

    def forward(self, x, y=None):
        return x if y is None else y


def test_a_model_is_measured_without_and_with_its_backward(monkeypatch):
    said = []

    def intermediates(model, inputs, named, device, backward):
        said.append((inputs, named, device, backward, torch.is_inference_mode_enabled()))
        return 20 if backward else 10

    monkeypatch.setattr(module, "_intermediates", intermediates)
    with torch.inference_mode():
        assert modelsize(linear(), 1, file=None, y=2) == ModelSize("cpu", 4, 0, 10, 20)
    assert said == [((1,), {"y": 2}, CPU, False, False), ((1,), {"y": 2}, CPU, True, False)]
    assert modelsize(Table(), file=None) == ModelSize("cpu", 0, 6, 10, 20)
    assert modelsize(torch.nn.ReLU(), file=None) == ModelSize("cpu", 0, 0, 10, 20)


@pytest.mark.parametrize(
    "where, end",
    [("cuda", ""), ("pretend", " (on a pretend GPU)"), ("cpu", " (CPU tensors)")],
)
def test_sizes_are_said_with_what_they_were_measured_on(where, end):
    size = ModelSize(where, 1024, 2, 3, 2048)
    text = f"parameters 1.0 KiB, buffers 2 B, intermediates 3 B without backward, 2.0 KiB with backward{end}"
    assert str(size) == repr(size) == text


TEXT = "Table: parameters 0 B, buffers 6 B, intermediates 5 B without backward, 5 B with backward (CPU tensors)\n"


@pytest.mark.parametrize(
    "prompt, file, printed, written",
    [
        (False, {}, TEXT, ""),
        (True, {}, "", ""),
        (False, {"file": None}, "", ""),
        (False, {"file": "stdout"}, TEXT, ""),
        (True, {"file": "named"}, "", TEXT),
        (False, {"file": "named"}, "", TEXT),
    ],
)
def test_where_sizes_are_printed(monkeypatch, capsys, prompt, file, printed, written):
    monkeypatch.setattr(module, "_intermediates", lambda *a, **k: 5)
    monkeypatch.setattr(module, "interactive", lambda: prompt)
    named = io.StringIO()
    modelsize(Table(), **{k: named if v == "named" else v for k, v in file.items()})
    assert (capsys.readouterr().out, named.getvalue()) == (printed, written)


@pytest.mark.parametrize(
    "has, prompt",
    [((), False), (((sys, "ps1"),), True), (((builtins, "get_ipython"),), True)],
)
def test_a_result_shows_itself_at_a_prompt_and_in_a_notebook(monkeypatch, has, prompt):
    monkeypatch.delattr(sys, "ps1", raising=False)
    monkeypatch.delattr(builtins, "get_ipython", raising=False)
    for where, name in has:
        monkeypatch.setattr(where, name, 1, raising=False)
    assert module.interactive() is prompt


def test_a_lazy_modules_buffer_is_named():
    class Lazy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("later", torch.nn.UninitializedBuffer())

    with pytest.raises(
        ValueError, match="^got later without a size, want a model whose lazy modules have been called once$"
    ):
        modelsize(Lazy())


def test_gradients_are_put_aside_and_modes_and_buffers_are_as_they_were():
    model = torch.nn.Sequential(linear(), torch.nn.Dropout().eval(), Table())
    kept = model[0].weight.grad = torch.ones(1, 1)
    with pytest.raises(KeyError), module._as_it_was(model, CPU):
        assert model[0].weight.grad is None
        model[0].weight.grad = torch.zeros(1, 1)
        model.eval(), model[1].train()
        model[2].t += 1
        model[2].register_buffer("made", torch.ones(1))
        raise KeyError
    assert model[0].weight.grad is kept and [m.training for m in model.modules()] == [True, True, False, True]
    assert model[2].t.tolist() == [0, 0, 0] and model[2].made.tolist() == [1]


def states(array):
    return random.getstate(), array.get_state()[1].tolist(), torch.get_rng_state().tolist()


@pytest.mark.parametrize("has_numpy", [True, False])
def test_generators_are_as_they_were(monkeypatch, has_numpy):
    array, model = pytest.importorskip("numpy").random, linear()
    kept, before = array.get_state(), states(array)
    if not has_numpy:
        monkeypatch.delitem(sys.modules, "numpy")
    try:
        with module._as_it_was(model, CPU):
            random.random(), torch.rand(1), array.seed(5)
            within = states(array)
        assert all(a != b for a, b in zip(within, before))
        assert states(array) == (before[0], before[1] if has_numpy else within[1], before[2])
    finally:
        array.set_state(kept)


@pytest.mark.parametrize("device", [CPU, torch.device("cuda", 1)])
def test_a_gpus_generator_is_kept_with_the_hosts(monkeypatch, device):
    kept = []
    monkeypatch.setattr(torch.random, "fork_rng", lambda devices: kept.append(devices) or contextlib.nullcontext())
    with module._as_it_was(torch.nn.ReLU(), device):
        pass
    assert kept == [[device] if device.type == "cuda" else []]
