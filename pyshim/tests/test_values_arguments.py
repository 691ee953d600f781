"""What an operator is given on a pretend GPU, how many rows it finds, and which gradients were missing."""

import types

import pytest

torch = pytest.importorskip("torch")
from memshim.pretend import gradients  # noqa: E402
from memshim.pretend.values import arguments, counts, modes  # noqa: E402

aten = torch.ops.aten
X = torch.zeros(2)


@pytest.mark.parametrize(
    "op, place, found",
    [
        (aten.eq.Tensor, 1, aten.eq.Scalar),
        (aten.eq.Scalar, 1, aten.eq.Scalar),
        (aten.where.self, 2, aten.where.ScalarOther),
        (aten.where.self, 1, aten.where.ScalarSelf),
        (aten.add.Tensor, 1, aten.add.Tensor),  # PyTorch makes a tensor of the number
        (aten.add_.Tensor, 1, aten.add_.Tensor),
        (aten.relu.default, 0, aten.relu.default),
    ],
    ids=str,
)
def test_the_overload_of_a_number_in_a_place(op, place, found):
    assert arguments.with_number(op, place) is found


class Sub(torch.Tensor):
    pass


@pytest.mark.parametrize(
    "items, follows, several",
    [
        ((X, 3, None, "a", [X, (X,)]), True, 3),
        ((torch.nn.Parameter(X), torch.nn.Buffer(X)), True, 2),
        ((X.to_sparse(),), False, 0),
        ((X.to("meta"),), False, 0),
        ((X.as_subclass(Sub),), False, 0),
        (([X, [X.to("meta")]],), False, 1),
        (({"k": X.as_subclass(Sub)},), True, 0),
    ],
    ids=["plain", "of modules", "sparse", "meta", "subclass", "within", "in a dict"],
)
def test_tensors_among_arguments(items, follows, several):
    into = []
    assert arguments.collect(items, into) is follows and len(into) == several


def test_a_pass_that_is_trained():
    weight = torch.zeros(2, requires_grad=True)
    assert arguments.trained([X, weight]) is True and arguments.trained([X]) is False
    with torch.no_grad():
        assert arguments.trained([weight]) is False
    seen = []
    weight.register_hook(lambda grad: seen.append(arguments.trained([])))
    weight.sum().backward()
    assert seen == [True], "of its gradients"


@pytest.mark.parametrize(
    "result, floats", [(X, True), (X.int(), False), ((X, 1), True), ([X.int(), X], False), ((), False), (1.0, False)]
)
def test_a_result_of_floats(result, floats):
    assert arguments.of_floats(result) is floats


def test_arguments_on_the_host(monkeypatch):
    monkeypatch.setattr(arguments, "host", lambda t: "host")
    given = [X, torch.nn.Parameter(X), (X, [3]), torch.device("cuda"), "a"]
    assert arguments.to_host(given) == ["host", "host", ("host", [3]), torch.device("cpu"), "a"]


def test_undefined_tensors_of_a_list_are_empty():
    found = arguments.defined([None, X.int()])
    assert [(t.numel(), t.dtype) for t in found] == [(0, torch.int32), (2, torch.int32)]
    (a, (b, c)), none = arguments.defined((X, [None, None])), arguments.defined(None)
    assert a is X and b.numel() == c.numel() == 0 and none is None
    whole = [X]
    assert arguments.defined(whole) is whole


def chosen(mode, name, *shape):
    found = counts.chosen(mode, name, torch.Size(shape))
    return found if found is None else found.tolist()


def test_how_many_rows_an_operator_finds():
    for name in ("aten::nonzero", "torchvision::nms", "aten::unique_dim"):
        assert chosen(modes.BALANCED, name, 2, 3) is None
    assert chosen(modes.LEAST, "aten::nonzero", 2, 1) == [[False], [False]]
    assert chosen(modes.MOST, "aten::nonzero", 2, 1) == [[True], [True]]
    assert chosen(modes.LEAST, "aten::_unique2", 2, 2) == [[0, 0], [0, 0]]
    assert chosen(modes.SKEWED, "aten::_unique2", 2, 2) == [[0, 1], [2, 3]]
    assert chosen(modes.LEAST, "torchvision::nms", 2, 4) == [[0, 0, 1, 1], [0, 0, 1, 1]]
    assert chosen(modes.MOST, "torchvision::nms", 2, 4) == [[0, 0, 1, 1], [2, 0, 3, 1]]
    size = torch.Size((2, 3))
    assert (counts.upper(modes.LEAST, size), counts.upper(modes.MOST, size)) == (0, 6)


def test_the_count_of_a_result():
    rows = torch.zeros(5, 2)
    assert {n: of((rows, 0) if "unique" in n else rows) for n, of in counts.OF.items()} == dict.fromkeys(counts.OF, 5)


class Weight:
    """A parameter of a device."""

    def __init__(self, nbytes, wants=True, grad=None, is_cuda=True):
        self.nbytes, self.requires_grad, self.grad, self.is_cuda = nbytes, wants, grad, is_cuda


@pytest.fixture
def missing(monkeypatch):
    monkeypatch.setattr(gradients, "_found", None)
    names = {}
    monkeypatch.setattr(gradients, "modules_of", lambda parameters: [names.get(p, "") for p in parameters])
    return names


def test_parameters_without_gradients_are_those_of_the_device_that_want_one(missing):
    gradients.look([Weight(4, wants=False), Weight(4, grad=1), Weight(4, is_cuda=False)])
    assert gradients.found() is None
    a, b, c = Weight(8), Weight(2), Weight(1)
    missing.update({a: "fc", b: "fc"})
    gradients.look([a, b, c, Weight(4, grad=1)])
    assert gradients.found() == (11, 3, ["fc", ""], 0)
    assert gradients.found().text() == (
        "after a training step 3 parameters of 11 bytes that require a gradient had none: of fc, no module"
    )


def test_the_step_with_most_bytes_counts(missing):
    for size in (4, 9, 9, 3):
        gradients.look([Weight(1) for _ in range(size)])
        assert gradients.found().bytes == max(size, gradients.found().bytes)
    first = gradients.found()
    gradients.look([Weight(9)])
    assert gradients.found() is first


def test_a_few_modules_are_named(missing):
    weights = [Weight(1) for _ in range(10)]
    missing.update({w: f"m{i}" for i, w in enumerate(weights)})
    gradients.look(weights)
    assert gradients.found()[2:] == ([f"m{i}" for i in range(8)], 2)
    assert gradients.found().text().endswith("m6, m7 and 2 more")
    assert "1 parameter of 1 bytes that requires a gradient" in gradients.Missing(1, 1, [""], 0).text()


def test_a_parameter_is_of_the_module_that_has_it():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False)))
    alone = torch.nn.Linear(2, 2)
    parameters = [model[0].weight, model[1][0].weight, alone.bias, torch.nn.Parameter(X)]
    assert gradients.modules_of(parameters) == ["0", "1.0", "Linear", ""]


def test_an_optimizers_step_is_looked_at(monkeypatch):
    seen = []
    monkeypatch.setattr(gradients, "look", lambda parameters: seen.append(len(list(parameters))))
    hooks = []
    from torch.optim import optimizer

    monkeypatch.setattr(optimizer, "register_optimizer_step_post_hook", hooks.append)
    gradients.watch()
    hooks[0](types.SimpleNamespace(param_groups=[{"params": [1, 2]}, {"params": [3]}]), (), {})
    assert seen == [3]
