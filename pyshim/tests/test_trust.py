"""What a checkout cannot do to the commands that run in it: be imported, be loaded as a library,
run by its pickles."""

import os
import pickle
import subprocess
import sys
import zipfile

import pytest

from memshim import binary, workdir
from memshim.case import capture, measure, pickles, process
from memshim.judge import check
from memshim.workspace import query, torchwheel

ENDING = "import os\nopen('ran', 'w').close()\nos._exit(0)\n"


# Modules that Python itself imports for -m, before it gets to memshim; those of 3.11.
OF_PYTHON = (
    "importlib",
    "warnings",
    "contextlib",
    "collections",
    "keyword",
    "operator",
    "reprlib",
    "functools",
    "types",
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A folder with a module of each name of Python's own, but for OF_PYTHON, and of others."""
    folder = tmp_path_factory.mktemp("hostile")
    others = ("torch", "yaml", "pytest", "sitecustomize", "usercustomize")
    for name in {*sys.stdlib_module_names, *others} - {*sys.builtin_module_names, *OF_PYTHON}:
        (folder / f"{name}.py").write_text(ENDING)
    return folder


@pytest.mark.parametrize("start", [["-m", "memshim"], ["-mmemshim"], ["-um", "memshim"], ["-W", "ignore", "-mmemshim"]])
def test_no_module_of_the_checkout_is_imported(hostile, start):
    p = subprocess.run([sys.executable, *start, "check", "--on", "none"], cwd=hostile, capture_output=True, text=True)
    assert p.returncode == 2, p.stderr
    assert "memspec.yaml: no such file or directory" in p.stderr
    assert not (hostile / "ran").exists()


@pytest.mark.skipif(sys.version_info < (3, 11), reason="python -P is new in 3.11")
def test_processes_of_ours_import_nothing_of_the_checkout(tmp_path, monkeypatch):
    """Not even what Python itself imports: whoever calls the command memshim is safe from that."""
    for name in OF_PYTHON:
        (tmp_path / f"{name}.py").write_text(ENDING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(binary.PACKAGE) + os.pathsep)
    with pytest.raises(query.Unable):
        query.Process("no such folder")
    job = {"timeout": 60, "where": "cpu", "stacks": "python", "recording": ""}
    with pytest.raises(Exception, match="KeyError"):  # ours: there is no such case
        process.Fresh().run(str(tmp_path), {}, job, {})
    server = process.Server()
    try:
        p = server._server({})
        p.stdin.close()
        assert p.wait(60) == 0
    finally:
        server.close()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("variable, shown", [("", True), ("PYTHONSAFEPATH", False)])
def test_processes_of_ours_show_the_users_code_its_neighbours(tmp_path, monkeypatch, variable, shown):
    if variable:
        monkeypatch.setenv(variable, "1")
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(binary.PACKAGE))
    command = workdir.module("memshim.workdir")  # which does nothing: what it leaves is asked for by -i
    asked = "import memshim.workdir, os, sys; memshim.workdir.show(); print(sys.path[0] == os.getcwd())\n"
    p = subprocess.run([command[0], "-iq", *command[1:]], cwd=tmp_path, input=asked, capture_output=True, text=True)
    assert p.stdout == f"{shown}\n", p.stderr


def test_a_package_installed_in_a_checkout_builds_nothing_of_it(tmp_path):
    """A project that keeps its environment inside may get a folder cmd/memspec from anybody."""
    (tmp_path / "cmd" / "memspec").mkdir(parents=True)
    (tmp_path / "cmd" / "memspec" / "main.go").touch()
    (tmp_path / "go.mod").touch()
    installed = tmp_path / ".venv" / "lib" / "python3.11" / "site-packages" / "memshim"
    assert binary.checkout(installed) is None
    assert binary.checkout(tmp_path / "pyshim" / "src" / "memshim") == tmp_path


def test_the_users_own_code_still_finds_its_neighbours(tmp_path):
    """A source imports modules of the working directory, as python -m has it."""
    (tmp_path / "sizes_of_mine.py").write_text("N = 3\n")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "net.py").write_text("import sizes_of_mine\nclass Net: pass\nnet = sizes_of_mine.N\n")
    code = "import sys; sys.argv[0] = '-m'\nfrom memshim.case import build\nprint(build.named('models/net.py:net'))"
    started = "import runpy, sys; sys.orig_argv[1:] = ['-m', 'memshim']; "
    started += f"sys.path.insert(0, {str(tmp_path)!r}); exec({code!r})"
    p = subprocess.run([sys.executable, "-c", started], cwd=tmp_path, capture_output=True, text=True)
    assert (p.returncode, p.stdout) == (0, "3\n"), p.stderr


def test_libraries_of_the_checkout_are_not_found(tmp_path, monkeypatch):
    (tmp_path / "nvidia" / "cudnn" / "lib").mkdir(parents=True)
    (tmp_path / "nvidia" / "cudnn" / "lib" / torchwheel.SONAME).write_bytes(b"")
    before = torchwheel.site()
    monkeypatch.chdir(tmp_path)
    for entry in ("", ".", str(tmp_path), os.path.relpath(tmp_path, "/")):
        monkeypatch.setattr(sys, "path", [entry, *sys.path])
        assert torchwheel.site() == before, entry
    installed = tmp_path / "venv" / "site-packages"
    (installed / "nvidia").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(installed), *sys.path])
    assert installed / "nvidia" in torchwheel.site()


class Touch:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch {self.path}",))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    torch = pytest.importorskip("torch")
    path = tmp_path_factory.mktemp("trust") / "net.pt2"
    torch.export.save(torch.export.export(torch.nn.Linear(2, 2), (torch.zeros(1, 2),)), path)
    return path


def test_an_exported_program_is_loaded(program):
    from memshim.case import pickles

    assert pickles.load_program(str(program)).module() is not None


@pytest.mark.parametrize("trust", [False, True])
def test_a_pickle_that_runs_code_is_refused(program, tmp_path, monkeypatch, trust):
    import torch

    from memshim.case import build, pickles

    ran, hostile = tmp_path / "ran", tmp_path / "hostile.pt2"
    torch.save(Touch(ran), tmp_path / "inputs.pt", pickle_module=pickle)
    with zipfile.ZipFile(program) as z, zipfile.ZipFile(hostile, "w") as out:
        names = [n for n in z.namelist() if "sample_inputs" in n]
        assert names, "this release of PyTorch keeps its sample inputs elsewhere"
        for name in z.namelist():
            out.writestr(name, (tmp_path / "inputs.pt").read_bytes() if name in names else z.read(name))
    if trust:
        monkeypatch.setenv(pickles.TRUST, "1")
        try:
            build.load_artifact(str(hostile), "cpu")
        except Exception:  # what was loaded is no sample input
            pass
        assert ran.exists(), "the file must be hostile for this test to show anything"
        return
    with pytest.raises(
        build.BuildError,
        match=r"hostile\.pt2: got a pickle that PyTorch's safe unpickler refuses \(.*system.*\); --trust loads it",
    ):
        build.load_artifact(str(hostile), "cpu")
    assert not ran.exists()


@pytest.mark.parametrize("command", [capture, measure, check])
def test_every_command_that_loads_programs_takes_trust(command, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(pickles.TRUST, "")
    assert command.main(["--trust", str(tmp_path / "absent.yaml")]) == 2
    assert os.environ[pickles.TRUST] == "1" and "absent.yaml" in capsys.readouterr().err
