"""The wheel: it carries the binary, and what is installed from it works without torch, Go or a
checkout."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PYSHIM = Path(__file__).parents[1]

if not shutil.which("go") or not (PYSHIM / "setup.py").is_file():
    pytest.skip("building the wheel takes Go and a checkout", allow_module_level=True)
pytest.importorskip("setuptools", minversion="77")
pytest.importorskip("pip")


def release():
    """tools/release.py, which looks at every wheel before it goes out."""
    spec = importlib.util.spec_from_file_location("release", PYSHIM / "tools" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_licence_and_those_of_linked_modules():
    assert (PYSHIM / "LICENSE").read_bytes() == (PYSHIM.parent / "LICENSE").read_bytes()
    p = subprocess.run(
        [sys.executable, str(PYSHIM / "tools" / "dump_licences.py"), "--check"], capture_output=True, text=True
    )
    assert p.returncode == 0, p.stdout + p.stderr


def header(kind):
    """The beginning of a program."""
    import struct

    if kind.startswith("elf"):
        body = bytearray(200)
        body[:4] = b"\x7fELF"
        struct.pack_into("<H", body, 18, 183 if "arm" in kind else 62)
        struct.pack_into("<Q", body, 32, 64)
        struct.pack_into("<HH", body, 54, 56, 1)
        struct.pack_into("<I", body, 64, 3 if "dynamic" in kind else 1)
    elif kind == "mach":
        body = bytearray(b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x0100000C))
    elif kind == "pe":
        body = bytearray(b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", 0x8664))
    else:
        body = bytearray(b"#!/bin/sh")
    return bytes(body)


@pytest.mark.parametrize(
    "kind, system",
    [
        ("elf", ("linux-amd64", True)),
        ("elf arm", ("linux-arm64", True)),
        ("elf dynamic", ("linux-amd64", False)),
        ("mach", ("darwin-arm64", True)),
        ("pe", ("windows-amd64", True)),
        ("script", ("?", False)),
    ],
)
def test_which_system_a_program_is_for(kind, system):
    assert release().system_of(header(kind)) == system


def test_the_wheel(tmp_path):
    """One test, so that the wheel is built once however many processes run the tests."""
    wheel = build(tmp_path / "wheel")
    what_is_in_it(wheel)
    python, project = install(wheel, tmp_path / "site"), make_project(tmp_path / "project")
    commands_are_there(python, tmp_path / "site" / "bin", project)
    check_runs(python, project)
    the_plugin_is_there(python, project)


def build(folder):
    before = sorted(p.name for p in (PYSHIM / "src").iterdir())
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--disable-pip-version-check",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            str(folder),
            str(PYSHIM),
        ],
        check=True,
    )
    assert sorted(p.name for p in (PYSHIM / "src").iterdir()) == before and not (PYSHIM / "build").exists(), (
        "the checkout is as it was"
    )
    (made,) = folder.iterdir()
    return made


def install(wheel, site):
    """A Python with the wheel in it, without torch, and with nothing on PATH."""
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--no-deps",
            "--no-index",
            "--target",
            str(site),
            str(wheel),
        ],
        check=True,
    )
    (site / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    environment = {k: v for k, v in os.environ.items() if k not in ("MEMSPEC", "PYTHONPATH")} | {
        "PYTHONPATH": str(site),
        "PATH": "/nothing",
    }

    def run(*arguments, cwd):
        return subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True)

    return run


def make_project(folder):
    """The example, with its artifact beside it."""
    examples = PYSHIM.parent / "examples" / "pytest"
    text = (
        (examples / "memspec.yaml")
        .read_text()
        .replace("../../testdata/artifacts/torchvision/", "")
        .replace("../../memspec.workspace.json", "memspec.workspace.json")
    )
    folder.mkdir()
    shutil.copy(PYSHIM.parent / "memspec.workspace.json", folder)
    (folder / "memspec.yaml").write_text(text)
    shutil.copy(examples / "models.py", folder)
    shutil.copy(PYSHIM.parent / "testdata" / "artifacts" / "torchvision" / "mobilenet_v3_small.script.pt", folder)
    return folder


def what_is_in_it(wheel):
    assert wheel.name.startswith("memshim-") and "-py3-none-" in wheel.name and not wheel.name.endswith("-any.whl"), (
        "any Python 3, this platform"
    )
    with zipfile.ZipFile(wheel) as z:
        names = z.namelist()
        entry_points = z.read(next(n for n in names if n.endswith("entry_points.txt"))).decode()
        metadata = z.read(next(n for n in names if n.endswith("METADATA"))).decode()
        binary = z.getinfo("memshim/bin/memspec")
    assert {
        "memshim/__main__.py",
        "memshim/judge/plugin.py",
        "memshim/schemas/measurement.schema.json",
        "memshim/schemas/run.schema.json",
        "memshim/schemas/serving.schema.json",
        "memshim/pretend/lib/libcuda.so.1",
        "memshim/pretend/lib/libcuda.so",
    } <= set(names)
    assert not [n for n in names if "test" in n or n.startswith(("tools", "src"))]
    assert binary.external_attr >> 16 & 0o111 == 0o111, "it can be run"
    assert "[pytest11]\nmemshim = memshim.judge.plugin\n" in entry_points
    if sys.platform == "linux" and "x86_64" in wheel.name:
        release().look(wheel, "linux-amd64" if "manylinux" in wheel.name else "linux-amd64-musl")
    assert "Requires-Python: >=3.10\n" in metadata and "Requires-Dist: torch" not in metadata


def commands_are_there(python, folder, project):
    """Of one version."""
    p = python(str(folder / "memspec"), "--version", cwd=project)
    assert (p.returncode, p.stdout) == (0, f"memspec {release().version()}\n"), p.stderr
    p = python(str(folder / "memshim"), "--help", cwd=project)
    assert p.returncode == 0 and p.stdout.startswith("usage: "), p.stderr


def check_runs(python, project):
    p = python("-m", "memshim", "check", cwd=project)
    assert p.returncode == 0, p.stderr
    assert "3 cases: 2 pass, 1 warn" in p.stdout.splitlines()
    p = python("-m", "memshim", "check", "--case", "mobilenet[B=1]", "--format", "json", cwd=project)
    assert json.loads(p.stdout)["cases"][0]["outcome"] == "pass"
    p = python("-m", "memshim", "measure", "--case", "mobilenet[B=1]", "--where", "cpu", cwd=project)
    assert (p.returncode, p.stderr) == (
        2,
        "memshim: mobilenet[B=1]: got no torch, want PyTorch installed for this Python: python -m pip install torch\n",
    )


def the_plugin_is_there(python, project):
    p = python("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    assert p.returncode == 0, p.stdout + p.stderr
    assert "3 budgets: 2 pass, 1 warn, 3 not measured: " in p.stdout


def test_setuptools_that_are_too_old_are_named(tmp_path):
    (tmp_path / "setuptools" / "command").mkdir(parents=True)
    (tmp_path / "setuptools" / "__init__.py").write_text("__version__ = '65.5.0'\nDistribution = setup = None\n")
    (tmp_path / "setuptools" / "command" / "__init__.py").write_text("")
    p = subprocess.run(
        [sys.executable, str(PYSHIM / "setup.py")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    assert p.returncode == 1
    assert (
        p.stderr == "memshim: got setuptools 65.5.0, want 77 or newer: leave out --no-build-isolation, or pip install "
        "'setuptools>=77'\n"
    )
