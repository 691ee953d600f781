"""What a program asks of its devices, and how memory is bounded."""

import ctypes
import json
import subprocess
import sys

import cases
import torch
from cases import case

MIB = 1 << 20


@case
def properties():
    p = torch.cuda.get_device_properties(0)
    names = (
        "name",
        "major",
        "minor",
        "total_memory",
        "multi_processor_count",
        "L2_cache_size",
        "max_threads_per_multi_processor",
        "regs_per_multiprocessor",
        "shared_memory_per_block",
        "shared_memory_per_block_optin",
        "shared_memory_per_multiprocessor",
        "warp_size",
    )
    return {n: getattr(p, n, None) for n in names}


@case
def answers():
    return {
        "available": torch.cuda.is_available(),
        "count": torch.cuda.device_count(),
        "capability": torch.cuda.get_device_capability(),
        "bf16": torch.cuda.is_bf16_supported(including_emulation=False),
        "nvml": torch.cuda._device_count_nvml(),
        "name": torch.cuda.get_device_name(),
    }


@case
def memory():
    torch.cuda.init()
    torch.empty(1, device="cuda")
    free, total = torch.cuda.mem_get_info()
    torch.cuda.empty_cache()
    x = torch.empty(30 * MIB, dtype=torch.uint8, device="cuda")
    return {
        "total": total,
        "free": free,
        "reserved": torch.cuda.memory_reserved(),
        "allocated": torch.cuda.memory_allocated(),
        "used": x.numel(),
    }


@case
def driver_memory():
    """What a driver takes beside allocations is not free, as far as there is room."""
    from memshim.pretend.library import Library

    free = torch.cuda.mem_get_info()[0]
    took = [Library().take(0, 100 * MIB), Library().take(0, free), Library().take(1, MIB)]
    return {"took": took, "less": free - torch.cuda.mem_get_info()[0], "reserved": torch.cuda.memory_reserved()}


IMPORTER = """
import ctypes, sys, torch
torch.cuda.init()
lib, p, q = ctypes.CDLL(None), ctypes.c_void_p(), ctypes.c_void_p()
class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 64)]
handle = Handle.from_buffer_copy(bytes.fromhex(sys.argv[1]))
free = torch.cuda.mem_get_info()[0]
errors = [lib.cudaIpcOpenMemHandle(ctypes.byref(at), handle, 1) for at in (p, q)]
errors.append(lib.cudaMemset(p, 1, 1 << 20))
errors.append(lib.cudaMemset(p, 1, 1 << 21))  # ends beyond it
errors.append(lib.cudaFree(p))
errors += [lib.cudaIpcCloseMemHandle(p) for _ in range(3)]
print([p.value == q.value, free - torch.cuda.mem_get_info()[0], errors])
"""


@case
def shared_by_handle():
    """An allocation of one process, opened by another: nothing is taken for it a second time."""
    lib, p, handle, other = ctypes.CDLL(None), ctypes.c_void_p(), ctypes.create_string_buffer(64), ctypes.c_void_p()

    class Handle(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_char * 64)]

    torch.cuda.init()
    lib.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(MIB))
    errors = [lib.cudaIpcGetMemHandle(handle, p), lib.cudaIpcGetMemHandle(handle, ctypes.c_void_p(8))]
    lib.cudaIpcGetMemHandle(handle, p)
    errors.append(lib.cudaIpcOpenMemHandle(ctypes.byref(other), Handle.from_buffer_copy(handle), 1))
    errors.append(lib.cudaIpcOpenMemHandle(ctypes.byref(other), Handle(b"other"), 1))
    lib.cudaGetLastError()
    command = [sys.executable, "-c", IMPORTER, handle.raw.hex()]
    found = subprocess.run(command, capture_output=True, text=True)
    lib.cudaFree(p)
    return {"exporter": errors, "importer": json.loads(found.stdout.lower() or "null"), "error": found.stderr}


@case
def out_of_memory():
    total = torch.cuda.get_device_properties(0).total_memory
    held = [torch.empty(256 * MIB, dtype=torch.uint8, device="cuda") for _ in range((total - 400 * MIB) // (256 * MIB))]
    before = torch.cuda.memory_stats()["num_alloc_retries"]
    del held[0]
    try:
        torch.empty(900 * MIB, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as e:
        text = str(e)
    stats = torch.cuda.memory_stats()
    return {"text": text, "retries": stats["num_alloc_retries"] - before, "ooms": stats["num_ooms"], "held": len(held)}


@case
def reused_memory_is_zero():
    """A block that is handed out again does not show what the host wrote into it before."""
    a = torch.full((1000,), 7.0).cuda()
    at, was = a.data_ptr(), a.tolist()[0]
    del a
    b = torch.empty(1000, device="cuda")
    return {"same": b.data_ptr() == at, "was": was, "is": b.tolist()[:3]}


@case
def copies():
    small, large = torch.arange(1000).cuda(), torch.ones(4 * MIB).cuda()
    two = torch.arange(12).view(3, 4).cuda().t().contiguous()
    return {
        "small": small.tolist()[-1],
        "large": large.cpu()[:2].tolist(),
        "sum": large.cpu().sum().item(),
        "moved": two.shape,
    }


if __name__ == "__main__":
    cases.run()
