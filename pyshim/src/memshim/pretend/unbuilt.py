"""Kernels that a library builds with nvcc as they are needed, where there is none: FlashInfer's, and those
that tvm_ffi builds for others, such as SGLang's. On a pretend GPU no kernel does anything, so that
functions that do nothing stand for them. Results and buffers are made by the library's Python; memory
that its C++ would take is not known."""

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

    def __init__(self, name: str, library: str = "flashinfer") -> None:
        self.__name__, self._library = name, library

    def __getattr__(self, function: str) -> Any:
        if function.startswith("__"):
            raise AttributeError(function)
        name = f"{self._library} {self.__name__}.{function}"

        def nothing(*args: Any, **kwargs: Any) -> list[int] | None:
            used[name] = used.get(name, 0) + 1
            return [0] * PLAN if function == "plan" else None

        return nothing


def compiler(environ: Mapping[str, str]) -> bool:
    """Whether a library finds nvcc (flashinfer/jit/cpp_ext.py get_cuda_path, tvm_ffi/cpp/extension.py
    _find_cuda_home)."""
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


def tvm_ffi(module: Any) -> None:
    """module: tvm_ffi.cpp, which builds sources for other libraries."""
    for name, sources in (("load_inline", "cuda_sources"), ("load", "cuda_files")):
        setattr(module, name, _without_nvcc(getattr(module, name), sources))


def _without_nvcc(load: Any, sources: str) -> Any:
    @functools.wraps(load)
    def loaded(name: str, *args: Any, **kwargs: Any) -> Any:
        if not kwargs.get(sources) or compiler(os.environ):
            return load(name, *args, **kwargs)
        return Unbuilt(name, "tvm_ffi")

    return loaded


def watch() -> None:
    After("flashinfer.jit.core", flashinfer)
    After("tvm_ffi.cpp", tvm_ffi)
