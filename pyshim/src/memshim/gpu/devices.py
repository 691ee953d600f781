"""What this machine has: asked of NVML, nvidia-smi and of PyTorch in a separate process, so that
asking leaves no CUDA context behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from typing import Any, NamedTuple

from memshim.gpu import where

MIB = 1 << 20
PATIENCE = 300  # seconds; a driver that loads its modules first takes some
_ASK = """import sys
sys.path[:] = filter(None, sys.path)  # not the working directory
import json, torch
if torch.cuda.is_available():
    out = []
    for i in range(torch.cuda.device_count()):
        p = torch.cuda.get_device_properties(i)
        out.append({"name": p.name, "total": p.total_memory, "compute_capability": f"{p.major}.{p.minor}",
                    "uuid": f"GPU-{getattr(p, 'uuid', '')}",
                    "integrated": bool(getattr(p, "is_integrated", 0)), "torch": torch.__version__})
    print(json.dumps(out))
"""


def hinted() -> bool:
    """Whether there may be a GPU: cheap. Where it says no there is none, except boards whose
    driver shows in no file (Jetsons before Orin)."""
    return (
        where.pretended()
        or os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1")
        and (
            os.path.exists("/proc/driver/nvidia/version")
            or os.path.exists("/dev/nvidiactl")
            or os.path.exists("/dev/dxg")
            or shutil.which("nvidia-smi") is not None
        )
    )


class Seen(NamedTuple):
    """The GPUs that PyTorch finds, in its order (name, total, compute_capability, uuid, integrated,
    torch); none, and why."""

    devices: tuple[dict[str, Any], ...] = ()
    why: str = ""


NONE = "no GPU here"


def look() -> Seen:
    if not hinted():
        return Seen(why=NONE)
    try:
        p = subprocess.run(
            [sys.executable, "-c", _ASK], capture_output=True, text=True, errors="replace", timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return Seen(why=f"PyTorch gives no answer about the GPU in {PATIENCE} s")
    if p.returncode:
        if "No module named 'torch'" in p.stderr:
            return Seen(why="no torch here")
        return Seen(
            why=f"PyTorch fails when asked for the GPU: "
            f"{p.stderr.strip().rpartition(chr(10))[2] or f'it ended with {p.returncode}'}"
        )
    try:
        found = json.loads(p.stdout.strip().rpartition("\n")[2])
    except ValueError:
        found = []
    return Seen(tuple(found)) if found else Seen(why=NONE)


def query(fields: str) -> list[list[str]]:
    """nvidia-smi's answer, one list a GPU; empty where it cannot be asked."""
    if not shutil.which("nvidia-smi"):
        return []
    try:
        p = subprocess.run(
            ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=30,
        )
    except (subprocess.TimeoutExpired, OSError):
        return []
    return [[cell.strip() for cell in line.split(",")] for line in p.stdout.splitlines()] if p.returncode == 0 else []


class NVML:
    """NVML through a binding for Python: cuda.bindings, which PyTorch 2.15 brings, else pynvml
    (nvidia-ml-py). Raises what they raise."""

    def __init__(self) -> None:
        try:
            from cuda.bindings import nvml
        except ImportError:
            self._theirs = None
        else:
            self._theirs = nvml
            nvml.init_v2()
            return
        import pynvml

        self._old = pynvml
        pynvml.nvmlInit()

    def driver(self) -> str:
        return _text(
            self._theirs.system_get_driver_version() if self._theirs else self._old.nvmlSystemGetDriverVersion()
        )

    def used(self) -> dict[str, int]:
        """Memory in use by GPU, without what the driver keeps for itself: as nvidia-smi and CUDA
        count. One that does not say is left out."""
        out = {}
        for i in range(self._theirs.device_get_count_v2() if self._theirs else self._old.nvmlDeviceGetCount()):
            with contextlib.suppress(Exception):  # integrated ones: not supported, in each binding's words
                uuid, n = self._device(i)
                out[uuid] = n
        return out

    def _device(self, i: int) -> tuple[str, int]:
        if self._theirs:
            handle = self._theirs.device_get_handle_by_index_v2(i)
            return _text(self._theirs.device_get_uuid(handle)), self._theirs.device_get_memory_info_v2(handle).used
        handle = self._old.nvmlDeviceGetHandleByIndex(i)
        return _text(self._old.nvmlDeviceGetUUID(handle)), self._old.nvmlDeviceGetMemoryInfo(
            handle, self._old.nvmlMemory_v2
        ).used


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode()


def _nvml() -> NVML | None:
    """None where there is no binding, or no driver."""
    try:
        return NVML()
    except Exception:
        return None


def used() -> dict[str, int] | None:
    """Device memory in use by GPU, in bytes; None where it is unknown."""
    if nvml := _nvml():
        return nvml.used() or None
    out = {uuid: int(mib) * MIB for uuid, mib in query("uuid,memory.used") if mib.isdecimal()}
    return out or None


def driver_version() -> str:
    """Empty where it is unknown."""
    if nvml := _nvml():
        with contextlib.suppress(Exception):
            return nvml.driver()
    rows = query("driver_version")
    return rows[0][0] if rows else ""


def cudnn_version() -> str:
    """9.26.0 of 92600; empty where there is none."""
    import torch

    n = torch.backends.cudnn.version() if torch.backends.cudnn.is_available() or torch.version.cuda else None
    return f"{n // 10000}.{n // 100 % 100}.{n % 100}" if n else ""
