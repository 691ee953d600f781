"""What AOTInductor and torch.utils.cpp_extension compile and link against where no CUDA toolkit is
installed: the headers that PyTorch's and Triton's wheels carry, and the pretend GPU's driver as
libcuda.so. There is no nvcc in it."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from memshim.pretend import build, support


def installed(environ: Mapping[str, str]) -> bool:
    """Whether PyTorch finds a toolkit by itself (torch/utils/cpp_extension.py _find_cuda_home)."""
    return bool(
        environ.get("CUDA_HOME")
        or environ.get("CUDA_PATH")
        or shutil.which("nvcc", path=environ.get("PATH"))
        or Path("/usr/local/cuda").exists()
    )


def links(packages: Path, driver: Path) -> Iterator[tuple[str, Path]]:
    """Name in the toolkit, and file; of two of one name the first is meant. CUDA 12's wheels are
    one a library, CUDA 13's share a folder; Triton has the headers of nvcc's host code (crt/) where
    those have not. libcudart_static.a is left out: PyTorch would look for libcuda.so beside the
    file that its link leads to."""
    for include in [
        *sorted(packages.glob("nvidia/*/include")),
        packages / "triton" / "backends" / "nvidia" / "include",
    ]:
        for f in sorted(include.iterdir()) if include.is_dir() else []:
            yield f"include/{f.name}", f
    for f in sorted(packages.glob("nvidia/*/lib/libcudart.so.*")):
        yield f"lib64/{f.name}", f
        yield "lib64/libcudart.so", f
    yield "lib64/libcuda.so", driver


def home(environ: Mapping[str, str]) -> str:
    """A folder for CUDA_HOME, made once; "" where there is a toolkit, or where the wheels carry no
    headers."""
    if installed(environ):
        return ""
    wanted: dict[str, Path] = {}
    for name, f in links(support.torch_here().folder.parent, build.library() / build.LIBRARY):
        wanted.setdefault(name, f)
    if "include/cuda_runtime_api.h" not in wanted:
        return ""
    key = hashlib.sha256("\n".join(f"{name} {f}" for name, f in sorted(wanted.items())).encode()).hexdigest()[:16]
    folder = build.private_folder(build.cache()) / f"toolkit-{key}"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=folder.parent) as tmp:
            made = Path(tmp) / "made"
            made.mkdir(mode=0o700)
            for name, f in wanted.items():
                (made / name).parent.mkdir(exist_ok=True)
                os.symlink(f, made / name)
            try:
                made.rename(folder)
            except OSError:  # another process was faster
                if not folder.is_dir():
                    raise
    return str(folder)
