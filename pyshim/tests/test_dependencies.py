"""What a run depends on, piece by piece: patterns, places of files, hashes, limits, and differences."""

import hashlib
import os
import sys
from types import SimpleNamespace

import pytest

from memshim.origin import dependencies
from memshim.origin.dependencies import Depends


@pytest.mark.parametrize(
    "pattern, path, fits",
    [
        ("conf/*.json", "conf/a.json", True),
        ("conf/*.json", "conf/b/a.json", False),
        ("conf", "conf/b/a.json", True),
        ("conf/", "conf/a", True),
        ("conf", "conference", False),
        ("**/a.json", "a.json", True),
        ("**/a.json", "x/y/a.json", True),
        ("**/a.json", "x/ya.json", False),
        ("x/**", "x/y/z", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a.c", "abc", False),
        ("a\nb", "a\nb/c\nd", True),
    ],
)
def test_patterns_of_paths(pattern, path, fits):
    assert dependencies.matches(pattern, path) is fits


@pytest.mark.parametrize(
    "case, want",
    [
        ({}, Depends()),
        ({"depends": None}, Depends()),
        ({"depends": {"ignore": ["a"], "also": None}}, Depends(("a",))),
        ({"depends": {"also": ["b"]}}, Depends((), ("b",))),
    ],
)
def test_what_a_case_says(case, want):
    assert Depends.of(case) == want


def test_what_a_case_ignores():
    case = Depends(("*.log", "tmp/**"))
    assert [case.ignores(p) for p in ("a.log", "tmp/a", "tmp", "a.txt")] == [True, True, True, False]


def test_the_source_of_a_compiled_module():
    assert dependencies._source("/p/__pycache__/a.cpython-311.pyc") == "/p/a.py"
    assert dependencies._source("/p/a.pyc") == "/p/a.pyc" and dependencies._source("/p/a.py") == "/p/a.py"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project beside another folder; the system's is a third."""
    root = tmp_path / "p"
    for name in (root, tmp_path / "else", tmp_path / "system", root / "venv"):
        name.mkdir()
    monkeypatch.setattr(dependencies, "_system", lambda: (str(tmp_path / "system") + os.sep,))
    monkeypatch.setattr(dependencies, "_python", lambda project: (str(root / "venv") + os.sep,))
    return str(root)


@pytest.mark.parametrize(
    "path, kept",
    [
        ("p/a.json", True),
        ("p/.git/a", False),
        ("p/x/node_modules/a", False),
        ("p/x.egg-info/a", False),
        ("p/x.dist-info/a", False),
        ("p/memspec.yaml", False),
        ("p/x/memspec.yml", False),
        ("p/memspec.workspace.json", False),
        ("p/memspec.baseline.json", False),
        ("p/own_memspec.yaml", True),
        ("p/memspec.json", True),
        ("p/venv/a", False),
        ("p/a.so", False),
        ("p/a.pyc", False),
        ("p/token.txt", True),
        ("else/a.json", True),
        ("else/site-packages/a", False),
        ("else/my_token.txt", False),
        ("system/a", False),
        ("p2/a", True),
    ],
)
def test_where_a_runs_inputs_lie(project, path, kept):
    full = os.path.join(os.path.dirname(project), path)
    assert dependencies._place(full, project) == (full if kept else None)


def test_a_link_is_what_it_leads_to(project, tmp_path):
    (tmp_path / "else/real").write_text("")
    os.symlink(tmp_path / "else/real", tmp_path / "p/link")
    assert dependencies._place(f"{project}/link", project) == str(tmp_path / "else/real")
    os.symlink(tmp_path / "p/there", tmp_path / "p/inner")
    assert dependencies._place(f"{project}/inner", project) == f"{project}/inner"
    assert dependencies._place(dependencies.OWN + "a.json", project) is None


def test_folders_of_the_system():
    found = dependencies._system.__wrapped__()
    assert "/proc/" in found and os.path.realpath(sys.prefix + "/lib") + os.sep in found
    assert all(f.endswith(os.sep) for f in found)


def test_pythons_folders_below_a_project(monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/p/venv")
    monkeypatch.setattr(sys, "exec_prefix", "/p/venv")
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    assert dependencies._python.__wrapped__("/p") == ("/p/venv/",)
    assert dependencies._python.__wrapped__("/q") == ("\0",)


@pytest.mark.parametrize(
    "file, ours",
    [
        ("<string>", True),
        ("<stdin>", True),
        ("<frozen os>", False),
        ("{p}/a.py", True),
        ("{p}/site-packages/a.py", False),
        ("{p}/venv/a.py", False),
        ("{p}2/a.py", False),
    ],
)
def test_whose_code_reads_a_variable(project, file, ours):
    assert dependencies._of_project(file.format(p=project), project) is ours


def test_a_listing_is_of_names_that_are_not_hidden(tmp_path):
    for name in ("b.csv", "a.csv", "c.txt", ".hidden", "__pycache__"):
        (tmp_path / name).write_text("")

    def of(*names):
        return hashlib.sha256("\n".join(names).encode()).hexdigest()

    assert dependencies.listing(str(tmp_path), []) == of("a.csv", "b.csv", "c.txt")
    assert dependencies.listing(str(tmp_path), [".csv", ".no"]) == of("a.csv", "b.csv")


def test_the_hash_of_a_variable():
    assert dependencies.hashed_value("A", "1") == hashlib.sha256(b"A=1").hexdigest()[:16]
    assert dependencies.hashed_value("A", None) == "" != dependencies.hashed_value("A", "")
    assert len(dependencies.hashed_value("A", "\udce9")) == 16


@pytest.mark.parametrize("text", [b"", b"a\r\nb", b"\r", b"\r\r\n\r", b"ab\r\ncd\r\n", b"\n\r"])
@pytest.mark.parametrize("chunk", [1, 2, 3, 64])
def test_a_file_has_one_hash_with_either_end_of_line(tmp_path, monkeypatch, text, chunk):
    monkeypatch.setattr(dependencies, "_CHUNK", chunk)
    (tmp_path / "a").write_bytes(text)
    assert dependencies.digest(tmp_path / "a") == hashlib.sha256(text.replace(b"\r\n", b"\n")).hexdigest()


def test_a_file_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("home/a", "b"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("12")
        os.utime(tmp_path / name, (5.5, 5.5))
    sha = hashlib.sha256(b"12").hexdigest()
    assert dependencies._outside(str(tmp_path / "home/a")) == {"path": "~/a", "size": 2, "mtime": 5, "sha256": sha}
    monkeypatch.setattr(dependencies, "LARGEST", 2)
    assert dependencies._outside(str(tmp_path / "b"))["sha256"] == sha
    monkeypatch.setattr(dependencies, "LARGEST", 1)
    assert dependencies._outside(str(tmp_path / "b")) == {"path": str(tmp_path / "b"), "size": 2, "mtime": 5}


@pytest.mark.parametrize(
    "change, other",
    [
        ({}, False),
        ({"size": 3}, True),
        ({"mtime": 6}, False),
        ({"mtime": 6, "sha256": "x"}, True),
        ({"sha256": "x"}, False),
        ({"mtime": 6, "sha256": None}, False),
        ({"path": "/absent/file"}, False),
    ],
)
def test_whether_a_file_elsewhere_is_another(tmp_path, change, other):
    (tmp_path / "a").write_text("12")
    os.utime(tmp_path / "a", (5, 5))
    recorded = dependencies._outside(str(tmp_path / "a")) | change
    assert dependencies._other({k: v for k, v in recorded.items() if v is not None}) is other


# What is recorded, and what has changed since.


class Reads(SimpleNamespace):
    def by_run(self, path):
        return path in self.written


@pytest.fixture
def run(project, monkeypatch):
    """What a run of the project read, as dependencies.of records it."""
    monkeypatch.setattr(dependencies, "packages", lambda: {"torch": "2"})

    def record(opened=(), listed=(), asked=(), written=(), imported=(), case=Depends(), **limits):
        reads = Reads(
            opened=dict.fromkeys(f"{project}/{f}" for f in opened),
            listed=dict.fromkeys(f"{project}/{f}".rstrip("/") for f in listed),
            asked=dict(asked),
            written={f"{project}/{f}" for f in written},
            began=2e9,
        )
        return dependencies.of(reads, project, project, project, {f"{project}/{f}" for f in imported}, case)

    for name, text in (("a.py", "1"), ("d/x.csv", "22"), ("d/y.csv", "333"), ("e/z.txt", "4")):
        path = os.path.join(project, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
    for at, _, files in os.walk(project):
        for name in (".", *files):
            os.utime(os.path.join(at, name), (1e9, 1e9))
    return record


def read(found):
    return {f["path"]: "sha256" in f or f["size"] for f in found["read"]}


def test_files_that_were_read_are_hashed_up_to_a_size_of_each_and_of_all(run, monkeypatch):
    files = ["d/y.csv", "d/x.csv", "e/z.txt", "a.py", "absent"]
    assert read(run(files, imported=["a.py"])) == {"d/x.csv": True, "d/y.csv": True, "e/z.txt": True}
    assert read(run(files, written=["d/x.csv"])) == {"a.py": True, "d/y.csv": True, "e/z.txt": True}
    assert read(run(files, case=Depends(("d/",)))) == {"a.py": True, "e/z.txt": True}
    monkeypatch.setattr(dependencies, "LARGEST", 2)
    assert read(run(files)) == {"a.py": True, "d/x.csv": True, "d/y.csv": 3, "e/z.txt": True}
    monkeypatch.setattr(dependencies, "TOGETHER", 3)
    assert read(run(files)) == {"a.py": True, "d/x.csv": True, "d/y.csv": 3, "e/z.txt": 1}
    assert read(run(files, imported=["a.py"])) == {"d/x.csv": True, "d/y.csv": 3, "e/z.txt": 1}
    monkeypatch.setattr(dependencies, "MOST", 2)
    assert read(run(files)) == {"a.py": True, "d/x.csv": True}


def folders(found):
    return [(f["path"], f.get("suffixes")) for f in found["folders"]]


def test_folders_that_were_listed_are_recorded_by_the_kinds_that_were_read(run, monkeypatch, project):
    listed = ["d", "e", "", "venv", "absent"]
    assert folders(run(["d/x.csv", "a.py"], listed)) == [(".", [".py"]), ("d", [".csv"]), ("e", None)]
    assert folders(run([], listed)) == [("d", None), ("e", None)], "the project itself by kinds alone"
    assert folders(run([], listed, written=["d/new"])) == [("e", None)]
    assert folders(run([], listed, case=Depends(("e",)))) == [("d", None)]
    monkeypatch.setattr(dependencies, "_ignored", lambda project, paths: {f"{project}/d/y.csv"})
    assert folders(run(["e/z.txt"], listed)) == [("e", [".txt"])], "another clone has not what git ignores"
    monkeypatch.setattr(dependencies, "_ignored", lambda project, paths: set())
    os.utime(f"{project}/d", (3e9, 3e9))
    assert folders(run([], listed)) == [("e", None)], "it has changed since"


def test_variables_are_those_that_the_projects_code_reads(run, project):
    asked = {("B", f"{project}/a.py"): "1", ("A", "<string>"): None, ("C", "/else.py"): "2", ("D", "<stdin>"): "3"}
    found = run(asked=asked, case=Depends(("$D", "B")))["variables"]
    assert list(found.items()) == [("A", ""), ("B", dependencies.hashed_value("B", "1"))]


def differences(project, recorded, case=Depends()):
    return dependencies.differences(project, {"files": []} | recorded, project, case)


@pytest.mark.parametrize(
    "entry, case, want",
    [
        ({"path": "a.py", "size": 1}, Depends(), []),
        ({"path": "a.py", "size": 2}, Depends(), ["a.py has changed"]),
        ({"path": "a.py", "sha256": "x"}, Depends(), ["a.py has changed"]),
        ({"path": "a.py", "sha256": "x"}, Depends(("*.py",)), []),
        ({"path": "b.py", "sha256": "x"}, Depends(), ["b.py is gone"]),
        ({"path": "b.py", "sha256": "x", "ignored": True}, Depends(), []),
    ],
)
@pytest.mark.parametrize("key", ["files", "read"])
def test_files_that_are_not_as_they_were(run, project, key, entry, case, want):
    assert differences(project, {key: [entry]}, case) == want


def test_folders_and_variables_that_are_not_as_they_were(run, project, monkeypatch):
    monkeypatch.setenv("A", "1")
    monkeypatch.delenv("B", raising=False)
    monkeypatch.setattr(dependencies, "_release", lambda name: {"torch": "2"}[name])
    recorded = run(["d/x.csv"], ["d", "e"], {("A", "<string>"): "1", ("B", "<string>"): None})
    assert differences(project, recorded) == []
    os.rename(f"{project}/d/x.csv", f"{project}/d/w.csv")
    os.rename(f"{project}/e", f"{project}/f")
    monkeypatch.setenv("A", "2")
    monkeypatch.setenv("B", "")
    assert differences(project, recorded) == [
        "d/x.csv is gone",
        "d has other files",
        "e has other files",
        "variable A has changed",
        "variable B has changed",
    ]
    assert differences(project, recorded, Depends(("d", "e/", "$*"))) == []


def test_distributions_that_are_not_as_they_were(project, monkeypatch):
    monkeypatch.setattr(dependencies, "_release", lambda name: {"a": "1", "b": "2"}.get(name, ""))
    assert differences(project, {"packages": {"a": "1", "b": "1", "c": "1"}}) == ["b 1 → 2"]
    monkeypatch.undo()
    assert dependencies._release("no-such-distribution") == "" != dependencies._release("pytest")


def test_files_that_a_case_names_besides(run, project):
    os.makedirs(f"{project}/.git")
    os.makedirs(f"{project}/node_modules")
    open(f"{project}/node_modules/n.csv", "w").close()
    case = Depends((), ("**/*.csv", "$A"))
    assert list(dependencies.also(project, project, case)) == [f"{project}/d/x.csv", f"{project}/d/y.csv"]
    assert list(dependencies.also(project, project, Depends((), ("$A",)))) == []
    assert read(run(["d/x.csv"], case=case)) == {"d/x.csv": True, "d/y.csv": True}
    recorded = run(["d/x.csv"]) | {"packages": {}}
    assert differences(project, recorded, case) == ["d/y.csv is new"]
    assert dependencies._root(f"{project}/d") == project
    assert differences(project, recorded) == []
