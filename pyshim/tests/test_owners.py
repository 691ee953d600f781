"""What the storages of a program are for: its modules', its optimizers' and what a model is given."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from memshim.attribution import owners  # noqa: E402
from memshim.attribution.owners import Owners  # noqa: E402


@pytest.fixture
def own(monkeypatch):
    """Owners of one device whose marks are listed as (moment, tensor, category, module)."""
    names, said = {}, []

    class Attribution:
        called = None

        def __init__(self, device):
            said.append(("device", device))
            self.tensors = SimpleNamespace(
                of=lambda t: names.get(id(t)), name=lambda t, name: names.update({id(t): name})
            )

        def count(self):
            return 5

        def __getattr__(self, name):
            return lambda: said.append(name)

        def own(self, count, t, category, module=None):
            said.append((count, id(t), category, module))

    monkeypatch.setattr(owners, "Attribution", Attribution)
    o = Owners(SimpleNamespace(device=3))
    assert said == [("device", 3), "on", "begin"] and o._start == 5
    said.clear()
    o.said, o.names = said, names
    return o


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(2, 2, bias=False)
        self.register_buffer("n", torch.ones(1))
        self.register_buffer("none", None)


def optimizer(*parameters, **state):
    made = torch.optim.SGD.__new__(torch.optim.SGD)
    made.param_groups, made.state = [{"params": list(parameters)}], {}
    return made


def test_a_model_that_is_called_has_names_and_inputs(own):
    net = Net()
    weight = net.a.weight
    weight.grad = torch.ones(2, 2)
    x, trained = torch.ones(1), torch.ones(1, requires_grad=True)
    own.marks.called(net, ((x, trained, trained * 2, 3), {"y": x}))
    assert own.said == [
        (5, id(net.n), "buffer", ""),
        (5, id(weight), "parameter", "a"),
        (5, id(weight.grad), "gradient", "a"),
        (5, id(x), "input", None),
        (5, id(x), "input", None),
    ]


def test_an_optimizers_state_is_of_its_parameters_module(own):
    p, m, other = torch.ones(1), torch.ones(2), torch.ones(3)
    own.names[id(p)] = "a"
    o = optimizer(p)
    o.state = {p: {"m": m, "step": 3}, "global": other}
    own.stepped(o)
    assert own.said == [(5, id(p), "parameter", "a"), (5, id(m), "optimizer_state", "a"),
                        (5, id(other), "optimizer_state", None)]  # fmt: skip


def test_everything_that_can_be_reached_is_looked_at(own, monkeypatch):
    net, p = Net(), torch.ones(1)
    unmade = torch.nn.Module.__new__(torch.nn.Module)
    half = torch.optim.SGD.__new__(torch.optim.SGD)
    monkeypatch.setattr(owners.gc, "get_objects", lambda: [net, net.a, unmade, half, optimizer(p), 1, torch.nn.Module])
    own.names[id(net.a.weight)] = "known"
    own.look()
    assert own.said == [
        (5, id(p), "parameter", None),
        (5, id(net.n), "buffer", None),
        (5, id(net.a.weight), "parameter", "known"),
    ]


def test_a_parameter_without_a_size_is_none_yet(own):
    own._tensor(5, torch.nn.UninitializedParameter(), "parameter", "a")
    assert own.said == []


def test_after_the_end_nothing_is_looked_at(own, monkeypatch):
    monkeypatch.setattr(owners.gc, "get_objects", list)
    own.end()
    assert own.said == ["off"] and own.ended
    own.stepped(optimizer(torch.ones(1)))
    assert own.said == ["off"]


def test_while_something_compiles_nothing_is_looked_at(own, monkeypatch):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    own.stepped(optimizer(torch.ones(1)))
    assert own.said == []


def test_what_a_programs_objects_do_ends_no_program(own):
    class Broken:
        @property
        def param_groups(self):
            raise ValueError

    own.stepped(Broken())
    assert own.said == []


def test_the_reading_is_of_a_program(own, monkeypatch):
    monkeypatch.setattr(owners, "Reading", lambda *a, **named: (a, named))
    assert own.reading() == ((own._region, own.marks, 5, {}), {"program": True})
