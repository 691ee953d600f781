"""The workspace of convolutions where PyTorch's own cuDNN does not answer without a device (before
9.8, PyTorch 2.6 and 2.7): a newer one of the same major release answers in its place where it is
installed, else the formula of `memspec workspace --formula` does. Neither is exact, and both are
noted."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memshim import binary
from memshim.pretend import build, support
from memshim.printed import say

FOLDER = "MEMSPEC_CUDNN"  # with a newer cuDNN: a folder that pip install --target made, or that of its libcudnn.so.9
SONAME = "libcudnn.so.9"
ANSWERS = (9, 8)  # the first release that answers for a described device
STAND_IN = "workspace-stand-in"  # the note's ID
NEWER_THAN = (2, 7)  # PyTorch's own is such a release from then on
SYSTEM = ("/usr/lib/x86_64-linux-gnu", "/usr/local/cuda/lib64", "/usr/lib64")

# cudnnBackendDescriptorType_t and cudnnDataType_t
DIRECTIONS = {10: "forward", 11: "wgrad", 12: "dgrad"}
DTYPES = {0: "float32", 1: "float64", 2: "float16", 9: "bfloat16"}


def version(library: Path) -> tuple[int, int, int] | None:
    """Of a libcudnn.so.9, by its header or by its file's name; nothing is loaded."""
    header = library.parent.parent / "include" / "cudnn_version.h"
    if header.is_file():
        found = dict(re.findall(r"#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) (\d+)", header.read_text()))
        if len(found) == 3:
            return int(found["MAJOR"]), int(found["MINOR"]), int(found["PATCHLEVEL"])
    named = re.search(r"\.so\.(\d+)\.(\d+)\.(\d+)$", str(library.resolve()))
    return (int(named[1]), int(named[2]), int(named[3])) if named else None


def places(environ: Mapping[str, str]) -> Iterator[Path]:
    """Where a cuDNN may lie, the one that was named first."""
    if named := environ.get(FOLDER):
        for folder in ("", "lib", "nvidia/cudnn/lib"):
            yield Path(named) / folder / SONAME
    for name in SYSTEM:
        yield Path(name) / SONAME


def stand_in(torch: support.Torch, environ: Mapping[str, str]) -> Path | None:
    """The library that answers in the place of this PyTorch's own cuDNN; None where that answers, or
    where there is none."""
    own = torch.folder.parent / "nvidia" / "cudnn" / "lib" / SONAME
    if torch.release > NEWER_THAN or (version(own) or (0,)) >= ANSWERS:
        return None
    if named := environ.get(FOLDER):
        if not any(p.is_file() for p in places({FOLDER: named})):
            raise support.Unsupported(f"{FOLDER}={named} without {SONAME}")
    for library in places(environ):
        if library.is_file() and (found := version(library)) and found[0] == 9 and found >= ANSWERS:
            return library
    return None


class Formula:
    """Asks memspec, one call at a time, each different one once."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.lock = threading.Lock()
        self.process: subprocess.Popen[str] | None = None
        self.owner = 0

    def ask(self, call: dict[str, Any]) -> int:
        """Bytes. OSError, ValueError: memspec does not say."""
        line = json.dumps(call)
        with self.lock:
            if line not in self.known:
                self.known[line] = int(self.answer(line)["bytes"])
            return self.known[line]

    def answer(self, line: str) -> dict[str, Any]:
        if self.process is None or self.owner != os.getpid():
            self.owner = os.getpid()
            self.process = subprocess.Popen(
                [binary.find(), "workspace", "--formula"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"LD_PRELOAD": ""},
            )
        p = self.process
        assert p.stdin and p.stdout
        p.stdin.write(line + "\n")
        p.stdin.flush()
        found: dict[str, Any] = json.loads(p.stdout.readline())
        return found


def call_of(direction: int, dtype: int, dims: int, numbers: Any) -> dict[str, Any]:
    """The call in the words of a workspace profile, from native/cudnn_formula.c's numbers."""
    names = ("input", "input_strides", "weight", "weight_strides", "padding", "stride", "dilation")
    call: dict[str, Any] = {"op": "conv", "direction": DIRECTIONS[direction], "dtype": DTYPES[dtype]}
    at = 0
    for i, name in enumerate(names):
        n = dims if i < 4 else dims - 2
        call[name] = list(numbers[at : at + n])
        at += n
    call["groups"] = call["input"][1] // call["weight"][1]
    return call


CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_longlong, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int64)
)
_kept: list[Any] = []  # what the library calls


def watch() -> None:
    """torch is imported: its convolutions have a workspace."""
    import torch

    if support.torch_here().release > NEWER_THAN:
        return
    library = ctypes.CDLL(build.LIBRARY)
    compiled = torch._C._cudnn.getCompileVersion() if torch.backends.cudnn.is_available() else (0, 0, 0)
    loaded = torch.backends.cudnn.version() or 0
    minor = (loaded // 10000, loaded // 100 % 100)
    if minor >= ANSWERS > tuple(compiled[:2]):
        own, other = (".".join(map(str, v)) for v in (compiled, (*minor, loaded % 100)))
        note = f"{STAND_IN}: cuDNN {other} answered in the place of {own}, which does not answer without a device"
        library.memspec_pretend_cudnn_stands_in(note.encode())
    if minor >= ANSWERS:
        return
    formula = Formula()

    def bytes_of(ordinal: int, direction: int, dtype: int, dims: int, numbers: Any) -> int:
        try:
            major, minor = torch.cuda.get_device_capability(ordinal)
            sms = torch.cuda.get_device_properties(ordinal).multi_processor_count
            card = {"compute_capability": f"{major}.{minor}", "sms": sms}
            tf32 = torch.backends.cudnn.allow_tf32
            return formula.ask(card | call_of(direction, dtype, dims, numbers) | {"allow_tf32": tf32})
        except Exception as e:
            say(f"memspec: the workspace of a convolution is not known: {e}", file=sys.stderr)
            return -1

    _kept.append(CALLBACK(bytes_of))
    library.memspec_pretend_convolutions(_kept[-1])
    atexit.register(library.memspec_pretend_convolutions, None)
