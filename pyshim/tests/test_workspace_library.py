"""Finding the cuDNN of a release, and describing devices to it."""

import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from memshim.pretend import device
from memshim.workspace import deviceclass, query, torchwheel

WANTED = {
    "library": "cudnn",
    "version": "9.10.2",
    "class": "sm89",
    "torch": ["2.10"],
    "wheel": "nvidia-cudnn-cu12==9.10.2.21",
}


@pytest.fixture
def alone(monkeypatch):
    """A Python without packages on a machine without cuDNN; a folder's name is its library's
    version."""
    monkeypatch.setattr(torchwheel, "site", list)
    monkeypatch.setattr(torchwheel, "SYSTEM", ())
    monkeypatch.setattr(torchwheel, "installed_torch", lambda: "2.15.0")


def library(folder: Path, blas: str = "") -> Path:
    folder.mkdir(parents=True)
    (folder / "libcudnn.so.9").touch()
    if blas:
        (folder / blas).touch()
    return folder


def by_name(folder):
    version = Path(folder).name.removeprefix("v")
    if version == "broken":
        raise query.Lost("libcudnn.so.9: invalid ELF header")
    return torchwheel.parse(version), 12


def find(tmp_path, *given, wanted=WANTED):
    return torchwheel.find(wanted, [str(g) for g in given], tmp_path / "cache", probe=by_name)


def test_the_exact_version_is_taken(tmp_path, alone):
    library(tmp_path / "v9.26.0")
    right = library(tmp_path / "v9.10.2", "libcublasLt.so.12")
    found = find(tmp_path, tmp_path)
    assert found == torchwheel.Found(str(right), (str(right / "libcublasLt.so.12"),), (9, 10, 2))


def test_what_cudnn_loads_lies_beside_as_packages_have_it(tmp_path, alone):
    folder = library(tmp_path / "nvidia" / "cudnn" / "v9.10.2")
    blas = tmp_path / "nvidia" / "cublas" / "lib" / "libcublasLt.so.12"
    blas.parent.mkdir(parents=True)
    blas.touch()
    (blas.parent / "libcublasLt.so.13").touch()
    nvrtc = tmp_path / "nvidia" / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"
    nvrtc.parent.mkdir(parents=True)
    builtins = nvrtc.with_name("libnvrtc-builtins.so.12.8")
    nvrtc.touch(), builtins.touch()
    assert find(tmp_path, folder).beside == (str(blas), str(nvrtc), str(builtins)), "of its own CUDA generation"


def test_another_version_will_not_do(tmp_path, alone):
    library(tmp_path / "v9.26.0")
    library(tmp_path / "vbroken")
    with pytest.raises(torchwheel.NotFound) as e:
        find(tmp_path, tmp_path)
    assert str(e.value) == (
        "got no cuDNN 9.10.2 (torch 2.10), only 9.26.0; the torch installed here is 2.15.0. Its wheel is "
        "nvidia-cudnn-cu12==9.10.2.21: "
        "python -m pip download --no-deps -d DIR nvidia-cudnn-cu12==9.10.2.21 nvidia-cublas-cu12 "
        "nvidia-cuda-nvrtc-cu12, then --cudnn DIR"
        f"\n  {tmp_path / 'vbroken'}: libcudnn.so.9: invalid ELF header"
    )


def test_the_wheel_of_cuda_13_needs_another_cublas(tmp_path, alone):
    wanted = WANTED | {"version": "9.26.0", "torch": ["2.15"], "wheel": "nvidia-cudnn-cu13==9.26.0.51"}
    library(tmp_path / "v9.10.2")
    with pytest.raises(
        torchwheel.NotFound, match="nvidia-cudnn-cu13==9.26.0.51 nvidia-cublas nvidia-cuda-nvrtc, then --cudnn DIR"
    ):
        find(tmp_path, tmp_path, wanted=wanted)


@pytest.mark.parametrize("version", ["9.1.0", "8.9.2", "9.5.1"])
def test_an_older_release_has_the_oldest_that_answers_stand_in(tmp_path, alone, version):
    library(tmp_path / f"v{version}")
    library(tmp_path / "v9.26.0")
    library(tmp_path / "v9.10.2")
    assert find(tmp_path, tmp_path, wanted=WANTED | {"version": version}).version == (9, 10, 2)


def test_an_older_release_alone_will_not_do(tmp_path, alone):
    library(tmp_path / "v9.1.0")
    wanted = WANTED | {"version": "9.1.0", "torch": ["2.6"], "wheel": "nvidia-cudnn-cu12==9.1.0.70"}
    with pytest.raises(torchwheel.NotFound) as e:
        find(tmp_path, tmp_path, wanted=wanted)
    assert (
        "got no cuDNN 9.1.0 (torch 2.6), which does not answer without a device; got none of 9.8.0 or newer to stand in"
        in str(e.value)
    )
    assert ". A wheel that can stand in is nvidia-cudnn-cu12==9.8.0.87: " in str(e.value)


@pytest.mark.parametrize(
    "make, want",
    [
        (lambda p: None, "got no such folder"),
        (lambda p: p.mkdir(), "got a folder without libcudnn.so.9 and without a wheel nvidia_cudnn_cu*.whl"),
    ],
)
def test_a_folder_without_a_library(tmp_path, alone, make, want):
    make(tmp_path / "dir")
    with pytest.raises(torchwheel.NotFound, match=f"^--cudnn {tmp_path / 'dir'}: {want.replace('*', '[*]')}$"):
        find(tmp_path, tmp_path / "dir")


def test_wheels_are_unpacked_once(tmp_path, alone, monkeypatch):
    folder = tmp_path / "wheels"
    folder.mkdir()
    for wheel, member in (
        ("nvidia_cudnn_cu12-9.10.2.21-py3-none-any.whl", "libcudnn.so.9"),
        ("nvidia_cublas_cu12-12.8.4.1-py3-none-any.whl", "libcublasLt.so.12"),
        ("nvidia_cuda_nvrtc_cu12-12.8.93-py3-none-any.whl", "libnvrtc.so.12"),
    ):
        with zipfile.ZipFile(folder / wheel, "w") as z:
            z.writestr(f"nvidia/x/lib/{member}", b"elf")
            z.writestr("nvidia/x/lib/other.txt", b"")
    for given in (folder, folder / "nvidia_cudnn_cu12-9.10.2.21-py3-none-any.whl"):
        found = torchwheel.find(WANTED, [str(given)], tmp_path / "cache", probe=lambda f: ((9, 10, 2), 12))
        assert Path(found.folder, "libcudnn.so.9").read_bytes() == b"elf"
        assert sorted(p.name for p in Path(found.folder).iterdir()) == ["libcudnn.so.9"]
        assert [Path(p).name for p in found.beside] == ["libcublasLt.so.12", "libnvrtc.so.12"]
    (folder / "nvidia_cudnn_cu12-9.10.2.21-py3-none-any.whl").write_bytes(b"no zip")
    assert torchwheel.find(WANTED, [str(folder)], tmp_path / "cache", probe=lambda f: ((9, 10, 2), 12)), (
        "it was unpacked before"
    )
    with pytest.raises(torchwheel.NotFound, match="File is not a zip file"):
        torchwheel.find(WANTED, [str(folder)], tmp_path / "other", probe=by_name)


@pytest.mark.parametrize("text", ["", "9", "nine", "9.10.2.21.1", "9.-1"])
def test_versions_that_are_none(text):
    with pytest.raises(ValueError, match="want one such as 9.10.2"):
        torchwheel.parse(text)


def test_a_library_that_cannot_be_loaded_is_lost(tmp_path):
    (tmp_path / "libcudnn.so.9").write_bytes(b"no library")
    with pytest.raises(query.Unable, match="libcudnn.so.9"):
        query.Process(str(tmp_path))


def test_a_class_that_is_not_known(tmp_path):
    with pytest.raises(LookupError, match="^got device class 'sm12', want one of sm60, "):
        deviceclass.properties("sm12")


def test_a_class_that_the_library_does_not_run_on():
    deviceclass.check("sm70", 12)
    deviceclass.check("sm75-small", 13)
    deviceclass.check("", 13)
    with pytest.raises(
        LookupError, match="^got device class sm70, want sm75 or newer: libraries for CUDA 13 do not run on it$"
    ):
        deviceclass.check("sm70", 13)


def test_classes_are_described_by_their_capability():
    for name in deviceclass.NAMES:
        p = deviceclass.properties(name)
        assert p["deviceVer"] == 10 * int(name.removeprefix("sm").split("-")[0])
        assert p["maxSharedMemoryPerBlock"] <= p["maxSharedMemoryPerBlockOptin"]
        json.dumps(p)
    assert (
        deviceclass.properties("sm75-small")["multiProcessorCount"]
        < 60
        < deviceclass.properties("sm75-large")["multiProcessorCount"]
    )


def test_limits_of_classes_are_those_of_cards_of_their_capability():
    limits = {10 * int(a) + int(b): c for c in device.table()["capabilities"]
              for a, b in [c["compute_capability"].split(".")]}  # fmt: skip
    for name in deviceclass.NAMES[2:]:  # PyTorch's kernels for the first two are gone
        card = dict(word.split("=") for word in deviceclass.card(name).split(";"))
        wanted = limits[deviceclass.sm_version(name)]
        assert {k: int(card[k]) for k in device.LIMITS} == {k: wanted[k] for k in device.LIMITS}, name
        assert 10 * int(card["major"]) + int(card["minor"]) == int(card["kernels"]) == deviceclass.sm_version(name)


def test_descriptions_are_those_that_the_committed_answers_were_given_for():
    """One that changes needs the answers of its class again: memshim workspace --fresh."""
    described = json.dumps([deviceclass.properties(name) for name in deviceclass.NAMES], sort_keys=True)
    assert hashlib.sha256(described.encode()).hexdigest()[:16] == "e07113eba1e5fd8e"


def test_torch_is_not_imported():
    names = ", ".join(f"memshim.workspace.{name}" for name in ("command", "query", "cudnn"))
    code = f"import sys, {names}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(torchwheel.__file__).parents[1]).returncode == 0
