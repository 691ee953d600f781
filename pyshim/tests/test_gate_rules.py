"""Which operators pass by in C: the rule that is made of each, and the gate that learns them."""

import ctypes
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from memshim.pretend import library  # noqa: E402
from memshim.pretend.values import gate  # noqa: E402
from memshim.pretend.values.gate import FORWARD, HOST, LAYER, SMALL  # noqa: E402

KERNELS = ("forward", "scalar", "asked", "counted", "layer", "default", "counter", "copy", "of_runs")


def operator(op, kernel, **more):
    """An operator that is looked after by that kernel."""
    schema = op._schema
    writes = [(i, a.name) for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
    given = {
        "op": op,
        "name": schema.name,
        "own_kernel": kernel,
        "writes": writes,
        "pure": set(),
        "beta": next((i for i, a in enumerate(schema.arguments) if a.name == "beta"), None),
        "alone": False,
        "on_host": True,
        "random": False,
        "known_only": False,
        **{name: name for name in KERNELS},
    }
    return SimpleNamespace(**given | more)


ATEN = torch.ops.aten


@pytest.mark.parametrize(
    "op, kernel, kind",
    [
        (ATEN.add.Tensor, "forward", FORWARD),
        (ATEN._local_scalar_dense.default, "scalar", HOST),
        (ATEN.equal.default, "asked", HOST),
        (ATEN.nonzero.default, "counted", HOST),
        (ATEN.mm.default, "layer", LAYER),
        (ATEN.add.Tensor, "default", SMALL),
        (ATEN.add.Tensor, "counter", SMALL),
        (ATEN.copy_.default, "copy", SMALL),
        (ATEN.argmax.default, "default", 0),
        (ATEN.add.Tensor, "of_runs", 0),
        (ATEN.topk.default, "forward", 0),
    ],
    ids=str,
)
def test_which_way_of_the_library_stands_for_a_kernel(op, kernel, kind):
    assert gate.kind_of(operator(op, kernel), kernel) == kind


def test_planned_attention_passes_by_where_its_inner_call_comes_to_python(monkeypatch):
    name = "aten::_scaled_dot_product_cudnn_attention"
    planned = next(iter(set(gate.PLANNED) - set(gate.CALLS)))
    op = SimpleNamespace(name=name, **{k: k for k in KERNELS})
    for there, kind in ((True, FORWARD), (False, 0)):
        monkeypatch.setattr(torch._C, "_dispatch_has_kernel", lambda inner, there=there: there)
        assert gate.kind_of(op, "forward") == kind
    op.name = planned
    assert gate.kind_of(op, "forward") == 0


def rule(op, kernel, **more):
    found = gate.rule(operator(op, kernel, **more))
    return found and {name: getattr(found, name) for name, _ in gate.Rule._fields_}


NONE = dict.fromkeys((name for name, _ in gate.Rule._fields_), 0) | {"op": None}


@pytest.mark.parametrize(
    "op, kernel, more, want",
    [
        (ATEN.mm.default, "layer", {}, {"kind": LAYER, "arguments": 2, "tensors": 0b11, "follows": 1}),
        (ATEN.mm.default, "layer", {"random": True}, {"kind": LAYER, "arguments": 2, "tensors": 0b11}),
        (ATEN.mm.default, "layer", {"on_host": False}, {"kind": LAYER, "arguments": 2, "tensors": 0b11}),
        (
            ATEN.mm.default,
            "layer",
            {"known_only": True, "alone": True},
            {"kind": LAYER, "arguments": 2, "tensors": 0b11, "follows": 1, "alone": 1},
        ),
        (ATEN.add.Tensor, "default", {"known_only": True}, {"kind": SMALL, "arguments": 3, "tensors": 0b11}),
        (
            ATEN.addmm.default,
            "layer",
            {},
            {"kind": LAYER, "arguments": 5, "tensors": 0b111, "follows": 1, "first": 1},
        ),
        (ATEN.addmm.default, "forward", {}, {"kind": FORWARD, "arguments": 5, "tensors": 0b111, "follows": 1}),
        (
            ATEN.cat.default,
            "default",
            {},
            {"kind": SMALL, "arguments": 2, "lists": 0b1, "follows": 1},
        ),
        (
            ATEN.add_.Tensor,
            "counter",
            {},
            {"kind": SMALL, "arguments": 3, "tensors": 0b11, "written": 0b1, "follows": 1, "several": 2, "fills": 1},
        ),
        (
            ATEN.add.Tensor,
            "default",
            {"pure": {"self"}},
            {"kind": SMALL, "arguments": 3, "tensors": 0b11, "follows": 1, "unread": 1},
        ),
        (
            ATEN.add.Tensor,
            "default",
            {"beta": 0},
            {"kind": SMALL, "arguments": 3, "tensors": 0b11, "follows": 1, "unread": 1},
        ),
        (
            ATEN.sum.default,
            "default",
            {},
            {"kind": SMALL, "arguments": 2, "tensors": 0b1, "absent": 0b10, "follows": 1},
        ),
        (ATEN.sum.default, "forward", {}, {"kind": FORWARD, "arguments": 2, "tensors": 0b1, "follows": 1}),
        (
            ATEN.fill_.Scalar,
            "layer",
            {},
            {"kind": LAYER, "arguments": 2, "tensors": 0b1, "written": 0b1, "follows": 1, "fills": 1},
        ),
        (ATEN.add.out, "default", {"pure": {"out"}}, None),
        (
            ATEN.add.out,
            "forward",
            {"pure": {"out"}},
            {"kind": FORWARD, "arguments": 4, "tensors": 0b1011, "written": 0b1000, "follows": 1},
        ),
        (ATEN.argmax.default, "default", {}, None),
        (ATEN.add.Tensor, "forward", {"name": "mine::add"}, None),
    ],
)
def test_the_rule_of_an_operator(op, kernel, more, want):
    assert rule(op, kernel, **more) == (NONE | want if want else None)


def test_an_operator_of_very_many_arguments_comes_to_python(monkeypatch):
    monkeypatch.setattr(gate, "MOST_ARGUMENTS", 3)
    assert rule(ATEN.add.Tensor, "default") is not None
    monkeypatch.setattr(gate, "MOST_ARGUMENTS", 2)
    assert rule(ATEN.add.Tensor, "default") is None


def test_an_operator_with_tensors_of_another_kind_comes_to_python():
    argument = SimpleNamespace(type="Dict[str, Tensor]", kwarg_only=False, name="x", alias_info=None)
    op = SimpleNamespace(_schema=SimpleNamespace(arguments=[argument], name="aten::x"))
    assert gate.rule(operator(op, "forward")) is None
    argument.type = "int"
    assert gate.rule(operator(op, "forward")).arguments == 1


class Native:
    """The library's part of the gate."""

    def __init__(self, at=0, ready=True):
        self.at, self.ready, self.said = at, ready, []

    def memspec_pretend_gate_current(self):
        return self.at

    def memspec_pretend_gate_learn(self, rule):
        self.said.append(rule._obj.op)

    def memspec_pretend_gate_ready(self):
        return self.ready

    def memspec_pretend_gate_open(self, *given):
        self.said.append(("open", given[1:4]))
        return True

    def memspec_pretend_gate_close(self):
        self.said.append("close")

    def memspec_pretend_gate_wrap(self, on):
        self.said.append(("wrap", on))

    def memspec_pretend_gate_registered(self):
        return 3

    def memspec_pretend_gate_probe(self, on):
        self.said.append(on)


@pytest.fixture
def opened(monkeypatch):
    def make(**more):
        native, noted = Native(**more), []
        monkeypatch.setattr(library, "gate_functions", lambda: native)
        return gate.Gate(lambda *given, **named: noted.append((given, named))), native, noted

    return make


def test_an_operator_is_learnt_in_its_first_call(opened, monkeypatch):
    mm = operator(ATEN.mm.default, "layer")
    at = gate.handle(ATEN.mm.default)
    assert at and at != gate.handle(ATEN.add.Tensor)
    for current, learnt in ((at, [at]), (0, []), (at + 8, [])):
        g, native, noted = opened(at=current)
        assert g.learn(mm) is mm and native.said == learnt and g.names == dict.fromkeys(learnt, "aten::mm")
    monkeypatch.setattr(gate, "rule", lambda operator: None)
    g, native, noted = opened(at=at)
    assert g.learn(mm) is mm and native.said == [] and g.names == {}


def test_what_passed_by_and_read_is_noted(opened):
    g, native, noted = opened()
    g.names[5] = "aten::item"
    g.read(5, 8)
    assert noted == [(("aten::item", 8), {"varied": False})] and g.registered() == 3


def test_kernels_of_ours_are_wrapped_while_they_are_registered(opened):
    g, native, _ = opened()
    with pytest.raises(ValueError), g.wrapping():
        assert native.said == [("wrap", True)]
        raise ValueError
    assert native.said[1:] == [("wrap", False)]


@pytest.mark.parametrize("ready, agrees, opens", [(True, True, True), (False, True, False), (True, False, False)])
def test_the_gate_opens_where_the_library_reads_as_python_does(opened, monkeypatch, ready, agrees, opens):
    g, native, _ = opened(ready=ready)
    monkeypatch.setattr(g, "agrees", lambda: agrees)
    g.open()
    assert g.opened is opens
    assert native.said == ([("open", (gate.KEY.value, gate.BELOW.raw_repr(), 1 << 17))] if opens else [])
    g.close()
    assert not g.opened and native.said[-1] == "close"


def test_all_calls_have_to_agree(opened, monkeypatch):
    g, *_ = opened()
    calls = []
    monkeypatch.setattr(
        g, "agrees_on", lambda call, args, tensors: calls.append((call, len(tensors))) or len(calls) < 3
    )
    assert not g.agrees()
    assert calls == [(ATEN.mm.default, 2), (ATEN._foreach_mul.Scalar, 3), (ATEN.addmm.default, 3)]
    monkeypatch.setattr(g, "agrees_on", lambda *call: True)
    assert g.agrees()

    def fails(*call):
        raise RuntimeError

    monkeypatch.setattr(g, "agrees_on", fails)
    assert not g.agrees()


@pytest.mark.parametrize(
    "change, agrees",
    [
        ({}, True),
        ({"at": 8}, False),
        ({"bytes": 1}, False),
        ({"elements": 7}, False),
        ({"device": 1}, False),
        ({"dense": True}, False),
        ({"wants_gradient": True}, False),
        ({"op": 8}, False),
        ({"count": 3}, False),
    ],
)
def test_what_the_library_reads_of_a_call(opened, change, agrees):
    g, native, _ = opened()
    tensors = [torch.ones(2, 3), torch.ones(3, 4)[:, ::2]]

    def probed(op, i, seen):
        t = tensors[i]
        op._obj.value = gate.handle(ATEN.mm.default)
        read = {"at": t.data_ptr(), "bytes": 24 if i == 0 else 44, "elements": 6, "device": 0, "dense": i == 0}
        of_last = change if i else {}
        for name, value in (read | {"wants_gradient": False} | of_last).items():
            if name == "op":
                op._obj.value = value
            elif name != "count":
                setattr(seen._obj, name, value)
        return of_last.get("count", 2)

    native.memspec_pretend_gate_probed = probed
    assert g.agrees_on(ATEN.mm.default, tuple(tensors), tensors) is agrees and native.said == [True, False]


def test_places_as_bits():
    assert gate.bits([0, 2, 2]) == 0b101 and gate.bits(()) == 0 and ctypes.sizeof(gate.Rule) >= 8
