"""One recorded call on the CUDA device of this process, and what the allocator saw of it."""

from __future__ import annotations

import math
from typing import Any

import torch
import torchvision  # noqa: F401  registers its operators

from .record import broadcast, operator
from .spec import contiguous_strides


class Build:
    """The JSON of testdata/aten/README.md to tensors; equal numbers of storages are one storage."""

    def __init__(self) -> None:
        self.storages: dict[int, torch.UntypedStorage] = {}

    def value(self, v: Any) -> Any:
        if isinstance(v, list):
            return [self.value(x) for x in v]
        if not isinstance(v, dict):
            return v
        if "sid" in v:
            return self.tensor(v)
        for key in ("dtype", "memory_format", "layout"):
            if key in v:
                return getattr(torch, v[key])
        if "device" in v:
            return torch.device(v["device"])
        if "complex" in v:
            return complex(*self.value(v["complex"]))
        return float(v["float"])

    def tensor(self, v: dict) -> torch.Tensor:
        dtype, sizes, device = getattr(torch, v["d"]), v["s"], v.get("dev", "cuda")
        numel = math.prod(sizes)
        if v["sid"] not in self.storages:
            self.storages[v["sid"]] = torch.empty(
                v.get("n", numel * dtype.itemsize), dtype=torch.uint8, device=device
            ).untyped_storage()
        x = torch.empty(0, dtype=dtype, device=device)
        x.set_(self.storages[v["sid"]], v.get("o", 0), sizes, v.get("st") or contiguous_strides(tuple(sizes)))
        if "v" in v and device == "cpu":
            x.copy_(torch.tensor(self.value(v["v"]), dtype=dtype).reshape(sizes))
        return x


def run(line: dict) -> str:
    """Births and deaths of a call's storages: "+512 -0" is a birth of 512 bytes and the death of
    the first that was born, "-x" the death of one that was there before. Its results live on. A
    call that does not run is "! and why"."""
    func = operator(line["op"], line.get("overload", ""))
    build = Build()
    args, kwargs = broadcast(func, build.value(line["args"]), {k: build.value(v) for k, v in line["kwargs"].items()})
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.memory._record_memory_history(max_entries=1 << 20, context=None)
    try:
        with torch.no_grad():
            result = func(*args, **kwargs)
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
    except Exception as e:  # what PyTorch raises here is of many types
        return f"! {type(e).__name__}: {' '.join(str(e).split())[:100]}"
    finally:
        torch.cuda.memory._record_memory_history(enabled=None)
    del result
    born: dict[int, int] = {}
    out = []
    for event in trace:
        if event["action"] == "alloc":
            born[event["addr"]] = sum(x[0] == "+" for x in out)
            out.append(f"+{event['size']}")
        elif event["action"] == "free_requested":
            out.append(f"-{born.get(event['addr'], 'x')}")
    return " ".join(out)
