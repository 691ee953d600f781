"""How values come to the host from a pretend GPU, by what is known of them and by mode: numbers, copies,
counts. The device is memory of the host here, and the library notes what it is given."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
from memshim.pretend.values import arguments, modes, reading  # noqa: E402
from memshim.pretend.values.memory import CHOSEN, KNOWN, UNKNOWN, host  # noqa: E402
from memshim.pretend.values.modes import BALANCED, LEAST, MOST, SKEWED  # noqa: E402


class OnCard(torch.Tensor):
    """A tensor that says it lies on a GPU."""

    is_cuda = True
    __torch_function__ = torch._C._disabled_torch_function_impl


def card(values, dtype=None):
    return torch.tensor(values, dtype=dtype).as_subclass(OnCard)


class Memory:
    def __init__(self):
        self.are_known, self.are_chosen, self.said = [], [], []

    def known(self, t):
        return not t.is_cuda or any(t is x for x in self.are_known)

    def chosen(self, t):
        return self.known(t) or any(t is x for x in self.are_chosen)

    def wrote(self, t, known):
        self.said.append(("wrote", t.tolist(), known))

    def unknown(self, t):
        self.said.append(("unknown", t.tolist()))


class Reader(reading.Reading):
    """An operator whose kernels return what is set and note that they ran."""

    def __init__(self, mode=BALANCED, name="aten::x"):
        self.name, self.ran, self.notes, self.answers = name, [], [], []
        self.result, self.reads_bytes, self.assumed, self.op = 0, 0, None, None
        counter = SimpleNamespace(count=4, bytes=16)
        self.counter = counter
        self.values = SimpleNamespace(
            mode=mode,
            state=SimpleNamespace(asked=0, checking=0, count=None),
            memory=Memory(),
            library=SimpleNamespace(
                reads=lambda: counter, answer=self.answers.append, answers_end=lambda: self.answers.append("end")
            ),
            reads=SimpleNamespace(
                assumed=lambda: self.assumed, note=lambda *a, **kw: self.notes.append((*a, *sorted(kw.items())))
            ),
            reading=lambda *given: ("read", *given),
        )

    def kernel(name):  # it makes the methods below
        def run(self, keyset, *given):
            s = self.values.state
            self.ran.append((name, s.asked, s.checking, s.count))
            self.counter.count += self.reads_bytes
            if isinstance(self.result, Exception):
                raise self.result
            return self.result

        return run

    inside, forward, default, redispatch = map(kernel, ("inside", "forward", "default", "redispatch"))

    def argument(self, args, kwargs, name):
        return args[1]

    def tensors(self, args):
        return args

    def on_cpu(self, args, kwargs):
        return self.own

    @property
    def ways(self):
        return [name for name, *_ in self.ran]


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for module in (reading, arguments):
        monkeypatch.setattr(module, "PLAIN", (*arguments.PLAIN, OnCard))


def test_the_stub_lies_in_memory_of_the_host():
    t = card([1, 2])
    host(t)[0] = 7
    assert t.tolist() == [7, 2] and t.is_cuda and not host(t).is_cuda


# Numbers.


@pytest.mark.parametrize(
    "value, way",
    [(3, "inside"), (2.0, "inside"), (True, "inside"), (1j, "inside"), (torch.ones(1), "redispatch")],
    ids=str,
)
def test_what_is_no_devices_tensor_is_read_as_ever(value, way):
    r = Reader()
    r.result, r.reads_bytes = "result", 8
    assert r.scalar(None, (value,), {}) == "result" and r.ways == [way] and r.notes == []
    assert r.counter.count == 12, "what it reads is noted"


def test_a_known_number_is_read_as_it_is():
    r, t = Reader(), card([1.0])
    r.values.memory.are_known.append(t)
    r.result = 1.0
    assert r.scalar(None, (t,), {}) == 1.0 and r.ways == ["inside"]


def test_a_number_of_a_kind_that_is_not_followed_is_read_as_it_is(monkeypatch):
    class Wrapped(OnCard):
        pass

    r = Reader()
    r.result = 1.0
    assert r.scalar(None, (torch.ones(1).as_subclass(Wrapped),), {}) == 1.0


@pytest.mark.parametrize(
    "value, count, asked, want",
    [
        (1.5, None, 0, "read"),
        (1.5, 5, 0, 5.0),
        (True, 0, 1, False),
        (1.5, None, 1, 1.5),
        (2j, None, 1, 2j),
        (2j, None, 0, 2j),
    ],
)
def test_an_unknown_number(value, count, asked, want):
    r, t = Reader(), card([1.0, 2.0], torch.float64)
    r.result, r.reads_bytes = value, 8
    r.values.state.count, r.values.state.asked = count, asked
    found = r.scalar(None, (t,), {})
    assert found == (("read", "aten::x", t, value) if want == "read" else want)
    assert type(found) is type(want) or want == "read"
    assert r.counter.count == 4, "it is noted by who reads it, and once"
    complex_read = want == 2j and not asked
    assert r.notes == ([("aten::x", 8, ("kind", "float"), ("varied", False))] if complex_read else [])


def test_a_check_is_made_in_any_case():
    r = Reader()
    assert r.checking(None, (), {}) == 0 and r.ran == [("forward", 0, 1, None)] and r.values.state.checking == 0
    r.result = ValueError("no")
    with pytest.raises(ValueError):
        r.checking(None, (), {})
    assert r.values.state.checking == 0


def equal(a, b, **more):
    return bool(torch.equal(a, b))


@pytest.mark.parametrize("args", [(torch.ones(2),), (torch.eye(2).to_sparse(), card([1.0])), (2,)])
def test_a_question_about_other_tensors_goes_on(args):
    r = Reader()
    r.result = True
    assert r.asked(None, args, {}) is True and r.ways == ["forward"]


@pytest.mark.parametrize("known, chosen, followed", [(True, False, True), (False, True, True), (False, False, False)])
def test_a_question_is_answered_on_the_host(known, chosen, followed):
    a, b, r = card([1, 2]), card([1, 2]), Reader()
    r.op, r.result, r.reads_bytes = equal, "of CUDA's kernel", 1
    r.values.memory.are_known += [a, b] if known else [a]
    r.values.memory.are_chosen += [a, b] if chosen else []
    found = r.asked(None, (a, b), {"like": a})
    assert found is True if known else found == ("read", "aten::x", None, True, followed)
    assert r.ran == [("inside", 1, 0, None)] and r.values.state.asked == 0 and r.counter.count == 4


@pytest.mark.parametrize(
    "limits, followed, want", [((1, 9), False, "own"), ((2, 0), False, True), ((0, 2), True, True)]
)
def test_a_question_about_much_is_answered_as_the_kernel_does(monkeypatch, limits, followed, want):
    a, r = card([1, 2]), Reader()
    monkeypatch.setattr(reading, "UNKNOWN_LIMIT", limits[0])
    monkeypatch.setattr(reading, "INTEGER_LIMIT", limits[1])
    r.op, r.result = equal, "own"
    r.values.memory.are_chosen += [a] if followed else []
    assert r.asked(None, (a, a), {}) == ("read", "aten::x", None, want, followed)


def test_a_question_that_fails_is_over():
    r = Reader()
    r.result = ValueError("no")
    with pytest.raises(ValueError):
        r.asked(None, (card([1]),), {})
    assert r.values.state.asked == 0


# Copies.


@pytest.mark.parametrize(
    "to, of, ways",
    [
        (torch.zeros(1), torch.zeros(1), ["forward"]),
        (1.0, card([0.0]), ["forward"]),
        (card([0.0]), 1.0, ["forward"]),
        (card([0.0]), torch.zeros(1), ["default"]),
        (card([0.0]), card([0.0]), ["default"]),
        (torch.zeros(1), card([0.0]), ["inside"]),
    ],
)
def test_the_way_of_a_copy(to, of, ways):
    r = Reader()
    r.result = "out"
    assert r.copy(None, (to, of), {}) == "out" and r.ways == ways and r.notes == []


@pytest.mark.parametrize(
    "dtype, known, limits, taken",
    [
        (torch.int64, False, (1, 2), True),
        (torch.bool, False, (1, 2), True),
        (torch.int64, True, (1, 2), False),
        (torch.int64, False, (2, 9), False),
        (torch.int64, False, (0, 1), False),
        (torch.float32, False, (1, 2), False),
        (torch.complex64, False, (1, 2), False),
    ],
)
def test_many_integers_from_the_host_are_known(monkeypatch, dtype, known, limits, taken):
    monkeypatch.setattr(reading, "KNOWN_LIMIT", limits[0])
    monkeypatch.setattr(reading, "INTEGER_LIMIT", limits[1])
    to, r = card([0, 0], dtype), Reader()
    r.values.memory.are_known += [to] if known else []
    r.copy(None, (to, torch.tensor([1, 1], dtype=dtype)), {})
    assert to.tolist() == ([1, 1] if taken else [0, 0])
    assert r.values.memory.said == ([("wrote", [1, 1], KNOWN)] if taken else [])


def test_many_integers_of_the_device_are_not_copied(monkeypatch):
    monkeypatch.setattr(reading, "KNOWN_LIMIT", 1)
    to, r = card([0, 0]), Reader()
    r.copy(None, (to, card([1, 1])), {})
    assert to.tolist() == [0, 0] and r.values.memory.said == []


def test_a_copy_that_read_what_is_unknown_is_noted_once():
    to, of, r = torch.zeros(1, dtype=torch.int64), card([3]), Reader()
    r.result, r.reads_bytes = "out", 1
    assert r.copy(None, (to, of), {}) == "out" and r.counter.count == 4
    assert [n[:2] for n in r.notes] == [("aten::x", 16)]


def given(mode, value=None, chosen=False):
    return modes.given(mode, value, chosen)


@pytest.mark.parametrize(
    "mode, dtype, assumed, chosen, checking, limit, to, note",
    [
        (MOST, torch.int64, 7, True, 0, 9, [7, 7], (7, None, "int", True, True)),
        (BALANCED, torch.int64, None, True, 0, 9, [5, 6], (None, None, "int", True, True)),
        (MOST, torch.int64, None, True, 0, 2, [5, 6], (None, None, "int", True, True)),
        (MOST, torch.int64, None, True, 0, 1, [0, 0], (None, None, "int", True, False)),
        (MOST, torch.uint8, None, True, 0, 1, [5, 6, *[7] * 6], (None, None, "int", True, True)),
        (MOST, torch.uint8, None, True, 0, 1, [0] * 9, (None, None, "int", True, False)),
        (MOST, torch.int64, None, False, 0, 2, [4096, 4096], (None, None, "int", False, True)),
        (MOST, torch.int64, None, False, 0, 1, [0, 0], (None, None, "int", False, False)),
        (SKEWED, torch.int64, None, False, 0, 2, [0, 0], (None, None, "int", False, True)),
        (LEAST, torch.float32, None, False, 0, 2, [-1.0, -1.0], (None, None, "float", True, True)),
        (LEAST, torch.float32, None, False, 1, 2, [0.0, 0.0], (None, None, "float", True, True)),
        (BALANCED, torch.float32, None, False, 0, 2, [0.0, 0.0], (None, None, "float", True, True)),
        (MOST, torch.complex64, None, False, 0, 2, [0j, 0j], (None, None, "float", True, False)),
        (MOST, torch.bool, None, False, 0, 1, [True], (None, True, "bool", True, True)),
        (BALANCED, torch.int64, None, False, 0, 1, [0], (None, 0, "int", False, True)),
        (MOST, torch.complex64, 2, False, 0, 1, [2 + 0j], (2, None, "float", True, True)),
    ],
)
def test_a_copy_of_unknown_values(monkeypatch, mode, dtype, assumed, chosen, checking, limit, to, note):
    monkeypatch.setattr(reading, "CHOSEN_LIMIT", limit)
    there, of, r = torch.zeros(len(to), dtype=dtype), card([5, 6, *[7] * 7][: len(to)], dtype), Reader(mode)
    r.assumed, r.values.state.checking = assumed, checking
    r.values.memory.are_chosen += [of] if chosen else []
    r.copied(there, of, 24)
    assert there.tolist() == to
    assume, value, kind, bounded, varied = note
    words = given(mode, value, chosen)
    assert r.notes == [("aten::x", 24, assume, words, kind, value, ("bounded", bounded), ("varied", varied))]


# Counts.


@pytest.mark.parametrize(
    "tests, known, limit, answers",
    [
        (card([3, 3, 4]), True, 3, [1, 2]),
        (card([3, 3, 4]), False, 3, [1]),
        (card([3, 3, 4]), True, 2, [1]),
        (torch.tensor([3, 3, 4]), False, 3, [1]),
        (5, False, 3, [1]),
    ],
)
def test_a_number_among_others(monkeypatch, tests, known, limit, answers):
    monkeypatch.setattr(reading, "KNOWN_LIMIT", limit)
    r = Reader()
    r.values.memory.are_known += [tests] if known else []
    assert r.of_one(None, (2, tests), {}) == 0 and r.ways == ["default"] and r.answers == [*answers, "end"]
    r.result = ValueError("no")
    with pytest.raises(ValueError):
        r.of_one(None, (2, tests), {})
    assert r.answers[-1] == "end"


def test_what_mode_reads_of_a_row():
    assert reading.different(torch.tensor([3, 1, 3, 2])) == (3, 2)
    assert reading.answers_of(3, 2, torch.int64) == [2, 3, 2, 0, 0, 1, 0, 0]
    assert reading.answers_of(2, 5, torch.bool) == [5, 1, 0]


ROWS = [[1, 1, 2, 2], [3, 3, 3, 4]]


@pytest.mark.parametrize(
    "x, dim",
    [(torch.tensor(ROWS), 1), (card(ROWS), 0), (card([ROWS[0][:3]]), 1), (card(3), 0), (card(3), -1), (card(ROWS), 2)],
)
def test_rows_of_one_kernel(monkeypatch, x, dim):
    monkeypatch.setattr(reading, "LONGEST_OF_ONE_KERNEL", 3)
    r = Reader()
    r.of_runs(None, (x, dim), {})
    assert r.ways == ["default"] and r.answers == []


@pytest.mark.parametrize(
    "mode, known, chosen, assumed, limits, runs, noted, wrote",
    [
        (MOST, True, False, 9, (8, 0), [(2, 2), (2, 3)], None, KNOWN),
        (MOST, False, True, None, (8, 0), [(2, 2), (2, 3)], (None, 2), CHOSEN),
        (BALANCED, False, False, None, (0, 8), [(2, 2), (2, 3)], (None, 2), UNKNOWN),
        (BALANCED, False, False, None, (8, 7), [(1, 4), (1, 4)], (None, 1), None),
        (MOST, False, True, None, (7, 8), [(4, 1), (4, 1)], (None, 4), None),
        (LEAST, False, False, None, (8, 8), [(1, 4), (1, 4)], (None, 1), None),
        (SKEWED, False, False, None, (8, 8), [(4, 1), (4, 1)], (None, 4), None),
        (BALANCED, False, False, 3, (8, 8), [(3, 1), (3, 1)], (3, 3), None),
        (BALANCED, False, True, 0, (8, 8), [(1, 1), (1, 1)], (0, 1), None),
        (BALANCED, False, False, 99, (8, 8), [(4, 1), (4, 1)], (99, 4), None),
    ],
)
@pytest.mark.parametrize("dim", [1, -1, 0])
def test_long_rows(monkeypatch, mode, known, chosen, assumed, limits, runs, noted, wrote, dim):
    monkeypatch.setattr(reading, "LONGEST_OF_ONE_KERNEL", 3)
    monkeypatch.setattr(reading, "KNOWN_LIMIT", limits[0])
    monkeypatch.setattr(reading, "UNKNOWN_LIMIT", limits[1])
    x, r = card(ROWS), Reader(mode)
    if dim == 0:
        x = card(torch.tensor(ROWS).t().tolist())
    r.assumed, r.result, r.own = assumed, (card([0, 0]), card([0, 0])), (torch.tensor([1, 3]), torch.tensor([1, 2]))
    r.values.memory.are_known += [x] if known else []
    r.values.memory.are_chosen += [x] if chosen else []
    assert r.of_runs(None, (x, dim), {}) is r.result and r.ways == ["inside"]
    assert r.answers == [bit for run in runs for bit in reading.answers_of(*run, torch.int64)] + ["end"]
    words = noted and given(mode, noted[1], chosen)
    assert r.notes == ([("aten::x", 4, noted[0], words, "count", noted[1])] if noted else [])
    done = [("wrote", [1, 3], wrote), ("wrote", [1, 2], wrote)]
    assert r.values.memory.said == (done if wrote is not None else [("unknown", [0, 0])] * 2)


def test_no_rows_have_no_runs(monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_OF_ONE_KERNEL", 3)
    r = Reader(MOST)
    r.result = ValueError("no")
    with pytest.raises(ValueError):
        r.of_runs(None, (torch.zeros(0, 4).as_subclass(OnCard), 1), {})
    assert r.answers == ["end"] and r.notes[0][-1] == 0


@pytest.mark.parametrize("args", [(torch.ones(2),), (torch.eye(2).to_sparse(), card([1.0])), (2,)])
def test_what_is_counted_of_other_tensors_goes_on(args):
    r = Reader()
    r.counted(None, args, {})
    assert r.ways == ["forward"] and r.answers == []


@pytest.mark.parametrize(
    "known, chosen, assumed, own, outer, ran, noted, wrote",
    [
        (True, False, 9, True, None, 2, None, KNOWN),
        (False, True, None, True, None, 2, (None, 2), CHOSEN),
        (False, False, None, True, None, 2, (None, 2), CHOSEN),
        (True, False, None, False, None, 2, (None, 2), None),
        (False, False, 5, True, None, 5, (5, 5), None),
        (False, False, None, True, 7, 7, None, None),
    ],
)
def test_the_size_of_a_result(monkeypatch, known, chosen, assumed, own, outer, ran, noted, wrote):
    x, r = card([1, 0, 1]), Reader(MOST, "aten::nonzero")
    r.assumed, r.result, r.values.state.count = assumed, card([0, 0]), outer
    r.values.memory.are_known += [x] if known else []
    r.values.memory.are_chosen += [x] if chosen else []
    asked = []
    monkeypatch.setattr(
        r, "count", lambda *given: asked.append(given) or (torch.tensor([0, 2]) if own else None, 2), raising=False
    )
    assert r.counted(None, (x,), {"out": None}) is r.result
    assert r.ran == [("inside", 0, 0, ran)] and r.answers == [ran, "end"] and r.values.state.count == outer
    assert [(len(a[2]), a[3]) for a in asked] == ([] if outer else [(1, known or chosen)])
    words = noted and given(MOST, noted[1], known or chosen)
    assert r.notes == ([("aten::nonzero", 8, noted[0], words, "count", noted[1])] if noted else [])
    assert r.values.memory.said == ([("wrote", [0, 2], wrote)] if wrote is not None else [])
    r.result = ValueError("no")
    with pytest.raises(ValueError):
        r.counted(None, (x,), {})
    assert r.values.state.count == outer and r.answers[-1] == "end"


@pytest.mark.parametrize(
    "result", [torch.zeros(2, dtype=torch.int64), card([0, 0, 0]), card([])], ids=["host", "3", "0"]
)
def test_only_a_result_of_the_same_shape_on_the_device_is_filled(monkeypatch, result):
    x, r = card([1]), Reader(MOST, "aten::nonzero")
    r.result, own = result, torch.tensor([5, 5]) if result.numel() else torch.zeros(0)
    monkeypatch.setattr(r, "count", lambda *given: (own, 2), raising=False)
    assert r.counted(None, (x,), {}) is result and r.values.memory.said == [] and not result.any()


def test_without_a_count_the_kernel_reads_its_own(monkeypatch):
    r = Reader(BALANCED, "aten::nonzero")
    monkeypatch.setattr(r, "count", lambda *given: (None, None), raising=False)
    r.reads_bytes = 1
    r.counted(None, (card([1]),), {})
    assert r.ways == ["inside"] and r.answers == [] and r.counter.count == 4
    assert r.notes == [("aten::nonzero", 8, None, "", "count", 0)]


def nonzero(x, *rest, **named):
    assert not any(t.is_cuda for t in (x, *rest) if isinstance(t, torch.Tensor)) and "out" not in named
    return torch.nonzero(x)


LIMITS = ("CHOSEN_LIMIT", "INTEGER_LIMIT", "UNKNOWN_LIMIT")


@pytest.mark.parametrize(
    "mode, followed, limits, rows, count",
    [
        (MOST, True, (0, 3, 0), [[0], [2]], 2),
        (MOST, True, (9, 2, 9), None, None),
        (BALANCED, False, (0, 0, 3), [[0], [2]], 2),
        (BALANCED, False, (9, 9, 2), None, None),
        (LEAST, False, (3, 3, 0), [], 0),
        (MOST, False, (3, 3, 0), [[0], [1], [2]], 3),
        (MOST, False, (3, 2, 9), None, None),
        (MOST, False, (2, 9, 9), None, 3),
        (LEAST, False, (2, 9, 9), None, 0),
    ],
)
def test_how_many_the_mode_finds(monkeypatch, mode, followed, limits, rows, count):
    for name, limit in zip(LIMITS, limits):
        monkeypatch.setattr(reading, name, limit)
    x, r = card([4, 0, 4]), Reader(mode, "aten::nonzero")
    r.op = nonzero
    own, found = r.count((x,), {"out": card([9])}, [x], followed)
    assert (own if own is None else own.tolist(), found) == (rows, count)


@pytest.mark.parametrize("mode, followed, want", [(MOST, True, [1, 2]), (MOST, False, [0.0, 0.0])])
def test_other_arguments_are_zeros_where_the_first_is_chosen(mode, followed, want):
    x, other, r, seen = card([4, 0]), card([1, 2]), Reader(mode, "aten::nonzero"), []
    r.op = lambda first, *rest, **named: seen.append((*rest, named)) or first
    r.count((x, other, 5), {"like": other, "out": 1}, [x, other], followed)
    ((second, third, named),) = seen
    assert (second.tolist(), third, [*named], named["like"].tolist()) == (want, 5, ["like"], [1, 2])
    assert second.dtype is (torch.int64 if followed else torch.float32)


def test_the_largest_argument_decides(monkeypatch):
    monkeypatch.setattr(reading, "INTEGER_LIMIT", 2)
    r = Reader(MOST, "aten::nonzero")
    r.op = nonzero
    assert r.count((card([1]), card([1, 2, 3])), {}, [card([1]), card([1, 2, 3])], True) == (None, None)
    r.op = None
    assert r.count((card([1]),), {}, [card([1])], True) == (None, None), "an operator that fails has no count"
