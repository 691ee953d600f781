"""The C library: in the wheel it is built already, in a checkout it is built once with the C
compiler, under a key of all that it depends on."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from memshim import private

SOURCES = Path(__file__).resolve().parent / "native"
PREBUILT = Path(__file__).resolve().parent / "lib"
LIBRARY, NVML = "libcuda.so.1", "libnvidia-ml.so.1"  # the names under which everybody loads the driver and NVML
# Under which extensions link with it, in LIBRARY_PATH, and Triton before 3.3 (PyTorch 2.6), in TRITON_LIBCUDA_PATH.
LINKED = "libcuda.so"

# exceptions of C++ pass through native/gate.c
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-fvisibility=hidden", "-fexceptions", "-pthread"]
WARNINGS = """
    -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wpointer-arith
    -Wcast-align -Wformat=2 -Wundef -Wvla -Wwrite-strings -Wnull-dereference
    """.split()


class BuildError(RuntimeError):
    """The library is not there and cannot be built. The text says why."""


def sources() -> list[Path]:
    return sorted(SOURCES.rglob("*.[ch]"))


def compiler() -> str:
    named = os.environ.get("CC", "").split()
    for name in named[:1] or ["cc", "gcc", "clang"]:
        if found := shutil.which(name):
            return found
    raise BuildError(
        f"got no C compiler ({named[0] if named else 'cc, gcc or clang'}), want one to build the pretend GPU from "
        f"{SOURCES}, once; "
        "memshim's wheel carries it built"
    )


def key() -> str:
    """Of the sources, the compiler and the way it is called."""
    h = hashlib.sha256(compiler().encode())
    for f in [*sources(), Path(__file__)]:
        h.update(f.name.encode() + b"\0" + f.read_bytes())
    return h.hexdigest()[:16]


def cache() -> Path:
    """Where a checkout keeps what it builds, else the user's cache."""
    from memshim import binary

    root = binary.checkout()
    if root:
        return root / ".cache" / "memshim" / "pretend"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memshim" / "pretend"


def private_folder(path: Path) -> Path:
    """Made where it is not there. BuildError: others than this user may put there what processes
    load."""
    try:
        return private.folder(path)
    except private.NotPrivate as e:
        raise BuildError(str(e)) from None


def compile_into(folder: Path, extra: list[str] | None = None) -> None:
    """Both libraries, and the driver's name for linkers. They have the sonames of the driver and of
    NVML, so that whoever loads these gets them, once they are loaded. The second is empty except its
    name, and needs the first."""
    cc, out = compiler(), folder / LIBRARY
    units = [str(f) for f in sources() if f.suffix == ".c"]
    commands = [
        [cc, *FLAGS, *(extra or []), "-shared", f"-Wl,-soname,{LIBRARY}", "-o", str(out), *units, "-ldl"],
        [
            cc,
            "-shared",
            f"-Wl,-soname,{NVML}",
            "-Wl,--no-as-needed",
            "-o",
            str(folder / NVML),
            "-x",
            "c",
            os.devnull,
            "-x",
            "none",
            str(out),
        ],
    ]
    for command in commands:
        p = subprocess.run(command, capture_output=True, text=True)
        if p.returncode:
            raise BuildError(
                f"the pretend GPU does not compile: {' '.join(command[:1])} ended with "
                f"{p.returncode}\n{(p.stderr or p.stdout).strip()}"
            )
    (folder / LINKED).unlink(missing_ok=True)
    (folder / LINKED).symlink_to(LIBRARY)


def library() -> Path:
    """The folder with the built libraries."""
    if (PREBUILT / LIBRARY).is_file():
        return PREBUILT
    folder = private_folder(cache()) / key()
    if folder.is_dir():
        private_folder(folder)
    if (folder / NVML).is_file():
        return folder
    with tempfile.TemporaryDirectory(dir=folder.parent) as tmp:
        made = Path(tmp) / "made"
        made.mkdir(mode=0o700)
        compile_into(made, ["-s"])
        try:
            made.rename(folder)
        except OSError:  # another process was faster
            if not (folder / NVML).is_file():
                raise
    return folder
