"""What reads give of values that no kernel computed, by mode and by what is stated, and what is noted of them."""

import contextlib
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from memshim.pretend.values import hook, modes  # noqa: E402
from memshim.pretend.values.hook import Values  # noqa: E402
from memshim.pretend.values.memory import CHOSEN  # noqa: E402


class Reads:
    """No line is stated; each read is noted."""

    def __init__(self):
        self.assume, self.notes, self.count = {}, [], 1
        self.line, self.number, self.goes_on = None, None, None
        self.repeats = 0

    def stated(self):
        return self.line

    def assumed(self):
        return self.number

    def searching(self, kind):
        return self.goes_on

    def note(self, op, size, *assumed, **more):
        read = SimpleNamespace(op=op, size=size, count=self.count, endless=False, assumed=assumed, **more)
        read.repeated = lambda value: self.repeats
        self.notes.append(read)
        return read


class Memory:
    def __init__(self):
        self.known_ones, self.chosen_ones, self.fresh, self.calls = set(), set(), set(), []

    def known(self, t):
        return id(t) in self.known_ones

    def chosen(self, t):
        return id(t) in self.chosen_ones

    def untouched(self, t):
        return id(t) in self.fresh

    def chose(self, t):
        self.calls.append("chose")

    def wrote(self, t, known):
        self.calls.append(("wrote", known))


@pytest.fixture
def values(monkeypatch):
    monkeypatch.setattr(hook, "host", lambda t: t)
    v = Values.__new__(Values)
    v.reads, v.memory, v.state = Reads(), Memory(), SimpleNamespace(checking=0)
    v.chosen_mode, v.turn, v.routes, v.expected = "balanced", 0, 0, []
    v.library = SimpleNamespace(said=[], values=lambda n: v.library.said.append(n))
    return v


def test_a_mode_begins_anew(values):
    values.turn, values.expected = 5, [3]
    values.choose("most")
    assert (values.mode, values.turn, values.expected) == ("most", 0, [])
    values.reads.line = "least"
    assert values.mode == "least" == values.routing, "what a line's assume says"
    values.reads.assume = {"routing": "skewed"}
    assert values.routing == "skewed" and values.mode == "least"
    with pytest.raises(ValueError, match="^got MEMSPEC_VALUES='all'"):
        values.choose("all")


@pytest.mark.parametrize("mode", modes.MODES)
@pytest.mark.parametrize("k, n", [(2, 5), (5, 5)])
def test_what_scores_choose(values, mode, k, n):
    values.chosen_mode, values.turn = mode, 3
    got = values.by_score(4, k, n)
    assert torch.equal(got, modes.route(mode, 3, 4, k, n))
    assert torch.equal(values.spread(4, k, n), modes.spread(mode, 3, 4, k, n))
    assert (values.routes, values.library.said) == ((5, [modes.MODES.index(mode)]) if k < n else (0, []))


@pytest.mark.parametrize(
    "mode, rows, k, n, waits",
    [("least", 4, 2, 9, True), ("balanced", 4, 2, 9, False), ("least", 9, 2, 9, False), ("least", 4, 9, 9, False),
     ("least", 4, 2, 7, False)],
)  # fmt: skip
def test_a_program_that_waits_for_a_number_finds_it(values, mode, rows, k, n, waits):
    values.chosen_mode, values.expected = mode, [7, -1, 9]
    got = values.by_score(rows, k, n)
    if waits:
        assert got.tolist() == [[7, (7 + 4) % 9]] * 4 and values.routes == 0
    else:
        assert torch.equal(got, modes.route(mode, 0, rows, k, n))


def test_numbers_that_chosen_integers_are_compared_with(values):
    known, other, floats = torch.tensor([4, 5]), torch.tensor([6]), torch.tensor([7.0])
    many = torch.arange(99)
    values.memory.known_ones |= {id(known), id(floats), id(many)}
    values.expect((3, known, other, floats, many, 1.5, "x", True))
    assert values.expected == [3, 4, 5]
    values.expect((5, 8))
    assert values.expected == [3, 4, 5, 8]
    values.expect(tuple(range(100, 200)))
    assert len(values.expected) == hook.choices.MOST_EXPECTED


def read(values, value, dtype=torch.int64, op="aten::item", chosen=False, of=None):
    t = of if of is not None else torch.zeros(1, dtype=dtype)
    got = values.reading(op, t, value, chosen)
    (note,) = values.reads.notes[-1:]
    return got, note


@pytest.mark.parametrize(
    "mode, value, dtype, got, bounded",
    [
        ("balanced", 0, torch.int64, 0, False),
        ("most", 0, torch.int32, modes.MANY, False),
        ("least", 3, torch.int64, 0, False),
        ("most", 0.0, torch.float32, modes.LARGE, True),
        ("most", False, torch.bool, True, True),
        ("skewed", 0.0, torch.float64, modes.BETWEEN, True),
    ],
)
def test_a_value_that_is_not_known_is_the_modes(values, mode, value, dtype, got, bounded):
    values.chosen_mode = mode
    read_as, note = read(values, value, dtype)
    assert read_as == got and type(read_as) is type(value) and note.bounded is bounded and not note.endless
    assert (note.op, note.size, note.kind, note.value) == ("aten::item", dtype.itemsize, modes.kind(dtype), got)
    assert note.given == modes.given(mode, got, False)


def test_what_was_chosen_is_read_as_it_is(values):
    values.chosen_mode = "most"
    t = torch.zeros(1, dtype=torch.int64)
    values.memory.chosen_ones.add(id(t))
    got, note = read(values, 3, of=t)
    assert got == 3 and note.bounded and note.given == modes.given("most", 3, True)
    assert read(values, 3, chosen=True)[0] == 3
    got = values.reading("aten::equal", None, False, True)
    assert got is False and values.reads.notes[-1].size == 1 and values.reads.notes[-1].kind == "bool"
    assert values.reading("aten::equal", None, False) is True, "nothing was chosen"


def test_what_is_stated_of_a_line_is_read(values):
    values.reads.number = 7
    got, note = read(values, 0.0, torch.float32)
    assert got == 7.0 and type(got) is float and note.assumed == (7,) and note.value == 7.0 and note.size == 4


def test_a_distributions_check_is_true(values, monkeypatch):
    asked = []
    monkeypatch.setattr(hook, "within", lambda name: (asked.append(name), True)[1])
    got, note = read(values, False, torch.bool)
    assert got is True and asked == ["distributions"] and note.given == "true, a distribution's check"
    assert read(values, 0)[0] == 0 and len(asked) == 1, "only booleans are such checks"


def test_lbfgs_searches_as_far_as_it_may(values):
    values.reads.goes_on = 1
    got, note = read(values, 0.0, torch.float32)
    assert got == 1.0 and type(got) is float and note.value == 1.0 and "LBFGS" in note.given


def test_where_an_error_is_looked_for_there_is_none(values):
    values.chosen_mode, values.state.checking = "most", 1
    got, note = read(values, 5)
    assert got == 0 and note.bounded is True
    assert read(values, True, torch.bool)[0] is False


@pytest.mark.parametrize(
    "count, repeats, chosen, endless",
    [(4096, 0, False, False), (4097, 0, False, True), (9999, 4096, True, False), (1, 4097, True, True)],
)
def test_a_loop_that_waits_for_a_value_ends(values, count, repeats, chosen, endless):
    values.reads.count, values.reads.repeats = count, repeats
    got, note = read(values, False, torch.bool, chosen=chosen)
    assert note.endless is endless and got is endless and note.value is got


@pytest.mark.parametrize(
    "mode, balanced, fresh, before, after, calls",
    [
        ("least", False, True, [False, False], [False, False], ["chose"]),
        ("least", True, False, [True, False], [False, False], ["chose"]),
        ("balanced", False, True, [False, False], [False, False], ["chose"]),
        ("balanced", False, False, [True, False], [True, False], [("wrote", CHOSEN)]),
        ("balanced", True, True, [False, False], [True, True], [("wrote", CHOSEN)]),
        ("most", False, True, [False, True], [True, True], [("wrote", CHOSEN)]),
        ("skewed", False, True, [False, True], [True, False], [("wrote", CHOSEN)]),
        ("skewed", True, True, [False, True], [False, False], [("wrote", CHOSEN)]),
    ],
)
def test_booleans_that_no_kernel_computed(values, mode, balanced, fresh, before, after, calls):
    values.chosen_mode = mode
    t = torch.tensor(before)
    if fresh:
        values.memory.fresh.add(id(t))
    values.flag(t, balanced)
    assert t.tolist() == after and values.memory.calls == calls


@pytest.fixture
def registering(values, monkeypatch):
    """A hook whose registrations are listed."""
    taken = []

    class Library:
        def __init__(self, namespace):
            self.namespace = namespace

        def impl(self, name, key, function, keyset):
            taken.append((f"{self.namespace}::{name}", function is torch.library.fallthrough_kernel, key, keyset))

    monkeypatch.setattr(hook.C, "_dispatch_library", lambda kind, namespace, *a: Library(namespace))
    values.libraries, values.direct, values.taken = {}, set(), taken
    values.gate = SimpleNamespace(wrapping=contextlib.nullcontext)
    return values


def test_operators_are_taken_once(registering):
    registering.take({"aten::b", "aten::a", "x::c.out"}, {"aten::b"})
    key = hook.KEY_NAME
    names = [("aten::a", False), ("aten::b", True), ("x::c.out", False)]
    assert registering.taken == [(*n, key, True) for n in names]
    registering.take({"aten::a", "x::d"}, set())
    assert registering.taken[3:] == [("x::d", False, key, True)] and set(registering.libraries) == {"aten", "x"}


@pytest.mark.parametrize(
    "kernels, taken",
    [({"CompositeImplicitAutograd", "CUDA"}, 1), ({"CompositeExplicitAutograd"}, 0), ({"CPU", "CUDA"}, 0), (set(), 0)],
)
def test_an_operator_with_two_kinds_of_kernels_is_taken(registering, monkeypatch, kernels, taken):
    monkeypatch.setattr(hook.C, "_dispatch_has_kernel_for_dispatch_key", lambda name, key: key in kernels)
    registering.register_one("x::op")
    assert [t[0] for t in registering.taken] == ["x::op"] * taken


@pytest.mark.parametrize("before, after, registers", [(1, 1, 0), (1, 2, 1)])
def test_a_library_that_registers_kernels_is_followed(values, monkeypatch, before, after, registers):
    counts, calls = [before, after], []
    values.gate = SimpleNamespace(registered=lambda: counts.pop(0))
    monkeypatch.setattr(values, "register", lambda: calls.append("register"))
    assert values.followed(lambda a, b=0: (a, b))(1, b=2) == (1, 2) and len(calls) == registers


@pytest.mark.parametrize("way", ["call", "named"])
def test_an_operator_is_learnt_once(values, monkeypatch, way):
    made, called = [], []

    def operator(op, of):
        made.append(op)
        return SimpleNamespace(kernel=lambda keyset, args, kwargs: called.append((keyset, args, kwargs)))

    monkeypatch.setattr(hook, "Operator", operator)
    values.operators, values.gate = {}, SimpleNamespace(learn=lambda o: o)
    op = torch.ops.aten.add.out if way == "call" else "aten::add.out"
    for _ in range(2):
        getattr(values, way)(*((hook.OWN, op) if way == "call" else (op, hook.OWN)), 1, 2, out=3)
    assert made == [torch.ops.aten.add.out] and [c[1:] for c in called] == [((1, 2), {"out": 3})] * 2
    assert called[0][0].raw_repr() == (hook.OWN & hook.BELOW).raw_repr()
    if way == "named":
        values.named("aten::relu", hook.OWN, 1)
        assert made[-1] is torch.ops.aten.relu.default


@pytest.mark.parametrize("way", ["call", "named"])
def test_an_error_of_a_kernel_holds_none_of_its_arguments(values, way):
    def fails(keyset, args, kwargs):
        raise ValueError("no")

    values.operators = {"op": SimpleNamespace(kernel=fails)}
    with pytest.raises(ValueError, match="^no$") as e:
        getattr(values, way)(*((hook.OWN, "op") if way == "call" else ("op", hook.OWN)), 1)
    frames = [t.name for t in e.traceback]
    assert "fails" not in frames
