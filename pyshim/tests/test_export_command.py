"""The export command, piece by piece: what it writes, of which kind, and what it says."""

import argparse
import json

import pytest

torch = pytest.importorskip("torch")

from memshim import binary  # noqa: E402
from memshim.case import inputs, memspec_yaml  # noqa: E402
from memshim.case.build import BuildError  # noqa: E402
from memshim.exporting import command, compare_operators, find_program, other_dtypes  # noqa: E402
from memshim.exporting.command import ExportError, main  # noqa: E402
from memshim.origin import provenance  # noqa: E402
from memshim.origin.dependencies import Depends  # noqa: E402

AUTO = torch.export.Dim.AUTO


def asked(**given):
    return argparse.Namespace(**{"kind": None, "strip": False, **given})


def net(x, y=None):
    return x


@pytest.mark.parametrize(
    "kind, path, want",
    [
        (None, "net.pt", "script"),
        (None, "net.pt2", "export"),
        ("trace", "net.pt2", "trace"),
        ("export", "net.pt", "export"),
    ],
)
def test_the_kind_of_an_artifact(kind, path, want):
    assert command._kind(asked(kind=kind), path) == want


@pytest.fixture
def exports(monkeypatch):
    """Calls of export, each raising what is set for its kind."""

    class Exports(list):
        refused: dict = {}

    calls = Exports()

    def export(model, path, *args, kind, **more):
        calls.append((kind, path, args, more))
        if kind in calls.refused:
            raise calls.refused[kind]
        return path

    monkeypatch.setattr(command, "export", export)
    return calls


def test_what_is_asked_for_is_written(exports, capsys):
    opened = ({0: AUTO},)
    assert command._write(asked(strip=True), net, "n.pt2", [1], {"y": 2}, opened) == "n.pt2"
    assert exports == [("export", "n.pt2", (1,), {"strip": True, "dynamic_shapes": opened, "y": 2})]
    assert capsys.readouterr() == ("", "")


def test_what_cannot_be_scripted_is_traced_which_is_said(exports, capsys):
    exports.refused = {"script": RuntimeError("no such type:\nmore")}
    assert command._write(asked(), net, "n.pt", [1], {"y": 2}) == "n.pt"
    assert exports == [
        ("script", "n.pt", (1,), {"strip": False, "dynamic_shapes": None, "y": 2}),
        ("trace", "n.pt", (1,), {"strip": False, "y": 2}),
    ]
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("memshim: torch.jit.script refuses it (RuntimeError: no such type: (")
    assert err.endswith("): traced with these inputs, --kind script shows why\n")


def test_inputs_by_name_alone_are_traced_with(exports):
    exports.refused = {"script": RuntimeError("no")}
    assert command._write(asked(), net, "n.pt", [], {"y": 2}) == "n.pt" and len(exports) == 2


@pytest.mark.parametrize(
    "kind, path, args, error",
    [
        ("script", "n.pt", [1], RuntimeError("the kind was asked for")),
        (None, "n.pt2", [1], RuntimeError("a program is not scripted")),
        (None, "n.pt", [], RuntimeError("nothing to trace with")),
        (None, "n.pt", [1], ExportError("ours")),
        (None, "n.pt", [1], binary.BinaryError("memspec's")),
        (None, "n.pt", [1], OSError("the disk's")),
    ],
)
def test_what_is_not_traced_raises_its_error(exports, kind, path, args, error, capsys):
    exports.refused = {"script": error, "export": error}
    with pytest.raises(type(error)) as e:
        command._write(asked(kind=kind), net, path, args, {})
    assert e.value is error and len(exports) == 1 and capsys.readouterr().err == ""


def test_what_cannot_be_traced_either_is_said_with_what_can_be_done(exports):
    exports.refused = {"script": RuntimeError("no"), "trace": TypeError("why:")}
    with pytest.raises(ExportError) as e:
        command._write(asked(), net, "a/n.pt", [1], {})
    text = str(e.value)
    assert text.startswith("torch.jit.trace refuses it too (TypeError: why: (")
    assert text.endswith("): want -o a/n.pt2, an exported program; or record a run of it: python -m memshim capture")
    exports.refused["trace"] = OSError("the disk's")
    with pytest.raises(OSError, match="the disk's"):
        command._write(asked(), net, "n.pt", [1], {})


def t(*sizes):
    return torch.zeros(sizes)


@pytest.mark.parametrize(
    "args, kwargs, others, other_kwargs, want",
    [
        ([t(2, 3)], {}, [t(4, 3)], {}, ({0: AUTO},)),
        ([t(2, 3), 5], {}, [t(2, 4), 5], {}, ({1: AUTO}, None)),
        ([[t(2), t(3)]], {}, [[t(2), t(4)]], {}, ([{}, {0: AUTO}],)),
        ([(t(2),)], {}, [(t(3),)], {}, (({0: AUTO},),)),
        ([], {"x": t(2, 3), "n": 1}, [], {"x": t(3, 4), "n": 1}, {"x": {0: AUTO, 1: AUTO}, "n": None}),
        ([{"a": t(2)}], {}, [{"a": t(3)}], {}, ({"a": {0: AUTO}},)),
        ([], {}, [], {}, ()),
    ],
)
def test_the_sizes_that_two_inputs_leave_open(args, kwargs, others, other_kwargs, want):
    assert command._opened((args, kwargs), (others, other_kwargs)) == want


def test_open_sizes_are_of_inputs_by_position_or_by_name():
    with pytest.raises(ExportError, match="^got inputs by position and by name, want all by position or all by name"):
        command._opened(([t(2)], {"y": t(2)}), ([t(3)], {"y": t(3)}))


class Module:
    def __init__(self, forward):
        self.forward = forward


@pytest.mark.parametrize(
    "forward, args, kwargs, want",
    [
        (lambda x, y: 0, (t(2, 3), 4), {}, {"x": {0: AUTO, 1: AUTO}, "y": None}),
        (lambda *xs: 0, (t(2), t(3, 4)), {}, {"xs": ({0: AUTO}, {0: AUTO, 1: AUTO})}),
        (lambda x, *, y: 0, ([t(2), 1],), {"y": t()}, {"x": [{0: AUTO}, None], "y": {}}),
    ],
)
def test_all_sizes_are_open_by_parameter(forward, args, kwargs, want):
    assert command._all_open(Module(forward), args, kwargs) == want


@pytest.mark.parametrize(
    "why, code, text",
    [
        ([], 0, "n.pt: is what its source gives\n"),
        (["a.py has changed"], 1, "n.pt: stale: a.py has changed\n"),
        (["a.py has changed", "w is gone"], 1, "n.pt: stale: a.py has changed; w is gone\n"),
    ],
)
def test_whether_an_artifact_is_stale(monkeypatch, capsys, why, code, text):
    monkeypatch.setattr(command, "stale", lambda *given: why if given == ("n.pt", net, "f", Depends()) else given)
    assert command._check("n.pt", net, "f") == code
    assert capsys.readouterr().out == text


@pytest.mark.parametrize("text", [None, "no JSON", "{}", "[]"])
def test_a_sidecar_that_does_not_say_what_it_was_made_from(tmp_path, text):
    file = tmp_path / "n.pt"
    if text is not None:
        (tmp_path / "n.pt.inputs.json").write_text(text)
    with pytest.raises(
        ExportError, match=r"inputs\.json: does not say what the artifact was made from \(\w+\): export"
    ):
        command.stale(file, net)


def test_what_it_was_made_from_joins_the_sidecar(tmp_path):
    file, sidecar = tmp_path / "n.pt", tmp_path / "n.pt.inputs.json"
    command.report_made(file, {"é": 1})
    assert sidecar.read_text(encoding="utf-8") == '{\n  "inputs": [],\n  "made": {\n    "é": 1\n  }\n}\n'
    sidecar.write_text('{"inputs": ["x"], "made": {}, "eager": 1}')
    command.report_made(file, {"a": 2})
    assert json.loads(sidecar.read_text()) == {"inputs": ["x"], "made": {"a": 2}, "eager": 1}


@pytest.fixture
def world(monkeypatch):
    """The command with models, cases and writing that are recorded."""

    class World:
        made: list = []
        written: list = []
        cases: list = []
        stale: list = []
        loaded: list = []

    w = World()
    w.made, w.written, w.loaded, w.stale = [], [], [], []

    class NoReads:
        def begin(self):
            return "reads"

    def write(a, model, path, args, kwargs, opened=None):
        w.written.append((path, [tuple(x.shape) for x in args], {k: tuple(v.shape) for k, v in kwargs.items()}, opened))
        return path

    monkeypatch.setattr(command, "Reads", NoReads)
    monkeypatch.setattr(command, "load_source", lambda *given: w.loaded.append(given) or net)
    monkeypatch.setattr(command, "_write", write)
    monkeypatch.setattr(command, "stale", lambda path, model, *more: w.stale.append((path, *more)) or w.why[path])
    monkeypatch.setattr(provenance, "made", lambda *given: given)
    monkeypatch.setattr(command, "report_made", lambda path, facts: w.made.append((path, facts)))
    monkeypatch.setattr(memspec_yaml, "load", lambda source, names: w.cases)
    return w


def test_an_artifact_of_a_source(world, capsys):
    words = ["zoo.py:net", "-o", "n.pt", "--input", "x=float32[B,3]", "--dim", "B=1"]
    assert main(words) == 0
    assert capsys.readouterr().out == "n.pt\n" and world.loaded == [("zoo.py:net",)]
    assert world.written == [("n.pt", [], {"x": (1, 3)}, None)]
    facts = ("n.pt", "zoo.py:net", ".", net, ["python", "-m", "memshim", "export", *words])
    assert [(path, made[:5]) for path, made in world.made] == [("n.pt", facts)] and len(world.made[0][1]) == 6


@pytest.mark.parametrize(
    "words, want",
    [
        (["--dim", "B=1"], ({"x": (2, 3)}, {"x": {0: AUTO}})),
        (["--dim", "B=5"], ({"x": (5, 3)}, {"x": {0: AUTO}})),
        (["--dim", "B=5", "--kind", "trace"], ({"x": (5, 3)}, None)),
    ],
)
def test_a_program_leaves_open_what_dims_name(world, words, want):
    assert main(["zoo.py:net", "-o", "n.pt2", "--input", "x=float32[B,3]", *words]) == 0
    assert world.written == [("n.pt2", [], *want)]


def test_a_program_without_dims_has_none_open(world):
    assert main(["zoo.py:net", "-o", "n.pt2", "--input", "float32[1,3]"]) == 0
    assert world.written == [("n.pt2", [(1, 3)], {}, None)]


def test_an_artifact_is_checked_and_not_written(world, capsys):
    world.why = {"n.pt": ["w is gone"]}
    assert main(["zoo.py:net", "-o", "n.pt", "--check"]) == 1
    assert capsys.readouterr().out == "n.pt: stale: w is gone\n" and world.written == world.made == []


def test_the_artifacts_of_a_memspec_yaml(world, capsys):
    case = {"source": "zoo.py:net", "artifact": "a.pt", "dir": "d", "inputs": ["float32[2]"], "dtype": "bfloat16"}
    world.cases = [
        case,
        case | {"inputs": ["float32[9]"]},
        case | {"source": ""},
        case | {"artifact": ""},
        case | {"artifact": "b.pt", "depends": {"ignore": ["x"]}},
    ]
    assert main(["d/memspec.yml", "--strip", "--kind", "trace"]) == 0
    assert capsys.readouterr().out == "a.pt\nb.pt\n", "each artifact once"
    assert world.written == [("a.pt", [(2,)], {}, None), ("b.pt", [(2,)], {}, None)]
    assert world.loaded == [("zoo.py:net", "d")] * 2
    line = ["python", "-m", "memshim", "export", "memspec.yml", "--strip", "--kind", "trace"]
    assert [(path, *made[:5], made[6]) for path, made in world.made] == [
        ("a.pt", "a.pt", "zoo.py:net", "d", net, line, Depends()),
        ("b.pt", "b.pt", "zoo.py:net", "d", net, line, Depends(("x",))),
    ]
    assert main(["memspec.yaml"]) == 0 and world.made[-1][1][4] == [*line[:4], "memspec.yaml"]


def test_each_artifact_of_a_memspec_yaml_is_checked(world, capsys):
    case = {"source": "zoo.py:net", "dir": "d", "inputs": [], "dtype": ""}
    world.cases = [case | {"artifact": "a.pt"}, case | {"artifact": "b.pt"}]
    world.why = {"a.pt": ["w is gone"], "b.pt": []}
    assert main(["memspec.yaml", "--check"]) == 1
    assert capsys.readouterr().out == "a.pt: stale: w is gone\nb.pt: is what its source gives\n"
    assert world.stale == [("a.pt", "d", Depends()), ("b.pt", "d", Depends())] and world.written == []
    world.why["a.pt"] = []
    assert main(["memspec.yaml", "--check"]) == 0


@pytest.mark.parametrize(
    "words, want",
    [
        (["memspec.yaml"], "memspec.yaml: got no model with both source: and artifact:"),
        (["m.yaml", "-o", "n.pt"], "got -o, --input or --dim beside a memspec.yaml, want none: it says all of it"),
        (["m.yaml", "--input", "x"], "got -o, --input or --dim beside a memspec.yaml, want none: it says all of it"),
        (["m.yaml", "--dim", "B=1"], "got -o, --input or --dim beside a memspec.yaml, want none: it says all of it"),
        (
            ["zoo.py:net", "-o", "n.pt", "--input", "strip=float32[1]", "--input", "kind=float32[1]"],
            "got an input named 'kind': give it by position",
        ),
    ],
)
def test_what_the_command_refuses(world, capsys, words, want):
    assert main(words) == 2
    assert capsys.readouterr().err == f"memshim: {want}\n" and world.written == []


def test_an_output_is_wanted(world, capsys):
    with pytest.raises(SystemExit):
        main(["zoo.py:net"])
    assert "got no -o FILE, want the artifact to write" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [
        BuildError("b"),
        ExportError("e"),
        find_program.StripError("s"),
        inputs.InputError("i"),
        memspec_yaml.SpecError("y"),
        binary.BinaryError("m"),
    ],
)
def test_every_error_of_the_project_is_one_line(world, monkeypatch, capsys, error):
    def fails(*given):
        raise error

    monkeypatch.setattr(command, "load_source", fails)
    assert main(["zoo.py:net", "-o", "n.pt"]) == 2
    assert capsys.readouterr() == ("", f"memshim: {error}\n")


@pytest.fixture
def saved(monkeypatch, tmp_path):
    """What is known of the live model beside an artifact, as it is set."""

    class Saved:
        keeps: list = [None, None]
        ran: dict = {"same": True, "first": ""}
        found: tuple | None = None
        asked: list = []

    s = Saved()
    s.asked = []

    class Archive:
        def save(self, file):
            s.asked.append("saved")

    def find(model, args, kwargs, shapes, *of):
        s.asked.append(("find", shapes, *of))
        return s.found

    def kept(before, model):
        assert before == "before"
        return s.keeps.pop(0)

    def traced(model, args=None, **named):
        s.asked.append(("trace", args, named))
        return Archive()

    monkeypatch.setattr(torch.jit, "script", lambda model: s.asked.append("script") or Archive())
    monkeypatch.setattr(torch.jit, "trace", traced)
    monkeypatch.setattr(torch.export, "export", lambda *given, **named: s.asked.append((given[1:], named)) or "program")
    monkeypatch.setattr(torch.export, "save", lambda program, file: s.asked.append((program, file)))
    monkeypatch.setattr(command.Releases, "of", lambda self, program: ["releases"])
    monkeypatch.setattr(compare_operators, "attributes", lambda model: "before")
    monkeypatch.setattr(compare_operators, "keeps", kept)
    monkeypatch.setattr(compare_operators, "compare", lambda *given: dict(s.ran))
    monkeypatch.setattr(compare_operators, "asks_contiguous", lambda *given: True)
    monkeypatch.setattr(provenance, "modules", lambda model: ["modules"])
    monkeypatch.setattr(other_dtypes, "compare", lambda model, program, args, kwargs: {"of": program})
    monkeypatch.setattr(find_program, "find", find)
    monkeypatch.setattr(find_program, "pack", lambda found: {"eager": found[0]} if found else {})
    return s


KEPT = {"same": False, "first": "a pass keeps y"}
BESIDE = {"contiguous": True, "modules": ["modules"]}
FIND = ("find", "shapes", "program")


@pytest.mark.parametrize(
    "keeps, ran, found, want, asked",
    [
        (None, {"same": True, "first": ""}, ("p",), {"operators": {"same": True, "first": ""}}, []),
        (None, {"same": False, "first": "x"}, None, {"operators": {"same": False, "first": "x"}}, [FIND]),
        (
            None,
            {"same": False, "first": "x"},
            ("p",),
            {"operators": {"same": False, "first": "x"}, "retyped": {"of": "p"}, "eager": "p"},
            [FIND],
        ),
        (
            None,
            {"same": False, "first": "a second pass differs"},
            ("p",),
            {"operators": {"same": False, "first": "a second pass differs"}},
            [],
        ),
        ("a pass keeps y", {"same": True, "first": ""}, ("p",), {"operators": KEPT}, []),
    ],
)
def test_the_program_beside_an_exported_one(saved, keeps, ran, found, want, asked):
    saved.keeps, saved.ran, saved.found = [keeps], ran, found
    facts = command._save(net, "f", "export", (1,), {"y": 2}, "shapes")
    assert facts == {"releases": ["releases"], **BESIDE, "retyped": {"of": "program"}} | want
    exported = (((1,), {"y": 2}), {"dynamic_shapes": "shapes", "strict": False})
    assert saved.asked == [exported, ("program", "f"), *asked]


@pytest.mark.parametrize(
    "keeps, found, want, asked",
    [
        ([None, None], None, {}, 1),
        ([None, None], ("p",), BESIDE | {"retyped": {"of": "p"}, "eager": "p"}, 1),
        (["a pass keeps y"], ("p",), {}, 0),
        ([None, "a pass keeps y"], ("p",), {}, 1),
    ],
)
def test_the_program_beside_a_traced_archive(saved, keeps, found, want, asked):
    saved.keeps, saved.found = keeps, found
    assert command.trace_sidecar(Module(net), (1,), {"y": 2}, "before") == want
    assert saved.asked == [("find", {"x": None, "y": None})] * asked


@pytest.mark.parametrize(
    "kind, args, kwargs, want",
    [
        ("script", (1,), {}, "script"),
        ("trace", (1,), {}, ("trace", (1,), {})),
        ("trace", (1,), {"y": 2}, ("trace", None, {"example_inputs": (1,), "example_kwarg_inputs": {"y": 2}})),
        ("trace", (), {"x": 2}, ("trace", None, {"example_inputs": None, "example_kwarg_inputs": {"x": 2}})),
    ],
)
def test_an_archive_is_scripted_or_traced(saved, monkeypatch, kind, args, kwargs, want):
    monkeypatch.setattr(command, "trace_sidecar", lambda *given: {"given": given[3]})
    facts = command._save(net, "f", kind, args, kwargs, None)
    assert saved.asked == [want, "saved"] and facts == ({} if kind == "script" else {"given": "before"})


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Dropout().eval()

    def forward(self, x, y=None):
        return x


@pytest.mark.parametrize(
    "args, kwargs, facts, want",
    [
        ((t(2),), {"y": 3}, {}, '{\n  "inputs": [\n    "float32[2]",\n    "y=3"\n  ]\n}\n'),
        ((t(2),), {}, {"é": 1}, '{"inputs": ["float32[2]"], "é": 1}\n'),
        ((), {}, {}, None),
    ],
)
def test_an_artifact_appears_whole_with_its_inputs(tmp_path, monkeypatch, args, kwargs, facts, want):
    def save(model, made, kind, *given):
        assert not model.training and not model.inner.training and given == (args, kwargs, "shapes")
        with open(made, "w") as f:
            f.write(kind)
        return facts

    monkeypatch.setattr(command, "_save", save)
    model = Net()
    path = command.export(model, tmp_path / "new/n.pt", *args, dynamic_shapes="shapes", **kwargs)
    assert path.read_text() == "script" and (model.training, model.inner.training) == (True, False)
    sidecar = tmp_path / "new/n.pt.inputs.json"
    assert (sidecar.read_text(encoding="utf-8") if sidecar.exists() else None) == want
    assert len(list(path.parent.iterdir())) == 1 + (want is not None)


def test_a_stripped_artifact_takes_its_place(tmp_path, monkeypatch):
    def stripped(made, folder):
        (tmp_path / "small").write_text("small")
        return str(tmp_path / "small")

    monkeypatch.setattr(command, "_save", lambda *given: {})
    monkeypatch.setattr(find_program, "stripped", stripped)
    assert command.export(Net(), tmp_path / "n.pt", strip=True).read_text() == "small"


@pytest.mark.parametrize(
    "kind, args, kwargs, want",
    [
        ("onnx", (), {}, "got kind 'onnx', want one of script, trace, export"),
        ("trace", (), {}, "kind trace: got no inputs, want those to run the model with"),
        ("script", (1, 2, 3), {}, r"too many positional arguments, want the inputs of Net.forward\(x, y=None\)"),
        ("export", (), {"z": 1}, r"missing a required argument: 'x', want the inputs of Net.forward\(x, y=None\)"),
    ],
)
def test_inputs_that_do_not_fit(tmp_path, kind, args, kwargs, want):
    with pytest.raises(ExportError, match=f"^{want}$"):
        command.export(Net(), tmp_path / "a" / "n.pt", *args, kind=kind, **kwargs)
    assert not (tmp_path / "a").exists()
