"""Processes on a pretend GPU: PyTorch's own CUDA code and allocator, and no GPU is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import warm

from memshim import pretend

ROOT = Path(__file__).parents[2]
MARK = "MEMSHIM_TESTS_ON_GPU"  # set in processes that run gpu/


def missing() -> str:
    """Why there is none here; empty where there is."""
    try:
        environment()
    except (pretend.Unsupported, pretend.BuildError) as e:
        return str(e)
    return ""


def environment(device: str = "rtx-4090", **options: Any) -> dict[str, str]:
    """The variables of a process. options: of memshim.pretend (count, memory, values)."""
    return os.environ | pretend.environment(device, **options) | {MARK: device}


def run(
    code: str, *arguments: str, device: str = "rtx-4090", variables: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess:
    """Python on a pretend GPU, with variables of its environment."""
    return warm.run([sys.executable, "-c", code, *arguments], env=environment(device, **options) | (variables or {}))


if __name__ == "__main__":  # python pyshim/tests/pretended.py ARGUMENTS OF PYTEST
    os.execve(sys.executable, [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *sys.argv[1:]], environment())
