"""Where a GPU can be pretended, and with which PyTorch: reported without importing torch."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import mmap
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path

OLDEST, NEWEST = (2, 6), (2, 15)
SUPPORTED = f"Linux on x86-64 with glibc, PyTorch {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]} built for CUDA"
_MARK = b" sm_80 "  # every build for CUDA has it


class Unsupported(RuntimeError):
    """This machine or this PyTorch cannot pretend a GPU. The text says what is supported."""

    def __init__(self, got: str):
        super().__init__(f"got {got}, want {SUPPORTED}")


@dataclass(frozen=True)
class Torch:
    """The PyTorch that would be imported."""

    version: str  # 2.15.0+cu132
    folder: Path

    @property
    def release(self) -> tuple[int, int]:
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)

    @functools.cache  # noqa: B019  # few are made, and the file is searched whole
    def architectures(self) -> list[int]:
        """What its own kernels are built for: [75, 80, 86, ...]."""
        with (
            open(self.folder / "lib" / "libtorch_python.so", "rb") as f,
            mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m,
        ):
            at = m.find(_MARK)
            if at < 0:
                raise Unsupported(f"PyTorch {self.version}, which does not say what its kernels are built for")
            text = m[m.rfind(b"\0", 0, at) + 1 : m.find(b"\0", at)]
        return sorted({int(n) for n in re.findall(rb"(?:sm|compute)_(\d+)", text)})


def check_machine(system: str = sys.platform, machine: str | None = None, libc: str | None = None) -> None:
    """Unsupported where the library cannot work at all."""
    machine = machine if machine is not None else platform.machine()
    if system != "linux":
        raise Unsupported({"darwin": "macOS", "win32": "Windows"}.get(system, system))
    if machine not in ("x86_64", "AMD64"):
        raise Unsupported(f"Linux on {machine}")
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        raise Unsupported("a Python of 32 bits")
    libc = libc if libc is not None else platform.libc_ver()[0]
    if libc != "glibc":
        raise Unsupported(f"a C library other than glibc ({libc or 'musl?'})")


def torch_here() -> Torch:
    """The PyTorch of this Python. Unsupported where there is none that will do."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        raise Unsupported("no torch here")
    folder = Path(spec.origin).parent
    try:
        text = (folder / "version.py").read_text()
    except OSError as e:
        raise Unsupported(f"a torch without {folder / 'version.py'}, so of no known release") from e
    version = re.search(r"^__version__ *= *['\"]([^'\"]+)", text, re.MULTILINE)
    cuda = re.search(r"^cuda\b[^=]*= *['\"](\d+)", text, re.MULTILINE)
    found = Torch(version[1] if version else "unknown", folder)
    if not cuda:
        rocm = re.search(r"^hip\b[^=]*= *['\"]", text, re.MULTILINE)
        raise Unsupported(f"PyTorch {found.version}, built for {'ROCm' if rocm else 'the CPU alone'}")
    if not version or not re.match(r"\d+\.\d+", found.version) or not OLDEST <= found.release <= NEWEST:
        raise Unsupported(f"PyTorch {found.version}")
    return found


def kernels_for(sm: int, architectures: list[int]) -> int | None:
    """The architecture whose kernels run on sm: the newest of the same generation that is not
    newer; None where there is none."""
    fit = [a for a in architectures if a <= sm and a // 10 == sm // 10]
    return max(fit, default=None)
