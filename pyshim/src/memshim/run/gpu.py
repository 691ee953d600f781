"""What this machine has: asked of nvidia-smi and of PyTorch in a process of its own, so that asking leaves no CUDA context behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import NamedTuple

MIB = 1 << 20
PATIENCE = 300  # seconds; a driver that loads its modules first takes some
_ASK = """import json, torch
if torch.cuda.is_available():
    p = torch.cuda.get_device_properties(0)
    print(json.dumps({"name": p.name, "total": p.total_memory, "compute_capability": f"{p.major}.{p.minor}", "torch": torch.__version__}))
"""


def hinted() -> bool:
    """Whether there may be a GPU: cheap, and never wrong when it says no."""
    return os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1") and (
        os.path.exists("/proc/driver/nvidia/version") or os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg") or
        shutil.which("nvidia-smi") is not None)


class Seen(NamedTuple):
    """The GPU that PyTorch would take (name, total, compute_capability, torch), or None and why."""

    device: dict | None
    why: str = ""


NONE = "no GPU here"


def look() -> Seen:
    if not hinted():
        return Seen(None, NONE)
    try:
        p = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, errors="replace", timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return Seen(None, f"PyTorch gives no answer about the GPU in {PATIENCE} s")
    if p.returncode:
        if "No module named 'torch'" in p.stderr:
            return Seen(None, "no torch here")
        return Seen(None, f"PyTorch fails when asked for the GPU: {p.stderr.strip().rpartition(chr(10))[2] or f'it ended with {p.returncode}'}")
    try:
        return Seen(json.loads(p.stdout.strip().rpartition("\n")[2]))
    except ValueError:
        return Seen(None, NONE)


def query(fields: str) -> list[list[str]]:
    """nvidia-smi's answer, one list a GPU; empty where it cannot be asked."""
    if not shutil.which("nvidia-smi"):
        return []
    try:
        p = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=30)
    except (subprocess.TimeoutExpired, OSError):
        return []
    return [[cell.strip() for cell in line.split(",")] for line in p.stdout.splitlines()] if p.returncode == 0 else []


def used() -> dict[str, int] | None:
    """Device memory in use by GPU, in bytes; None where it cannot be told."""
    try:
        return {uuid: int(mib) * MIB for uuid, mib in query("uuid,memory.used")} or None
    except ValueError:
        return None


def driver_version() -> str:
    rows = query("driver_version")
    return rows[0][0] if rows else ""


def cudnn_version() -> str:
    """9.26.0 of 92600; empty where there is none."""
    import torch

    n = torch.backends.cudnn.version() if torch.backends.cudnn.is_available() or torch.version.cuda else None
    return f"{n // 10000}.{n // 100 % 100}.{n % 100}" if n else ""
