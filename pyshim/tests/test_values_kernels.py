"""Which kernel an operator has beside CUDA's, and what that does: CPU tensors stand for those of the device."""

import contextlib
from functools import partial
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from memshim.pretend.values import arguments, operators  # noqa: E402
from memshim.pretend.values.memory import CHOSEN, KNOWN, UNKNOWN  # noqa: E402
from memshim.pretend.values.operators import Operator  # noqa: E402

if not torch._C._dispatch_has_kernel_for_dispatch_key("aten::relu", "CUDA"):
    pytest.skip("the torch here is not of CUDA", allow_module_level=True)

GUARD = SimpleNamespace(guarded=lambda name, kernel: partial(guarded, kernel))


def guarded(kernel):
    """What PLANNED has before its kernel."""


SELF, OUT = [(0, "self")], [(3, "out")]
RUNNING = [(3, "running_mean"), (4, "running_var")]
PLAIN, COUNTED = "on_host follows", "on_host follows counting"
LAYER = "alone on_host known_only"
PRODUCT = "alone on_host product known_only"

# kernel; what is so of it; what it writes, of that what is not read, and where its beta is
TABLE = {
    "add.Tensor": ("default", f"alone {COUNTED} takes_numbers", [], [], None),
    "add_.Tensor": ("counter", f"alone in_place over_itself {COUNTED} takes_numbers", SELF, [], None),
    "add.out": ("default", f"alone in_place {COUNTED} takes_numbers", OUT, ["out"], None),
    "mul.Scalar": ("forward", f"{COUNTED} takes_numbers", [], [], None),  # made of mul.Tensor
    "relu_": ("default", f"alone in_place {COUNTED}", SELF, [], None),
    "pow.Tensor_Scalar": ("default", f"alone {COUNTED}", [], [], None),  # its number may become a tensor
    "eq.Tensor": ("default", COUNTED, [], [], None),
    "addmm": ("layer", PRODUCT, [], [], 3),
    "addr": ("default", PLAIN, [], [], 3),
    "mm": ("layer", PRODUCT, [], [], None),
    "linear": ("forward", PLAIN, [], [], None),
    "convolution_backward": ("layer", "alone known_only", [], [], None),
    "native_batch_norm": ("layer", f"{LAYER} in_place", RUNNING, [], None),  # its schema says none of it
    "_native_batch_norm_legit": ("layer", f"{LAYER} in_place", RUNNING, [], None),
    "native_batch_norm_backward": ("layer", LAYER, [], [], None),
    "cudnn_batch_norm": ("layer", "alone in_place known_only", RUNNING, [], None),
    "view": ("forward", PLAIN, [], [], None),
    "empty.memory_format": ("forward", PLAIN, [], [], None),
    "zero_": ("zero", PLAIN, SELF, ["self"], None),
    "fill_.Scalar": ("default", f"alone {COUNTED}", SELF, ["self"], None),
    "copy_": ("copy", COUNTED, SELF, ["self"], None),
    "_local_scalar_dense": ("scalar", PLAIN, [], [], None),
    "_linalg_check_errors": ("checking", PLAIN, [], [], None),
    "nonzero": ("counted", PLAIN, [], [], None),
    "masked_select": ("default", PLAIN, [], [], None),
    "mode": ("choosing of_runs", PLAIN, [], [], None),
    "isin.Scalar_Tensor": ("of_one", f"alone {PLAIN}", [], [], None),
    "isin.Tensor_Tensor": ("default", PLAIN, [], [], None),
    "equal": ("asked", COUNTED, [], [], None),
    "argmax": ("choosing default", PLAIN, [], [], None),
    "max.dim": ("choosing default", COUNTED, [], [], None),
    "multinomial": ("choosing layer", "random on_host", [], [], None),
    "bernoulli_.float": ("choosing layer", "in_place random on_host", SELF, [], None),
    "sort": ("forward", PLAIN, [], [], None),
    "index_add_": ("default", f"in_place {PLAIN}", SELF, [], None),
    "index_put_": ("composed", f"in_place {PLAIN}", SELF, [], None),
    "linalg_svd": ("forward", "on_host known_only", [], [], None),
    "linalg_lu_factor_ex": ("layer", "on_host known_only", [], [], None),
    "_foreach_add_.Scalar": ("layer", f"{LAYER} in_place", SELF, [], None),
    "_scaled_dot_product_cudnn_attention": ("guarded layer", "random", [], [], None),
    "resize_": ("forward", f"in_place {PLAIN}", SELF, [], None),
    "uniform_": ("layer", "in_place random on_host", SELF, [], None),
    "split.Tensor": ("listed forward", PLAIN, [], [], None),
    "sum.dim_IntList": ("default", f"alone {COUNTED}", [], [], None),
    "tril": ("default", PLAIN, [], [], None),
}
FLAGS = "alone in_place random on_host product over_itself known_only follows counting takes_numbers".split()


def overload(name):
    base, _, rest = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), rest or "default")


def kernels(kernel):
    while isinstance(kernel, partial):
        yield kernel.func.__name__
        kernel = kernel.args[0]
    yield kernel.__name__


@pytest.mark.skipif(not torch.__version__.startswith("2.15"), reason="recorded with torch 2.15")
@pytest.mark.parametrize("name", TABLE)
def test_the_kernel_of_an_operator(name):
    kernel, flags, writes, pure, beta = TABLE[name]
    o = Operator(overload(name), SimpleNamespace(unplanned=GUARD))
    assert " ".join(kernels(o.kernel)) == kernel
    assert {f for f in FLAGS if getattr(o, f)} == set(flags.split())
    assert (o.writes, sorted(o.pure), o.beta) == (writes, pure, beta)


class Card(torch.Tensor):
    """A tensor of the device, whose bytes lie on the host."""

    is_cuda = True


def card(data, dtype=torch.float32):
    return torch.as_tensor(data, dtype=dtype).as_subclass(Card)


class Memory:
    def __init__(self):
        self.state, self.fresh, self.calls = {}, set(), []

    def known(self, t):
        return not t.is_cuda or self.state.get(id(t)) == KNOWN

    def chosen(self, t):
        return not t.is_cuda or self.state.get(id(t)) in (KNOWN, CHOSEN)

    def untouched(self, t):
        return id(t) in self.fresh

    def unknown(self, t):
        self.calls.append("unknown")

    def zero(self, t):
        self.calls.append("zero")

    def wrote(self, t, known):
        self.calls.append(("wrote", known, t.tolist()))


@pytest.fixture
def world(monkeypatch):
    """A process without a device: its tensors' states are those of `set`, CUDA's kernel gives `out`."""
    for module in (operators, arguments):
        monkeypatch.setattr(module, "PLAIN", (torch.Tensor, torch.nn.Parameter, Card))
        monkeypatch.setattr(module, "host", lambda t: t.as_subclass(torch.Tensor))
    monkeypatch.setattr(operators, "OnCPU", contextlib.nullcontext)
    w = SimpleNamespace(capturing=False, flagged=[], expected=[], given=[], spans=0)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: w.capturing)
    library = SimpleNamespace(chosen=lambda at, n: w.spans)
    w.values = SimpleNamespace(
        memory=Memory(),
        unplanned=GUARD,
        library=library,
        flag=lambda t, balanced: w.flagged.append(balanced),
        expect=w.expected.append,
        turn=0,
        spread="spread",
        by_score="by score",
    )

    def run(name, *args, gives=None, **kwargs):
        o = Operator(overload(name), w.values)

        def cuda(keyset, args, kwargs):
            w.given.append(args)
            return gives

        for way in ("noted", "inside", "forward"):
            monkeypatch.setattr(o, way, cuda)
        w.operator = o
        return o.own_kernel(None, args, kwargs)

    def state(t, known):
        w.values.memory.state[id(t)] = known
        return t

    w.run, w.set, w.calls = run, state, w.values.memory.calls
    return w


@pytest.mark.parametrize(
    "states, value", [((KNOWN, KNOWN), KNOWN), ((KNOWN, CHOSEN), CHOSEN), ((CHOSEN, CHOSEN), CHOSEN), ((CHOSEN, 0), 0)]
)
def test_a_small_result_is_computed_from_what_is_read(world, states, value):
    a, b = card([1.0, 2.0]), card([10.0, 20.0])
    for t, s in zip((a, b), states, strict=True):
        world.set(t, s)
    out = card([0.0, 0.0])
    assert world.run("add.Tensor", a, b, gives=out) is out
    assert world.calls == [("wrote", value, [11.0, 22.0])] and world.given == [(a, b)]


def test_what_is_written_is_computed_over_what_it_was(world):
    a, b = world.set(card([1.0, -2.0]), KNOWN), 3

    def cuda(keyset, args, kwargs):
        a.zero_()  # its kernel does nothing, or writes what nobody knows
        return a

    o = Operator(overload("clamp_min_"), world.values)
    o.noted = cuda
    assert o.own_kernel(None, (a, b), {}) is a
    assert world.calls == [("wrote", KNOWN, [3.0, 3.0])]


@pytest.mark.parametrize("capturing, limit", [(True, 1 << 20), (False, 1)])
def test_what_is_large_or_captured_is_forgotten(world, monkeypatch, capturing, limit):
    monkeypatch.setattr(operators, "KNOWN_LIMIT", limit)
    world.capturing = capturing
    a = world.set(card([1.0, 2.0]), KNOWN)
    world.run("relu_", a, gives=a)
    assert world.calls == ["unknown"]


@pytest.mark.parametrize("sizes, limit, known", [(2, 2, True), (3, 2, False)])
@pytest.mark.parametrize("dtype, counts", [(torch.int64, True), (torch.float32, False)])
def test_integers_are_counted_further(world, monkeypatch, sizes, limit, known, dtype, counts):
    monkeypatch.setattr(operators, "KNOWN_LIMIT", limit)
    monkeypatch.setattr(operators, "INTEGER_LIMIT", 3)
    world.spans = 1
    a = world.set(card([1] * sizes, dtype), KNOWN)
    world.run("add.Tensor", a, a, gives=card([0] * sizes, dtype))
    computed = [("wrote", KNOWN, [2] * sizes)] if known or counts else []
    assert world.calls == computed


def test_of_unknown_values_nothing_is_said_of_a_number(world):
    out = card([1.0])
    world.run("div.Tensor", card([0.0]), card([0.0]), gives=out)
    assert world.calls == [("wrote", UNKNOWN, [0.0])], "0/0 of zeros that are none"


def test_calls_that_give_zeros_of_zeros_are_remembered(world):
    a = card([0.0, 0.0])
    world.values.memory.fresh.add(id(a))
    world.run("mul.Tensor", a, a, gives=card([0.0, 0.0]))
    assert len(world.operator.stay_zero) == 1 and len(world.calls) == 1
    o = world.operator
    o.own_kernel(None, (a, a), {})
    assert len(world.calls) == 1, "the result is zero as it is"
    world.run("add.Tensor", a, 1, gives=card([0.0, 0.0]))
    assert world.operator.stay_zero == set() and world.calls[1:] == [("wrote", UNKNOWN, [1.0, 1.0])]


def test_in_training_results_of_floats_are_not_computed(world):
    a = card([1.0])
    a.requires_grad = True
    world.run("mul.Tensor", a, a, gives=card([0.0]))
    assert world.calls == []
    world.run("gt.Scalar", a, 0, gives=torch.tensor([False]).as_subclass(Card))
    assert world.calls == [("wrote", UNKNOWN, [True])]


@pytest.mark.parametrize("beta, known", [(0, True), (1, False)])
def test_what_is_multiplied_by_zero_is_not_read(world, beta, known):
    x, u, v = card([[1.0]]), world.set(card([2.0]), KNOWN), world.set(card([3.0]), KNOWN)
    world.run("addr", x, u, v, gives=card([[0.0]]), beta=beta)
    value = ("wrote", KNOWN, [[6.0]]) if known else ("wrote", UNKNOWN, [[7.0]])
    assert world.calls == [value]


def test_an_out_argument_is_not_read(world):
    a, out = world.set(card([2.0]), KNOWN), card([9.0])
    world.run("add.out", a, a, out=out)
    assert world.calls == [("wrote", KNOWN, [4.0])]


@pytest.mark.parametrize("size, limit, computed", [(2, 8, True), (2, 7, False)])
def test_products_are_computed_up_to_their_multiplications(world, monkeypatch, size, limit, computed):
    monkeypatch.setattr(operators, "PRODUCT_LIMIT", limit)
    a = world.set(card([[1.0, 2.0]] * size), KNOWN)
    world.run("mm", a, a, gives=card([[0.0, 0.0]] * size))
    assert bool(world.calls) == computed
    o = world.operator
    assert o.multiplications((a, a), [card([1.0] * 5)]) == 10
    o = Operator(overload("addbmm"), world.values)
    assert o.multiplications((a, torch.zeros(3, 4, 7), a), [card([1.0] * 5)]) == 5 * 7 * 3


def test_a_layer_of_unknown_values_is_not_computed(world):
    a, b = card([[1.0]]), world.set(card([[2.0]]), KNOWN)
    world.run("mm", a, b, gives=card([[0.0]]))
    world.run("mm", b, a, gives=card([[0.0]]))
    assert world.calls == []
    x = card([[1.0]])
    world.run("addmm", x, b, b, gives=card([[0.0]]))
    assert world.calls == [] and len(world.given) == 3
    world.run("addmm", world.set(x, KNOWN), b, b, gives=card([[0.0]]))
    assert world.calls == [("wrote", KNOWN, [[5.0]])]
    world.run("uniform_", x, gives=x)
    assert world.calls[1:] == ["unknown"], "a random one is not known, whatever it reads"


@pytest.mark.parametrize(
    "args, counts",
    [
        (lambda t: (t, 1), True),
        (lambda t: (t, card([1.0])), False),
        (lambda t: (card([1.0, 2.0]), 1), False),
        (lambda t: (card([1.0]), 1), False),  # not known
        (lambda t: (torch.tensor([1.0]), 1), False),
    ],
)
def test_a_known_number_is_counted_on(world, monkeypatch, args, counts):
    t = world.set(card([5.0]), KNOWN)
    monkeypatch.setattr(Operator, "default", lambda *a: "default")
    got = world.run("add_.Tensor", *args(t), gives="counted")
    assert got == ("counted" if counts else "default") and t.tolist() == [6.0 if counts else 5.0]
    world.capturing = True
    assert world.run("add_.Tensor", t, 1) == "default"


@pytest.mark.parametrize(
    "make, capturing, calls",
    [(lambda: card([1.0]), False, ["zero"]), (lambda: card([1.0]), True, []), (lambda: torch.ones(1), False, []),
     (lambda: torch.ones(1).to_sparse(), False, [])],
)  # fmt: skip
def test_what_is_zeroed_is_known(world, make, capturing, calls):
    world.capturing = capturing
    assert world.run("zero_", make(), gives=1) == 1 and world.calls == calls


@pytest.mark.parametrize("there, dense, chosen, made", [(True, True, 0, True), (True, True, 1, False)])
def test_what_is_larger_than_all_limits_is_not_looked_at(world, monkeypatch, there, dense, chosen, made):
    for name in ("KNOWN_LIMIT", "CHOSEN_LIMIT", "UNKNOWN_LIMIT"):
        monkeypatch.setattr(operators, name, 1)
    world.spans = chosen
    monkeypatch.setattr(Operator, "fresh", lambda *a: "fresh")
    assert world.run("relu", card([1.0, 2.0]), gives="noted") == ("fresh" if made else "noted")


@pytest.mark.parametrize(
    "name, args, balanced",
    [
        ("gt.Scalar", lambda: (card([1.0] * 3), 0), [False]),  # of zeros: not greater
        ("ge.Scalar", lambda: (card([1.0] * 3), 0), [True]),
        ("ge.Tensor", lambda: (card([1.0] * 3), card([2.0] * 3)), [True]),
        ("add.Tensor", lambda: (card([1.0] * 3), 1), []),
    ],
)
def test_booleans_of_unknown_values_are_chosen(world, monkeypatch, name, args, balanced):
    monkeypatch.setattr(operators, "UNKNOWN_LIMIT", 2)
    dtype = torch.float32 if name == "add.Tensor" else torch.bool
    world.run(name, *args(), gives=torch.zeros(3, dtype=dtype).as_subclass(Card))
    assert world.flagged == balanced
    world.capturing = True
    world.run(name, *args(), gives=torch.zeros(3, dtype=dtype).as_subclass(Card))
    assert world.flagged == balanced


def test_what_chosen_integers_are_compared_with_is_expected(world):
    a = world.set(card([3], torch.int64), CHOSEN)
    world.run("eq.Scalar", a, 3, gives=torch.tensor([False]).as_subclass(Card))
    assert world.expected == [(a, 3)] and world.calls == [("wrote", CHOSEN, [True])] and world.flagged == []


@pytest.mark.parametrize("state, capturing, chosen", [(0, False, True), (CHOSEN, False, False), (0, True, False)])
def test_indices_of_unknown_scores_are_chosen(world, monkeypatch, state, capturing, chosen):
    world.capturing = capturing
    scores, out = world.set(card([1.0, 2.0]), state), card(0, torch.int64)
    spreads = []

    def choose(operator, spread, args, kwargs, out):
        spreads.append(spread)
        yield out, torch.tensor(1)

    monkeypatch.setitem(operators.choices.OF, "aten::argmax", choose)
    o = Operator(overload("argmax"), world.values)
    kernel = partial(o.choosing, lambda *a: out)
    assert kernel(None, (scores,), {}) is out
    by_scores = "by score" if "aten::argmax" in operators.choices.BY_SCORES else "spread"
    assert spreads == ([by_scores] if chosen else []) and world.values.turn == int(chosen)
    assert world.calls == ([("wrote", CHOSEN, 1)] if chosen else [])


def test_an_undefined_tensor_in_a_list_is_empty(world):
    o = Operator(overload("split.Tensor"), world.values)
    got = o.listed(lambda *a: [torch.ones(2), None], None, (), {})
    assert [t.numel() for t in got] == [2, 0]


def test_arguments_by_name_or_place(world):
    o = Operator(overload("argmax"), world.values)
    assert o.argument((1, 2), {}, "dim") == 2 and o.argument((1,), {"dim": 3}, "dim") == 3
    assert o.argument((1,), {}, "keepdim") is False and o.argument((1,), {}, "none") is None


def test_numbers_are_the_tensors_again_that_they_were(world):
    o = Operator(overload("equal"), world.values)
    t = torch.ones(1)
    one, two = o.tensors((t, 2.5))
    assert one is t and two.dtype is torch.float64 and two.item() == 2.5
    o = Operator(overload("add.Tensor"), world.values)
    assert o.tensors((t, 2)) == (t, 2) and o.overload((t, 2)) is o.op
    o = Operator(overload("eq.Tensor"), world.values)
    assert o.overload((t, 2)) is overload("eq.Scalar") is o.overload((t, 3)) and o.tensors((t, 2)) == (t, 2)
    assert o.overload((t, t)) is o.op
