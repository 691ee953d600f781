"""What is marked while a program runs: its modules, phases, gradients, and what autocast released."""

import gc
import threading
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from torch.optim import optimizer  # noqa: E402

from memshim.attribution import forward_lines, saved_tensors, sites  # noqa: E402
from memshim.attribution.sites import Attribution, Mark, Owned  # noqa: E402


@pytest.fixture
def marks(monkeypatch):
    """Marks whose counts are 1, 2, 3 and so on; of each tensor, its numel is the address."""
    made, counts = Attribution(), iter(range(1, 1000))
    monkeypatch.setattr(made, "count", lambda: next(counts))
    monkeypatch.setattr(made, "_keys", lambda t: [t.numel()])
    yield made
    made.off()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 3)

    def forward(self, x):
        return self.fc(x)


X = torch.ones(1, 2)


def names(marks):
    return [p.name for p in marks.phases]


def ran(marks):
    return [name for _, name in marks.modules]


def test_a_mark_counts_allocations_and_frees(monkeypatch):
    counted = {"allocation": {"all": {"allocated": 5, "freed": 2, "current": 3}}}
    asked = []
    monkeypatch.setattr(sites.recorder, "real_stats", lambda index: asked.append((index, gc.isenabled())) or counted)
    assert [Attribution().count(), Attribution(3).count()] == [7, 7] and gc.isenabled()
    gc.disable()
    try:
        assert Attribution().count() == 7 and not gc.isenabled()
    finally:
        gc.enable()
    assert asked == [(0, False), (3, False), (0, False)]


def test_modules_are_marked_from_their_call_to_their_end(marks):
    marks.on()
    model = Net()
    model(X)
    model.fc(X)
    assert list(marks.modules) == [
        (1, ""), (2, "fc"), (3, ""), (4, None), (5, "fc"), (6, None),
    ]  # fmt: skip
    assert len(marks.modules) == 6 and marks.phases == []
    marks.off()
    model(X)
    assert len(marks.modules) == 6


def test_a_module_that_fails_has_ended(marks):
    marks.on()
    with pytest.raises(RuntimeError):
        Net()(torch.ones(1, 5))
    assert ran(marks) == ["", "fc", "", None] and marks.running() == ""


def test_what_is_compiled_is_not_marked(marks, monkeypatch):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    marks.on()
    Net()(X)
    assert ran(marks) == []


def test_a_module_made_on_the_way_counts_for_whoever_runs_it(marks):
    made = []

    class Makes(torch.nn.Module):
        def forward(self, x):
            made.append(torch.nn.ReLU())
            return made[0](x)

    marks.on()
    torch.nn.Sequential(Makes())(X)
    assert ran(marks) == ["", "0", "0", "0", "", None]
    assert marks._name_of(made[0]) == "0" and marks._name_of(torch.nn.ReLU()) is None


def test_the_module_that_runs_is_a_threads_own(marks):
    seen = []

    class Asks(torch.nn.Module):
        def forward(self, x):
            other = threading.Thread(target=lambda: seen.append(marks.running()))
            other.start(), other.join()
            seen.extend([marks.running(), forward_lines.running()])
            return x

    marks.on()
    torch.nn.Sequential(Asks())(X)
    assert seen == ["", "0", "0"]
    marks.off()
    assert forward_lines.running is None


def test_a_forward_begins_with_the_next_module_that_no_other_calls(marks):
    marks.on()
    model = Net()
    model(X).sum().backward()
    model(X)
    model(X)
    assert names(marks) == ["backward", "forward"]
    marks.begin()
    assert names(marks) == ["backward", "forward", "forward"]


def test_a_backward_within_a_backward_begins_no_phase(marks):
    marks.on()
    weight = torch.ones(1, requires_grad=True)
    inner = torch.ones(1, requires_grad=True).sum()
    weight.register_hook(lambda grad: inner.backward())
    (weight * 2).sum().backward()
    assert names(marks) == ["backward"] and marks._deep == 0
    with pytest.raises(RuntimeError):
        torch.autograd.backward(torch.ones(1))
    assert names(marks) == ["backward"] * 2 and marks._deep == 0


def test_a_module_that_runs_in_the_backward_begins_no_forward(marks):
    called, weight, inner = [], torch.ones(1, 2, requires_grad=True), Net()
    marks.called = lambda module, args: called.append((module, args))
    marks.on()
    weight.register_hook(lambda grad: (inner(X), None)[1])
    (weight * 2).sum().backward()
    assert names(marks) == ["backward"] and called == [] and ran(marks)[:2] == ["", "fc"]


def test_the_caller_of_a_module_that_no_other_calls_is_known(marks):
    called = []
    marks.called = lambda module, args: called.append((module, args))
    marks.on()
    model = Net()
    model(X)
    assert called == [(model, (X,))]


def called(hooks):
    """As PyTorch's optimizers call what is registered for all of them."""
    for hook in list(hooks.values()):
        hook(None, (), {})


def test_a_step_is_a_phase_until_it_ends(marks):
    marks.on()
    weight = torch.nn.Parameter(torch.ones(2))
    called(optimizer._global_optimizer_pre_hooks)
    weight.sum().backward()
    called(optimizer._global_optimizer_post_hooks)
    weight.sum().backward()
    assert names(marks) == ["step", "backward", "step", "backward"], "no step goes on after the last backward"


def test_when_autocast_released_its_copies(marks, monkeypatch):
    released = []
    monkeypatch.setattr(torch, "clear_autocast_cache", lambda: released.append(marks.count()))
    clear = torch.clear_autocast_cache
    marks.on()
    torch.clear_autocast_cache()
    assert marks.cleared == [(1, 3)] and released == [2]
    marks.off()
    assert torch.clear_autocast_cache is clear


def test_a_watched_models_modules_have_its_names_whoever_runs_first(marks):
    model = Net()
    marks.on().watch(model)
    model.fc(X)
    assert ran(marks) == ["fc", None]


def test_gradients_are_their_parameters_modules(marks):
    model = Net()
    model.fc.bias.requires_grad = False
    marks.on().watch(model)
    model(X).sum().backward()
    assert [(o.key, o.category, o.module) for o in marks.owned()] == [(6, "gradient", "fc")]
    marks.off()
    model(X).sum().backward()
    assert len(list(marks.owned())) == 1


def test_a_gradient_that_a_hook_took_is_none(marks):
    weight = torch.nn.Parameter(torch.ones(2))
    weight.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
    marks.watch_gradients([weight, torch.nn.UninitializedParameter(), weight * 2, torch.ones(2)])
    weight.sum().backward()
    assert list(marks.owned()) == []


def test_what_a_tensor_is_for_is_kept_with_its_count(marks):
    marks.own(4, torch.ones(8), "parameter", "fc")
    marks.own(5, torch.ones(9), "input")
    assert list(marks.owned()) == [Owned(4, 8, "parameter", "fc"), Owned(5, 9, "input", None)]


@pytest.mark.parametrize("named", [True, False])
def test_of_a_model_that_is_watched_what_autograd_saved_is_named(marks, monkeypatch, named):
    asked = []
    found = [SimpleNamespace(tensor=torch.ones(8), label="MulBackward0\n")]
    monkeypatch.setattr(saved_tensors, "saved", lambda tensors: asked.append(tensors) or found)
    marks.on()
    if named:
        marks.watch(Net())
    loss = torch.ones(1, requires_grad=True).sum()
    torch.autograd.backward(tensors=loss, retain_graph=True)
    loss.backward()
    assert [len(a) for a in asked] == ([1, 1] if named else []) and all(a[0] is loss for a in asked)
    assert list(marks.saved()) == ([(2, 8, "MulBackward0\n"), (4, 8, "MulBackward0\n")] if named else [])
    marks.saved_behind([loss, loss])
    assert asked[-1] == [loss, loss]


def test_addresses_are_of_storages_on_the_device(monkeypatch):
    def storage(address, kind="cuda", index=1, size=8):
        device = SimpleNamespace(type=kind, index=index)
        return SimpleNamespace(device=device, nbytes=lambda: size, data_ptr=lambda: address)

    given = storage(5), storage(6, kind="cpu"), storage(7, index=0), storage(8, size=0), storage(9)
    monkeypatch.setattr(sites, "storages", lambda t: given)
    assert Attribution(1)._keys(None) == [5, 9]


def test_phases_are_marks(marks):
    marks.begin()
    assert marks.phases == [Mark(1, "forward")]
