"""What a file was made from, and what of it is not so any more."""

import sys
import types

import pytest

torch = pytest.importorskip("torch")
from memshim.origin import provenance  # noqa: E402


class Net(torch.nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.fc, self.part = torch.nn.Linear(2, width), torch.nn.Parameter(torch.zeros(2, dtype=torch.float16))
        self.register_buffer("mask", torch.zeros(4, dtype=torch.bool))


OF_NET = [
    ["part", "float16", [2]],
    ["mask", "bool", [4]],
    ["fc.weight", "float32", [3, 2]],
    ["fc.bias", "float32", [3]],
]


def test_parameters_and_buffers_of_a_model():
    assert provenance.parameters(Net()) == OF_NET
    assert provenance.parameters(None) == provenance.parameters(len) == []


@pytest.fixture
def nothing_else(monkeypatch):
    monkeypatch.setattr(provenance.dependencies, "differences", lambda *_: ["a.py has changed"])


def test_what_is_not_so_any_more_is_asked_with_the_cases_words(monkeypatch, tmp_path):
    asked, recorded = [], {"parameters": []}
    monkeypatch.setattr(provenance.dependencies, "differences", lambda *given: asked.append(given) or [])
    monkeypatch.chdir(tmp_path)
    assert provenance.differences("out/a.rec", recorded, None) == []
    of = provenance.Depends(("x",))
    assert provenance.differences("/b/a.rec", recorded, None, "specs", of) == []
    out = str(tmp_path / "out")
    assert asked == [(out, recorded, ".", provenance.Depends()), ("/b", recorded, "specs", of)]


def test_parameters_that_are_others_are_named(nothing_else):
    recorded = {"parameters": [["gone", "int64", []], *OF_NET[:3]]}
    assert provenance.differences("a.rec", recorded, Net(5)) == [
        "a.py has changed",
        "gone is not there, was int64[]",
        "fc.weight is float32[5,2], was float32[3,2]",
        "fc.bias is float32[5], was not there",
    ]
    assert provenance.differences("a.rec", {"parameters": OF_NET}, Net()) == ["a.py has changed"]


def test_the_root_of_a_project(tmp_path):
    spec, source = tmp_path / "spec", tmp_path / "spec" / "a" / "b"
    source.mkdir(parents=True)
    other = tmp_path / "other"
    other.mkdir()
    assert provenance.root(str(source), str(spec)) == str(spec)
    assert provenance.root(str(spec), str(source)) == str(spec), "the source's own"
    assert provenance.root(str(other), str(spec)) == str(other)
    (tmp_path / ".git").mkdir()
    assert provenance.root(str(source), str(spec)) == provenance.root(str(other), str(spec)) == str(tmp_path)
    (source / ".git").touch()
    assert provenance.root(str(source), str(spec)) == str(source)


@pytest.mark.parametrize(
    "file, ours",
    [
        ("a.py", True),
        ("lib/b.py", True),
        ("venv/site-packages/c.py", False),
        ("venv/dist-packages/c.py", False),
        ("../beside.py", False),
        ("../project2/beside.py", False),
        ("src/site-packages.py", True),
        ("", False),
    ],
)
def test_a_file_of_the_project(tmp_path, monkeypatch, file, ours):
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    assert provenance.of_project(file, str(project)) is ours


def test_modules_of_the_project_that_are_imported(tmp_path, monkeypatch):
    project = tmp_path / "project"
    names = ("a.py", "lib/b.py", "site-packages/c.py", "d.so", "../project2/e.py")
    for i, name in enumerate(names):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch()
        module = types.ModuleType(f"of_project_{i}")
        module.__file__ = str(project / name)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    gone = types.ModuleType("of_project_gone")
    gone.__file__ = str(project / "gone.py")
    monkeypatch.setitem(sys.modules, "of_project_gone", gone)
    monkeypatch.setitem(sys.modules, "of_project_none", None)
    own = {str(project / "a.py"), str(project / "lib/b.py")}
    assert provenance.imported(str(project), None) == own
    assert provenance.imported(str(project), "first.py") == own | {"first.py"}
    monkeypatch.setattr(provenance, "OWN", str(project / "lib"))
    assert provenance.imported(str(project), None) == {str(project / "a.py")}, "less memshim's"


def test_modules_in_the_order_in_which_they_are_moved():
    plain = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    assert provenance.modules(plain) == [], "a program states it"

    class Table(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("t", torch.zeros(2))

    mixed = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(Table()), torch.nn.ReLU())
    assert provenance.modules(mixed) == ["0", "1.0"]
    inner = torch.nn.Sequential(torch.nn.Linear(2, 2))
    inner.register_buffer("t", torch.zeros(2))
    outer = torch.nn.Sequential(inner)
    outer.register_buffer("t", torch.zeros(2))
    assert provenance.modules(outer) == [], "one with parameters in it has a place"
    outer.append(Table())
    assert provenance.modules(outer) == ["0", "0.0", "1"]


def test_versions_of_what_takes_part(monkeypatch):
    monkeypatch.setattr(provenance, "version", lambda: "1.2")
    assert provenance.versions("2.15") == {
        "memshim": "1.2", "python": ".".join(map(str, sys.version_info[:3])), "torch": "2.15",
    }  # fmt: skip


def test_a_package_that_is_not_installed_has_no_version(monkeypatch):
    def missing(name):
        raise provenance.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(provenance.metadata, "version", missing)
    assert provenance.version() == ""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "made_of.py").write_text("a = 1\n")
    monkeypatch.setattr(provenance, "imported", lambda root, first: {first} if first else {str(tmp_path / "z.py")})
    (tmp_path / "z.py").write_text("")
    return tmp_path


def test_what_a_file_is_made_from(project):
    found = provenance.made(project / "out" / "a.rec", "made_of.py:net", str(project / "src"), Net(), ["memshim"])
    assert [f["path"] for f in found["files"]] == ["../src/made_of.py"] and "read" not in found
    assert found["files"][0]["sha256"] == provenance.digest(project / "src" / "made_of.py")
    assert (found["parameters"], found["command"]) == (OF_NET, ["memshim"])
    assert set(found["versions"]) == {"memshim", "python", "torch"}


def test_the_first_of_its_files_by_path_are_listed(project, monkeypatch):
    names = [project / name for name in ("src/b.py", "a.py", "src/a.py")]
    for file in names:
        file.write_text(file.name)
    monkeypatch.setattr(provenance, "imported", lambda root, first: {str(file) for file in names})
    monkeypatch.setattr(provenance, "MOST", 2)
    files = provenance.made(project / "src" / "x.rec", "made_of.py:net", str(project / "src"), None, [])["files"]
    assert files == [
        {"path": "../a.py", "sha256": provenance.digest(project / "a.py")},
        {"path": "a.py", "sha256": provenance.digest(project / "src" / "a.py")},
    ]


def test_a_source_that_is_a_module(project, monkeypatch):
    module = types.ModuleType("made_of")
    module.__file__ = str(project / "src" / "made_of.py")
    monkeypatch.setitem(sys.modules, "made_of", module)
    found = provenance.made(project / "a.rec", "made_of:net", str(project), None, [])
    assert [f["path"] for f in found["files"]] == ["src/made_of.py"] and found["parameters"] == []
    monkeypatch.delitem(sys.modules, "made_of")
    assert [f["path"] for f in provenance.made(project / "a.rec", "made_of:net", str(project), None, [])["files"]] == [
        "z.py"
    ]


def test_what_the_run_read_counts_too(project, monkeypatch):
    asked, case = [], provenance.Depends(("x",))
    monkeypatch.setattr(provenance.dependencies, "of", lambda *given: asked.append(given) or {"read": ["data"]})
    reads, src = types.SimpleNamespace(end=lambda: "ended"), str(project / "src")
    found = provenance.made(project / "out" / "a.rec", "made_of.py:net", src, None, [], reads)
    assert found["read"] == ["data"]
    provenance.made(project / "out" / "a.rec", "made_of.py:net", src, None, [], reads, case)
    out, first = str(project / "out"), {str(project / "src" / "made_of.py")}
    assert asked == [("ended", str(project), out, src, first, of) for of in (provenance.Depends(), case)]
