"""How many iterations of a case run, what each is called, and what is noted of the values that they read."""

import gc
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from memshim import pretend  # noqa: E402
from memshim.allocator.recording import Site  # noqa: E402
from memshim.case import iterations  # noqa: E402
from memshim.case.build import BuildError  # noqa: E402
from memshim.case.iterations import Iterations  # noqa: E402
from memshim.pretend import values  # noqa: E402


class Region:
    def __init__(self):
        self.calls, self.at = [], 0

    def now(self):
        return {"allocated": 1}

    def peaks(self):
        return {"allocated": 100}

    def restart_peaks(self):
        self.calls.append("restart")

    def mark(self):
        self.at += 10
        return self.at


class Marks:
    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *a: self.calls.append(name)


class Compiling:
    """Compiles in these iterations, by their number."""

    def __init__(self, within=()):
        self.within, self.number, self.seen = within, -1, False

    def restart(self):
        self.number += 1
        self.seen = self.number in self.within


@pytest.fixture
def world(monkeypatch):
    """A case's run whose iteration does what `does` says."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda index: None)
    monkeypatch.setattr(iterations.settings, "set_flags", lambda case: None)
    collects = []
    collector = SimpleNamespace(get_objects=list, disable=gc.disable, enable=gc.enable)
    collector.collect = lambda: collects.append(1)
    monkeypatch.setattr(iterations, "gc", collector)
    w = SimpleNamespace(does=lambda: None, ran=0, model=object(), how="source", compiles=(), of=None, collected=[])
    w.collects = collects

    def iterate():
        w.ran += 1
        w.collected.append(gc.isenabled())
        return w.does()

    def run(**case):
        w.ran = 0
        case = {"mode": "inference", "training": None, "source": "zoo.py:net", "dtype": ""} | case
        w.of = Iterations.__new__(Iterations)
        w.of.case, w.of.region, w.of.marks, w.of.passes, w.of.oom = case, Region(), Marks(), [], None
        w.of.compiling = Compiling(w.compiles)
        work = SimpleNamespace(model=w.model, how=w.how, iterate=iterate, args=["old"], kwargs={"old": "x"})
        monkeypatch.setattr(iterations, "prepare", lambda *a: work)
        w.of.all([], {})
        return [p["name"] for p in w.of.passes]

    w.run = run
    return w


@pytest.mark.parametrize(
    "case, ran, names",
    [
        ({}, 2, ["baseline", "first", "steady"]),
        ({"iterations": 4}, 4, ["baseline", "first", "steady", "steady", "steady"]),
        ({"mode": "training"}, 3, ["baseline", "first", "steady", "steady"]),
        ({"mode": "training", "training": {"iterations": 2}}, 2, ["baseline", "first", "steady"]),
        ({"mode": "training", "training": {}, "iterations": 9}, 3, ["baseline", "first", "steady", "steady"]),
        ({"iterations": 1}, 2, ["baseline", "first", "steady"]),  # a steady one is always there
    ],
)
def test_how_many_iterations_run(world, case, ran, names):
    assert (world.run(**case), world.ran, len(world.collects)) == (names, ran, ran + 1)
    assert [p["events"] for p in world.of.passes] == [10 * (i + 1) for i in range(len(names))]
    assert world.of.passes[0]["allocated"] == 1 and {p["allocated"] for p in world.of.passes[1:]} == {100}
    assert world.of.region.calls == ["restart"] * ran and not any(world.collected) and gc.isenabled()


@pytest.mark.parametrize(
    "compiles, ran",
    [
        ((0,), 2),
        ((0, 1), 3),
        ((1,), 3),  # it is part of the first pass
        (range(99), 12),  # ten more than wanted at most
    ],
)
def test_iterations_that_compile_are_the_first(world, compiles, ran):
    world.compiles = compiles
    assert world.run() == ["baseline", "first", "steady"]
    assert world.ran == ran and world.of.passes[-1]["events"] == 10 * (ran + 1)


def test_the_watched_are_the_model_or_the_optimizers_parameters(world, monkeypatch):
    world.run()
    assert world.of.marks.calls == ["on", "watch", "begin", "begin"]
    monkeypatch.setattr(iterations, "optimizers", lambda objects: [])
    world.model = None
    world.run()
    assert world.of.marks.calls[:2] == ["on", "watch_gradients"]


@pytest.mark.parametrize("phase, at", [("baseline", None), ("first", 1), ("steady", 2)])
def test_memory_that_runs_out_ends_it(world, monkeypatch, phase, at):
    monkeypatch.setattr(iterations, "out_of_memory", lambda e: str(e) if isinstance(e, RuntimeError) else "")

    def fails():
        if world.ran == at:
            raise RuntimeError("no memory")

    world.does = fails
    if at is None:
        monkeypatch.setattr(iterations.settings, "set_flags", lambda case: fails_at_once())
    names = world.run()
    assert world.of.oom == {"phase": phase, "text": "no memory"} and names[-1] == phase and gc.isenabled()
    assert world.of.passes[-1]["allocated"] == 100


def fails_at_once():
    raise RuntimeError("no memory")


def test_another_error_is_the_cases(world):
    def fails():
        raise ValueError("no")

    world.does = fails
    with pytest.raises(ValueError, match="^no$"):
        world.run()
    assert world.of.oom is None and gc.isenabled()


LENGTHS = {"iteration_inputs": [["float32[1]"], ["float32[2]"], ["float32[3]", "k=float32[4]"]]}


def test_each_length_is_an_iteration(world, monkeypatch):
    given = []
    monkeypatch.setattr(Iterations, "_move", lambda self, value: value)
    world.does = lambda: given.append(
        ([len(a) for a in world.of.work.args], {k: len(v) for k, v in world.of.work.kwargs.items()})
    )
    assert world.run(**LENGTHS) == ["baseline", "first", "steady", "steady"]
    assert given == [([3], {"old": 1}), ([2], {}), ([3], {"k": 4})], "the first has what the case was made with"
    assert world.of.marks.calls.count("own") == 3


@pytest.mark.parametrize("model, how, refused", [(None, "source", 1), (1, "artifact", 1), (1, "source", 0)])
def test_lengths_are_of_a_module(world, monkeypatch, model, how, refused):
    monkeypatch.setattr(Iterations, "_move", lambda self, value: value)
    world.model, world.how = model, how
    if refused:
        with pytest.raises(BuildError, match="^got lengths for zoo.py:net, which does its own iteration"):
            world.run(**LENGTHS)
    else:
        world.run(**LENGTHS)


@pytest.mark.parametrize(
    "site, loading, want",
    [
        (None, True, None),
        (Site("aten::empty", category="parameter"), True, Site("parameter", category="parameter")),
        (Site("aten::empty", category="buffer"), True, Site("buffer", category="buffer")),
        (Site("aten::empty"), True, Site("input", category="input")),
        (Site("aten::empty", category="gradient"), True, Site("aten::empty", category="gradient")),
        (Site("aten::empty", category="parameter"), False, Site("aten::empty", category="parameter")),
        (Site("aten::empty"), False, Site("aten::empty")),
    ],
)
def test_what_is_loaded_is_its_own_operator(site, loading, want):
    assert iterations._loaded(site, loading) == want


def test_what_came_before_the_first_iteration_was_loaded():
    run = Iterations.__new__(Iterations)
    run.passes, run.region = [{"events": 2}], SimpleNamespace(events=[1, 2, 3])
    assert run._loading() == [True, True, False]
    run.passes = []
    assert run._loading() == [True, True, True]


@pytest.mark.parametrize(
    "starts, begin, end, want",
    [
        ([(0, "forward"), (2, "backward")], 0, 4, [("forward", 0), ("backward", 20)]),
        ([(0, "forward"), (4, "step")], 1, 4, []),
        ([(1, "forward"), (3, "backward")], 1, 4, [("forward", 10), ("backward", 30)]),
        ([(1, "forward"), (1, "backward")], 0, 4, [("backward", 10)]),  # the last counts
        ([(1, "forward"), (2, "forward"), (3, "step")], 0, 4, [("forward", 10), ("step", 30)]),
    ],
)
def test_phases_that_begin_between_two_events(starts, begin, end, want):
    got = iterations.parts(starts, begin, end, [10 * i for i in range(9)])
    assert [(p["name"], p["events"]) for p in got] == want


def read(**change):
    given = {"file": "/x/a.py", "line": 3, "function": "f", "varied": True, "assumed": None, "endless": False,
             "bounded": True, "op": "aten::item", "count": 1, "given": None}  # fmt: skip
    return SimpleNamespace(**(given | change))


@pytest.fixture
def pretended(monkeypatch):
    """A process on a pretend GPU, with what its hook and its report say."""
    found = SimpleNamespace(reads=SimpleNamespace(found={}, log=[], assume={}, moment=None), turn=True)
    seen = SimpleNamespace(reads=[], timed=[], without_gradient=None, unsized=[], estimated=[])
    monkeypatch.setattr(iterations.where, "pretended", lambda: True)
    monkeypatch.setattr(values, "installed", lambda: found)
    monkeypatch.setattr(pretend, "report", lambda: seen, raising=False)
    return SimpleNamespace(hook=found, seen=seen)


def test_reads_are_listed_with_their_moments(pretended):
    first = read(varied=True, assumed=1)
    second = read(file="", line=0, function="g", bounded=False)
    third = read(endless=True, bounded=False, varied=False)
    pretended.seen.reads = [first, second, third]
    pretended.hook.reads.found = {"a": first, "b": second, "c": third}
    pretended.hook.reads.log = [(second, 5), (first, 6), (second, 7)]
    got = iterations.reads(lambda count: count * 10)
    assert [(r["file"], r["line"], r["varied"], r["open"]) for r in got["reads"]] == [
        ("/x/a.py", 3, False, ""),
        ("", 0, True, "an integer of no known range"),
        ("/x/a.py", 3, False, "a loop that ends by such a value"),
    ]
    assert got["log"] == [[1, 50], [0, 60], [1, 70]] and got["reads"][1]["function"] == "g"
    iterations.log_reads("moment")
    assert pretended.hook.reads.moment == "moment"


def test_on_a_real_gpu_no_read_is_known(monkeypatch):
    monkeypatch.setattr(iterations.where, "pretended", lambda: False)
    monkeypatch.setattr(values, "installed", lambda: pytest.fail("there is no hook"))
    assert iterations.reads(int) == {"reads": [], "log": []} and iterations.notes() == []
    iterations.log_reads(int)


def test_without_a_hook_no_read_is_known(pretended, monkeypatch):
    monkeypatch.setattr(values, "installed", lambda: None)
    assert iterations.reads(int) == {"reads": [], "log": []} and iterations.notes() == []
    iterations.log_reads(int)


@pytest.mark.parametrize("turn, assume, noted", [(True, {"routing": "balanced"}, 1), (True, {}, 0),
                                                 (False, {"routing": "balanced"}, 0)])  # fmt: skip
def test_indices_that_are_spread_are_noted(pretended, turn, assume, noted):
    pretended.hook.turn, pretended.hook.reads.assume = turn, assume
    assert [n["id"] for n in iterations.notes()] == ["value-stated"] * noted


OWN = "in memspec's own step, and was given 1: no step of the optimizer is skipped"


@pytest.mark.parametrize(
    "given, id, text, placed",
    [
        ({}, "value-read", "aten::item read 1 value that no kernel computed, and was given 0", True),
        ({"count": 2, "given": 7}, "value-read", "read 2 values that no kernel computed, and was given 7", True),
        ({"assumed": 3}, "value-stated", "no kernel computed, and was given 3, as assume: says", True),
        ({"assumed": 0, "given": 4}, "value-stated", "and was given 0, as assume: says", True),
        ({"assumed": "least", "given": 5}, "value-stated", "and was given 5, its least value as assume: says", True),
        ({"file": ""}, "value-read", "aten::item read 1 value that no kernel computed, and was given 0", False),
        ({"file": iterations.__file__, "assumed": 1}, "value-stated", OWN, False),
    ],
)
def test_a_value_that_was_read_is_noted(given, id, text, placed):
    note = iterations._of_read(read(**given))
    assert note["id"] == id and note["text"].endswith(text)
    assert ({k: note[k] for k in ("file", "line") if k in note}) == ({"file": "/x/a.py", "line": 3} if placed else {})


def named(*names):
    return [SimpleNamespace(name=n) for n in names]


def test_what_else_is_less_than_exact_is_noted(pretended):
    seen = pretended.seen
    seen.reads = [read()]
    seen.timed = [SimpleNamespace(what="a plan", count=3, file="/x/a.py", line=4),
                  SimpleNamespace(what="a tile", count=1, file="", line=0)]  # fmt: skip
    seen.without_gradient = SimpleNamespace(text=lambda: "no gradient")
    seen.unsized = named("cusolver: taken as 0", "CUDA graphs: of 3", "NCCL's own buffers", "x: taken as 0: y")
    seen.estimated = named("cudnn-formula: by formula: x")
    out = "outside-unknown"
    assert [tuple(n.values()) for n in iterations.notes()[1:]] == [
        ("timing-decides", "on a card a measured time decides a plan (×3)", "/x/a.py", 4),
        ("timing-decides", "on a card a measured time decides a tile (×1)"),
        ("gradient-missing", "no gradient"),
        ("workspace-unknown", "cusolver"),
        (out, "CUDA graphs: of 3: what it takes of the device is not known"),
        (out, "NCCL's own buffers: what it takes of the device is not known"),
        ("workspace-unknown", "x: taken as 0: y"),
        ("cudnn-formula", "by formula: x"),
    ]


class Device:
    type = "cuda"


def test_who_owns_what_is_there_at_the_end(monkeypatch):
    """Storages on the CPU stand for those of a GPU."""
    model, other, average = torch.nn.BatchNorm1d(2), torch.nn.Linear(3, 1), torch.nn.BatchNorm1d(6)
    alone = torch.ones(7)  # an optimizer's and no module's
    model.weight.grad, other.bias.grad = torch.ones(2), torch.ones(1)
    optimizer = SimpleNamespace(
        param_groups=[{"params": [*other.parameters(), alone]}],
        state={other.weight: {"momentum": torch.ones(3), "step": 3}},
    )
    x, y, empty = torch.ones(4), torch.ones(5), torch.ones(0)
    run = Iterations.__new__(Iterations)
    names = {id(model.weight): "bn", id(other.weight): "fc"}
    run.marks = SimpleNamespace(tensors=SimpleNamespace(of=lambda t: names.get(id(t))))
    run.work = SimpleNamespace(model=model, args=[x, empty, 3], kwargs={"y": y})

    def storages(t):
        s = t.untyped_storage()
        return [SimpleNamespace(device=Device, nbytes=s.nbytes, data_ptr=s.data_ptr)]

    monkeypatch.setattr(iterations, "storages", storages)
    unmade = torch.nn.Module.__new__(torch.nn.Module)
    there = [other, average, optimizer, 1, torch.nn.Module, unmade, torch.nn.BatchNorm1d(1, affine=False)]
    monkeypatch.setattr(iterations.gc, "get_objects", lambda: there)
    monkeypatch.setattr(iterations, "optimizers", lambda there: [o for o in there if o is optimizer])
    own = run.owners()
    want = [
        (model.weight, "parameter", "bn"),
        (model.weight.grad, "gradient", "bn"),
        (model.running_mean, "buffer", None),
        (x, "input", None),
        (y, "input", None),
        (other.weight, "parameter", "fc"),
        (other.bias.grad, "gradient", None),
        (optimizer.state[other.weight]["momentum"], "optimizer_state", "fc"),
        (average.bias, "parameter", None),
        (average.running_var, "buffer", None),
        (alone, "parameter", None),
    ]
    assert [own[t.data_ptr()] for t, *_ in want] == [(category, module) for _, category, module in want]
    assert empty.data_ptr() not in own
    monkeypatch.setattr(Device, "type", "cpu")
    assert run.owners() == {}
    run.work = None
    assert run.owners() == {}
