"""Find the cuDNN that belongs to a release of torch: that of the installed torch, or one in a
folder. Nothing is imported or downloaded."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from site import ENABLE_USER_SITE, getsitepackages, getusersitepackages
from typing import Any

from memshim.workspace import cudnn, query

SONAME = "libcudnn.so.9"
BESIDE = ("libcublasLt.so.%d", "libnvrtc.so.%d", "libnvrtc-builtins.so.%d.*")  # of a CUDA generation
WHEELS = ("nvidia-cublas", "nvidia-cuda-nvrtc")  # that have them
OLDEST_WHEEL = "nvidia-cudnn-cu12==9.8.0.87"  # of cudnn.OLDEST
SYSTEM = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/local/cuda/lib64", "/usr/lib64")


class NotFound(Exception):
    """No library that will do. The text says what was found instead and how to get the right
    one."""


@dataclass(frozen=True)
class Found:
    folder: str  # of libcudnn.so.9
    beside: tuple[str, ...]  # files that it loads, of its CUDA generation
    version: tuple[int, int, int]

    @property
    def text(self) -> str:
        return dotted(self.version)


def dotted(version: Iterable[int]) -> str:
    return ".".join(map(str, version))


def parse(text: str) -> tuple[int, int, int]:
    """9.10.2 or 9.10.2.21; the build number does not count: the library does not record its own."""
    m = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?(?:\.\d+)?", text)
    if not m:
        raise ValueError(f"got cuDNN version {text!r}, want one such as 9.10.2")
    return int(m[1]), int(m[2]), int(m[3] or 0)


def installed_torch() -> str:
    """The version of the torch that this Python has, "" for none."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return ""


def folders(given: Iterable[str], cache: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Where a libcudnn may lie, with the places to look for what it loads, best first."""
    for name in given:
        base = Path(name)
        if base.suffix == ".whl":
            base = base.parent
        if not base.is_dir():
            raise NotFound(f"--cudnn {name}: got no such folder")
        libraries = sorted(p.parent for p in base.rglob(SONAME))
        wheels = sorted(base.glob("nvidia_cudnn_cu*.whl"))
        if not libraries and not wheels:
            raise NotFound(f"--cudnn {name}: got a folder without {SONAME} and without a wheel nvidia_cudnn_cu*.whl")
        for folder in libraries:
            yield folder, [base, *siblings(folder)]
        for wheel in wheels:
            unpacked = unpack(wheel, cache)
            yield (
                unpacked,
                [
                    unpacked,
                    *(unpack(w, cache) for name in WHEELS for w in sorted(base.glob(f"{name.replace('-', '_')}*.whl"))),
                    *site(),
                ],
            )
    for path in site():
        if (path / "cudnn" / "lib" / SONAME).is_file():
            yield path / "cudnn" / "lib", [path]
    for name in SYSTEM:
        if os.path.isfile(os.path.join(name, SONAME)):
            yield Path(name), [Path(name)]


def site() -> list[Path]:
    """The nvidia folders of this Python's installed packages. No other entry of the search path
    counts: a library of a checkout is never loaded."""
    installed = [*getsitepackages(), *([getusersitepackages()] if ENABLE_USER_SITE else [])]
    installed += [p for p in sys.path if os.path.isabs(p) and os.path.basename(p) in ("site-packages", "dist-packages")]
    found = [Path(p) / "nvidia" for p in dict.fromkeys(installed)]
    return [p for p in found if p.is_dir()]


def siblings(folder: Path) -> list[Path]:
    """.../nvidia of .../nvidia/cudnn/lib, where it is one."""
    return [folder.parents[1]] if len(folder.parents) > 1 and folder.parents[1].name == "nvidia" else []


def unpack(wheel: Path, cache: Path) -> Path:
    """The libraries of a wheel, unpacked once."""
    out = cache / "wheels" / wheel.name.removesuffix(".whl")
    if not out.is_dir():
        part = out.with_name(f"{out.name}.{os.getpid()}.part")
        part.mkdir(parents=True, exist_ok=True)
        try:
            with zipfile.ZipFile(wheel) as z:
                for member in z.infolist():
                    name = os.path.basename(member.filename)
                    if name.startswith(("libcudnn", *(b.partition(".")[0] for b in BESIDE))):
                        with z.open(member) as src, open(part / name, "wb") as dst:
                            while chunk := src.read(1 << 20):
                                dst.write(chunk)
        except (OSError, zipfile.BadZipFile) as e:
            raise NotFound(f"{wheel}: {e}") from e
        try:
            part.rename(out)
        except OSError:
            if not out.is_dir():
                raise
            shutil.rmtree(part, ignore_errors=True)  # another process was faster
    return out


def beside(cuda: int, places: Iterable[Path]) -> tuple[str, ...]:
    """What cuDNN loads of a CUDA generation, as far as it is there: cuBLASLt, without which it
    aborts the process, and NVRTC with its own parts, without which it leaves out the engines that
    are compiled as they are needed."""
    searched = list(dict.fromkeys([*places, *site()]))
    found = (next((str(hit) for place in searched for hit in sorted(place.rglob(name % cuda))), "") for name in BESIDE)
    return tuple(filter(None, found))


Probe = Callable[[str], tuple[tuple[int, int, int], int]]


def probe(folder: str) -> tuple[tuple[int, int, int], int]:
    """The version of the library in a folder and its CUDA generation, asked in a process of its
    own."""
    p = query.Process(folder)
    p.close()
    return p.version, p.cuda


def find(wanted: dict[str, Any], given: Iterable[str], cache: Path, probe: Probe = probe) -> Found:
    """The library for one answerer of `memspec workspace`: of exactly its version; where that
    release does not answer without a device, the nearest newer one stands in."""
    version = parse(wanted["version"])
    seen: dict[tuple[int, int, int], Found] = {}
    broken: list[str] = []
    for folder, places in folders(given, cache):
        try:
            got, cuda = probe(str(folder))
        except (query.Lost, query.Unable) as e:
            broken.append(f"{folder}: {e}")
            continue
        if got not in seen:
            seen[got] = Found(str(folder), beside(cuda, places), got)
    if version in seen and version >= cudnn.OLDEST:
        return seen[version]
    able = sorted(v for v in seen if v >= cudnn.OLDEST)
    if version < cudnn.OLDEST and able:
        return seen[able[0]]
    raise NotFound(missing(wanted, version, sorted(seen), broken))


def missing(
    wanted: dict[str, Any], version: tuple[int, int, int], seen: list[tuple[int, int, int]], broken: list[str]
) -> str:
    """What is wanted, what there is instead, and the commands that fetch it."""
    releases = ", ".join(wanted.get("torch", []))
    text = f"got no cuDNN {dotted(version)}" + (f" (torch {releases})" if releases else "")
    if version < cudnn.OLDEST:
        text += f", which does not answer without a device; got none of {dotted(cudnn.OLDEST)} or newer to stand in"
    if seen:
        text += f", only {', '.join(map(dotted, seen))}"
    if torch := installed_torch():
        text += f"; the torch installed here is {torch}"
    wheel, which = wanted.get("wheel", ""), "Its wheel"
    if version < cudnn.OLDEST:
        wheel, which = OLDEST_WHEEL, "A wheel that can stand in"
    if wheel:
        generation = re.findall(r"cu(\d+)", wheel)[0]
        others = " ".join(f"{name}-cu{generation}" if int(generation) < 13 else name for name in WHEELS)
        text += f". {which} is {wheel}: python -m pip download --no-deps -d DIR {wheel} {others}, then --cudnn DIR"
    return text + "".join(f"\n  {b}" for b in broken)
