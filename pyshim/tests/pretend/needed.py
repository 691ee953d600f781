"""What PyTorch's libraries ask of CUDA: the symbols that they leave undefined, and the names that
they look up. By nm and by reading strings.

    python pyshim/tests/pretend/needed.py FOLDER

FOLDER is of an installed or unpacked torch. Prints its list, for
testdata/pretend/needed/RELEASE.txt.
"""

import re
import subprocess
import sys
from pathlib import Path

OURS = re.compile(
    r"(?:__cuda|cuda|cu[A-Z]|cublas|cudnn|cufft|cusolver|cusparse|cupti|curand|nccl|nvml|nvrtc|nvjpeg|nvshmem|nvJitLink)\w*"
)
BY_NAME = re.compile(rb"\0((?:cu[A-Z]|nvml[A-Z])[A-Za-z0-9]{3,60}(?:_v\d)?)(?=\0)")
LOOKS_UP = "libc10_cuda.so"  # the driver's and NVML's functions (driver_api.h)


def undefined(library):
    p = subprocess.run(["nm", "-D", "--undefined-only", str(library)], capture_output=True, text=True, check=True)
    for line in p.stdout.splitlines():
        name, _, version = line.split()[-1].partition("@")
        if OURS.fullmatch(name) and not name.startswith("nvfuser"):
            yield name, version.lstrip("@")


def looked_up(library):
    return {n.decode() for n in BY_NAME.findall(library.read_bytes())}


def needed(folder):
    """name → the library it is of, or "by name"."""
    found = {}
    for library in sorted(Path(folder).rglob("*.so")):
        for name, version in undefined(library):
            found[name] = version or found.get(name, "")
        if library.name == LOOKS_UP:
            for name in looked_up(library):
                found.setdefault(name, "by name")
    return dict(sorted(found.items()))


if __name__ == "__main__":
    for symbol, of in needed(sys.argv[1]).items():
        print(f"{symbol} {of}".rstrip())
