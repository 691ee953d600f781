"""Constructors that fill tensors cost nothing where they are large, and write what decides."""

import contextlib
import types

import pytest

torch = pytest.importorskip("torch")
from memshim.pretend.values import initialise, tracing  # noqa: E402

LARGE = torch.empty(1 << 18)  # 1 MiB


class Model(torch.nn.Module):
    def reset_parameters(self, *arguments):
        return initialise.skipped(*arguments)

    def forward(self, *arguments):
        return initialise.skipped(*arguments)

    def init_weights(self, depth, *arguments):
        return deep(depth, *arguments)


def deep(depth, *arguments):
    return deep(depth - 1, *arguments) if depth else initialise.skipped(*arguments)


def of_torch(*arguments):
    """As a function of torch.nn.init calls it."""
    names = {"skipped": initialise.skipped, "arguments": arguments}
    exec(compile("found = skipped(*arguments)", torch.nn.init.__file__, "exec"), names)
    return names["found"]


def test_large_weights_of_a_module_are_not_filled():
    model = Model()
    assert model.reset_parameters("aten::normal_", (LARGE,)) is True
    assert model.reset_parameters("aten::mul_", (LARGE, 2.0)) is True
    assert of_torch("aten::normal_", (LARGE,)) is True


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("aten::normal_", (LARGE[:-1],)),
        ("aten::random_", (torch.empty(1 << 18, dtype=torch.int64),)),
        ("aten::mul_", (LARGE, LARGE)),
        ("aten::copy_", (LARGE,)),
    ],
    ids=["small", "integers", "of another tensor", "no fill"],
)
def test_what_else_is_filled(name, arguments):
    assert Model().reset_parameters(name, arguments) is False
    assert of_torch(name, arguments) is False


def test_constants_are_filled_but_by_torchs_initialisers():
    for name in ("aten::fill_", "aten::zero_"):
        assert Model().reset_parameters(name, (LARGE,)) is False
        assert of_torch(name, (LARGE,)) is True


def test_outside_of_initialisers_tensors_are_filled():
    assert initialise.skipped("aten::normal_", (LARGE,)) is False
    assert Model()("aten::normal_", (LARGE,)) is False

    def reset_parameters(self):
        return initialise.skipped("aten::normal_", (LARGE,))

    assert reset_parameters(object()) is False, "of no module"


@pytest.mark.parametrize("depth, skipped", [(37, True), (38, True), (39, False)])
def test_an_initialiser_is_at_most_so_many_frames_away(depth, skipped):
    assert Model().init_weights(depth, "aten::normal_", (LARGE,)) is skipped


@pytest.fixture
def on_the_host(monkeypatch):
    monkeypatch.setattr(initialise, "OnCPU", contextlib.nullcontext)


def test_rejected_numbers_are_the_likeliest(on_the_host):
    of = {"mean": 3.0, "a": -2.0, "b": 2.0, "accept_buf": torch.ones(2)}
    for mean, value in ((3.0, 2.0), (-3.0, -2.0), (1.0, 1.0)):
        t = torch.full((2,), 7.0)
        initialise.settle(t, of | {"mean": mean})
        assert t.tolist() == [value, value]
        initialise.settle(t, {k: v for k, v in of.items() if k != "accept_buf"} | {"mean": mean})
        assert t.tolist() == [value, value]


def test_what_accepts_numbers_is_one_half(on_the_host):
    t = torch.ones(2)
    initialise.settle(t, {"accept_buf": t})
    assert t.tolist() == [0.5, 0.5]


def test_zeros_are_written_where_there_are_none(on_the_host, monkeypatch):
    filled = []
    t = torch.tensor([0.0, 1.0])
    monkeypatch.setattr(torch.Tensor, "fill_", lambda self, value: filled.append(value))
    initialise.settle(t, {"mean": 0.0, "a": -2.0, "b": 2.0})
    initialise.settle(torch.zeros(2), {"mean": 0.0, "a": -2.0, "b": 2.0})
    assert filled == [0.0]


def test_a_function_is_replaced_wherever_pytorch_has_it(monkeypatch):
    old, new = object(), object()
    modules = {n: types.ModuleType(n) for n in ("torch._a", "torch._b", "torchvision_a", "torch._c")}
    for name, value in zip(modules, (old, "other", old, None)):
        monkeypatch.setitem(tracing.sys.modules, name, modules[name])
        modules[name].kept = value
    del modules["torch._c"].kept
    monkeypatch.setitem(tracing.sys.modules, "torch._gone", None)
    tracing.replace("kept", old, new)
    assert [vars(m).get("kept") for m in modules.values()] == [new, "other", old, None]
