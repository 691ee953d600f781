"""Write calls that PyTorch refuses: recorded samples with one argument made wrong.

    python -m truth refused testdata/aten [op ...]

reads testdata/aten/<torch major.minor>/samples and writes refused.jsonl beside that folder (format:
testdata/aten/README.md). A call is kept where the kernels for CPU refuse it; "fake" is false where
fake CUDA tensors do not. Needs no GPU.
"""

import itertools
import json
import logging
import os
import sys
import warnings
from pathlib import Path

import torch
import torchvision  # noqa: F401
from torch._subclasses.fake_tensor import FakeTensorMode

sys.path.insert(0, str(Path(__file__).parent))

from dump_schemas import release

DOMAINS = (
    "attention",
    "cast",
    "compare",
    "conv",
    "create",
    "embedding",
    "index",
    "join",
    "loss",
    "matmul",
    "norm",
    "other",
    "pointwise",
    "pool",
    "reduce",
    "rnn",
    "softmax",
    "sort",
    "view",
    "vision",
)
BASES = 4  # samples of an overload that are made wrong
PER_ARGUMENT = 4
CONSTANTS = {
    "memory_format": lambda v: getattr(torch, v),
    "dtype": lambda v: getattr(torch, v),
    "layout": lambda v: getattr(torch, v),
    "float": float,
    "complex": lambda v: complex(*v),
}


def value(v, device, storages):
    if isinstance(v, list):
        return [value(x, device, storages) for x in v]
    if not isinstance(v, dict):
        return v
    if "sid" in v:
        return tensor(v, device, storages)
    if "device" in v:
        return torch.device(device)
    key = next(iter(v))
    return CONSTANTS[key](v[key])


def tensor(v, device, storages):
    dtype, sizes = getattr(torch, v["d"]), v["s"]
    where = v.get("dev", device)
    if "st" not in v and "o" not in v and v["sid"] not in storages and "n" not in v:
        storages[v["sid"]] = (
            torch.ones(sizes, dtype=dtype, device=where)
            if dtype.is_floating_point
            else torch.zeros(sizes, dtype=dtype, device=where)
        )
        return storages[v["sid"]]
    if v["sid"] not in storages:
        last = v.get("o", 0) + sum((s - 1) * t for s, t in zip(sizes, v.get("st", []))) + 1
        n = v.get("n", 0) // dtype.itemsize or max(last, 1)
        storages[v["sid"]] = torch.zeros(n, dtype=dtype, device=where)
    base = storages[v["sid"]].flatten()
    return base.as_strided(sizes, v["st"] if "st" in v else torch.empty(sizes, device="meta").stride(), v.get("o", 0))


def runs(line, device) -> bool:
    namespace, base = line["op"].split("::")
    op = getattr(getattr(getattr(torch.ops, namespace), base), line.get("overload", "") or "default")
    storages: dict = {}
    try:
        args, kwargs = (
            value(line["args"], device, storages),
            {k: value(v, device, storages) for k, v in line["kwargs"].items()},
        )
    except RuntimeError:
        return True  # an alias of another argument: what is wrong cannot be made
    try:
        op(*args, **kwargs)
    except (
        RuntimeError,
        IndexError,
        ValueError,
        TypeError,
        NotImplementedError,
        AssertionError,
        OverflowError,
        ZeroDivisionError,
    ):
        return False
    return True


def fake_runs(line) -> bool:
    with FakeTensorMode():
        return runs(line, "cuda")


def wrong(v):
    """A value made wrong, with a word for how."""
    if isinstance(v, bool) or v is None or isinstance(v, str):
        return
    if isinstance(v, int):
        yield from ((f"is {n}", n) for n in (0, -1, -7, 77) if n != v)
    elif isinstance(v, list):
        for i, x in enumerate(v):
            if isinstance(x, float):  # scales
                yield from ((f"holds {n}", [*v[:i], n, *v[i + 1 :]]) for n in (0.0, -1.0, 1e300))
            for how, y in wrong(x):
                yield how if not isinstance(x, dict) else f"member {how}", [*v[:i], y, *v[i + 1 :]]
        if v and not isinstance(v[0], dict):
            yield "longer", [*v, v[-1]]
            yield "shorter", v[:-1]
        if v:
            yield "empty", []
    elif isinstance(v, dict) and "sid" in v and "st" not in v and "o" not in v:
        plain = {k: x for k, x in v.items() if k != "n"}
        for i, s in enumerate(v["s"]):
            yield f"size {i} more", plain | {"s": [*v["s"][:i], s + 1, *v["s"][i + 1 :]]}
            yield f"size {i} none", plain | {"s": [*v["s"][:i], 0, *v["s"][i + 1 :]]}
        yield "a dim more", plain | {"s": [1, *v["s"]]}
        if v["s"]:
            yield "a dim less", plain | {"s": v["s"][1:]}
            yield "no dim", plain | {"s": []}


def wrongs(line):
    named = itertools.chain(enumerate(line["args"]), line["kwargs"].items())
    for name, v in named:
        for how, w in wrong(v):
            new = {
                "op": line["op"],
                **({"overload": line["overload"]} if "overload" in line else {}),
                "args": list(line["args"]),
                "kwargs": dict(line["kwargs"]),
            }
            new["args" if isinstance(name, int) else "kwargs"][name] = w
            yield name, how, new


def refused(lines):
    """The refused calls of one operator."""
    out, seen, room = [], set(), {}
    for line in lines:
        if not runs(line, "cpu"):
            continue
        for name, how, new in wrongs(line):
            if (name, how) in seen or room.get(name, 0) >= PER_ARGUMENT:
                continue
            if not runs(new, "cpu"):
                seen.add((name, how))
                room[name] = room.get(name, 0) + 1
                out.append(new | {"error": True} | ({} if not fake_runs(new) else {"fake": False}))
    return out


def apart(lines):
    """refused in a separate process: kernels may crash on what they do not check."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        torch.set_num_threads(1)
        with os.fdopen(write, "w") as f:
            f.write(json.dumps(refused(lines)))
            f.flush()
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        text = f.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(text) if status == 0 and text else None


def private(op: str) -> bool:
    """Not written by hand in any model: their kernels check little, and some crash."""
    return op.endswith("_backward") or "::_" in op and op != "aten::_convolution"


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    root, only = Path(sys.argv[1]) / release(), set(sys.argv[2:])
    torch.set_grad_enabled(False)
    by_op: dict[str, dict[str, list]] = {}
    for domain in DOMAINS:
        for text in (root / "samples" / f"{domain}.jsonl").read_text().splitlines():
            line = json.loads(text)
            if "error" in line or "backend" in line or line["op"] not in only and (only or private(line["op"])):
                continue
            of = by_op.setdefault(line["op"], {}).setdefault(line.get("overload", ""), [])
            if len(of) < BASES:
                of.append(line)
    out = []
    for op in sorted(by_op):
        calls = apart([x for lines in by_op[op].values() for x in lines])
        if calls is None:
            print(f"crashed: {op}", file=sys.stderr)
        out += calls or []
    (root / "refused.jsonl").write_text("".join(json.dumps(x, separators=(",", ":")) + "\n" for x in out))


if __name__ == "__main__":
    main()
