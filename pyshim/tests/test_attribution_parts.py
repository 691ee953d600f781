"""Which operator an allocation is from, which module has a tensor, and which line a node's forward ran at."""

import types

import pytest

torch = pytest.importorskip("torch")

from torch.fx import traceback as fx  # noqa: E402

from memshim.attribution import forward_lines, operators, saved_tensors  # noqa: E402
from memshim.attribution.tensor_modules import TensorModules  # noqa: E402
from memshim.frames import Frame  # noqa: E402


def frames(*names):
    return [Frame(*(name if isinstance(name, tuple) else ("libtorch.so", 0, name))) for name in names]


@pytest.mark.parametrize(
    "names, found",
    [
        (["at::_ops::add_Tensor::call"], "aten::add"),
        (["at::_ops::empty_memory_format::redispatch", "at::_ops::add_Tensor::call"], "aten::add"),
        (["at::_ops::add_Tensor::call", ("train.py", 3, "f"), "at::_ops::mul_Tensor::call"], "aten::add"),
        (["at::_ops::add_Tensor::call", "at::_ops::of_another_release::call"], "aten::add"),
        (["at::_ops::add_Tensor::schema"], ""),
        ([("train.py", 3, "f")], ""),
        ([], ""),
    ],
)
def test_the_operator_that_python_called(names, found):
    assert operators.operator(frames(*names)) == found


@pytest.mark.parametrize(
    "op, made",
    [
        ("", True),
        ("aten::zeros", True),
        ("aten::arange", True),
        ("aten::empty_like", True),
        ("aten::new_zeros", True),
        ("aten::to", True),
        ("aten::_to_copy", True),
        ("aten::clone", True),
        ("aten::cuda", True),
        ("aten::add", False),
        ("aten::mm", False),
        ("aten::cat", False),
    ],
)
def test_whether_an_operator_makes_data(op, made):
    assert operators.makes(op) is made


def test_every_operator_is_known_by_its_struct():
    known = operators.overloads()
    assert (known["add_Tensor"], known["mm"], known["mm_out"]) == ("aten::add", "aten::mm", "aten::mm")
    assert all(name.startswith("aten::") for name in known.values())


def test_a_kernel_of_inductor_is_of_the_line_that_makes_its_buffer(monkeypatch):
    monkeypatch.setattr(operators, "operators", lambda file, line: f"{file}:{line}")
    monkeypatch.setattr(operators, "generated", lambda file: file == "gen.py")
    first = [("a.so", 5, "f"), ("gen.py", 0, "g")]
    assert operators.fused(frames(*first, ("gen.py", 7, "call"), ("train.py", 3, "f"))) == "gen.py:7"
    assert operators.fused(frames(("gen.py", 1, "call"))) == "gen.py:1"
    assert operators.fused(frames(*first, ("train.py", 3, "f"), ("gen.py", 7, "call"))) == ""
    assert operators.fused(frames(*first)) == ""


def test_a_tensor_is_of_the_first_module_that_has_it():
    inner = torch.nn.BatchNorm1d(2, affine=False)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), inner, torch.nn.Linear(2, 2, bias=False))
    model[2].weight = model[0].weight
    names = TensorModules()
    names.name_all(model)
    assert (names.of(model[0].weight), names.of(inner.running_mean)) == ("0", "1")
    assert names.of(torch.ones(1)) is None
    names.name(model[0].weight, "again")
    assert names.of(model[0].weight) == "again"


def test_what_has_a_tensors_number_later_is_another():
    names, t, other = TensorModules(), torch.ones(1), torch.ones(1)
    names.name(t, "m")
    names._of[id(other)] = names._of[id(t)]
    assert names.of(t) == "m" and names.of(other) is None
    kept = names._of[id(t)]
    names.name(t, "m")
    assert names._of[id(t)] is kept, "once"
    names.name(other, "n")
    del t
    assert kept[0]() is None and names.of(other) == "n"


def test_the_graph_behind_tensors():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y + y.sin()
    nodes = saved_tensors._nodes([z, y, torch.ones(1), None, 3])
    assert sorted(n.name() for n in nodes) == [
        "AddBackward0", "MulBackward0", "SinBackward0", "torch::autograd::AccumulateGrad",
    ]  # fmt: skip


def test_a_pytorch_whose_saved_tensors_do_not_say_so_has_none(monkeypatch):
    monkeypatch.setattr(torch._C, "_autograd", types.SimpleNamespace(SavedTensor=object))
    assert list(saved_tensors.saved([torch.ones(1, requires_grad=True) * 2])) == []


# The lines of a forward.


@pytest.fixture
def anomaly(monkeypatch):
    """What PyTorch is set to, as (on, check_nan); its functions are as before after."""
    said = []
    monkeypatch.setattr(torch, "set_anomaly_enabled", lambda mode, check_nan=True: said.append((mode, check_nan)))
    monkeypatch.setattr(torch, "is_anomaly_enabled", lambda: False)
    monkeypatch.setattr(torch, "is_anomaly_check_nan_enabled", lambda: True)
    monkeypatch.setattr(fx, "format_stack", lambda: ["PyTorch's"])
    monkeypatch.setattr(fx, "has_preserved_node_meta", lambda: False)
    monkeypatch.setattr(forward_lines, "stack", lambda: ["ours"])
    monkeypatch.setattr(forward_lines, "_open", 0)
    return said


def names():
    return (
        torch.set_anomaly_enabled,
        torch.is_anomaly_enabled,
        torch.is_anomaly_check_nan_enabled,
        fx.format_stack,
    )


def test_anomaly_mode_is_on_while_any_lines_are_wanted(anomaly):
    before = names()
    with forward_lines.Lines():
        assert anomaly == [(True, False)] and fx.format_stack() == ["ours"]
        within = names()
        with forward_lines.Lines():
            assert names() == within and len(anomaly) == 1
        assert names() == within and all(a is not b for a, b in zip(before, within))
        assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (False, True)
    assert names() == before and anomaly[1:] == [(False, True)]


@pytest.mark.parametrize(
    "given, said, after",
    [
        ((True,), (True, True), (True, True)),
        ((True, False), (True, False), (True, False)),
        ((False,), (True, False), (False, True)),
        ((False, False), (True, False), (False, False)),
    ],
)
def test_a_program_reads_its_answer_and_leaves_ours_on(anomaly, given, said, after):
    with forward_lines.Lines():
        torch.set_anomaly_enabled(*given)
        assert anomaly[-1] == said
        assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == after
        assert fx.format_stack() == (["PyTorch's"] if given[0] else ["ours"])
    assert anomaly[-1] == after, "as the program left it"


def test_a_graph_that_is_traced_keeps_its_stacks(anomaly, monkeypatch):
    monkeypatch.setattr(fx, "has_preserved_node_meta", lambda: True)
    with forward_lines.Lines():
        assert fx.format_stack() == ["PyTorch's"]


def test_a_stack_is_a_place_a_line_innermost_first(monkeypatch):
    monkeypatch.setattr(forward_lines, "_places", {})
    monkeypatch.setattr(forward_lines, "_find", lambda: forward_lines._text())
    monkeypatch.setattr(forward_lines, "running", None)

    def inner():
        return forward_lines.stack()

    def outer():
        return inner()

    (text,) = outer()
    lines = [line.rsplit(":", 2)[1:] for line in text.splitlines()]
    at = inner.__code__.co_firstlineno + 1, outer.__code__.co_firstlineno + 1
    got = [name for _, name in lines]
    begin = got.index("inner")
    assert lines[begin : begin + 2] == [[str(at[0]), "inner"], [str(at[1]), "outer"]] and text.endswith("\n")
    places = dict(forward_lines._places)
    monkeypatch.setattr(forward_lines, "running", lambda: "layers.0")
    assert outer()[0].startswith(f"{forward_lines.MODULE}:0:layers.0\n")
    assert places.items() <= forward_lines._places.items()


def test_places_are_forgotten_where_they_are_many(monkeypatch):
    places = {("x", n): ("x", None) for n in range(5)}
    monkeypatch.setattr(forward_lines, "_places", places)
    monkeypatch.setattr(forward_lines, "MOST_PLACES", 5)
    (lambda: forward_lines._text())()
    assert ("x", 0) not in places and 0 < len(places) <= 5
