"""The marks of a training loop: what a thread says that it does, whose it is, and what a tensor was marked as."""

import threading
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from torch.optim import optimizer  # noqa: E402

from memshim.allocator.cpu_region import BASE  # noqa: E402
from memshim.look import loop  # noqa: E402
from memshim.look.loop import STEP, Doing, Loop, tag_of  # noqa: E402


@pytest.fixture
def doing():
    said = []
    d = Doing(said.append)
    d.said = said
    return d


def test_modules_run_one_in_another(doing):
    doing.push("a")
    doing.push("b")
    doing.pop("b")
    doing.outside()
    doing.pop("a")
    doing.outside()
    assert doing.said == [f"{BASE}/a", f"{BASE}/a/b", f"{BASE}/a", f"{BASE}/a", BASE, BASE]


def test_a_module_that_was_left_by_an_error_goes_with_that_around_it(doing):
    for name in "abc":
        doing.push(name)
    doing.pop("a")
    assert doing.said[-1] == BASE
    doing.pop("x")
    assert doing.said[-1] == BASE and len(doing.said) == 5


def test_another_thread_does_something_else(doing):
    def run():
        doing.push("b")
        doing.pop("b")
        doing.outside()

    doing.push("a")
    t = threading.Thread(target=run)
    t.start()
    t.join()
    assert doing.said == [f"{BASE}/a", f"{BASE}-/b", "", BASE]


def test_nothing_is_said_once_no_loop_is_on(doing):
    doing.begin()
    doing.begin()
    doing.push("a")
    doing.end()
    assert doing.said == [f"{BASE}/a"]
    doing.end()
    assert doing.said[1:] == [""]
    doing.outside()
    assert doing.said[2:] == [BASE], "what ran is forgotten"


def test_without_a_report_nothing_is_said():
    d = Doing(None)
    d.begin()
    d.push("a")
    d.outside()
    d.pop("a")
    d.end()
    assert d._loops == 0


def test_threads_of_a_kind_of_device_have_one(monkeypatch):
    monkeypatch.setattr(loop, "_doing", {})
    cpu = loop.doing("cpu")
    assert loop.doing("cpu") is cpu is not loop.doing("cuda")
    cpu.push("a")
    assert loop.watcher.tag == f"{BASE}/a"
    cpu.pop("a")
    monkeypatch.setattr(torch._C, "_cuda_setMemoryMetadata", "set", raising=False)
    monkeypatch.setattr(loop, "_doing", {})
    assert loop.doing("cuda")._report == "set"


def test_a_module_has_one_number_in_a_process():
    a, b = torch.nn.ReLU(), torch.nn.ReLU()
    first = loop._number(a)
    assert loop._number(a) == first and int(loop._number(b)) > int(first)
    loop._numbers[id(b)] = loop._numbers[id(a)]  # of one that is gone and had its id
    assert loop._number(b) != first


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Sequential(torch.nn.Linear(2, 2))

    def forward(self, x):
        return self.a(x)


class Region:
    def __init__(self, where="cpu"):
        self.where = where

    def keys_of(self, t):
        return [id(t)]


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setattr(loop, "_doing", {})

    def make(where="cpu", begins=lambda: None):
        monkeypatch.setitem(loop._doing, where, Doing(None))
        return Loop(Net(), Region(where), begins)

    return make


def test_what_a_thread_did_is_a_loops_where_its_module_is(made):
    one, other = made(), made()
    numbers = one._names
    assert list(one.modules) == ["", "a", "a.0"]
    for tag, want in (
        ("", ""),
        (BASE, BASE),
        (f"{BASE}/{numbers[0]}", tag_of(0)),
        (f"{BASE}/{numbers[0]}/{numbers[2]}", tag_of(2)),
        (f"{BASE}/{numbers[1]}/{other._names[0]}", tag_of(1)),
        (f"{BASE}/step", STEP),
        (f"{BASE}/{other._names[1]}", BASE),
        (f"{BASE}-/{numbers[1]}", tag_of(1)),
        (f"{BASE}-/{other._names[1]}", ""),
    ):
        assert one.own(tag) == want == one.own(tag), tag
    assert one.input != other.input and one.gradient != other.gradient


def test_which_of_the_models_modules_it_is(made):
    one = made()
    a = one.modules["a"]
    compiled, scripted = torch.nn.Module(), torch.nn.Module()
    compiled._orig_mod, scripted.other = a, a
    assert [one._of(m) for m in (one._model, a, a[0], compiled, scripted)] == [0, 1, 2, 1, None]
    other = torch.nn.ReLU()
    one._enter(other, ())
    assert list(one.others) == [other]


def test_a_call_is_what_runs_from_its_begin_to_its_end(made):
    one = made()
    one._doing = SimpleNamespace(push=lambda n: said.append(("push", n)), pop=lambda n: said.append(("pop", n)))
    said, marked = [], []
    one._mark_inputs = marked.append
    a = one.modules["a"]
    one._enter(a, ("x",))
    one._leave(a)
    one._leave(torch.nn.ReLU())
    assert said == [("push", one._names[1]), ("pop", one._names[1])] and marked == []
    kwargs = {"k": 1}

    def call(kwargs):
        (lambda: one._enter(one._model, ("x",)))()

    call(kwargs)
    call(None)
    assert marked == [(("x",), {"k": 1}), (("x",), {})]


def test_tensors_are_marked_for_this_iteration_and_the_next(made):
    one = made()
    x, y = torch.ones(2), torch.ones(3)
    one._mark_inputs((x, [y, 3], {"k": None}))
    assert one.label_of(id(x), 99) == one.label_of(id(y), 1) == one.input and one.label_of(1, 1) == ""
    one._mark(x, "later")
    assert one.label_of(id(x), 0) == "later"
    one.next()
    assert one.label_of(id(x), 0) == "later" and one.labels == {}
    one._mark(x, "new")
    assert one.label_of(id(x), 0) == "new"
    one.next()
    one.next()
    assert one.label_of(id(x), 0) == ""


@pytest.mark.parametrize("annotates", [True, False])
def test_on_a_gpu_a_mark_is_of_an_address_and_a_size(made, monkeypatch, annotates):
    one = made("cuda")
    notes, kinds = [], ["cuda", "cpu", "cuda"]
    given = [SimpleNamespace(device=SimpleNamespace(type=k), nbytes=lambda n=n: n, data_ptr=lambda n=n: 100 + n)
             for k, n in zip(kinds, (8, 9, 0), strict=True)]  # fmt: skip
    monkeypatch.setattr(loop, "storages", lambda t: given)
    monkeypatch.setattr(torch._C, "_cuda_annotateMemory", lambda at, label: notes.append((at, label)), raising=False)
    one.annotates = annotates
    one._mark(torch.ones(1), "label")
    assert one.labels == {(108, 8): "label"} and notes == ([(108, "label")] if annotates else [])
    assert (one.label_of(108, 8), one.label_of(108, 7)) == ("label", "")


@pytest.mark.parametrize(
    "where, initialized, started", [("cpu", False, True), ("cuda", False, False), ("cuda", True, True)]
)
def test_before_cuda_starts_there_is_nothing_to_tag(made, monkeypatch, where, initialized, started):
    one = made(where)
    said = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: initialized)
    one._doing = SimpleNamespace(outside=lambda: said.append(1))
    one.outside()
    assert one.started() is started and len(said) == started


@pytest.mark.parametrize("where, has, annotates", [("cuda", True, True), ("cuda", False, False), ("cpu", True, False)])
def test_annotations_are_of_releases_that_have_them(made, monkeypatch, where, has, annotates):
    monkeypatch.setattr(torch._C, "_cuda_annotateMemory", 1, raising=False)
    if not has:
        monkeypatch.delattr(torch._C, "_cuda_annotateMemory")
    assert made(where).annotates is annotates


def test_a_loop_that_is_on_sees_calls_gradients_and_nothing_after(made):
    one = made()
    pushed = []
    one._doing = SimpleNamespace(
        push=pushed.append, pop=lambda n: pushed.append(f"-{n}"), begin=lambda: pushed.append("begin"),
        end=lambda: pushed.append("end"), outside=lambda: pushed.append("outside"),
    )  # fmt: skip
    one.on()
    x = torch.ones(1, 2)
    one._model.a(x).sum().backward()
    a, linear = one._names[1:]
    assert pushed == ["begin", "outside", a, linear, f"-{linear}", f"-{a}"]
    assert set(one.labels.values()) == {f"{one.gradient}a.0.{name}" for name in ("weight", "bias")}
    one.off()
    one.off()
    assert pushed[-1] == "end" and pushed.count("end") == 1
    one._model.a(x)
    assert pushed[-1] == "end"


@pytest.fixture
def noted(made):
    """A loop with what it says of threads, listed; it is off after."""
    one = made()
    one.said = []
    one._doing = SimpleNamespace(
        push=one.said.append, pop=lambda n: one.said.append(f"-{n}"), begin=lambda: one.said.append("begin"),
        end=lambda: one.said.append("end"), outside=lambda: one.said.append("outside"),
    )  # fmt: skip
    yield one
    one.off()


class Optimizer:
    """Calls what PyTorch's optimizers call around a step of theirs, the first of which imports its compiler."""

    def step(self):
        for hooks in (optimizer._global_optimizer_pre_hooks, optimizer._global_optimizer_post_hooks):
            for hook in list(hooks.values()):
                hook(self, (), {})
        return self


def test_the_step_of_an_optimizer_is_one_whoever_has_it(noted):
    noted.on()
    stepped = Optimizer().step()
    assert noted.said == ["begin", "outside", "step", "-step"] and list(noted.optimizers) == [stepped]


def test_a_loop_that_is_turned_on_again_begins_anew(noted):
    noted.on()
    handles = len(noted._handles)
    noted.on()
    assert noted.said == ["begin", "outside", "end", "begin", "outside"] and len(noted._handles) == handles == 6
    noted._model.a(torch.ones(1, 2))
    assert len(noted.said) == 9, "each module is seen once"


def test_a_loop_that_waits_marks_nothing(noted):
    noted.on()
    noted._torch = SimpleNamespace(_disable_dynamo=lambda hook: hook)
    noted.wait()
    noted._model(torch.ones(1, 2)).sum().backward()
    assert noted.said == ["begin", "outside", "end"] and noted.labels == {} and len(noted._handles) == 1


def test_what_is_compiled_is_not_marked(noted, monkeypatch):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    noted.on()
    noted._model(torch.ones(1, 2))
    assert noted.said == ["begin", "outside"] and noted.labels == {} and not noted.others


def test_only_what_gets_a_gradient_is_waited_for(noted):
    linear = noted.modules["a.0"]
    linear.bias.requires_grad = False
    noted._model.lazy = torch.nn.LazyLinear(1)
    noted.on()
    assert len(noted._handles) == 5
    linear.weight.register_post_accumulate_grad_hook(lambda p: None)
    noted._model.a(torch.ones(1, 2)).sum().backward()
    assert noted.labels == {(id(linear.weight.grad), 0): f"{noted.gradient}a.0.weight"}


def test_a_gradient_that_a_hook_took_is_not_marked(noted):
    weight = noted.modules["a.0"].weight
    weight.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
    noted.on()
    (weight * 2).sum().backward()
    assert noted.labels == {}


@pytest.mark.parametrize("turn", ["on", "wait"])
def test_a_loop_that_is_gone_sees_nothing(made, turn):
    begun, model = [], Net()
    one = Loop(model, Region(), lambda: begun.append(1))
    said = []
    one._doing = SimpleNamespace(push=said.append, pop=said.append, begin=lambda: None, outside=lambda: None)
    if turn == "wait":
        one._torch = SimpleNamespace(_disable_dynamo=lambda hook: hook)
    getattr(one, turn)()
    handles = one._handles
    del one
    try:
        model(torch.ones(1, 2)).sum().backward()
        Optimizer().step()
        assert said == begun == []
    finally:
        for h in handles:
            h.remove()


def test_a_loop_that_waits_says_that_the_model_runs(made):
    begun = []
    one = made(begins=lambda: begun.append(1))
    one._torch = SimpleNamespace(_disable_dynamo=lambda hook: hook)
    one.wait()
    one._model.a(torch.ones(1, 2))
    assert begun == []
    one._model(torch.ones(1, 2))
    assert begun == [1]
    one.off()
    one._model(torch.ones(1, 2))
    assert begun == [1]
