"""The pretend GPU for tests: PyTorch's own CUDA code and allocator over a library that stands in for the driver. No GPU is needed."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXPERIMENT = ROOT.parent / "shared" / "pretend"
MARK = "MEMSHIM_TESTS_ON_GPU"  # set in processes that run on it


@functools.cache
def library() -> Path | None:
    """The folder of the built library; None where it cannot be had."""
    if not EXPERIMENT.is_dir() or not shutil.which("gcc"):
        return None
    out = ROOT / ".cache" / "pretend"
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (out / "libpretend.so").exists():
            for f in EXPERIMENT.iterdir():
                if f.is_file():
                    shutil.copy(f, out)
            subprocess.run(["sh", out / "build.sh"], check=True)
    return out


def environment(device: str = "sm89", **options) -> dict[str, str] | None:
    """The variables of a process on a pretend GPU; None where it cannot be had. options: count, memory."""
    folder = library()
    if folder is None:
        return None
    sys.path.insert(0, str(folder))
    try:
        import pretend
    finally:
        sys.path.remove(str(folder))
    return os.environ | pretend.environment(device, **options) | {"LD_PRELOAD": f"{folder}/libpretend.so {folder}/libpretend-ml.so", MARK: device}


def run(code: str, *arguments: str, device: str = "sm89", count: int = 1, memory: int | None = None, **variables: str) -> subprocess.CompletedProcess:
    """Python on a pretend GPU, with variables of its environment."""
    return subprocess.run([sys.executable, "-c", code, *arguments], env=environment(device, count=count, memory=memory) | variables,
                          capture_output=True, text=True)


if __name__ == "__main__":  # python pyshim/tests/pretended.py ARGUMENTS OF PYTEST
    os.execve(sys.executable, [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *sys.argv[1:]], environment())
