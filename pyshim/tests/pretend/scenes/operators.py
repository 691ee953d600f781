"""Every recorded call of every operator (testdata/aten), called on the pretend GPU: what it
allocates, how it ends, and what values it gives.

    operators.py SAMPLES.jsonl ...

prints one JSON object: file → [[outcome, allocations, bytes, right], ...], a row a call
"""

import json
import math
import sys
from pathlib import Path

import torch

from memshim.pretend import values


def tensor(meta, storages):
    dtype, sizes = getattr(torch, meta["d"]), meta["s"]
    strides = meta.get("st")
    if strides is None:
        strides, step = [], 1
        for n in reversed(sizes):
            strides.insert(0, step)
            step *= max(n, 1)
    offset = meta.get("o", 0)
    reach = (sum((n - 1) * s for n, s in zip(sizes, strides)) + 1 if math.prod(sizes) else 0) + offset
    item = torch.empty((), dtype=dtype).element_size()
    size = max(meta.get("n", 0), reach * item)
    key = meta["sid"], size
    if key not in storages:
        count = size // item
        flat = torch.arange(count, dtype=torch.int64).remainder(7)
        flat = (
            flat.remainder(2).bool()
            if dtype is torch.bool
            else (flat.float() / 4 + 0.125).to(dtype)
            if dtype.is_floating_point or dtype.is_complex
            else flat.to(dtype)
        )
        storages[key] = flat if meta.get("dev") == "cpu" else flat.cuda()
    flat = storages[key]
    return (
        flat.view(dtype).as_strided(sizes, strides, offset)
        if flat.dtype != dtype
        else flat.as_strided(sizes, strides, offset)
    )


def decode(v, storages):
    if isinstance(v, dict):
        if "d" in v and "s" in v:
            return tensor(v, storages)
        for key in ("dtype", "memory_format", "layout"):
            if key in v:
                return getattr(torch, v[key])
        if "device" in v:
            return torch.device(v["device"])
        if "float" in v:
            return float(v["float"])
        if "complex" in v:
            return complex(*v["complex"])
        raise TypeError(v)
    if isinstance(v, list):
        return [decode(x, storages) for x in v]
    return v


def operator(sample):
    namespace, _, base = sample["op"].partition("::")
    overload = sample.get("overload")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


def flat_tensors(v):
    if isinstance(v, torch.Tensor):
        yield v
    elif isinstance(v, (list, tuple)):
        for x in v:
            yield from flat_tensors(x)


def to_cpu(v):
    if isinstance(v, torch.Tensor):
        return v.cpu()
    if isinstance(v, torch.device):
        return torch.device("cpu")
    if isinstance(v, (list, tuple)):
        return type(v)(to_cpu(x) for x in v)
    return v


def as_the_cpu(op, args, kwargs, before, out):
    """Whether the results are what the CPU computes of the same arguments: None where it cannot be
    reported. LAPACK writes where the pivots of ldl_solve point, and those of a sample are made up."""
    if torch.Tag.nondeterministic_seeded in op.tags or any(
        w in op.name() for w in ("empty", "resize", "dropout", "set_", "rrelu", "ldl_solve")
    ):
        return None
    try:
        expected = op(*before[0], **before[1])
    except Exception:
        return None
    got, want = list(flat_tensors(out)), list(flat_tensors(expected))
    if len(got) != len(want):
        return False
    memory = values.installed().memory
    if not all(memory.known(t) for t in got):
        return "not known"
    for g, w in zip(got, want):
        g, w = g.cpu(), w.cpu()
        if g.shape != w.shape or g.dtype != w.dtype:
            return None  # the devices' own difference
        if g.dtype.is_complex:
            g, w = torch.view_as_real(g.resolve_conj()), torch.view_as_real(w.resolve_conj())
        if g.dtype.is_floating_point:  # composed otherwise, and so rounded otherwise
            g, w = g.double(), w.double()
        if not torch.allclose(g, w, 1e-2, 1e-3, equal_nan=True) if g.dtype.is_floating_point else not (g == w).all():
            return False
    return True


def call(sample, check):
    storages = {}
    try:
        op = operator(sample)
        args = [decode(a, storages) for a in sample["args"]]
        kwargs = {k: decode(a, storages) for k, a in sample["kwargs"].items()}
    except Exception as e:
        return ["not made: " + type(e).__name__, 0, 0, None]
    before = ([to_cpu(a) for a in args], {k: to_cpu(a) for k, a in kwargs.items()}) if check else None
    was = torch.cuda.memory_stats_as_nested_dict()
    out = None
    try:
        out = op(*args, **kwargs)
        outcome = "ok"
    except Exception as e:
        outcome = type(e).__name__ + ": " + str(e).split("\n")[0][:160]
    now = torch.cuda.memory_stats_as_nested_dict()
    taken = [now[k]["all"]["allocated"] - was[k]["all"]["allocated"] for k in ("allocation", "allocated_bytes")]
    right = as_the_cpu(op, args, kwargs, before, out) if check and outcome == "ok" else None
    return [outcome, *taken, right]


if __name__ == "__main__":
    check = "--check" in sys.argv
    seen = {}
    torch.zeros(1, device="cuda")
    for name in [a for a in sys.argv[1:] if not a.startswith("--")]:
        rows = []
        for line in Path(name).read_text(encoding="utf-8").splitlines():
            sample = json.loads(line)
            rows.append([sample["op"], *call(sample, check)])
        seen[Path(name).stem] = rows
        print(name, len(rows), file=sys.stderr, flush=True)
    print(json.dumps(seen))
