"""What a checkout cannot do to the commands that run in it: be imported, be loaded as a library,
run by its pickles."""

import os
import pickle
import subprocess
import sys
import zipfile

import pytest

from memshim.workspace import torchwheel

ENDING = "import os\nopen('ran', 'w').close()\nos._exit(0)\n"


@pytest.mark.parametrize("module", ["json", "argparse", "typing", "tempfile", "subprocess", "site"])
def test_a_module_of_the_checkout_is_not_imported(tmp_path, module):
    (tmp_path / f"{module}.py").write_text(ENDING)
    p = subprocess.run(
        [sys.executable, "-m", "memshim", "check", "--on", "none"], cwd=tmp_path, capture_output=True, text=True
    )
    assert p.returncode == 2, p.stderr
    assert "memspec.yaml: no such file or directory" in p.stderr
    assert not (tmp_path / "ran").exists()


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
