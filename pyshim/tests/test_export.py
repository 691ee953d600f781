"""Artifacts: read back by memspec."""

import inspect
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pretended
import pytest
import warm

import memshim
from memshim import binary
from memshim.case import memspec_yaml
from memshim.case.build import load_source
from memshim.exporting.command import ExportError, main

torch = pytest.importorskip("torch")


def estimate(path, *inputs):
    return memspec_yaml.ask(
        "estimate",
        str(path),
        "--device",
        "none",
        "--runtime",
        "torchscript",
        *(w for i in inputs for w in ("--input", i)),
    )


@pytest.mark.parametrize("kind", ["script", "trace"])
def test_memspec_reads_it_stripped_or_not(project, kind):
    model = load_source("zoo.py:net").train()
    x = torch.zeros(2, 3, 16, 16)
    whole = memshim.export(model, "whole.pt", x, kind=kind)
    small = memshim.export(model, project / "new" / "small.pt", kind=kind, strip=True, x=x)
    assert model.training, "as it was"
    for file, inputs in (("whole.pt", ["float32[2,3,16,16]"]), ("new/small.pt", ["x=float32[2,3,16,16]"])):
        text = (project / f"{file}.inputs.json").read_text()
        assert text.endswith("}\n"), "a whole line"
        sidecar = json.loads(text)
        assert sidecar.pop("eager", None) is not None if kind == "trace" else True, "the program that eager runs"
        assert sidecar.pop("contiguous", False) is False, "no attention asks for it"
        assert sidecar.pop("modules", []) == [], "no buffers alone"
        assert sidecar.pop("retyped", {"autocast": "", "dtype": ""}) == {"autocast": "", "dtype": ""}, "no casts"
        assert sidecar == {"inputs": inputs}
    assert small.stat().st_size < whole.stat().st_size - 40_000
    a, b = estimate(whole), estimate(small)
    assert a["peak"] == b["peak"] and a["weights"] == b["weights"] > 60_000
    assert sorted(p.name for p in (project / "new").iterdir()) == ["small.pt", "small.pt.inputs.json"], (
        "nothing half-written is left"
    )


def test_the_inputs_beside_it_are_used(project):
    memshim.export(load_source("zoo.py:net"), "n.pt", torch.zeros(2, 3, 16, 16))
    assert estimate("n.pt")["inputs"] == estimate("n.pt", "float32[2,3,16,16]")["inputs"]


def test_an_exported_program(project):
    path = memshim.export(load_source("zoo.py:net"), "n.pt2", torch.zeros(2, 3, 16, 16), kind="export")
    assert torch.export.load(path).module()(torch.ones(2, 3, 16, 16)).shape == (2, 10)


def test_an_exported_program_stripped(project):
    args = load_source("zoo.py:net"), "n.pt2", torch.zeros(2, 3, 16, 16)
    whole, sizes = memshim.export(*args, kind="export").stat().st_size, []
    with zipfile.ZipFile(memshim.export(*args, kind="export", strip=True)) as archive:
        sizes = {i.filename.split("/", 1)[1]: i.file_size for i in archive.infolist()}
        stripped = json.loads(archive.read(next(n for n in archive.namelist() if n.endswith(".memspec/stripped.json"))))
    assert sum(sizes.values()) < whole and stripped["records"]
    assert all(sizes[name] == 0 for name in stripped["records"])
    assert sizes["models/model.json"] and sizes["data/weights/model_weights_config.json"], (
        "the program and what describes its weights stay"
    )


@pytest.mark.parametrize(
    "kw, error", [({"kind": "onnx"}, "want one of script, trace, export"), ({"kind": "trace"}, "got no inputs")]
)
def test_what_cannot_be_written(project, kw, error):
    with pytest.raises(ExportError, match=error):
        memshim.export(load_source("zoo.py:net"), "n.pt", **kw)


def test_a_model_that_cannot_be_scripted_leaves_nothing(tmp_path):
    class Odd(torch.nn.Module):
        def forward(self, x):
            return eval("x")

    with pytest.raises(Exception):  # noqa: B017  whatever scripting raises
        memshim.export(Odd(), tmp_path / "odd.pt")
    assert list(tmp_path.iterdir()) == []


ODD = """
import torch

class Listed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x, *more):
        return self.linear(x)

class Named(Listed):
    def forward(self, x, *more):
        return {"y": self.linear(x), "n": 3}
"""


def test_a_model_that_cannot_be_scripted_is_traced(project, capsys):
    (project / "odd.py").write_text(ODD)
    words = ["odd.py:Listed", "--input", "x=float32[2,8]"]
    assert main([*words, "-o", "odd.pt"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "odd.pt\n"
    assert printed.err.startswith(
        "memshim: torch.jit.script refuses it (NotSupportedError: Compiled functions can't take variable number of "
        "arguments"
    )
    assert (
        printed.err.endswith("): traced with these inputs, --kind script shows why\n") and printed.err.count("\n") == 1
    )
    assert estimate("odd.pt")["weights"] > 0
    with pytest.raises(Exception, match="variable number of arguments"):
        main([*words, "-o", "named.pt", "--kind", "script"])  # what was asked for by name is not something else


def test_of_a_model_that_cannot_be_traced_either_the_error_says_what_to_do(project, capsys):
    (project / "odd.py").write_text(ODD)
    words = ["odd.py:Named", "--input", "x=float32[2,8]"]
    assert main([*words, "-o", "odd.pt"]) == 2
    printed = capsys.readouterr().err.splitlines()[-1]
    assert printed.startswith("memshim: torch.jit.trace refuses it too (RuntimeError: Tracer cannot infer type of ")
    assert printed.endswith("): want -o odd.pt2, an exported program; or record a run of it: python -m memshim capture")
    assert not (project / "odd.pt").exists()
    assert main([*words, "-o", "odd.pt2"]) == 0, "what it said works"
    assert memspec_yaml.ask("estimate", "odd.pt2", "--device", "none")["weights"] > 0


def test_the_command(project, capsys):
    assert (
        main(
            [
                "zoo.py:net",
                "--input",
                "x=float32[B,3,16,16]",
                "--dim",
                "B=2",
                "-o",
                "a.pt",
                "--kind",
                "trace",
                "--strip",
            ]
        )
        == 0
    )
    assert capsys.readouterr().out.splitlines()[-1] == "a.pt"
    (project / "net.pt").unlink()
    assert main(["memspec.yaml", "--strip"]) == 0, "every artifact of a memspec.yaml that has a source"
    assert memspec_yaml.check("memspec.yaml", ["net[B=8]"])["cases"][0]["outcome"] == "pass"
    for arguments, error in [
        (["zoo.py:net", "-o", "a.pt", "--input", "x=float32[B]"], "the dim 'B' without a value"),
        (["zoo.py:absent", "-o", "a.pt"], "got no absent"),
        (["memspec.yaml", "--case", "nothing"], 'got no case "nothing"'),
        (["memspec.yaml", "-o", "a.pt"], "beside a memspec.yaml"),
    ]:
        assert main(arguments) == 2
        assert error in capsys.readouterr().err


def test_sizes_that_the_command_names_stay_open(project, capsys):
    assert main(["zoo.py:net", "--input", "float32[B,3,16,16]", "--dim", "B=1", "-o", "open.pt2"]) == 0
    for batch in (1, 64):
        assert (
            memspec_yaml.ask("estimate", "open.pt2", "--device", "none", "--input", f"float32[{batch},3,16,16]")[
                "coverage"
            ]["unsupported"]
            == []
        )


def test_what_an_artifact_was_made_from(project, capsys):
    """The command says it beside the artifact, and says when it is no longer so; memspec reads the
    files' part without Python."""
    (project / "part.py").write_text("SIZE = 10\n")
    (project / "zoo.py").write_text(
        (project / "zoo.py")
        .read_text()
        .replace("import torch\n", "import torch\nfrom part import SIZE\n")
        .replace("1568, 10)", "1568, SIZE)")
    )
    assert main(["memspec.yaml", "--strip"]) == 0
    sidecar = json.loads((project / "net.pt.inputs.json").read_text())
    assert [f["path"] for f in sidecar["made"]["files"]] == ["part.py", "zoo.py"] and sidecar["inputs"]
    assert sidecar["made"]["command"] == ["python", "-m", "memshim", "export", "memspec.yaml", "--strip"]
    assert ["fc.bias", "float32", [10]] in sidecar["made"]["parameters"]
    capsys.readouterr()
    assert run_check(project) == (0, "net.pt: is what its source gives\n")
    (project / "part.py").write_bytes(b"SIZE = 10\r\n")
    assert run_check(project)[0] == 0, "line ends are a checkout's"
    (project / "part.py").write_text("SIZE = 12\n")
    code, said = run_check(project)
    assert (code, said) == (
        1,
        "net.pt: stale: part.py has changed; fc.weight is float32[12,1568], was float32[10,1568]; fc.bias is "
        "float32[12], was float32[10]\n",
    )
    said = binary.call("check", "memspec.yaml")
    assert (
        said.code == 3
        and "part.py" in said.out
        and "python -m memshim export memspec.yaml --strip" in " ".join(said.out.split())
    )
    (project / "part.py").unlink()
    (project / "net.pt.inputs.json").unlink()
    (project / "part.py").write_text("SIZE = 10\n")
    assert run_check(project)[0] == 2, "an artifact that does not say what it was made from"


def run_check(folder):
    p = warm.run([sys.executable, "-m", "memshim", "export", "memspec.yaml", "--check"], cwd=folder)
    return p.returncode, p.stdout.removeprefix("a model may print\n")


class GoesByData(torch.nn.Module):
    """Goes by data, which no traced archive and no program records."""

    def forward(self, x):
        kept = x.relu()
        y = kept * 2 if (x >= 0).all() else torch.cat([kept, x])
        return y.sum(1)


def test_a_traced_archive_whose_eager_run_is_recorded(tmp_path):
    path = memshim.export(GoesByData(), tmp_path / "t.pt", torch.zeros(4, 3), kind="trace")
    asked = ("estimate", str(path), "--device", "none", "--input", "float32[8,3]")
    report = memspec_yaml.ask(*asked, "--runtime", "eager")
    assert report["quality"] == "exact"
    assert report["peak"]["requested"] == 96 + 96 + 96 + 32, "x, kept, y and the result"
    path.with_name("t.pt.inputs.json").unlink()
    assert memspec_yaml.ask(*asked, "--runtime", "eager")["quality"] == "estimate"


class Positions(torch.nn.Module):
    """Positions made on the host, a number put on the device, and maybe a look at data: tied
    weights."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks
        self.table = torch.nn.Embedding(300, 3)
        self.head = torch.nn.Linear(3, 300, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x):
        at = torch.arange(x.shape[0]) + 1
        if not self.looks or (x >= 0).all():
            x = x[at - 1]
        return self.head(x + torch.tensor(2.0, device=x.device))


@pytest.mark.parametrize("kind", ["export", "trace"])
def test_what_eager_keeps_on_the_host(tmp_path, kind):
    # a trace's sizes are open
    path = memshim.export(
        Positions(kind == "trace"), tmp_path / "p", torch.zeros(4 if kind == "trace" else 200, 3), kind=kind
    )
    sidecar = json.loads(path.with_name(path.name + ".inputs.json").read_text())
    assert "eager" in sidecar
    report = memspec_yaml.ask(
        "estimate", str(path), "--device", "t4", "--input", "float32[200,3]", "--runtime", "eager"
    )
    assert report["quality"] == "exact"
    assert report["weights"] == 4096, "one table"
    p = pretended.run(f"import sys\nimport torch\n{inspect.getsource(Positions)}\n{ON_GPU}", kind, device="t4")
    assert p.returncode == 0, p.stderr
    assert report["peak"]["allocated"] == int(p.stdout)


ON_GPU = """
model = Positions(sys.argv[1] == "trace").cuda()
x = torch.zeros(200, 3, device="cuda")
with torch.no_grad():
    torch.cuda.reset_peak_memory_stats()
    model(x)
    print(torch.cuda.max_memory_allocated())
"""


class Takes(torch.nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.forward = forward


@pytest.mark.parametrize(
    "forward, args, kwargs",
    [
        (lambda *inputs: (inputs[0] * 2).relu() + inputs[1], (torch.zeros(4, 3), torch.zeros(4, 3)), {}),
        (lambda x, y: (x * 2).relu() + y, (), {"x": torch.zeros(4, 3), "y": torch.zeros(4, 3)}),
        (lambda x, y: (x * 2).relu() + y[0], (torch.zeros(4, 3), [torch.zeros(4, 3)]), {}),
    ],
    ids=["*inputs", "by name", "a list"],
)
def test_sizes_are_open_however_inputs_are_taken(forward, args, kwargs, tmp_path):
    path = memshim.export(Takes(forward), tmp_path / "t.pt", *args, kind="trace", **kwargs)
    batches = [x.replace("[4,", "[8,") for x in json.loads(path.with_name("t.pt.inputs.json").read_text())["inputs"]]
    report = memspec_yaml.ask(
        "estimate", str(path), "--device", "none", "--runtime", "eager", *(a for x in batches for a in ("--input", x))
    )
    assert report["quality"] == "exact"
    assert report["delta"] == 2 * 512, "two of the product, relu's result and the sum at a time"


def test_inputs_that_forward_does_not_take_are_reported_before(project, capsys):
    (project / "odd.py").write_text(ODD.replace(", *more", ""))
    assert main(["odd.py:Listed", "--input", "y=float32[2,8]", "-o", "odd.pt"]) == 2
    assert (
        capsys.readouterr().err == "memshim: missing a required argument: 'x', want the inputs of Listed.forward(x)\n"
    )
    assert not (project / "odd.pt").exists()


def test_the_guide_for_files(tmp_path):
    """With torch and a model: the guide's commands as they stand there, from model.py to a checked
    case."""
    page = (Path(__file__).parents[2] / "docs" / "guide" / "exported-model.md").read_text(encoding="utf-8")
    export = [line.strip() for line in page.splitlines() if line.startswith("    python -m memshim export ")]
    lines = export + [
        line.removeprefix("$ ") for line in page.splitlines() if line.startswith(("$ memspec init", "$ memspec check"))
    ]
    assert [line.split()[:2] for line in lines] == [["python", "-m"], ["memspec", "init"], ["memspec", "check"]]
    (tmp_path / "model.py").write_text("""
import torch

class Net(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
                         torch.nn.Flatten(), torch.nn.Linear(8, 2))
""")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "memspec").symlink_to(binary.find())
    path = f"{tmp_path / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "PYTHONPATH": str(Path(memshim.__file__).parents[1])}
    for line in lines:
        p = subprocess.run(
            line.replace("python -m", f"{sys.executable} -m"),
            shell=True,
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
        )
        assert p.returncode == 0, (line, p.stdout, p.stderr)
    assert p.stdout.startswith("PASS net") and p.stdout.endswith(" pass\n")


@pytest.mark.parametrize(
    "behind, want",
    [
        (".transpose(1, 2).contiguous()", True),
        (".transpose(1, 2).reshape(2, 8, 16)", False),
        (".contiguous()", False),
        ("", False),
    ],
)
def test_whether_contiguous_had_nothing_to_copy_behind_attention(tmp_path, behind, want):
    """On the host attention lays its result out as its query, here as batch × length × heads ×
    size: transposed it is contiguous, and as it is it is copied."""
    from memshim.exporting import compare_operators

    scope = {}
    exec(
        f"import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        x = x.transpose(1, 2)\n        "
        f"return torch.nn.functional.scaled_dot_product_attention(x, x, x){behind}\n",
        scope,
    )
    import torch

    assert compare_operators.asks_contiguous(scope["Net"](), (torch.randn(2, 8, 4, 4),), {}) is want


def test_an_exported_program_names_the_lines_of_functions_that_forward_calls(tmp_path):
    """torch.export keeps the frames of functions named forward alone: a recording of the same model
    names the line within the function."""
    import torch

    from memshim.exporting.releases import Releases

    file = tmp_path / "net.py"
    file.write_text(
        "import torch\nclass Net(torch.nn.Module):\n    def twice(self, x):\n        return x.relu() * 2\n    def "
        "forward(self, x):\n        return self.twice(x)\n"
    )
    scope = {"__name__": "net"}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    releases = Releases()
    with releases.watch():
        program = torch.export.export(scope["Net"](), (torch.randn(2),))
    lines = [
        [int(line.split("line ")[1].split(",")[0]) for line in node.meta["stack_trace"].splitlines() if "line " in line]
        for node in program.graph.nodes
        if node.op == "call_function"
    ]
    assert lines == [[6, 4], [6, 4]]


def test_what_is_compiled_after_an_export_compiles():
    """dynamo knows PyTorch's functions by what they are at its first import, which may fall into an
    export."""
    code = """
import torch
from memshim.exporting import live_model
with live_model.unnoticed():
    import torch._dynamo
m = torch.nn.Sequential(torch.nn.Linear(2, 2))
m[0].register_forward_hook(lambda *_: None)
print(torch.compile(m, fullgraph=True, backend="eager")(torch.zeros(1, 2)).shape)
"""
    p = warm.run([sys.executable, "-c", code])
    assert p.stdout == "torch.Size([1, 2])\n", p.stderr


class Turned(torch.nn.Module):
    """Between two layers a table that no checkpoint keeps."""

    def __init__(self):
        super().__init__()
        self.before = torch.nn.Linear(3, 4)
        self.table = torch.nn.Module()
        self.table.register_buffer("angles", torch.zeros(4), persistent=False)
        self.after = torch.nn.Linear(4, 5)

    def forward(self, x):
        return self.after(self.before(x) + self.table.angles)


@pytest.mark.parametrize(("name", "kind"), [("t.pt2", "export"), ("t.pt", "trace")])
def test_weights_are_moved_in_the_order_of_the_live_model(tmp_path, name, kind):
    model, moved = Turned(), []
    names = {id(t): n for n, t in [*model.named_parameters(), *model.named_buffers()]}
    model._apply(lambda t: moved.append(names[id(t)]) or t)
    path = memshim.export(model, tmp_path / name, torch.zeros(2, 3), kind=kind)
    said = binary.call("dump", str(path), "--stage", "trace", "--device", "t4", "--runtime", "eager")
    assert [line.split()[5] for line in said.out.splitlines() if " parameter " in line or " buffer " in line] == moved
    assert moved[2] == "table.angles"


def test_flex_attention_is_in_no_file(tmp_path):
    """The format has no argument of numbers, tensors and graphs at once: when PyTorch can write
    one, memspec has to read it."""
    from torch.nn.attention.flex_attention import flex_attention

    class Flex(torch.nn.Module):
        def forward(self, q: torch.Tensor) -> torch.Tensor:
            return flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: torch.where(i >= j, s, -1e9))

    with torch.no_grad():
        program = torch.export.export(Flex(), (torch.randn(1, 2, 16, 16),), strict=False)
    assert any(n.target is torch.ops.higher_order.flex_attention for n in program.graph.nodes)
    with pytest.raises(torch._export.serde.serialize.SerializeError, match="Failed serializing node flex_attention"):
        torch.export.save(program, tmp_path / "flex.pt2")
