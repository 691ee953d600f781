"""Builds the memspec binary and the pretend GPU's library into the wheel: `pip install ./pyshim` in a checkout of memspec, with Go and, on Linux, a C
compiler at hand."""

import atexit
import os
import platform
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent.parent


class BuildWithBinary(build_py):
    """Puts bin/memspec beside the package's modules. An editable install needs none: the checkout's own is found and kept current."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        if not (ROOT / "cmd" / "memspec" / "main.go").is_file():
            raise SystemExit(f"memshim: got no cmd/memspec in {ROOT}, want to be built in a checkout of memspec")
        if not shutil.which("go"):
            raise SystemExit("memshim: got no go on PATH, want Go to build the memspec binary (https://go.dev/dl)")
        out = Path(self.build_lib).resolve() / "memshim" / "bin" / "memspec"
        out.parent.mkdir(parents=True, exist_ok=True)
        p = subprocess.run(["go", "build", "-trimpath", "-ldflags=-s -w", "-o", str(out), "./cmd/memspec"], cwd=ROOT,
                           env=os.environ | {"CGO_ENABLED": "0"}, stderr=subprocess.PIPE, text=True)
        if p.returncode:
            raise SystemExit(f"memshim: go build ./cmd/memspec failed in {ROOT}:\n{p.stderr.strip()}")
        self.build_pretend()

    def build_pretend(self) -> None:
        """The library that stands in for CUDA, where it can be used at all."""
        if sys.platform != "linux" or platform.machine() != "x86_64":
            return
        build = runpy.run_path(str(ROOT / "pyshim" / "src" / "memshim" / "pretend" / "build.py"))
        out = Path(self.build_lib).resolve() / "memshim" / "pretend" / "lib"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        try:
            build["compile_into"](out, ["-s"])
        except build["BuildError"] as e:
            raise SystemExit(f"memshim: {e}") from e


class PlatformWheel(bdist_wheel):
    """Any Python 3, but this platform: the binary is a program, not an extension."""

    def get_tag(self) -> tuple:
        return "py3", "none", super().get_tag()[2]


class BinaryDistribution(Distribution):
    """Goes where packages with programs go."""

    def has_ext_modules(self) -> bool:
        return True


# Nothing is left in the checkout: a folder of metadata there would be found as an installed plugin.
made = tempfile.mkdtemp(prefix="memshim-build-")
atexit.register(shutil.rmtree, made, ignore_errors=True)
setup(cmdclass={"build_py": BuildWithBinary, "bdist_wheel": PlatformWheel}, distclass=BinaryDistribution,
      options={"build": {"build_base": made}, "egg_info": {"egg_base": made}})
