"""What a run reads, seen in this process without torch: files, listings, variables, packages; and
what of it a recording holds and compares."""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

import pytest

from memshim.origin import dependencies, reads
from memshim.origin.dependencies import Depends
from memshim.origin.reads import Reads


@pytest.fixture
def repository(tmp_path):
    """A project of git with a file of each kind, older than the run."""
    at = tmp_path / "repository"
    for name in (
        "conf/a.json",
        "data/1.csv",
        "data/2.csv",
        "weights/local.bin",
        "site-packages/x/x.json",
        ".memspec/net.rec",
        "memspec.yaml",
    ):
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_text(name)
    (at / ".gitignore").write_text("/weights/\n")
    subprocess.run(["git", "init", "-q"], cwd=at, check=True)
    age(at)
    return at


def age(at):
    for path in [at, *at.rglob("*")]:
        if ".git" not in path.parts:
            os.utime(path, (1e9, 1e9))


@pytest.fixture
def watched():
    """What is read until held is called."""
    before = reads.current()
    seen = Reads().begin()
    yield seen
    seen.end()
    if before:
        before.begin()


def held(seen, at, case=Depends(), imported=()):
    return dependencies.of(seen.end(), str(at), str(at), str(at), set(imported), case)


def paths(entries):
    return [e["path"] for e in entries]


def code(at, text, name="asks.py"):
    """Code of a file, run."""
    path = at / name
    path.write_text(text)
    os.utime(path, (1e9, 1e9))
    space = {"__file__": str(path)}
    exec(compile(text, str(path), "exec"), space)
    return space


# Files.


def test_a_file_that_is_opened_is_held_by_its_content(repository, watched):
    (repository / "conf/a.json").read_text()
    with open(repository / "data/1.csv", "rb") as f:
        f.read()
    got = held(watched, repository)
    assert got["read"] == [
        {"path": "conf/a.json", "sha256": dependencies.digest(repository / "conf/a.json")},
        {"path": "data/1.csv", "sha256": dependencies.digest(repository / "data/1.csv")},
    ]
    assert got["elsewhere"] == [] and not dependencies.differences(
        str(repository), {"files": [], **got}, str(repository), Depends()
    )


@pytest.mark.parametrize("name", ["site-packages/x/x.json", ".memspec/net.rec", "memspec.yaml"])
def test_what_is_nobodys_input_is_not_held(repository, watched, name):
    (repository / name).read_text()
    assert held(watched, repository)["read"] == []


@pytest.mark.parametrize(
    "write",
    [
        lambda at: (at / "new.json").write_text("1"),
        lambda at: (at / "conf/a.json").write_text("1"),
        lambda at: (at / "data/1.csv").open("a").close(),
        lambda at: os.rename(at / "data/1.csv", at / "new.json"),
        lambda at: os.close(os.open(at / "data/1.csv", os.O_RDWR)),
    ],
    ids=["new", "over", "appended", "renamed", "by its number"],
)
def test_a_file_that_the_run_wrote_is_not_held(repository, watched, write):
    write(repository)
    for path in repository.glob("*/*.*"):
        if os.stat(path).st_mtime > 1e9 or str(path) in watched.written:
            path.read_text()
    if (repository / "new.json").exists():
        (repository / "new.json").read_text()
    assert held(watched, repository)["read"] == []


def test_a_file_that_another_process_of_the_run_wrote_is_not_held(repository, watched):
    later = time.time() + 2
    os.utime(repository / "conf/a.json", (later, later))
    (repository / "conf/a.json").read_text()
    assert held(watched, repository)["read"] == []


def test_what_git_ignores_may_be_missing_in_another_clone(repository, watched):
    (repository / "weights/local.bin").read_bytes()
    got = held(watched, repository)
    assert got["read"] == [
        {"path": "weights/local.bin", "sha256": dependencies.digest(repository / "weights/local.bin"), "ignored": True}
    ]
    recorded = {"files": [], **got}
    (repository / "weights/local.bin").write_text("others")
    assert dependencies.differences(str(repository), recorded, str(repository), Depends()) == [
        "weights/local.bin has changed"
    ]
    (repository / "weights/local.bin").unlink()
    assert dependencies.differences(str(repository), recorded, str(repository), Depends()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files to another user")
def test_a_repository_of_another_user_has_its_ignored_files(repository, watched):
    """A container runs as root over a folder of the user's, of which git says dubious ownership."""
    for path in [repository, *repository.rglob("*")]:
        os.chown(path, 65534, 65534)
    (repository / "weights/local.bin").read_bytes()
    assert held(watched, repository)["read"][0]["ignored"]


def test_a_program_that_the_repository_names_is_not_run(repository):
    (repository / "evil").write_text("#!/bin/sh\ntouch ran\n")
    (repository / "evil").chmod(0o755)
    subprocess.run(["git", "config", "core.fsmonitor", str(repository / "evil")], cwd=repository, check=True)
    assert (
        dependencies._ignored(str(repository), [str(repository / "weights/local.bin")])
        and not (repository / "ran").exists()
    )


def test_a_large_file_is_held_by_its_size(repository, watched, monkeypatch):
    monkeypatch.setattr(dependencies, "LARGEST", 10)
    (repository / "conf/a.json").read_text()  # of 11 bytes
    (repository / "data/1.csv").read_text()
    got = held(watched, repository)["read"]
    assert got[0] == {"path": "conf/a.json", "size": 11} and "sha256" in got[1]


def test_a_checkout_of_windows_is_the_same(tmp_path):
    (tmp_path / "a").write_bytes(b"x\r\ny\rz\r\n\r")
    (tmp_path / "b").write_bytes(b"x\ny\rz\n\r")
    assert dependencies.digest(tmp_path / "a") == dependencies.digest(tmp_path / "b")


# Files elsewhere.


def test_files_elsewhere_have_size_and_time_and_count_for_memshim_alone(repository, watched, tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / "hub").mkdir(parents=True)
    (home / "hub/config.json").write_text("{}")
    (home / "hub/hf_token.json").write_text("{}")
    os.utime(home / "hub/config.json", (1e9, 1e9))
    os.utime(home / "hub/hf_token.json", (1e9, 1e9))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/nowhere")
    dependencies._system.cache_clear()
    watched.written.clear()
    try:
        for name in ("config.json", "hf_token.json"):
            (home / "hub" / name).read_text()
        got = held(watched, repository)
    finally:
        dependencies._system.cache_clear()
    file = home / "hub/config.json"
    assert got["read"] == []
    assert got["elsewhere"] == [
        {"path": "~/hub/config.json", "size": 2, "mtime": 10**9, "sha256": dependencies.digest(file)}
    ]
    kept = {"files": [], "elsewhere": got["elsewhere"]}

    def differ():
        return dependencies.differences(str(repository), kept, str(repository), Depends())

    file.touch()
    assert differ() == [], "another time with the same content, as a cache that is filled again has it"
    file.write_text("[]")
    assert differ() == ["~/hub/config.json has changed"]
    file.write_text("{ }")
    assert differ() == ["~/hub/config.json has changed"]
    file.unlink()
    assert differ() == []


# Listings.


@pytest.mark.parametrize(
    "lists",
    [os.listdir, lambda p: list(os.scandir(p)), lambda p: list(Path(p).glob("*.csv"))],
    ids=["listdir", "scandir", "glob"],
)
def test_a_listing_is_held_by_its_names(repository, watched, lists):
    lists(repository / "data")
    got = held(watched, repository)
    assert got["folders"] == [{"path": "data", "sha256": dependencies.listing(str(repository / "data"), [])}]
    kept = {"files": [], **got}
    (repository / "data/.hidden").write_text("")
    assert dependencies.differences(str(repository), kept, str(repository), Depends()) == []
    (repository / "data/3.csv").write_text("")
    assert dependencies.differences(str(repository), kept, str(repository), Depends()) == ["data has other files"]
    assert dependencies.differences(str(repository), kept, str(repository), Depends(ignore=("data/**",))) == []


def test_names_of_the_kinds_that_were_read_count(repository, watched):
    os.listdir(repository / "data")
    (repository / "data/1.csv").read_text()
    got = held(watched, repository)
    assert got["folders"][0]["suffixes"] == [".csv"]
    (repository / "data/notes.txt").write_text("")
    assert dependencies.differences(str(repository), {"files": [], **got}, str(repository), Depends()) == []


def test_folders_that_differ_in_each_clone_are_not_held(repository, watched):
    os.listdir(repository)
    os.listdir(repository / "weights")
    os.listdir(repository / "data")
    (repository / "data/new.csv").write_text("")
    assert held(watched, repository)["folders"] == [], "the root, ignored files, a folder that the run wrote to"


def test_an_import_lists_nothing(repository, watched, monkeypatch):
    (repository / "data/listed_by_import.py").write_text("")
    age(repository)
    watched.listed.clear()
    watched.written.clear()
    monkeypatch.syspath_prepend(str(repository / "data"))
    importlib.invalidate_caches()
    assert importlib.util.find_spec("listed_by_import")
    assert held(watched, repository)["folders"] == []


# Variables.


def test_variables_that_the_projects_code_reads(repository, watched, monkeypatch):
    monkeypatch.setenv("WIDTH", "256")
    monkeypatch.delenv("DEPTH", raising=False)
    watched.assigned.clear()  # the test set it, not the run
    space = code(
        repository,
        "import os\ndef ask():\n    return os.environ['WIDTH'], os.getenv('DEPTH', '2'), 'HEADS' in os.environ\n",
    )
    assert space["ask"]()[:2] == ("256", "2")
    got = held(watched, repository)["variables"]
    assert got == {"WIDTH": dependencies.hashed_value("WIDTH", "256"), "DEPTH": "", "HEADS": ""}
    assert len(got["WIDTH"]) == dependencies.HASHED and "256" not in json.dumps(got)
    kept = {"files": [], "variables": dict(sorted(got.items()))}
    assert dependencies.differences(str(repository), kept, str(repository), Depends()) == []
    monkeypatch.setenv("WIDTH", "25600")
    monkeypatch.setenv("DEPTH", "2")
    assert dependencies.differences(str(repository), kept, str(repository), Depends()) == [
        "variable DEPTH has changed",
        "variable WIDTH has changed",
    ]
    assert dependencies.differences(str(repository), kept, str(repository), Depends(ignore=("$WIDTH", "$DEP*"))) == []


def test_variables_that_a_library_reads_are_not_held(repository, watched, tmp_path):
    code(tmp_path, "import os\nos.environ.get('WIDTH')\n", "library.py")
    (repository / "site-packages/x").mkdir(exist_ok=True)
    code(repository / "site-packages/x", "import os\nos.environ.get('DEPTH')\n", "x.py")
    assert held(watched, repository)["variables"] == {}


@pytest.mark.parametrize("library", ["omegaconf", "site-packages/hydra"])
def test_omegaconf_and_hydra_read_for_whoever_asks_them(repository, watched, library):
    ask = code(repository, "def ask(get):\n    return get()\n")["ask"]
    space = {}
    exec(
        compile("import os\ndef get():\n    return os.environ.get('BATCH')\n", f"/lib/{library}/resolvers.py", "exec"),
        space,
    )
    ask(space["get"])
    assert list(held(watched, repository)["variables"]) == ["BATCH"]


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "API_KEY",
        "aws_secret",
        "DB_PASSWORD",
        "GOOGLE_CREDENTIALS",
        "HOME",
        "USER",
        "CI",
        "RANK",
        "CUDA_VISIBLE_DEVICES",
        "GITHUB_SHA",
        "PYTHONPATH",
    ],
)
def test_secrets_and_what_belongs_to_a_machine_are_not_held(repository, watched, monkeypatch, name):
    monkeypatch.setenv(name, "value of it")
    watched.assigned.clear()
    code(repository, f"import os\nos.environ.get({name!r})\n")
    got = held(watched, repository)["variables"]
    assert got == {} and not reads.kept(name)


def test_what_the_run_set_itself_is_not_held(repository, watched, monkeypatch):
    monkeypatch.delenv("WIDTH", raising=False)
    os.environ.get("WIDTH")  # as a library asks for it while it is imported
    code(repository, "import os\nos.environ['WIDTH'] = '7'\nos.environ.get('WIDTH')\n")
    assert held(watched, repository)["variables"] == {}


@pytest.mark.parametrize(
    "text",
    [
        "dict(os.environ)",
        "os.environ.copy()",
        "{k: v for k, v in os.environ.items()}",
        "{**os.environ}",
        "list(os.environ.values())",
        "[os.environ[k] for k in os.environ]",
    ],
)
def test_all_variables_at_once_are_none(repository, watched, text):
    code(repository, f"import os\n{text}\n")
    assert held(watched, repository)["variables"] == {}


# What opens files natively.


def test_safetensors_is_seen(repository, watched):
    numpy = pytest.importorskip("safetensors.numpy")
    data = pytest.importorskip("numpy").zeros(4)
    numpy.save_file({"x": data}, repository / "weights.safetensors")
    age(repository)
    watched.written.clear()
    watched.opened.clear()
    from safetensors import safe_open

    with safe_open(str(repository / "weights.safetensors"), "numpy") as f:
        f.get_tensor("x")
    assert paths(held(watched, repository)["read"]) == ["weights.safetensors"]


@pytest.mark.parametrize(
    "call", [lambda f, p: f(p), lambda f, p: f(str(p)), lambda f, p: f(path=str(p)), lambda f, p: f(filename=str(p))]
)
def test_a_function_that_opens_natively_reports(repository, watched, call):
    module = types.ModuleType("native")
    module.read = lambda *args, **kw: "as before"
    reads._wrap(module, ("read", "of another release"))
    assert call(module.read, repository / "conf/a.json") == "as before"
    assert paths(held(watched, repository)["read"]) == ["conf/a.json"]


# Distributions.


def test_packages_are_those_whose_modules_are_imported(tmp_path, monkeypatch):
    at = tmp_path / "site-packages"
    for name in ("Reads_Used", "reads_unused"):
        (at / name.lower()).mkdir(parents=True)
        (at / name.lower() / "__init__.py").write_text("")
        (at / f"{name}-1.2.dist-info").mkdir()
        (at / f"{name}-1.2.dist-info/METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (at / f"{name}-1.2.dist-info/top_level.txt").write_text(name.lower() + "\n")
    monkeypatch.syspath_prepend(str(at))
    importlib.invalidate_caches()
    importlib.import_module("reads_used")
    try:
        got = reads.packages()
    finally:
        del sys.modules["reads_used"]
    assert got["reads-used"] == "1.2" and "reads-unused" not in got and "memshim" not in got
    (at / "Reads_Used-1.2.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: Reads_Used\nVersion: 1.3\n")
    recorded = {"files": [], "packages": {"reads-used": "1.2", "not-installed-here": "1"}}
    assert dependencies.differences(str(tmp_path), recorded, str(tmp_path), Depends()) == ["reads-used 1.2 → 1.3"]


# depends: of a case.


def test_depends_corrects(repository, watched, monkeypatch):
    monkeypatch.setenv("SEED", "1")
    watched.assigned.clear()
    (repository / "conf/a.json").read_text()
    code(repository, "import os\nos.environ.get('SEED')\n")
    case = Depends.of({"depends": {"ignore": ["conf/**", "$SEED"], "also": ["data/*.csv"]}})
    got = held(watched, repository, case)
    assert paths(got["read"]) == ["data/1.csv", "data/2.csv"] and got["variables"] == {}
    recorded = {"files": [], **got}
    assert dependencies.differences(str(repository), recorded, str(repository), case) == []
    (repository / "data/3.csv").write_text("")
    (repository / "data/1.csv").unlink()
    assert dependencies.differences(str(repository), recorded, str(repository), case) == [
        "data/1.csv is gone",
        "data/3.csv is new",
    ]


def test_after_the_end_nothing_is_seen(repository, watched):
    watched.end()
    (repository / "conf/a.json").read_text()
    os.listdir(repository / "data")
    code(repository, "import os\nos.environ.get('WIDTH')\n")
    assert (watched.opened, watched.listed, watched.asked) == ({}, {}, {}) and reads.current() is None


def test_a_file_that_the_run_wrote_or_that_is_gone_is_the_runs(tmp_path):
    (tmp_path / "data").touch()
    seen, path = Reads(), str(tmp_path / "data")
    seen.began = os.stat(path).st_mtime
    assert seen.by_run(path), "as old as the run"
    seen.began += 1
    assert not seen.by_run(path) and seen.by_run(str(tmp_path / "gone"))
    seen.written.add(path)
    assert seen.by_run(path)
