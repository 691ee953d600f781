"""What a program asks of a CUDA library through ctypes, as vLLM asks the CUDA runtime: such a
library is looked in by its handle, where the pretend GPU's functions do not come first by
themselves (native/README.md)."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from memshim.pretend import build

# By how their files' names begin. Of cuDNN the real library answers, or is asked by the pretend GPU.
LIBRARIES = ("libcudart.so", "libcuda.so", "libcublas.so", "libcublasLt.so", "libcupti.so", "libnccl.so")


def watch() -> None:
    """From here on a function that such a library has is the pretend GPU's, if that has it too."""
    ours = ctypes.CDLL(build.LIBRARY)  # by its name: the one that is loaded
    find = ctypes.CDLL.__getitem__

    def find_here(library: ctypes.CDLL, name: Any) -> Any:
        found = find(library, name)
        if not os.path.basename(os.fsdecode(library._name or "")).startswith(LIBRARIES):
            return found
        try:
            function: Any = library._FuncPtr((name, ours))
        except AttributeError:
            return found
        function.__name__ = name
        return function

    ctypes.CDLL.__getitem__ = find_here  # type: ignore[method-assign]
