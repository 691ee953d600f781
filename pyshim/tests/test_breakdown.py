"""What the parts of a peak are: by who holds a block now, what it was marked as, and which layer ran."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from memshim.allocator.blocks import MIB, Settings  # noqa: E402
from memshim.allocator.cpu_region import BASE  # noqa: E402
from memshim.allocator.events import Event  # noqa: E402
from memshim.allocator.history import Held  # noqa: E402
from memshim.frames import Stacks  # noqa: E402
from memshim.look import breakdown  # noqa: E402
from memshim.look.breakdown import OUTSIDE, Breaker, Owner  # noqa: E402
from memshim.look.loop import STEP, tag_of  # noqa: E402
from memshim.look.parts import Parts, Row  # noqa: E402

STACKS = Stacks()
LINE = STACKS.add([("train.py", 7, "step")])
ROOT, FIRST, INNER, OTHER = map(tag_of, range(4))
NAMES = ("", "a", "a.b", "ab")


class Loop:
    """Marks of a model with four modules, one in another."""

    input, gradient, annotates = "input 1", "gradient 1 ", True

    def __init__(self, labels=None, **change):
        self.modules = {name: SimpleNamespace() for name in NAMES}
        self.optimizers, self.others, self.labels = set(), set(), labels or {}
        self.__dict__ |= change

    def own(self, tag):
        return tag

    def label_of(self, key, size):
        return self.labels.get((key, size), "")


class Region:
    lost, index, stacks = "", None, STACKS

    def __init__(self, *events, before=None, where="cpu", **more):
        self.events, self.before, self.where = list(events), before or {}, where
        self.__dict__ |= more


def alloc(key, size=10, tag="", **more):
    return Event("alloc", key, size, stack=LINE, tag=tag, **more)


def free(key, size=10, tag=""):
    return Event("free_completed", key, size, tag=tag)


def breaker(loop=None):
    return Breaker(torch.nn.Module(), loop or Loop(), None)


def calls(*events, loop=None):
    loop = loop or Loop()
    return breakdown._Calls(Region(*events), loop, breakdown._Inside(list(loop.modules)))


@pytest.mark.parametrize("layer, inside", [(0, {0, 1, 2, 3}), (1, {1, 2}), (2, {2}), (3, {3})])
def test_layers_lie_in_those_whose_name_they_begin_with(layer, inside):
    of = breakdown._Inside(list(NAMES))
    assert of.of(layer) == inside and of.of(layer) is of.of(layer)


EVENTS = (alloc(1, tag=BASE), alloc(2, tag=FIRST), alloc(3, tag=INNER), alloc(4, tag=FIRST), alloc(5, tag=OTHER))


@pytest.mark.parametrize(
    "born, death, layer, outlives",
    [
        (1, None, 1, True),  # it is there at the end
        (1, 3, 1, False),  # it dies while the layer runs
        (1, 4, 1, False),  # by the event that ends it
        (1, 5, 1, True),
        (2, 3, 2, False),
        (2, 4, 2, True),  # the inner layer's call is over
        (4, 9, 3, False),  # no later event shows that the call is over
        (1, 9, 0, False),  # all layers lie in the model
    ],
)
def test_what_is_there_when_its_layers_call_is_over(born, death, layer, outlives):
    assert calls(*EVENTS).outlives(born, death, layer) == outlives


def test_what_an_annotation_is_tagged_with_is_no_call():
    shown = calls(alloc(1, tag=FIRST), Event("annotate", 1, 0, tag=OTHER), alloc(2, tag=FIRST))
    assert not shown.outlives(0, 9, 1)


def test_a_layer_is_named_by_its_tag():
    shown = calls(*EVENTS)
    assert [shown.layer_of(t) for t in (ROOT, OTHER, BASE, "")] == [0, 3, None, None]
    assert [shown.after_forward(i) for i in range(3)] == [False, False, True]
    assert not calls(alloc(1, tag=BASE)).after_forward(1), "no layer ran"


def test_what_was_reserved_beside_it_is_what_is_now_less_what_came_later():
    later = [
        Event("segment_alloc", 0, 100),
        Event("segment_alloc", 0, 7),
        Event("segment_map", 0, 5),
        Event("segment_free", 0, 3),
        Event("segment_unmap", 0, 1),
        alloc(0, 50),
    ]
    region = Region(*later, where="cuda", now=lambda: {"reserved": 1000})
    assert breakdown._cached(region, 0, 200) == 1000 - 8 - 200
    assert breakdown._cached(Region(*later), 0, 200) is None


def test_what_had_been_asked_for_is_reported_by_a_free_or_the_snapshot():
    region = Region(
        Event("free_requested", 1, 5),
        alloc(1, 9),
        Event("free_requested", 1, 9),  # of the second life
        alloc(2, 8),
        Event("free_requested", 2, 8),
        where="cuda",
        at_end={3: {"requested_size": 4}, 1: {"requested_size": 77}},
    )
    assert breakdown._asked_before(region) == {1: 5, 3: 4}
    region.where = "cpu"
    assert breakdown._asked_before(region) == {}


def test_what_was_there_before_and_is_at_the_peak():
    gone = lambda key, index, of_before=True, n=-1: SimpleNamespace(
        event=SimpleNamespace(key=key), index=index, of_before=of_before, bytes=n
    )
    changes = [gone(1, 0), gone(2, 3), gone(3, 4), gone(4, 2, of_before=False), gone(5, 1, n=1)]
    region = Region(before=dict.fromkeys(range(1, 6), 10))
    assert breaker()._still(region, changes, 3) == [(3, 10), (4, 10), (5, 10)]


@pytest.mark.parametrize(
    "key, size, known",
    [
        (1, 5, ("weights", "a.weight")),
        (2, 5, ("gradients", "a.b.weight")),
        (2, 6, ("other", "")),  # a block of another size was marked
        (3, 5, ("inputs", "")),
        (4, 5, ("workspace", "")),
        (5, 5, ("other", "")),  # a tensor's memory
        (6, 5, ("other", "")),
        (7, 5, ("other", "")),
    ],
)
def test_what_was_there_before_is_what_it_is_now_or_was_marked_as(key, size, known):
    loop = Loop({(1, 5): "input 1", (2, 5): "gradient 1 a.b.weight", (3, 5): "input 1"})
    frames = {4: [{"name": "at::cudnn::x"}], 5: [{"name": "c10::StorageImpl"}], 6: None}
    region = Region(at_end={k: {"frames": f} for k, f in frames.items()})
    assert breaker(loop)._known(region, key, size, {1: Owner("weights", "a.weight")}) == known
    assert breaker(loop)._known(Region(), 9, 5, {}) == ("other", "")


def test_annotations_are_of_the_allocation_that_is_there():
    note = lambda key, tag: Event("annotate", key, 0, tag=tag)
    region = Region(
        note(1, "input 1"),  # of nothing
        alloc(1),
        note(1, "input 1"),
        free(1),
        note(1, "gradient 1 x"),  # it is gone
        alloc(1),
        note(1, "gradient 1 y"),
        alloc(2),
        note(2, "input 2"),  # another loop's
    )
    assert breaker()._labels(region) == {1: "input 1", 5: "gradient 1 y"}


def what(tag="", death=None, owners=None, labels=None, born=3, kind=False, where="cuda", loop=None, key=1):
    b = breaker(loop)
    b._workspace = SimpleNamespace(kind=lambda e: kind)
    shown = calls(*EVENTS)
    got = b._what(Region(where=where), Held(alloc(key, 10, tag), 12, born), death, owners or {}, labels or {}, shown)
    return got, b._unsure


@pytest.mark.parametrize(
    "given, want, unsure",
    [
        ({"labels": {3: "gradient 1 a.weight"}, "owners": {1: Owner("weights")}}, ("gradients", "a", "weight"), 0),
        ({"labels": {4: "input 1"}, "kind": True}, ("workspace", "", ""), 0),
        ({"labels": {3: "input 1"}, "kind": True}, ("inputs", "", ""), 0),
        ({"owners": {1: Owner("optimizer_state", "a.b.w")}}, ("optimizer_state", "a.b", "w"), 0),
        ({"owners": {1: Owner("weights")}, "death": 9}, ("temporaries", "", ""), 0),  # another block's now
        ({"kind": True}, ("workspace", "", ""), 0),
        ({"kind": True, "where": "cpu"}, ("temporaries", "", ""), 0),
        ({"kind": None}, ("temporaries", "", ""), 10),
        ({"kind": None, "where": "cpu"}, ("temporaries", "", ""), 0),
        ({"tag": FIRST}, ("activations", "a", ""), 0),
        ({"tag": FIRST, "death": 4, "born": 1}, ("temporaries", "a", ""), 0),
        ({"tag": BASE}, ("activations", OUTSIDE, ""), 0),
        ({"tag": BASE, "born": 0}, ("other", "", ""), 0),
        ({"tag": STEP}, ("temporaries", "", ""), 0),
    ],
)
def test_what_was_made_in_the_iteration(given, want, unsure):
    assert what(**given) == (want, unsure)


def test_without_annotations_marks_are_by_address_and_size():
    loop = Loop({(1, 10): "gradient 1 a.w"}, annotates=False)
    assert what(labels={3: "input 1"}, loop=loop)[0] == ("gradients", "a", "w")
    assert what(labels={3: "input 1"}, loop=loop, key=2)[0] == ("temporaries", "", "")


@pytest.mark.parametrize(
    "part, layer, tensor, rows",
    [
        ("weights", "a", "w", {("a", ""), ("a", "w")}),
        ("weights", "a", "", {("a", "")}),
        ("weights", "", "w", {("", ""), ("", "w")}),
        ("weights", "", "", set()),
        ("activations", "", "", {("", "")}),
        ("temporaries", "a", "", set()),
    ],
)
def test_a_row_is_a_layer_or_its_tensor(part, layer, tensor, rows):
    found = {}
    breaker()._add(found, part, layer, tensor, 5)
    breaker()._add(found, part, layer, tensor, 6)
    assert set(found) == rows and all(r[part] == 11 and sum(r.values()) == 11 for r in found.values())


def test_rows_are_in_the_models_order_with_their_kinds():
    loop = Loop()
    loop.modules["a"].weight = torch.zeros(2, 3, dtype=torch.float16)
    empty = dict.fromkeys(Row._fields[3:], 0)
    at = [("zz", ""), (OUTSIDE, ""), ("ab", ""), ("a", "weight"), ("a", ""), ("a", "gone"), ("", "")]
    rows = breaker(loop)._rows({key: empty | {"weights": i} for i, key in enumerate(at)})
    assert [(r.layer, r.type, r.tensor, r.weights) for r in rows] == [
        ("", "SimpleNamespace", "", 6),
        ("a", "SimpleNamespace", "", 4),
        ("a", "", "gone", 5),
        ("a", "float16[2,3]", "weight", 3),
        ("ab", "SimpleNamespace", "", 2),
        (OUTSIDE, "", "", 1),
        ("zz", "", "", 0),
    ]


@pytest.mark.parametrize(
    "at, tag, want",
    [
        (-1, "", ("outside", "before the first allocation")),
        (0, ROOT, ("forward", "(model)")),
        (0, INNER, ("forward", "a.b")),
        (0, STEP, ("step", "train.py:7 (step)")),
        (0, BASE, ("outside", "train.py:7 (step)")),
        (0, "", ("backward", "train.py:7 (step)")),
    ],
)
def test_what_went_on_when_the_peak_was_reached(at, tag, want):
    shown = calls(*EVENTS)
    assert breaker()._phase(Region(alloc(1, tag=tag)), at, shown) == want
    assert breaker()._phase(Region(Event("alloc", 1, 1, tag=BASE)), 0, shown) == ("outside", "")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(2, 2)
        self.register_buffer("count", torch.zeros(3))
        self.register_buffer("none", torch.zeros(0))


class Host(Region):
    where = "cpu"

    def keys_of(self, t):
        return [t.data_ptr()]


def optimizer(*parameters):
    """Made without the compiler's import."""
    made = torch.optim.SGD.__new__(torch.optim.SGD)
    made.param_groups, made.state = [{"params": list(parameters)}], {}
    return made


def pointer(t):
    return t.data_ptr()


@pytest.mark.parametrize("chosen", [False, True])
def test_who_holds_a_tensor_now(monkeypatch, chosen):
    monkeypatch.setattr(breakdown.gc, "get_objects", list)
    net, other = Net(), Net()
    net.a.weight.grad, other.a.bias.grad = torch.ones(2, 2), torch.ones(2)
    mine, theirs = optimizer(net.a.weight), optimizer(other.a.bias)
    nested = [torch.ones(1), (torch.ones(1), {"x": torch.ones(1)})]
    mine.state[net.a.weight] = {"m": torch.ones(4), "nested": nested, "step": 3}
    theirs.state[other.a.bias] = {"v": torch.ones(5)}
    shared = torch.nn.Module()
    shared.a = net.a.weight
    loop = Loop(optimizers=[mine, theirs], others=[other, other.a, shared, torch.nn.BatchNorm1d(1, affine=False)])
    own = Breaker(net, loop, theirs if chosen else None)._owners(Host())
    state, away = ("other_models", "optimizer_state") if chosen else ("optimizer_state", "other_models")
    assert own[pointer(net.a.weight)] == Owner("weights", "a.weight")
    assert own[pointer(net.count)] == Owner("weights", "count")
    assert own[pointer(net.a.weight.grad)] == Owner("gradients", "a.weight")
    for t in (mine.state[net.a.weight]["m"], nested[0], nested[1][0], nested[1][1]["x"]):
        assert own[pointer(t)] == Owner(state, "a.weight")
    assert own[pointer(theirs.state[other.a.bias]["v"])] == Owner(away)
    for t in (other.count, other.a.weight, other.a.bias.grad):
        assert own[pointer(t)] == Owner("other_models")
    assert net.a.bias.grad is None and pointer(net.none) not in own


def test_tensors_on_another_device_are_not_looked_at():
    net = Net()
    assert Breaker(net, Loop(), None)._owners(Region(where="cuda", index=0)) == {}
    assert Breaker(net, Loop(), None)._owners(Host(index=3)) == {}, "of another index"


def test_models_and_optimizers_that_were_there_are_looked_for_once(monkeypatch):
    net, other = Net(), Net()
    empty = torch.nn.Module.__new__(torch.nn.Module)
    of_net, unmade = optimizer(*net.parameters()), torch.optim.SGD.__new__(torch.optim.SGD)
    objects = [net, net.a, other, other.a, empty, of_net, unmade, 1, torch.nn.Module, torch.zeros(1)]
    monkeypatch.setattr(breakdown.gc, "get_objects", lambda: objects)
    loop = Loop(modules=dict(net.named_modules()))
    b = Breaker(net, loop, None)
    b._look_around()
    assert loop.others == {other, other.a} and loop.optimizers == {of_net}
    loop.others.clear()
    b._look_around()
    assert not loop.others


class Card(Region):
    """A GPU on which 20 MiB were there before; its allocator counted so much at its peak."""

    settings = Settings()

    def __init__(self, *events, peak=0, **more):
        super().__init__(*events, where="cuda", **more)
        blocks = [{"size": 20 * MIB, "state": "active_allocated"}]
        self.segments = [{"address": 0, "segment_type": "large", "blocks": blocks}]
        self.before, self.peak = {0: 20 * MIB}, peak
        self.at_end = {0: {"requested_size": 20 * MIB - 100, "frames": None}}

    def peaks(self):
        return {"allocated": self.peak}

    def now(self):
        return {"reserved": 50 * MIB}


@pytest.mark.parametrize("more", [0, 7])
def test_the_parts_add_up_to_the_peak(monkeypatch, more):
    at = 32 * MIB
    events = [
        Event("segment_alloc", at, 2 * MIB),
        alloc(at, 100, FIRST),
        alloc(at + 512, 600, OTHER),
        Event("free_requested", at + 512, 600),
        Event("free_completed", at + 512, 600),
        Event("segment_alloc", 64 * MIB, 2 * MIB),
    ]
    total = 20 * MIB + 512 + 1024
    region = Card(*events, peak=total + more)
    b = breaker()
    monkeypatch.setattr(b, "_owners", lambda region: {0: Owner("weights", "a.weight"), at: Owner("gradients", "x.y")})
    b._workspace = SimpleNamespace(kind=lambda e: None if e.size == 600 else False, learn=lambda region: False)
    got = b.of(region)
    assert got.peak == got.parts.total() == total + more
    want = dict.fromkeys(Parts._fields, 0) | {
        "weights": 20 * MIB - 100,
        "gradients": 100,
        "temporaries": 600,
        "rounding": 100 + 412 + 424 + more,
    }
    assert got.parts._asdict() == want
    assert got.cached == 48 * MIB - total - more and (got.phase, got.where) == ("forward", "ab")
    assert got.lost == "600 B may be workspace: there are no C++ stacks" and b.wants_native
    assert [(r.layer, r.tensor, r.weights, r.gradients) for r in got.rows] == [
        ("a", "", 20 * MIB - 100, 0),
        ("a", "weight", 20 * MIB - 100, 0),
        ("x", "", 0, 100),
        ("x", "y", 0, 100),
    ]
    region.lost = "events are missing"
    assert b.of(region).lost == "events are missing"


@pytest.mark.parametrize("new", [False, True])
def test_native_stacks_are_wanted_while_there_is_anything_new(monkeypatch, new):
    b = breaker()
    assert b.wants_native
    monkeypatch.setattr(b, "_owners", lambda region: {})
    b._workspace = SimpleNamespace(kind=lambda e: False, learn=lambda region: new)
    got = b.of(Card(peak=1))
    assert b.wants_native is new and got.lost == "" and (got.phase, got.peak) == ("outside", 20 * MIB)


def test_cpu_tensors_have_no_workspace_and_no_cache():
    b = breaker()
    b._workspace = None
    got = b.of(Region(alloc(1, 30, FIRST), alloc(2, 5, FIRST), free(2, 5), before={9: 4}))
    assert got.peak == 39 and got.cached is None and got.parts.other == 4
    assert (got.parts.activations, got.parts.temporaries) == (30, 5) and not b.wants_native
