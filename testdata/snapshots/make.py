"""Writes the small memory snapshots beside it: the form of torch.cuda.memory._dump_snapshot, made by hand, no GPU behind them.

    python make.py

good.pickle     a segment, four allocations, one freed between: what the allocator does
parted.pickle   the last allocation lies where the allocator would not put it
nothing.pickle  no device recorded an event
foreign.pickle  names a global that no snapshot names
cut.pickle      good.pickle without its end
"""

import os
import pickle
from pathlib import Path

BASE = 0x7F0000000000
HERE = Path(__file__).parent


def snapshot(last):
    """Three blocks, the second freed, and a fourth of its size: best fit takes the hole, which is at BASE + 1024."""
    segment = {
        "device": 0, "address": BASE, "total_size": 2 << 20, "allocated_size": 2048, "active_size": 2048, "requested_size": 2024, "stream": 0,
        "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
        "blocks": blocks({BASE: 1000, BASE + 1536: 512, last: 512}),
    }

    def event(action, addr, size):
        return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": 0, "frames": []}

    events = [
        event("segment_alloc", BASE, 2 << 20),
        event("alloc", BASE, 1000),
        event("alloc", BASE + 1024, 512),
        event("alloc", BASE + 1536, 512),
        event("free_requested", BASE + 1024, 512),
        event("free_completed", BASE + 1024, 512),
        event("alloc", last, 512),
    ]
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": False}
    return {"segments": [segment], "device_traces": [events], "allocator_settings": settings}


def blocks(held):
    """The blocks of the segment: what is held, rounded to 512, and the free ones between."""
    out, at = [], BASE
    for addr in sorted(held):
        if addr > at:
            out.append({"address": at, "size": addr - at, "requested_size": 0, "state": "inactive", "frames": []})
        size = -(-held[addr] // 512) * 512
        out.append({"address": addr, "size": size, "requested_size": held[addr], "state": "active_allocated", "frames": []})
        at = addr + size
    out.append({"address": at, "size": BASE + (2 << 20) - at, "requested_size": 0, "state": "inactive", "frames": []})
    return out


class Foreign:
    def __reduce__(self):
        return os.system, ("true",)


def write(name, data):
    (HERE / name).write_bytes(data)


good = pickle.dumps(snapshot(BASE + 1024), protocol=4)
write("good.pickle", good)
write("parted.pickle", pickle.dumps(snapshot(BASE + 2048), protocol=4))
write("nothing.pickle", pickle.dumps({"segments": [], "device_traces": [[]]}, protocol=4))
write("foreign.pickle", pickle.dumps({"segments": Foreign(), "device_traces": []}, protocol=4))
write("cut.pickle", good[: len(good) // 2])
