"""Where a cuDNN is looked for, in which order, and what is said where none will do."""

import zipfile
from pathlib import Path

import pytest

from memshim.workspace import query, torchwheel
from memshim.workspace.torchwheel import NotFound


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch):
    monkeypatch.setattr(torchwheel, "getsitepackages", list)
    monkeypatch.setattr(torchwheel, "ENABLE_USER_SITE", False)
    monkeypatch.setattr(torchwheel, "SYSTEM", ())
    monkeypatch.setattr(torchwheel.sys, "path", [])


def library(folder, name=torchwheel.SONAME):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"")
    return folder


def test_the_installed_torch(monkeypatch):
    monkeypatch.setattr(torchwheel.importlib.metadata, "version", lambda name: f"2.15.0 of {name}")
    assert torchwheel.installed_torch() == "2.15.0 of torch"

    def absent(name):
        raise torchwheel.importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(torchwheel.importlib.metadata, "version", absent)
    assert torchwheel.installed_torch() == ""


def test_installed_packages_are_looked_at_once_each(tmp_path, monkeypatch):
    own, user = tmp_path / "site-packages", tmp_path / "user"
    for folder in (own, user, tmp_path / "dist-packages", tmp_path / "lib"):
        (folder / "nvidia").mkdir(parents=True)
    monkeypatch.setattr(torchwheel, "getsitepackages", lambda: [str(own), str(tmp_path / "empty")])
    monkeypatch.setattr(torchwheel, "getusersitepackages", lambda: str(user))
    monkeypatch.setattr(torchwheel.sys, "path", [str(tmp_path / "lib"), str(tmp_path / "dist-packages"), str(own)])
    assert torchwheel.site() == [own / "nvidia", tmp_path / "dist-packages" / "nvidia"]
    monkeypatch.setattr(torchwheel, "ENABLE_USER_SITE", True)
    assert torchwheel.site() == [own / "nvidia", user / "nvidia", tmp_path / "dist-packages" / "nvidia"]


def test_folders_that_are_given_come_first(tmp_path, monkeypatch):
    given = library(tmp_path / "given" / "nvidia" / "cudnn" / "lib")
    plain = library(tmp_path / "given" / "a")
    packages = tmp_path / "site-packages"
    installed = library(packages / "nvidia" / "cudnn" / "lib")
    (tmp_path / "dist-packages" / "nvidia").mkdir(parents=True)  # has none
    system = library(tmp_path / "system")
    monkeypatch.setattr(torchwheel.sys, "path", [str(tmp_path / "dist-packages"), str(packages)])
    monkeypatch.setattr(torchwheel, "SYSTEM", (str(tmp_path / "absent"), str(system)))
    assert [*torchwheel.folders([str(tmp_path / "given")], tmp_path)] == [
        (plain, [tmp_path / "given"]),
        (given, [tmp_path / "given", tmp_path / "given" / "nvidia"]),
        (installed, [packages / "nvidia"]),
        (system, [system]),
    ]


def test_what_cudnn_loads_is_of_its_generation(tmp_path, monkeypatch):
    first, packages = tmp_path / "first", tmp_path / "site-packages"
    for folder, name in (
        (first, "libcublasLt.so.12"),
        (first / "b", "libnvrtc.so.13"),
        (first / "a", "libnvrtc.so.13"),
        (packages / "nvidia" / "x", "libcublasLt.so.13"),
        (packages / "nvidia" / "x", "libnvrtc.so.13"),
    ):
        library(folder, name)
    monkeypatch.setattr(torchwheel.sys, "path", [str(packages)])
    assert torchwheel.beside(13, [first]) == (
        str(packages / "nvidia" / "x" / "libcublasLt.so.13"),
        str(first / "a" / "libnvrtc.so.13"),
    )
    assert torchwheel.beside(12, [first]) == (str(first / "libcublasLt.so.12"),)
    assert torchwheel.beside(11, [first]) == ()


def found(tmp_path, wanted, versions, wheel="nvidia-cudnn-cu12==9.10.2.21", torch=("2.8",)):
    """What is found of a version among libraries of these, each in a folder by its place; an error
    is one that cannot be asked."""
    for i in range(len(versions)):
        library(tmp_path / str(i))

    def probe(folder):
        version = versions[int(Path(folder).name)]
        if isinstance(version, Exception):
            raise version
        return version, 12

    return torchwheel.find({"version": wanted, "torch": [*torch], "wheel": wheel}, [str(tmp_path)], tmp_path, probe)


@pytest.mark.parametrize(
    "wanted, versions, more, said",
    [
        ("9.10.2", [], {}, "got no cuDNN 9.10.2 (torch 2.8); the torch installed here is T. Its wheel is "
         "nvidia-cudnn-cu12==9.10.2.21: python -m pip download --no-deps -d DIR nvidia-cudnn-cu12==9.10.2.21 "
         "nvidia-cublas-cu12 nvidia-cuda-nvrtc-cu12, then --cudnn DIR"),
        ("9.26.0", [(9, 10, 2), (9, 9, 0)], {"wheel": "nvidia-cudnn-cu13==9.26.0.1", "torch": ("2.14", "2.15")},
         "got no cuDNN 9.26.0 (torch 2.14, 2.15), only 9.9.0, 9.10.2; the torch installed here is T. Its wheel is "
         "nvidia-cudnn-cu13==9.26.0.1: python -m pip download --no-deps -d DIR nvidia-cudnn-cu13==9.26.0.1 "
         "nvidia-cublas nvidia-cuda-nvrtc, then --cudnn DIR"),
        ("9.1.0", [(9, 1, 0)], {}, "got no cuDNN 9.1.0 (torch 2.8), which does not answer without a device; got none "
         "of 9.8.0 or newer to stand in, only 9.1.0; the torch installed here is T. A wheel that can stand in is "
         "nvidia-cudnn-cu12==9.8.0.87: python -m pip download --no-deps -d DIR nvidia-cudnn-cu12==9.8.0.87 "
         "nvidia-cublas-cu12 nvidia-cuda-nvrtc-cu12, then --cudnn DIR"),
        ("9.10.2", [query.Unable("one"), query.Lost("two")], {"wheel": "", "torch": ()},
         "got no cuDNN 9.10.2; the torch installed here is T\n  {folder}/0: one\n  {folder}/1: two"),
    ],
)  # fmt: skip
def test_what_is_there_instead_is_said(tmp_path, monkeypatch, wanted, versions, more, said):
    monkeypatch.setattr(torchwheel, "installed_torch", lambda: "T")
    if not versions:
        library(tmp_path / "0")
        versions = [query.Unable("damaged")]
        said += "\n  {folder}/0: damaged"
    with pytest.raises(NotFound) as e:
        found(tmp_path, wanted, versions, **more)
    assert str(e.value) == said.format(folder=tmp_path)


def test_a_python_without_torch_has_none_to_name(tmp_path, monkeypatch):
    monkeypatch.setattr(torchwheel, "installed_torch", str)
    with pytest.raises(NotFound, match=r"^got no cuDNN 9\.10\.2, only 9\.26\.0$"):
        found(tmp_path, "9.10.2", [(9, 26, 0)], wheel="", torch=())


def test_a_library_is_asked_in_its_own_process(monkeypatch):
    class Process:
        version, cuda, closed = (9, 26, 0), 13, []

        def __init__(self, folder):
            self.folder = folder

        def close(self):
            self.closed.append(self.folder)

    monkeypatch.setattr(query, "Process", Process)
    assert torchwheel.probe("there") == ((9, 26, 0), 13) and Process.closed == ["there"]


@pytest.mark.parametrize(
    "folder, beside",
    [("/s/nvidia/cudnn/lib", ["/s/nvidia"]), ("/s/cuda/cudnn/lib", []), ("/nvidia/lib", []), ("/lib", []), ("/", [])],
)
def test_the_other_packages_of_nvidia_lie_beside(folder, beside):
    assert torchwheel.siblings(Path(folder)) == [*map(Path, beside)]


def test_a_wheel_that_two_processes_unpack_at_once_is_there_once(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "nvidia_cudnn_cu13-9.26.whl", "w") as z:
        z.writestr("nvidia/cudnn/lib/libcudnn.so.9", "data")
    out = tmp_path / "wheels" / "nvidia_cudnn_cu13-9.26"
    rename = Path.rename

    def late(self, target):
        library(out)  # the other one's
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", late)
    assert torchwheel.unpack(tmp_path / "nvidia_cudnn_cu13-9.26.whl", tmp_path) == out
    assert [*out.parent.iterdir()] == [out] and (out / torchwheel.SONAME).read_bytes() == b""

    def refused(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(OSError, match="No space left on device"):
        torchwheel.unpack(tmp_path / "nvidia_cudnn_cu13-9.26.whl", tmp_path / "other")
