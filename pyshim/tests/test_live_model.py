"""What is asked of a live model: its operators, what it reads of tensors, and that it is as before after."""

import contextlib
import sys

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from memshim.exporting import live_model  # noqa: E402

aten = torch.ops.aten


@pytest.mark.parametrize(
    "out, places, text",
    [
        (torch.ones(2, 3), False, " float32[2, 3]"),
        ((torch.ones(2), [torch.ones(0, dtype=torch.int64)], 3), False, " float32[2] int64[0]"),
        (torch.ones(2), True, " float32[2] cpu"),
        ((torch.ones(1), torch.empty(1, device="meta")), True, " float32[1] cpu float32[1] meta"),
        (3, True, ""),
    ],
)
def test_the_sizes_of_a_result(out, places, text):
    assert live_model.sizes_of(out, places) == text
    if not places:
        assert live_model.sizes_of(out) == text


@pytest.mark.parametrize(
    "operator, makes, writes, reads, name",
    [
        (aten.add.Tensor, True, False, False, "aten::add.Tensor"),
        (aten.add_.Tensor, False, True, False, "aten::add_.Tensor"),
        (aten.add.out, False, True, False, "aten::add.out"),
        (aten.view.default, False, False, False, "aten::view"),
        (aten.lift_fresh_copy.default, False, False, False, "aten::lift_fresh_copy"),
        (aten._local_scalar_dense.default, True, False, True, "aten::_local_scalar_dense"),
        (aten.is_nonzero.default, True, False, True, "aten::is_nonzero"),
        (aten.equal.default, True, False, True, "aten::equal"),
        (aten.eq.Tensor, True, False, False, "aten::eq.Tensor"),
    ],
)
def test_what_an_operator_does(operator, makes, writes, reads, name):
    got = live_model.makes(operator), live_model.writes(operator), live_model.reads_value(operator)
    assert got == (makes, writes, reads) and live_model.operator_name(operator) == name


class Counter(torch.nn.Module):
    """Counts its passes, writes its input and reads a number of it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("passes", torch.zeros(1))
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x, scale=1):
        self.passes += 1
        x.mul_(2)
        return x * self.weight if x.sum().item() > 0 else x.view(2)


def test_buffers_and_random_numbers_are_as_before():
    model, state = Counter(), torch.random.get_rng_state()
    with pytest.raises(ValueError), live_model.buffers_kept(model):
        model(torch.ones(2))
        torch.rand(3)
        assert model.passes.item() == 1
        raise ValueError
    assert model.passes.item() == 0 and torch.equal(torch.random.get_rng_state(), state)


def test_the_operators_that_a_module_dispatches():
    x = torch.ones(2)
    seen, read = live_model.dispatched(Counter(), (x,), {"scale": 2})
    assert seen == [
        "aten::add_.Tensor float32[1]",
        "aten::mul_.Tensor float32[2]",
        "aten::sum float32[]",
        "aten::mul.Tensor float32[2]",
    ]
    assert read == [4.0] and x.tolist() == [1.0, 1.0], "it ran on a copy"
    seen, _ = live_model.dispatched(Counter(), (torch.zeros(2),), {}, places=True)
    assert seen[-1] == "aten::sum float32[] cpu", "a view makes nothing"


def test_what_is_read_is_answered_in_order():
    noted = []
    mode = live_model.operators(lambda function, out: noted.append((live_model.operator_name(function), out)), [5.0, 0])
    x = torch.ones(1)
    with mode:
        got = [x.item(), x.item(), x.item()]
    assert got == [5.0, 0, 1.0] and noted == [("aten::_local_scalar_dense", 1.0)]


def test_an_operator_runs_with_its_arguments_by_name():
    noted = []
    with live_model.operators(lambda function, out: noted.append((live_model.operator_name(function), out.dtype))):
        made = torch.zeros(2, dtype=torch.float64)
    assert made.dtype is torch.float64 and noted[0][1] is torch.float64


def test_operators_that_are_left_out_are_not_run():
    with live_model.operators(lambda function, out: None, without=[aten.add_.Tensor]):
        x = torch.ones(1)
        with contextlib.suppress(TypeError, RuntimeError):
            x.add_(1)
    assert x.item() == 1


def test_the_functions_that_are_called():
    seen = []
    with live_model.calls(lambda function, args, kwargs, out: seen.append((function.__name__, len(args), kwargs, out))):
        torch.sum(torch.ones(2), dim=0)
    assert [(name, n, kwargs) for name, n, kwargs, _ in seen if name == "sum"] == [("sum", 1, {"dim": 0})]
    assert seen[-1][3].item() == 2


def test_a_pass_runs_in_all_modes_without_gradients():
    entered, grads = [], []

    @contextlib.contextmanager
    def mode(name):
        entered.append(name)
        yield

    def model(x):
        grads.append((torch.is_grad_enabled(), x.requires_grad))

    live_model.run(model, (torch.ones(1, requires_grad=True),), {}, mode("a"), mode("b"))
    assert entered == ["a", "b"] and grads == [(False, False)]


def test_a_model_on_meta_has_no_values():
    model = torch.nn.Linear(1, 1, device="meta")
    with pytest.raises(ValueError, match="^the model was exported on the device meta$"):
        live_model.without_values(model, (), {})
    with pytest.raises(ValueError):
        live_model.without_values(torch.nn.ReLU(), (), {"x": torch.ones(1, device="meta")})
    with live_model.without_values(torch.nn.Linear(1, 1), (torch.ones(1), 3), {}):
        pass


@pytest.mark.parametrize(
    "name, ours",
    [("torch", True), ("torch.fx.proxy", True), ("torch.nn.functional", False), ("torchvision", False), ("a", False)],
)
def test_who_asks_whether_it_is_traced(name, ours):
    space = {"__name__": name, "live_model": live_model}
    exec("def ask(real): return live_model._no(real)()\ndef own(): return live_model._ours(0)", space)
    assert space["own"]() is ours and space["ask"](lambda: True) is ours and space["ask"](lambda: False) is False


def asked_by(name, **given):
    """What a module of that name finds: whether it is traced, and whether x is a tensor without data."""
    space = {"__name__": name, "torch": torch, **given}
    exec(
        "def ask():\n"
        "    kind = torch._subclasses.FakeTensor\n"
        "    return torch.compiler.is_compiling(), torch.compiler.is_exporting(), isinstance(x, kind), "
        "issubclass(type(x), kind)",
        space,
    )
    return space["ask"]()


@pytest.fixture
def traced(monkeypatch):
    """PyTorch says that it compiles and exports, and that it makes a graph."""
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    monkeypatch.setattr(torch.compiler, "is_exporting", lambda: True)
    monkeypatch.setattr(torch.nn.modules.activation, "_is_make_fx_tracing", lambda: True)
    with FakeTensorMode():
        return torch.empty(2)


@pytest.mark.parametrize("name, known", [("net", False), ("torch.nn.modules.linear", False), ("torch.fx.proxy", True)])
def test_a_model_does_not_learn_that_it_is_traced(traced, name, known):
    assert asked_by(name, x=traced) == (True,) * 4
    with live_model.unnoticed():
        assert asked_by(name, x=traced) == (known,) * 4
        assert asked_by(name, x=torch.ones(1)) == (known, known, False, False)
        assert torch.nn.modules.activation._is_make_fx_tracing() is False
    assert asked_by(name, x=traced) == (True,) * 4 and torch.nn.modules.activation._is_make_fx_tracing()


class Own(torch.Tensor):
    pass


class Disabled(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


def test_only_a_tensor_of_ones_own_kind_overrides_functions(traced):
    plain = torch.ones(1), torch.nn.Parameter(torch.ones(1)), traced, 3, Own
    with live_model.unnoticed():
        ask = torch.overrides.has_torch_function
        found = [ask(args) for args in (plain, (), (torch.ones(1).as_subclass(Disabled),), (*plain, Own()))]
    assert found == [False, False, False, True]


def test_a_result_that_is_not_there_is_passed_over():
    seen, first = [], [1, None, 3]
    with live_model.unnoticed():
        each = sys.modules["torch._subclasses.fake_tensor"].tree_map_
        assert each(lambda *row: seen.append(row), first, [4, 5, None], [6, 7, 8]) is first
        assert FakeTensorMode._maybe_infer_fake_kernel_from_pytree_out(1, 2) is None
    assert seen == [(1, 4, 6), (None, 5, 7)]


def test_a_model_without_values_runs_in_the_mode_of_its_tensors(monkeypatch, traced):
    mode = traced.fake_mode
    with live_model.without_values(torch.nn.ReLU(), (torch.ones(1),), {"x": traced}):
        made, hidden = torch.empty(3), asked_by("net", x=traced)
    assert type(made).__name__ == "FakeTensor" and made.fake_mode is mode and hidden == (False,) * 4
    assert type(torch.empty(3)) is torch.Tensor


def test_a_pass_without_data(monkeypatch):
    """The module's own tensors and its inputs are without data, of the dtype that is asked for."""
    monkeypatch.setattr(live_model, "unnoticed", contextlib.nullcontext)
    found = {}

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.ones(2, 3).t())
            self.b = self.a
            self.register_buffer("n", torch.ones(2, dtype=torch.int64))

        def forward(self, x, k=None):
            found.update(same=self.a is self.b, x=(type(x).__name__, x.dtype, x.stride()), n=self.n.dtype, k=k)
            found.update(a=(type(self.a).__name__, self.a.dtype, self.a.stride()), grad=torch.is_grad_enabled())

    live_model.run_without_data(Tied(), (torch.ones(4).double(),), {"k": 3}, floating=torch.float16)
    assert found == {
        "same": True, "x": ("FakeTensor", torch.float16, (1,)), "n": torch.int64, "k": 3,
        "a": ("FakeTensor", torch.float16, (1, 3)), "grad": False,
    }  # fmt: skip
    live_model.run_without_data(Tied(), (torch.ones(4).double(),), {}, device="cpu")
    assert found["x"][1] is torch.float64
    assert found["k"] is None


def test_a_tensor_that_is_no_buffer_keeps_its_data():
    found = []

    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = torch.ones(2)

        def forward(self, x):
            found.extend([type(self.kept).__name__, type(x + self.kept).__name__])

    live_model.run_without_data(Plain(), (torch.ones(2),), {})
    assert found == ["Tensor", "FakeTensor"]


def test_a_buffer_of_two_names_is_one_without_data():
    found = []

    class Shared(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.ones(2))
            self.register_buffer("b", self.a)

        def forward(self):
            found.extend([type(self.b).__name__, self.a is self.b])

    @contextlib.contextmanager
    def mode(name):
        found.append(name)
        yield

    live_model.run_without_data(Shared(), (), {}, mode("first"), mode("second"))
    assert found == ["first", "second", "FakeTensor", True]
