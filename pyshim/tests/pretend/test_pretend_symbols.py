"""Every call that PyTorch makes of CUDA's libraries is defined by the pretend GPU, or deliberately
left to the real library: a PyTorch that makes one more fails here, by its name."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import needed
import pytest

from memshim import pretend
from memshim.pretend import activate, build, support

DATA = Path(__file__).parents[3] / "testdata" / "pretend"
RELEASES = sorted(f.stem for f in (DATA / "needed").glob("*.txt"))


@pytest.fixture(scope="module")
def ours():
    if not shutil.which("nm"):
        pytest.skip("no nm here")
    p = subprocess.run(
        ["nm", "-D", "--defined-only", str(build.library() / build.LIBRARY)], capture_output=True, text=True, check=True
    )
    return {line.split()[-1] for line in p.stdout.splitlines()}


@pytest.fixture(scope="module")
def left():
    lines = [line for line in (DATA / "left.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines), "each with its reason"
    return [line.split()[0] for line in lines]


def read(release):
    return {
        line.split()[0]: " ".join(line.split()[1:])
        for line in (DATA / "needed" / f"{release}.txt").read_text().splitlines()
    }


def defined(name, of, ours):
    """As the dynamic linker and cudaGetDriverEntryPoint find it."""
    return (
        name in ours or of == "by name" and name.startswith("cu") and not {f"{name}_v2", f"{name}_v3"}.isdisjoint(ours)
    )


def unanswered(calls, ours, left):
    return [
        f"{name} ({of})"
        for name, of in calls.items()
        if not defined(name, of, ours) and not any(fnmatchcase(name, p) for p in left)
    ]


def test_all_releases_are_there():
    minor = {tuple(map(int, r.split(".")[:2])) for r in RELEASES}
    assert minor == {(2, n) for n in range(support.OLDEST[1], support.NEWEST[1] + 1)}


@pytest.mark.parametrize("release", RELEASES)
def test_every_call_is_answered(release, ours, left):
    assert unanswered(read(release), ours, left) == [], (
        "define it in native/, refuse it in native/refused.c, or say in left.txt why the real library may answer"
    )


def test_nothing_is_left_in_vain(ours, left):
    calls = {name for r in RELEASES for name, of in read(r).items() if not defined(name, of, ours)}
    assert [p for p in left if not any(fnmatchcase(name, p) for name in calls)] == []
    assert len(left) == len(set(left))


def test_the_torch_that_is_here(ours, left):
    """Its libraries, torchvision's and Triton's."""
    torch = support.torch_here()
    calls = needed.needed(torch.folder / "lib")
    assert unanswered(calls, ours, left) == []
    for other in ("torchvision", "triton"):
        folder = torch.folder.parent / other
        if folder.is_dir():
            wanted = {n: of for n, of in needed.needed(folder).items() if not n.startswith("nvjpeg")}
            assert unanswered(wanted, ours, left) == [], other
    release = importlib.metadata.version("torch").partition("+")[0]
    assert release not in RELEASES or calls == read(release), (
        f"python {needed.__file__} {torch.folder / 'lib'} > testdata/pretend/needed/{release}.txt"
    )


def test_a_call_that_nobody_answers_is_named(ours, left):
    assert unanswered({"cudaNewCall": "libcudart.so.13", "cuNewCall": "by name", "cudaMalloc": ""}, ours, left) == [
        "cudaNewCall (libcudart.so.13)",
        "cuNewCall (by name)",
    ]


def test_what_the_folder_says(tmp_path):
    if not shutil.which("nm"):
        pytest.skip("no nm here")
    source = tmp_path / "a.c"
    source.write_text(
        'extern int cudaMalloc(void), printf(const char *, ...); const char *name = "\\0cuMemCreate"; int f(void) { '
        "return cudaMalloc() + printf(name); }\n"
    )
    subprocess.run(
        [build.compiler(), "-shared", "-fPIC", "-o", str(tmp_path / "libc10_cuda.so"), str(source)], check=True
    )
    p = subprocess.run([sys.executable, needed.__file__, str(tmp_path)], capture_output=True, text=True, check=True)
    assert p.stdout == "cuMemCreate by name\ncudaMalloc\n"


def test_an_extension_that_is_linked_with_the_driver_gets_ours(tmp_path, found_binary):
    """As torch.utils.cpp_extension builds one with -lcuda."""
    if not shutil.which("cc"):
        pytest.skip("no cc here")
    (tmp_path / "a.c").write_text("int cuInit(unsigned);\nint begin(void) { return cuInit(0); }\n")
    command = ["cc", "-shared", "-fPIC", "-Wl,--no-undefined", "a.c", "-lcuda", "-o", "a.so"]
    environ = pretend.environment("t4")
    assert environ["LIBRARY_PATH"].split(os.pathsep)[0] == str(build.library())
    subprocess.run(command, cwd=tmp_path, env=os.environ | environ | {"LD_PRELOAD": ""}, check=True)
    p = subprocess.run(["readelf", "-d", "a.so"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"[{build.LIBRARY}]" in p.stdout


def test_the_users_own_folders_of_libraries_come_after_it(found_binary):
    with_own = activate.variables(activate.as_devices("t4", 1, None), {**os.environ, "LIBRARY_PATH": "/opt/lib"})
    assert with_own["LIBRARY_PATH"] == f"{build.library()}:/opt/lib"
