"""Another card for a model that does not fit one: the smallest that holds it, by memspec estimate."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from memshim import binary
from memshim.pretend import device
from memshim.pretend.device import Device
from memshim.sizes import show

# Arguments of the engine and the words of memspec estimate for them.
WORDS = {
    "max_model_len": "--context",
    "dtype": "--dtype",
    "kv_cache_dtype": "--kv-cache-dtype",
    "gpu_memory_utilization": "--gpu-memory-utilization",
    "max_num_batched_tokens": "--batched-tokens",
}
UNKNOWN = ("quantization", "speculative_config", "enable_lora", "kv_cache_memory_bytes")  # no estimate counts these


def asked(arguments: Any) -> dict[str, Any]:
    """What an engine's arguments say of the memory that it takes."""
    given = {n: getattr(arguments, n, None) for n in (*WORDS, *UNKNOWN)}
    return {n: v if isinstance(v, int | float) else str(v) for n, v in given.items() if v}


def card(model: str, gpus: int, arguments: dict[str, Any], memory: int) -> Device | None:
    """The card of the least memory above this that holds one request of the longest length; None where
    none does or no estimate is known."""
    if gpus != 1 or not Path(model).is_dir() or any(n in arguments for n in UNKNOWN):
        return None
    words = [w for n, word in WORDS.items() if n in arguments for w in (word, str(arguments[n]))]
    for larger in sorted((d for d in map(device.find, device.names()) if d.memory > memory), key=lambda d: d.memory):
        p = subprocess.run(
            [binary.find(), "estimate", model, *words, "--device", larger.name, "--format", "json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if p.returncode == 0 and json.loads(p.stdout)["outcome"] == "fits":
            return larger
        if p.returncode == 2:  # an argument that memspec estimate does not take
            return None
    return None


def text(found: Device | None) -> str:
    return f"; {found.name} ({show(found.memory)}) holds it by memspec estimate" if found else ""
