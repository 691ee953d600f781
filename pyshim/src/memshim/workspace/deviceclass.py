"""Device classes: what stands for all the GPUs that cuDNN's heuristics treat alike, as the JSON of
its device-property descriptor.

cuDNN's choice depends on the SM version alone: over 69 convolutions neither the number of
multiprocessors, nor clocks, nor caches, nor memory, nor the driver changed a workspace on sm 80,
86, 89 and 120. On sm 90 extreme clocks move one or two; sm 75 has two families, by multiprocessors.
So one device stands for each class. The limits are those of the compute capability (CUDA C++
Programming Guide, "Technical Specifications per Compute Capability").
"""

from __future__ import annotations

import re
from typing import Any

KIB = 1024

# What is the same everywhere, or changes nothing.
_COMMON = {
    "warpSize": 32,
    "regsPerBlock": 65536,
    "maxRegistersPerSM": 65536,
    "maxGridSize": [2147483647, 65535, 65535],
    "maxBlockSize": [1024, 1024, 64],
    "maxThreadsPerBlock": 1024,
    "maxSharedMemoryPerBlock": 48 * KIB,
    "pciDeviceId": 0,
    "isTccDriver": 0,
    "supportCoopLaunch": 1,
    "cudaDeviceId": 0,
    "driverVer": 12080,
}

# class: name, multiprocessors, opt-in shared memory a block, reserved shared memory a block, blocks
# and threads a multiprocessor, memory in bytes, clocks in kHz, L2 in bytes.
_CLASSES = {
    "sm60": ("Tesla P100-PCIE-16GB", 56, 48 * KIB, 0, 32, 2048, 17071734784, 1328500, 715000, 4194304),
    "sm61": ("NVIDIA GeForce GTX 1080 Ti", 28, 48 * KIB, 0, 32, 2048, 11720130560, 1582000, 5505000, 2883584),
    "sm70": ("Tesla V100-SXM2-16GB", 80, 96 * KIB, 0, 32, 2048, 16965120819, 1530000, 877000, 6291456),
    "sm75-small": ("Tesla T4", 40, 64 * KIB, 0, 16, 1024, 15676630630, 1590000, 5001000, 4194304),
    "sm75-large": ("NVIDIA GeForce RTX 2080 Ti", 68, 64 * KIB, 0, 16, 1024, 11489037516, 1545000, 7000000, 5767168),
    "sm80": ("NVIDIA A100-SXM4-40GB", 108, 163 * KIB, KIB, 32, 2048, 42305427865, 1410000, 1215000, 41943040),
    "sm86": ("NVIDIA GeForce RTX 3090", 82, 99 * KIB, KIB, 16, 1536, 25447681228, 1695000, 9751000, 6291456),
    "sm87": ("Orin", 16, 163 * KIB, KIB, 16, 1536, 64 * KIB**3, 1300000, 3200000, 4194304),
    "sm89": ("NVIDIA GeForce RTX 4090", 128, 99 * KIB, KIB, 24, 1536, 25393994137, 2520000, 10501000, 75497472),
    "sm90": ("NVIDIA H100 80GB HBM3", 132, 227 * KIB, KIB, 32, 2048, 85040352460, 1980000, 2619000, 52428800),
    "sm100": ("NVIDIA B200", 148, 227 * KIB, KIB, 32, 2048, 191555541401, 1965000, 3996000, 132120576),
    "sm103": ("NVIDIA B300", 148, 227 * KIB, KIB, 32, 2048, 288 * 10**9, 1965000, 3996000, 132120576),
    "sm110": ("NVIDIA Thor", 20, 227 * KIB, KIB, 24, 1536, 128 * 10**9, 1575000, 4266000, 33554432),
    "sm120": ("NVIDIA GeForce RTX 5090", 170, 99 * KIB, KIB, 24, 1536, 33715493273, 2407000, 14001000, 100663296),
    "sm121": ("NVIDIA GB10", 48, 99 * KIB, KIB, 24, 1536, 128 * 10**9, 2418000, 8533000, 25165824),
}

NAMES = tuple(_CLASSES)

# The oldest SM version that a generation of CUDA builds for. cuDNN answers for older ones too, but
# none of its kernels runs there.
_OLDEST = {13: 75}


def check(name: str, cuda: int) -> None:
    """LookupError where libraries of that CUDA generation do not run on the class."""
    if name in _CLASSES and sm_version(name) < _OLDEST.get(cuda, 0):
        raise LookupError(
            f"got device class {name}, want sm{_OLDEST[cuda]} or newer: libraries for CUDA {cuda} do not run on it"
        )


def sm_version(name: str) -> int:
    return int(re.findall(r"^sm(\d+)", name)[0])


def properties(name: str) -> dict[str, Any]:
    """The description of a class. LookupError where the class is not known."""
    if name not in _CLASSES:
        raise LookupError(f"got device class {name!r}, want one of {', '.join(NAMES)}")
    device, sms, optin, reserved, blocks, threads, memory, clock, memory_clock, l2 = _CLASSES[name]
    return _COMMON | {
        "deviceName": device,
        "deviceVer": sm_version(name) * 10,
        "multiProcessorCount": sms,
        "maxSharedMemoryPerBlockOptin": optin,
        "reservedSharedMemoryPerBlock": reserved,
        "maxCtasPerSM": blocks,
        "maxThreadsPerSM": threads,
        "totalGlobalMem": memory,
        "smClockRateKHz": clock,
        "memClockRateKHz": memory_clock,
        "l2CacheSize": l2,
    }


def card(name: str) -> str:
    """The class as the pretend GPU's library reads a card (pretend/native/device.c)."""
    p = properties(name)
    sm = sm_version(name)
    figures = {
        "name": p["deviceName"],
        "major": sm // 10,
        "minor": sm % 10,
        "kernels": sm,
        "sms": p["multiProcessorCount"],
        "memory": p["totalGlobalMem"],
        "l2": p["l2CacheSize"],
        "clock_khz": p["smClockRateKHz"],
        "memory_clock_khz": p["memClockRateKHz"],
        "threads_per_sm": p["maxThreadsPerSM"],
        "blocks_per_sm": p["maxCtasPerSM"],
        "registers_per_sm": p["maxRegistersPerSM"],
        "shared_per_block": p["maxSharedMemoryPerBlock"],
        "shared_optin": p["maxSharedMemoryPerBlockOptin"],
        "shared_reserved": p["reservedSharedMemoryPerBlock"],
        "shared_per_sm": p["maxSharedMemoryPerBlockOptin"] + p["reservedSharedMemoryPerBlock"],
    }
    return ";".join(f"{k}={v}" for k, v in figures.items())
