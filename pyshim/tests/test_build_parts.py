"""A case's model, piece by piece: what an archive is, what a runtime makes, where a module comes from, and
what each refuses."""

import sys
import zipfile
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from memshim.case import build, pickles  # noqa: E402
from memshim.case.build import BuildError, Made, NothingToRun  # noqa: E402


def archive(path, *names):
    with zipfile.ZipFile(path, "w") as z:
        for name in names:
            z.writestr(name, "")
    return str(path)


SCRIPT, EXPORT, STRIPPED = "net/code/x.py", "net/archive_format", "net/.memspec/stripped.json"


@pytest.mark.parametrize(
    "name, want",
    [
        ("net/code/x.py", "torchscript"),
        ("serialized_exported_program.json", "export"),
        ("net/archive_format", "export"),
        ("net/models/model.json", "export"),
    ],
)
def test_what_an_archive_is_for(tmp_path, name, want):
    assert build._runtime_of(archive(tmp_path / "n.pt", "net/data.pkl", name)) == want


@pytest.mark.parametrize(
    "make, want",
    [
        (
            lambda p: archive(p, "net/data.pkl", "net/a/code/"),
            "got neither a TorchScript archive nor an exported program",
        ),
        (lambda p: p.write_text("x"), "not an archive of PyTorch"),
        (lambda p: None, "no such file"),
    ],
)
def test_what_is_no_archive(tmp_path, make, want):
    make(tmp_path / "n.pt")
    with pytest.raises(BuildError) as e:
        build._runtime_of(str(tmp_path / "n.pt"))
    assert str(e.value) == f"{tmp_path}/n.pt: {want}"


@pytest.mark.parametrize(
    "names, runtime, want",
    [
        ([SCRIPT], "torchscript", True),
        ([SCRIPT], "export", False),
        ([EXPORT], "export", True),
        ([SCRIPT, STRIPPED], "torchscript", False),
        (None, "torchscript", False),
    ],
)
def test_whether_an_artifact_can_run(tmp_path, names, runtime, want):
    path = archive(tmp_path / "n.pt", *names) if names else str(tmp_path / "absent.pt")
    assert build._runnable({"artifact": path}, runtime) is want
    assert build._runnable({"artifact": ""}, runtime) is False


class Program:
    """An exported program."""

    def __init__(self):
        self.example_inputs, self.state_dict, self.constants = "inputs", {}, {}

    def module(self):
        return "module"


@pytest.fixture
def loaded(monkeypatch):
    """What is loaded, moved and made, each noted."""
    said = []
    program = Program()
    monkeypatch.setattr(pickles, "load_program", lambda path: said.append(path) or program)
    monkeypatch.setattr(torch.jit, "load", lambda path, map_location: said.append((path, map_location)) or NET)
    return said, program


NET = torch.nn.Linear(2, 3)


def test_an_archive_is_loaded_with_its_weights(tmp_path, loaded):
    said, program = loaded
    script, exported = archive(tmp_path / "s.pt", SCRIPT), archive(tmp_path / "e.pt2", EXPORT)
    assert build.load_artifact(script, "cuda") is NET and build.load_artifact(exported, "cpu") == "module"
    assert said == [(script, "cpu"), exported] and program.example_inputs is None
    stripped = archive(tmp_path / "t.pt", SCRIPT, STRIPPED)
    with pytest.raises(BuildError, match="t.pt is stripped: want the archive with its weights, or its source$"):
        build.load_artifact(stripped, "cpu")


def test_a_program_that_may_run_code_is_refused(monkeypatch):
    def unsafe(path):
        raise pickles.Unsafe("no")

    monkeypatch.setattr(pickles, "load_program", unsafe)
    with pytest.raises(BuildError, match="^no$"):
        build._program("n.pt2")


def test_a_program_is_moved_to_its_device(monkeypatch):
    from torch.export import passes

    monkeypatch.setattr(passes, "move_to_device_pass", lambda program, device: (program, device))
    program = Program()
    assert build.on_device(program, "cpu") is program
    assert build.on_device(program, "cuda") == (program, "cuda")


OF_SOURCE = {
    "mode": "inference", "runtime": "", "source": "zoo.py:net", "dir": ".", "artifact": "", "dtype": "",
}  # fmt: skip
X = torch.ones(1, 2)
WEIGHTS = 4 * (6 + 3)


@pytest.fixture
def source(monkeypatch):
    net = torch.nn.Linear(2, 3)
    monkeypatch.setattr(build, "load_source", lambda source, folder: net)
    return net


def made(change=(), args=(X,), **kwargs):
    return build.make(OF_SOURCE | dict(change), list(args), kwargs)


@pytest.mark.parametrize("dtype, weights", [("", WEIGHTS), ("float64", 2 * WEIGHTS)])
def test_eager_is_the_live_model(source, dtype, weights):
    found = made({"dtype": dtype})
    assert found == Made(source, "eager", "source", weights) and not source.training
    assert made({"runtime": "eager"}).runtime == "eager"


def test_a_live_model_is_made_for_inputs_that_it_takes(source):
    with pytest.raises(BuildError) as e:
        made(args=(X, X))
    assert str(e.value) == "got inputs one without a name, one without a name; want those of Linear.forward(input)"


def test_a_source_is_scripted_else_traced(source, monkeypatch):
    assert made({"runtime": "torchscript"})[1:] == ("torchscript", "source, scripted", WEIGHTS)
    given = []

    def refuses(model):
        raise RuntimeError("no")

    monkeypatch.setattr(torch.jit, "script", refuses)
    monkeypatch.setattr(torch.jit, "trace", lambda model, **example: given.append(example) or model)
    assert made({"runtime": "torchscript"})[1:] == ("torchscript", "source, traced", WEIGHTS)
    made({"runtime": "torchscript"}, (), input=X)
    assert given == [{"example_inputs": (X,)}, {"example_kwarg_inputs": {"input": X}}]


def test_an_archive_of_torchscript_is_run(tmp_path, loaded, source):
    path = archive(tmp_path / "s.pt", SCRIPT)
    case = {"runtime": "torchscript", "artifact": path}
    assert made(case) == Made(path, "torchscript", "artifact", WEIGHTS)
    found = made(case | {"dtype": "float64"})
    assert found.how == "artifact" and found.model is NET and found.weights == 2 * WEIGHTS
    NET.float()


def test_a_source_is_exported(source, monkeypatch):
    given, program = [], Program()
    program.state_dict = {"w": torch.ones(4), "n": 3}
    monkeypatch.setattr(torch.export, "export", lambda *a: given.append(a) or program)
    assert made({"runtime": "export", "dtype": "float64"}, y=1) == Made(program, "export", "source, exported", 16)
    assert given == [(source, (X,), {"y": 1})] and source.weight.dtype is torch.float64


def test_a_program_is_cast_as_the_case_says(tmp_path, loaded):
    program, path = loaded[1], archive(tmp_path / "e.pt2", EXPORT)
    case = {"runtime": "export", "artifact": path, "source": ""}
    weight = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    program.state_dict = {"w": weight, "b": torch.ones(2), "i": torch.ones(2, dtype=torch.int64), "o": "object"}
    program.constants = {"c": torch.ones(2)}
    assert made(case) == Made(program, "export", "artifact", 8 + 8 + 16) and program.state_dict["w"] is weight
    assert made(case | {"dtype": "float64"}).weights == 16 + 16 + 16
    state = program.state_dict
    assert [(k, type(v).__name__, getattr(v, "dtype", None)) for k, v in state.items()] == [
        ("w", "Parameter", torch.float64),
        ("b", "Tensor", torch.float64),
        ("i", "Tensor", torch.int64),
        ("o", "str", None),
    ]
    assert not state["w"].requires_grad and program.constants["c"].dtype is torch.float64


@pytest.mark.parametrize(
    "change, want",
    [
        ({"mode": "training"}, "got mode training, want inference: a training step is not measured yet"),
        ({"source": ""}, "runtime eager is measured on the live model: give source: in memspec.yaml (runtime: "
         "torchscript or export is measured on the artifact)"),
        ({"source": "", "runtime": "torchscript"}, "runtime torchscript is measured on the archive: there is no "
         "artifact; give source: in memspec.yaml"),
        ({"source": "", "runtime": "export", "artifact": "a.pt"}, "runtime export is measured on the exported program: "
         "a.pt is stripped, not there or another kind; give source: in memspec.yaml"),
    ],
)  # fmt: skip
def test_what_cannot_be_run(change, want):
    with pytest.raises(NothingToRun) as e:
        made(change)
    assert str(e.value) == want


def forward(x, *more, y: int, z=3, **named):
    return x


@pytest.mark.parametrize(
    "args, kwargs, given",
    [((), {"y": 1}, "y"), ((X, X), {}, "one without a name, one without a name"), ((), {}, "none")],
)
def test_inputs_that_forward_does_not_take(args, kwargs, given):
    model = SimpleNamespace(forward=forward)
    with pytest.raises(BuildError) as e:
        build.accepts(model, list(args), kwargs)
    assert str(e.value) == f"got inputs {given}; want those of SimpleNamespace.forward(x, *more, y, z=…, **named)"
    assert build.accepts(model, [X], {"y": 1, "w": 2}) is None


def test_a_model_is_placed_as_its_runtime_places_it(loaded, monkeypatch):
    said, program = loaded
    net = torch.nn.Linear(2, 3)
    assert build.place(Made(net, "eager", "", 0), "cpu") == (net, [net.weight, net.bias])
    assert build.place(Made("s.pt", "torchscript", "", 0), "cuda") == (NET, [NET.weight, NET.bias])
    assert build.place(Made(net, "torchscript", "", 0), "cpu").model is net and said == [("s.pt", "cuda")]
    saved = []
    monkeypatch.setattr(torch.jit, "save", lambda model, buffer: saved.append(model) or buffer.write(b"12"))
    monkeypatch.setattr(torch.jit, "load", lambda buffer, map_location: (buffer.read(), map_location))
    assert build._load_script(net, "cuda") == (b"12", "cuda") and saved == [net]
    program.module = lambda: net
    monkeypatch.setattr(build, "_by_name", lambda program, model: ("by name", program, model))
    assert build.place(Made(program, "export", "", 0), "cpu") == (
        ("by name", program, net),
        [net.weight, net.bias],
    )


def exported(names, positional):
    spec = SimpleNamespace(child=lambda i: SimpleNamespace(num_children=positional) if i == 0 else None)
    return SimpleNamespace(
        module_call_graph=[SimpleNamespace(signature=SimpleNamespace(forward_arg_names=names))],
        call_spec=SimpleNamespace(in_spec=spec),
    )


@pytest.mark.parametrize(
    "names, args, kwargs, want",
    [
        (["x", "y", "z"], (1, 2), {"z": 3}, ((1, 2), {"z": 3})),
        (["x", "y", "z"], (1,), {"y": 2, "z": 3}, ((1, 2), {"z": 3})),
        (["x", "y", "z"], (), {"z": 3, "y": 2, "x": 1}, ((1, 2), {"z": 3})),
        (["x", "y", "z"], (), {"y": 2, "x": 1}, ((1, 2), {})),
        (["x", "y", "z"], (1,), {"z": 3}, ((1,), {"z": 3})),
        (["x", "y", "z"], (1, 2, 3), {}, ((1, 2, 3), {})),
        (None, (1,), {}, ((1,), {})),
    ],
)
def test_a_program_takes_arguments_by_name(names, args, kwargs, want):
    call = build._by_name(exported(names, 2), lambda *a, **kw: (a, kw))
    assert call(*args, **kwargs) == want


def test_state_in_the_order_in_which_it_is_moved():
    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.own = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("kept", torch.ones(3))
            self.a, self.b = torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight  # tied
            self.register_buffer("view", self.own.data[1:])
            self.lazy = torch.nn.LazyLinear(2, bias=False)

    m = Outer()
    found = build.in_order(m)
    assert [id(t) for t in found] == [id(t) for t in (m.a.weight, m.lazy.weight, m.own, m.kept)]


def test_what_has_no_storage_is_moved_once():
    m = torch.nn.Sequential(torch.nn.BatchNorm1d(2, device="meta"))
    own = [*m[0].parameters(), *m[0].buffers()]
    assert len(own) == 5 and [id(t) for t in build.in_order(m)] == [id(t) for t in own]


# Sources.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in sys.modules[name].__file__:
            del sys.modules[name]


def test_what_a_name_holds_is_called_unless_it_is_a_module(folder, monkeypatch):
    (folder / "zoo_here.py").write_text(
        "import torch\nnet = torch.nn.ReLU()\nclass Inner:\n    made = lambda: 7\nnumber = 5\n"
    )
    assert type(build.load_source("zoo_here.py:net", str(folder))).__name__ == "ReLU"
    assert build.load("zoo_here.py:Inner.made", str(folder)) == 7 and build.load("zoo_here:number", str(folder)) == 5
    assert sys.path[0] == str(folder) and sys.path.count(str(folder)) == 1
    with pytest.raises(BuildError, match=r"^zoo_here.py:Inner.made: Inner.made gives int, want a torch.nn.Module$"):
        build.load_source("zoo_here.py:Inner.made", str(folder))


def test_a_model_that_is_kept_is_given_once(monkeypatch):
    torch.manual_seed(3)
    want = torch.rand(1)
    torch.manual_seed(3)
    build.keep("zoo.py:net", "d", NET)
    torch.manual_seed(4)
    monkeypatch.setattr(build, "named", lambda source, folder: 5)
    assert build.load("zoo.py:net", "d") is NET and torch.rand(1) == want and build.load("zoo.py:net", "d") == 5


@pytest.mark.parametrize(
    "source, want",
    [
        ("net", "got source 'net', want FILE.py:NAME or package.module:NAME"),
        (":net", "got source ':net', want FILE.py:NAME or package.module:NAME"),
        ("zoo_two.py:", "got source 'zoo_two.py:', want FILE.py:NAME or package.module:NAME"),
        ("sub/../absent.py:net", "{folder}/absent.py: no such file"),
        ("zoo_two.py:a.b", "{folder}/zoo_two.py: got no a.b"),
        ("zoo_two:b", "{folder}/zoo_two.py: got no b"),
        ("sys:absent_name", "sys: got no absent_name"),
        ("no_such.thing:x", "got source 'no_such.thing', and Python finds no module no_such"),
        ("zoo_two.thing:x", "got source 'zoo_two.thing', and Python finds no module zoo_two.thing"),
    ],
)
def test_a_source_that_there_is_not(folder, source, want):
    (folder / "zoo_two.py").write_text("a = 1\n")
    with pytest.raises(BuildError) as e:
        build.named(source, str(folder))
    assert str(e.value) == want.format(folder=folder)


def test_a_module_that_a_source_lacks_is_its_own_error(folder):
    (folder / "zoo_three.py").write_text("import no_such_module_at_all\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        build.named("zoo_three:x", str(folder))


def test_a_file_is_a_module_once(folder):
    (folder / "zoo_four.py").write_text("a = []\n")
    first = build.named("zoo_four.py:a", str(folder))
    assert build.named("zoo_four.py:a", str(folder)) is first and sys.modules["zoo_four"].a is first
    other = folder / "other"
    other.mkdir()
    (other / "zoo_four.py").write_text("a = []\n")
    assert build.named("zoo_four.py:a", str(other)) is not first and sys.modules["zoo_four"].a is first
    assert build.named("zoo_four.py:__name__", str(other)).startswith("zoo_four_")
    assert build._origin("zoo_four.inner") is None
