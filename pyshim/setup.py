"""Builds the memspec binary and the pretend GPU's library into the wheel: `pip install ./pyshim` in
a checkout of memspec, or from its source distribution, with Go and, on Linux, a C compiler at hand.

MEMSHIM_TARGET names another system than this one: linux-amd64, linux-amd64-musl, linux-arm64,
darwin-amd64, darwin-arm64, windows-amd64. The binary is static, so that one for Linux runs with any
C library; the pretend GPU is for glibc on x86-64, and left out elsewhere.
"""

import atexit
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import setuptools
from setuptools import Distribution, setup

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    raise SystemExit(
        f"memshim: got setuptools {setuptools.__version__}, want 77 or newer: leave out --no-build-isolation, or pip "
        f"install 'setuptools>=77'"
    ) from None
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
ROOT = HERE / "go" if (HERE / "go" / "go.mod").is_file() else HERE.parent  # in a source distribution, in a checkout
GO_SOURCES = ("go.mod", "go.sum", "cmd/memspec", "engine", "internal", "cudameasure")
# Tags by target: what a static binary runs on. Go 1.26 wants macOS 12.
TAGS = {
    "linux-amd64-musl": "musllinux_1_1_x86_64",
    "linux-arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin-amd64": "macosx_12_0_x86_64",
    "darwin-arm64": "macosx_12_0_arm64",
    "windows-amd64": "win_amd64",
}


def target() -> str:
    """The system to build for."""
    wanted = os.environ.get("MEMSHIM_TARGET")
    if wanted:
        if wanted not in TAGS and wanted != "linux-amd64":
            raise SystemExit(f"memshim: got MEMSHIM_TARGET={wanted}, want linux-amd64, {', '.join(TAGS)}")
        return wanted
    system = {"Linux": "linux", "Darwin": "darwin", "Windows": "windows"}.get(platform.system(), "")
    machine = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}.get(
        platform.machine(), platform.machine()
    )
    musl = "-musl" if (system, machine) == ("linux", "amd64") and platform.libc_ver()[0] != "glibc" else ""
    return f"{system}-{machine}{musl}"


def release(distribution: Distribution) -> list:
    """The linker's flags: no symbols, and the version of this distribution."""
    return [f"-ldflags=-s -w -X github.com/memspec/memspec/internal/cli.release={distribution.get_version()}"]


class BuildWithBinary(build_py):
    """Puts bin/memspec beside the package's modules. An editable install needs none: the checkout's
    own is found and kept current."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        if not (ROOT / "cmd" / "memspec" / "main.go").is_file():
            raise SystemExit(f"memshim: got no cmd/memspec in {ROOT}, want to be built in a checkout of memspec")
        if not shutil.which("go"):
            raise SystemExit("memshim: got no go on PATH, want Go to build the memspec binary (https://go.dev/dl)")
        system, machine = target().split("-")[:2]
        out = Path(self.build_lib).resolve() / "memshim" / "bin" / ("memspec.exe" if system == "windows" else "memspec")
        shutil.rmtree(out.parent, ignore_errors=True)
        out.parent.mkdir(parents=True)
        p = subprocess.run(
            ["go", "build", *release(self.distribution), "-o", str(out), "./cmd/memspec"],
            cwd=ROOT,
            env=os.environ | {"CGO_ENABLED": "0", "GOOS": system, "GOARCH": machine},
            stderr=subprocess.PIPE,
            text=True,
        )
        if p.returncode:
            raise SystemExit(f"memshim: go build ./cmd/memspec failed in {ROOT}:\n{p.stderr.strip()}")
        self.build_pretend()

    def build_pretend(self) -> None:
        """The library that stands in for CUDA, where it can be used at all."""
        out = Path(self.build_lib).resolve() / "memshim" / "pretend" / "lib"
        shutil.rmtree(out, ignore_errors=True)
        if target() != "linux-amd64":
            return
        if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
            raise SystemExit(
                f"memshim: got MEMSHIM_TARGET=linux-amd64 on {platform.system()} {platform.machine()}, want it built "
                f"on Linux x86-64: it has a library in C"
            )
        sys.path.insert(0, str(HERE / "src"))
        from memshim.pretend import build

        out.mkdir(parents=True)
        try:
            build.compile_into(out, ["-s"])
        except build.BuildError as e:
            raise SystemExit(f"memshim: {e}") from e


def glibc_of(folder: Path) -> int:
    """The newest glibc 2.N that the libraries there ask for."""
    found = [int(n) for f in folder.glob("*.so*") for n in re.findall(rb"GLIBC_2\.(\d+)", f.read_bytes())]
    return max([17, *found])


class PlatformWheel(bdist_wheel):
    """Any Python 3, but one platform: the binary is a program, not an extension."""

    def get_tag(self) -> tuple:
        tag = TAGS.get(target())
        if target() == "linux-amd64":
            glibc = glibc_of(Path(self.get_finalized_command("build_py").build_lib) / "memshim" / "pretend" / "lib")
            tag = f"manylinux_2_{glibc}_x86_64" + ".manylinux2014_x86_64" * (glibc <= 17)
        return "py3", "none", tag or super().get_tag()[2]


class BinaryDistribution(Distribution):
    """Goes where packages with programs go."""

    def has_ext_modules(self) -> bool:
        return True


class WithGo(sdist):
    """Also the Go sources of the binary, and the library's in C: it builds where Go is."""

    def make_release_tree(self, base_dir: str, files: list) -> None:
        super().make_release_tree(base_dir, [f for f in files if not f.startswith("tests")])  # they need a checkout
        for top, to in [
            *((ROOT / name, Path(base_dir, "go", name)) for name in GO_SOURCES),
            (HERE / "src", Path(base_dir, "src")),
        ]:
            for f in sorted(p for p in ([top] if top.is_file() else top.rglob("*")) if p.is_file() and wanted(p)):
                copy = to / f.relative_to(top) if f != top else to
                copy.parent.mkdir(parents=True, exist_ok=True)
                if not copy.exists():
                    shutil.copyfile(f, copy)


def wanted(f: Path) -> bool:
    """Whether a build needs it."""
    return (
        not f.name.endswith(("_test.go", ".pyc"))
        and not {"testdata", "__pycache__"} & set(f.parts)
        and not any(part.endswith(".egg-info") for part in f.parts)
    )


# Nothing is left in the checkout: a folder of metadata there would be found as an installed plugin.
made = tempfile.mkdtemp(prefix="memshim-build-")
atexit.register(shutil.rmtree, made, ignore_errors=True)
setup(
    cmdclass={"build_py": BuildWithBinary, "bdist_wheel": PlatformWheel, "sdist": WithGo},
    distclass=BinaryDistribution,
    options={"build": {"build_base": made}, "egg_info": {"egg_base": made}},
)
