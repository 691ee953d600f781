"""Kernels that a library builds with nvcc as they are needed, where there is none: FlashInfer's. On a
pretend GPU no kernel does anything, so that functions that do nothing stand for them. Results and
buffers are made by the library's Python; memory that its C++ would take is not known."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Mapping
from typing import Any

from memshim.pretend.after_import import After

PLAN = 16  # numbers of a plan of attention, which Python hands back to its kernels

used: dict[str, int] = {}  # calls, by function


class Unbuilt:
    """Stands for a module that was not built."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, function: str) -> Any:
        if function.startswith("__"):
            raise AttributeError(function)
        name = f"flashinfer {self.__name__}.{function}"

        def nothing(*args: Any, **kwargs: Any) -> list[int] | None:
            used[name] = used.get(name, 0) + 1
            return [0] * PLAN if function == "plan" else None

        return nothing


def compiler(environ: Mapping[str, str]) -> bool:
    """Whether FlashInfer finds nvcc (flashinfer/jit/cpp_ext.py get_cuda_path)."""
    home = environ.get("CUDA_HOME") or environ.get("CUDA_PATH")
    path = environ.get("PATH")
    return bool(shutil.which(os.path.join(home, "bin", "nvcc")) if home else shutil.which("nvcc", path=path))


def flashinfer(module: Any) -> None:
    """module: flashinfer.jit.core."""
    spec = module.JitSpec
    build = spec.build_and_load

    @functools.wraps(build)
    def built(of: Any, *args: Any, **kwargs: Any) -> Any:
        if compiler(os.environ) or getattr(of, "is_aot", False):
            return build(of, *args, **kwargs)
        return Unbuilt(str(of.name))

    spec.build_and_load = built


def watch() -> None:
    After("flashinfer.jit.core", flashinfer)
