"""Pretend GPUs for a process: by its environment, or from within before torch is imported."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memshim.pretend import build, compiles, convolutions, device, follow, support, toolkit
from memshim.pretend.device import Device

Wanted = str | Device | Mapping[str, Any]

DESCRIPTION = "MEMSPEC_PRETEND"  # read by native/device.c
MOST = 16  # native/pretend.h
STARTUP = str(Path(__file__).resolve().parent / "startup")


class TooLate(RuntimeError):
    """torch, or another user of CUDA, is loaded already: its references are bound to the real
    libraries."""


def as_devices(wanted: Wanted | Sequence[Wanted], count: int = 1, memory: int | str | None = None) -> list[Device]:
    """Names, rows and devices, one or several; `count` of each."""
    several = wanted if isinstance(wanted, Sequence) and not isinstance(wanted, str) else [wanted]
    found = [
        w if isinstance(w, Device) else device.find(w) if isinstance(w, str) else device.of_row(dict(w))
        for w in several
    ]
    if memory is not None:
        found = [d.with_memory(memory) for d in found]
    if not 1 <= count * len(found) <= MOST:
        raise ValueError(f"got {count * len(found)} devices, want 1 to {MOST}")
    return [d for d in found for _ in range(count)]


def description(devices: Sequence[Device], torch: support.Torch) -> str:
    """The value of MEMSPEC_PRETEND."""
    architectures = torch.architectures()
    lines = []
    for d in devices:
        kernels = support.kernels_for(d.sm, architectures)
        if kernels is None:
            built = ", ".join(f"{a // 10}.{a % 10}" for a in architectures)
            raise support.Unsupported(
                f"{d.name} of compute capability {d.sm // 10}.{d.sm % 10} with PyTorch {torch.version}, which has "
                f"kernels for {built}"
            )
        lines.append(d.describe(kernels))
    return "\n".join(lines)


def caches(environ: Mapping[str, str]) -> dict[str, str]:
    """Separate folders for what is tuned by measuring: on a pretend GPU times are invented."""
    out = {}
    for name, folder in (("TORCHINDUCTOR_CACHE_DIR", compiles.FOLDER), ("TRITON_CACHE_DIR", "triton-pretend")):
        own = environ.get(name) or str(build.private_folder(compiles.base(environ) / folder))
        out[name] = own if own.endswith("-pretend") else f"{own}-pretend"
    return out


def variables(devices: Sequence[Device], environ: Mapping[str, str]) -> dict[str, str]:
    support.check_machine()
    torch = support.torch_here()
    folder = build.library()
    loaded = [str(folder / build.LIBRARY), str(folder / build.NVML)]
    if cudnn := convolutions.stand_in(torch, environ):
        loaded.append(str(cudnn))
    before = [p for p in environ.get("LD_PRELOAD", "").replace(":", " ").split() if p not in loaded]
    paths = [p for p in environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != STARTUP]
    home = toolkit.home(environ)
    return {
        **({"CUDA_HOME": home} if home else {}),
        DESCRIPTION: description(devices, torch),
        "LD_PRELOAD": ":".join(loaded + before),
        "PYTHONPATH": os.pathsep.join([STARTUP, *paths]),
        # what was there speaks of the machine's own cards
        "CUDA_VISIBLE_DEVICES": ",".join(map(str, range(len(devices)))),
        "TRITON_LIBCUDA_PATH": str(folder),
        # extensions that are linked with -lcuda as they are built
        "LIBRARY_PATH": os.pathsep.join(filter(None, [str(folder), environ.get("LIBRARY_PATH", "")])),
        # what was tuned before would take no memory for it this time; the user's own setting wins
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": environ.get("TORCHINDUCTOR_FORCE_DISABLE_CACHES") or "1",
        **caches(environ),
    }


def options(values: bool, assume: Mapping[str, Any] | None) -> dict[str, str]:
    from memshim.pretend.value_reads import read_assume

    return {follow.VALUES: str(int(values)), follow.ASSUME: json.dumps(read_assume(assume or {}))}


def environment(
    wanted: Wanted | Sequence[Wanted],
    *,
    count: int = 1,
    memory: int | str | None = None,
    values: bool = True,
    assume: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """The variables with which a fresh process finds these devices: subprocess.run(command,
    env=os.environ | environment("t4"))."""
    return variables(as_devices(wanted, count, memory), os.environ) | options(values, assume)


_active: list[Device] = []


def active() -> list[Device]:
    """The devices that memshim.pretend() gave this process."""
    return list(_active)


def loaded_already() -> str:
    """The library of CUDA or PyTorch that this process has loaded, "" for none."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            name = os.path.basename(line.rstrip("\n").rpartition(" ")[2])
            if name.startswith(("libcudart.so", "libcuda.so", "libtorch_cuda.so", "libcudnn.so", "libcublas.so")):
                return name
    return ""


def pretend(
    wanted: Wanted | Sequence[Wanted],
    *,
    count: int = 1,
    memory: int | str | None = None,
    values: bool = True,
    assume: Mapping[str, Any] | None = None,
) -> None:
    """This process, and those that it starts, find these devices in the place of the machine's own.
    Before torch is imported.

    wanted: a name of memspec's table ("t4"), a Device, a row of `devices:` ({"memory": "8GiB",
    ...}), or several of them.
    memory: another size of memory, in bytes or as "40GiB".
    values: what the host wrote and small arithmetic on it come back right; reads of other values
    are noted (report()).
    assume: what such a read gives, by the line that asks: {"train.py:12": 3}.
    Errors: TooLate, Unsupported, BuildError, UnknownDevice.
    """
    devices = as_devices(wanted, count, memory)
    if _active:
        if devices == _active:
            return
        raise TooLate(
            f"got a second memshim.pretend, but this process has {', '.join(d.name for d in _active)} already: start a "
            f"fresh process"
        )
    if "torch" in sys.modules:
        raise TooLate(
            "got torch imported already, want memshim.pretend before it: torch is bound to the machine's own CUDA by "
            "then"
        )
    found = variables(devices, os.environ) | options(values, assume)
    if library := loaded_already():
        raise TooLate(f"got {library} loaded already, want memshim.pretend before whatever loaded it")
    os.environ.update(found)
    ours = 3 if convolutions.stand_in(support.torch_here(), os.environ) else 2
    for path in found["LD_PRELOAD"].split(":")[
        :ours
    ]:  # first in the global scope: before every library that torch loads
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    _active.extend(devices)
    follow.warns = follow.warns or not os.environ.get("MEMSPEC_RUN")  # memshim run reports all reads
    follow.after_torch()
