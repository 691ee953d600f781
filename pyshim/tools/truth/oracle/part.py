"""Where a run and its prediction part, event by event: python -m truth oracle-part CATALOG MODEL DEVICE
BATCH SETTING ARTIFACT RUNTIME --cache DIR

Prints the births and deaths around the first difference of each pass, ours beside PyTorch's. A
birth is +bytes, a death the number of its birth.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import pickle
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from oracle.work import READ

import memshim

AROUND = 6


def events(entries: list) -> list[tuple]:
    """(+bytes or -number of the birth, place); the number is None for what was there before."""
    out: list[tuple] = []
    born: dict[int, int] = {}
    number = 0
    for e in entries:
        if e["action"] == "alloc":
            born[e["addr"]], number = number, number + 1
            frames = [
                f"{f['filename'].rpartition('/')[2]}:{f['line']} {f['name']}"
                for f in e.get("frames", ())
                if "/torch/" not in f["filename"]
            ]
            out.append((f"+{e['size']}", " < ".join(frames[:2])))
        elif e["action"] == "free_requested":
            out.append((f"-{born.pop(e['addr'], 'old')}", ""))
    return out


def ran(a: argparse.Namespace, cache: Path, model: Any) -> list[list]:
    """The allocator's entries of each pass."""
    import record_archive
    import torch
    from oracle import work

    how = "live" if a.runtime == "eager" else a.artifact
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "m.pt"
        if how != "live":
            record_archive.refill(str(cache / "archives" / f"{a.model}.{how}.pt"), str(full))
        work.empty()
        module = torch.jit.load(full, map_location="cuda") if how != "live" else work.built(model).cuda()
    given = work.on(model.inputs(a.batch), "cuda", a.setting == "channels_last")
    context = (lambda: torch.autocast("cuda", torch.float16)) if a.setting == "autocast" else contextlib.nullcontext
    gc.collect()
    gc.disable()
    out = []
    with torch.no_grad():
        for _ in range(2):
            torch.cuda.memory._record_memory_history(max_entries=10_000_000, stacks="python")
            with context():
                result = module(*given)
            del result
            out.append([dict(e) for e in torch.cuda.memory._snapshot()["device_traces"][0]])
            torch.cuda.memory._record_memory_history(enabled=None)
    return out


def predicted(a: argparse.Namespace, cache: Path) -> list:
    from memshim import binary

    run = "live" if a.runtime == "eager" else a.artifact
    name = f"{a.artifact} {a.runtime} {a.model} {a.device} {a.batch} {a.setting} {run}"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "s.pickle"
        subprocess.run(
            [binary.find(), "explain", "--case", name, str(cache / "specs" / a.model / "memspec.yaml"), "-o", str(out)],
            check=True,
            capture_output=True,
        )
        return pickle.loads(out.read_bytes())["device_traces"][0]


def begins(entries: list, births: list[int], at: int) -> int:
    """Where a pass begins among our entries, which include loading: at the entry from which
    most of the pass's first births follow."""
    sizes = [(n, e["size"]) for n, e in enumerate(entries) if e["action"] == "alloc" and n >= at]
    agree = [(sum(x == y[1] for x, y in zip(births, sizes[i:])), -i) for i in range(len(sizes))]
    return sizes[-max(agree)[1]][0]


def show(ours: list[tuple], theirs: list[tuple]) -> None:
    part = next((n for n, (x, y) in enumerate(zip(ours, theirs)) if x[0] != y[0]), min(len(ours), len(theirs)))
    print(f"{len(ours)} events of ours, {len(theirs)} of PyTorch's; the first {part} are the same")
    for n in range(max(0, part - AROUND), part + AROUND * 2):
        x = ours[n] if n < len(ours) else ("", "")
        y = theirs[n] if n < len(theirs) else ("", "")
        print(f"{'>' if x[0] != y[0] else ' '} {n:5} {x[0]:>12} {x[1][:60]:60} | {y[0]:>12} {y[1][:60]}")


def main() -> None:
    p = argparse.ArgumentParser()
    for name in ("catalog", "model", "device"):
        p.add_argument(name)
    p.add_argument("batch", type=int)
    for name in ("setting", "artifact", "runtime"):
        p.add_argument(name)
    p.add_argument("--cache", type=Path, required=True)
    a = p.parse_args()
    memshim.pretend(a.device, values=a.catalog in READ or a.artifact == "trace" and a.runtime != "eager")
    import torch
    from oracle.catalog import CATALOGS, quick_init

    torch.set_num_threads(1)
    torch._C._jit_set_texpr_fuser_enabled(False)
    model = {m.name: m for m in CATALOGS[a.catalog]()}[a.model]
    quick_init()
    torch.empty(1, device="cuda")
    cache = a.cache / a.catalog
    theirs, ours, at = ran(a, cache, model), predicted(a, cache), 0
    for name, entries in zip(("first", "steady"), theirs):
        births = [e["size"] for e in entries if e["action"] == "alloc"]
        at = begins(ours, births[:12], at)
        more = ours[at:]
        if name == "first":  # as many births as PyTorch has, and what dies before the next
            second = [e["size"] for e in theirs[1] if e["action"] == "alloc"]
            more = ours[at : begins(ours, second[:12], at + 1 + len(births))] if second else more
        print(f"{name} pass:", end=" ")
        show(events(more), events(entries))
        at += len(births)


if __name__ == "__main__":
    main()
