"""Write recorded calls with one argument made another, where PyTorch then goes another way than in
any call that is recorded.

    python -m truth other-paths testdata/aten [op ...]

reads testdata/aten/<torch major.minor>/samples and writes written_ways.jsonl there (format:
testdata/aten/README.md; "leaves" are left out). What is refused is kept where the kernels for CPU
refuse it too, and what is taken where they take it. Needs no GPU; takes half an hour for all
operators.
"""

import copy
import gc
import itertools
import json
import logging
import os
import random
import sys
import warnings
from pathlib import Path

import torch
import torchvision  # noqa: F401

sys.path.insert(0, str(Path(__file__).parent))

import dump_refused
from dump_samples import dumped
from dump_schemas import release
from samples.record import Refused, record
from samples.resolve import Unresolved, overload
from samples.spec import Call, Store, Ten, channels_last_strides, contiguous_strides, ex, tr

TAKEN, REFUSED, TRIES = 4, 3, 30  # of an overload
# what a kernel for CPU lacks says nothing of CUDA
NOT_HERE = ("not implemented for", "not implemented on", "Could not run")
# files of other forms
OTHERS = {"host", "written_host", "written_varied_host", "data", "quant", "values", "written_ways", "random"}
DTYPES = (torch.float64, torch.float16, torch.int64, torch.bool, torch.complex64, torch.uint8)


def value(v, stores):
    """A recorded argument as the description that it was recorded from."""
    if isinstance(v, list):
        return [value(x, stores) for x in v]
    if not isinstance(v, dict):
        return v
    if "sid" in v:
        dtype, sizes = getattr(torch, v["d"]), tuple(v["s"])
        strides = tuple(v["st"]) if "st" in v else contiguous_strides(sizes)
        numel = 1
        for s in sizes:
            numel *= s
        store = stores.setdefault(v["sid"], Store(v.get("n", numel * dtype.itemsize), v.get("dev", "cuda")))
        return Ten(dtype, sizes, strides, v.get("o", 0), store)
    if "device" in v:
        return torch.device(v["device"])
    key = next(iter(v))
    return dump_refused.CONSTANTS[key](v[key])


def call_of(line):
    stores: dict = {}
    return Call(line["op"], value(line["args"], stores), {k: value(v, stores) for k, v in line["kwargs"].items()})


def dense(dtype, sizes, dev, strides=None):
    n = dtype.itemsize
    for s in sizes:
        n *= s
    return Ten(dtype, tuple(sizes), strides or contiguous_strides(tuple(sizes)), 0, Store(n, dev))


def other_tensors(x):
    dev, sizes = x.store.device, x.sizes
    yield from (dense(d, sizes, dev) for d in DTYPES if d != x.dtype)
    for i, s in enumerate(sizes):
        yield from (dense(x.dtype, [*sizes[:i], n, *sizes[i + 1 :]], dev) for n in (1, 0, s + 1) if n != s)
    yield dense(x.dtype, (1, *sizes), dev)
    yield dense(x.dtype, (2, *sizes), dev)
    yield dense(x.dtype, (*sizes, 1), dev)
    if sizes:
        yield dense(x.dtype, sizes[1:], dev)
        yield dense(x.dtype, sizes[:-1], dev)
        yield dense(x.dtype, (), dev)
        yield ex(dense(x.dtype, (1, *sizes[1:]), dev), *sizes)
    if len(sizes) > 1:
        yield tr(dense(x.dtype, (*sizes[:-2], sizes[-1], sizes[-2]), dev))
        yield tr(dense(x.dtype, (sizes[1], sizes[0], *sizes[2:]), dev), 0, 1)
    if len(sizes) == 4:
        yield dense(x.dtype, sizes, dev, channels_last_strides(sizes))


def others(v):
    """Values in place of this one."""
    if isinstance(v, Ten):
        yield from other_tensors(v)
        yield None
    elif isinstance(v, bool):
        yield not v
    elif isinstance(v, int):
        yield from (n for n in (v + 1, v - 1, 0, 1, -1, 2, -2, v + 2, -v) if n != v)
        yield None
    elif isinstance(v, float):
        yield from (n for n in (0.0, 1.0, 2.0, 0.5, -1.0, float("inf")) if n != v)
        yield None
    elif isinstance(v, torch.dtype):
        yield from (d for d in DTYPES if d != v)
        yield None
    elif isinstance(v, torch.memory_format):
        yield from (
            f
            for f in (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)
            if f != v
        )
    elif isinstance(v, list):
        for i, x in enumerate(v):
            yield from ([*v[:i], y, *v[i + 1 :]] for y in others(x) if y is not None)
        if v:
            yield [*v, v[-1]]
            yield v[:-1]
            yield v[::-1]
            yield []


def everywhere(v, change):
    if isinstance(v, Ten):
        return change(v)
    return [everywhere(x, change) for x in v] if isinstance(v, list) else v


def together(call):
    """All tensors changed in one way."""

    def dtype_of(d):
        return lambda x: (
            Ten(d, x.sizes, x.strides, x.offset, Store(x.store.nbytes // x.dtype.itemsize * d.itemsize, x.store.device))
            if x.dtype.is_floating_point
            else x
        )

    changes = [
        dtype_of(d) for d in (torch.float16, torch.float64, torch.int64, torch.complex64, torch.bool, torch.bfloat16)
    ]
    changes.append(
        lambda x: (
            tr(dense(x.dtype, (*x.sizes[:-2], x.sizes[-1], x.sizes[-2]), x.store.device)) if len(x.sizes) > 1 else x
        )
    )
    changes.append(
        lambda x: dense(x.dtype, x.sizes, x.store.device, channels_last_strides(x.sizes)) if len(x.sizes) == 4 else x
    )
    changes.append(lambda x: dense(x.dtype, (0, *x.sizes[1:]), x.store.device) if x.sizes else x)
    changes.append(lambda x: dense(x.dtype, (2, *x.sizes), x.store.device))
    changes.append(lambda x: dense(x.dtype, x.sizes[1:], x.store.device) if x.sizes else x)
    changes.append(lambda x: dense(x.dtype, tuple(1 for _ in x.sizes), x.store.device))
    for change in changes:
        yield Call(
            call.op,
            everywhere(call.args, change),
            {k: everywhere(v, change) for k, v in call.kwargs.items()},
            overload=call.overload,
        )


def variants(line, pool):
    """Calls like that one with another argument, or with all tensors changed."""
    base = call_of(line)
    for name in [*range(len(base.args)), *base.kwargs]:
        v = base.args[name] if isinstance(name, int) else base.kwargs[name]
        for other in itertools.chain(others(v), pool.get(name, [])):
            args, kwargs = list(base.args), dict(base.kwargs)
            (args if isinstance(name, int) else kwargs)[name] = other
            yield Call(base.op, args, kwargs)
    for name, values in pool.items():
        if name not in base.kwargs and not (isinstance(name, int) and name != len(base.args)):
            for other in values:
                yield Call(
                    base.op,
                    [*base.args, other] if isinstance(name, int) else list(base.args),
                    base.kwargs if isinstance(name, int) else base.kwargs | {name: other},
                )
    yield from together(base)


def on_cpu(line):
    """Whether the kernels for CPU take the call; None where they do not record."""
    namespace, base = line["op"].split("::")
    op = getattr(getattr(getattr(torch.ops, namespace), base), line.get("overload", "") or "default")
    storages: dict = {}
    try:
        args, kwargs = (
            dump_refused.value(line["args"], "cpu", storages),
            {k: dump_refused.value(v, "cpu", storages) for k, v in line["kwargs"].items()},
        )
    except RuntimeError:
        return None
    try:
        op(*args, **kwargs)
    except Exception as e:  # what PyTorch raises here is of many types
        return None if any(s in str(e) for s in NOT_HERE) else False
    return True


def mixed_devices(v):
    if isinstance(v, dict):
        return "dev" in v and v.get("dev") == "cpu"
    return isinstance(v, list) and any(mixed_devices(x) for x in v)


def way(line, leaves):
    """What distinguishes one way through an operator from another."""
    first = next((v["d"] for v in line["args"] if isinstance(v, dict) and "d" in v), "")

    def out(v):
        if isinstance(v, dict) and "sid" in v:
            order = "st" in v and sorted(range(len(v["st"])), key=lambda i: (-v["st"][i], i))
            return (
                v["d"] == first,
                getattr(torch, v["d"]).is_floating_point,
                len(v["s"]),
                0 in v["s"],
                order,
                v.get("o", 0) != 0,
                v["sid"],
            )
        return [out(x) for x in v] if isinstance(v, list) else type(v).__name__

    if line.get("error"):
        return None
    return str(
        (
            leaves,
            [out(v) for v in line["outs"]],
            [(e[0], e[-1]) for e in line["events"]],
            [out(v) for v in line.get("after", {}).values()],
        )
    )


def shape_of(call):
    """What of a refused call says why: how its arguments differ in kind."""

    def kind(v):
        if isinstance(v, Ten):
            return (v.dtype.is_floating_point, len(v.sizes), v.store.device)
        return [kind(x) for x in v] if isinstance(v, list) else v if isinstance(v, int) else type(v).__name__

    return str([kind(v) for v in call.args] + [(k, kind(v)) for k, v in call.kwargs.items()])


def fits(line):
    """Whether the numbers are such as a model has."""

    def big(v):
        return (
            isinstance(v, dict)
            and "s" in v
            and any(s > 1 << 20 for s in v["s"])
            or isinstance(v, list)
            and any(big(x) for x in v)
        )

    return not any(big(v) for v in [*line["args"], *line.get("outs", [])])


def ways_of(op, lines):
    out, texts = [], set()
    private = dump_refused.private(op)
    by_overload: dict = {}
    for line in lines:
        by_overload.setdefault(line.get("overload", ""), []).append(line)
    for name, same in by_overload.items():
        pool: dict = {}
        for line in same:
            c = call_of(line)
            for k, v in [*enumerate(c.args), *c.kwargs.items()]:
                if not isinstance(v, Ten) and repr(v) not in map(repr, pool.get(k, [])):
                    pool.setdefault(k, []).append(v)
        ways = {way(x, x.get("leaves")) for x in same if not x.get("error")}
        good = [x for x in same if not x.get("error") and "backend" not in x]
        tries = [c for line in good for c in variants(line, pool)]
        random.Random(op + name).shuffle(tries)
        taken, wrong, kinds = 0, 0, set()
        for c in tries[: TRIES * 4]:
            if taken >= TAKEN and wrong >= REFUSED:
                break
            try:
                if overload(c) != name:
                    continue
                line = record(c)
            except (Unresolved, TypeError):
                continue
            except Refused:
                if private or wrong >= REFUSED or shape_of(c) in kinds:
                    continue
                c.fails = True
                try:
                    line = record(c)
                except Exception:
                    continue
            except Exception:
                continue
            leaves = line.pop("leaves", None)
            w = way(line, leaves)
            if w is not None and (w in ways or taken >= TAKEN) or not fits(line):
                continue
            if sum(e[0] == "r" for e in line.get("events", [])) > 1:
                continue  # which of two storages that grow is which, a test cannot know
            if not private and not any(mixed_devices(v) for v in [*line["args"], *line["kwargs"].values()]):
                here = on_cpu(line)
                if here is not (w is not None):
                    continue
            text = dumped(line)
            if text in texts:
                continue
            texts.add(text)
            if w is None:
                wrong += 1
                kinds.add(shape_of(c))
            else:
                taken += 1
                ways.add(w)
            out.append(text)
    return out


def of_another(op):
    """Written as another operator is: in place, for lists, by another name."""
    return op.endswith("_") or "::_foreach" in op or "::special_" in op or "::fft_" in op and "r" in op


def apart(op, lines):
    """ways_of in a separate process: kernels may crash on what they do not check."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        torch.set_num_threads(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(write, "w") as f:
            f.write(json.dumps(ways_of(op, lines)))
            f.flush()
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        text = f.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(text) if status == 0 and text else None


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    root, only = Path(sys.argv[1]) / release() / "samples", set(sys.argv[2:])
    torch.set_grad_enabled(False)
    by_op: dict[str, list] = {}
    for path in sorted(root.glob("*.jsonl")):
        if path.stem in OTHERS:
            continue
        for text in path.read_text().splitlines():
            line = json.loads(text)
            if "events" in line or line.get("error"):
                by_op.setdefault(line["op"], []).append(line)
    gc.collect()
    gc.freeze()
    with (root / "written_ways.jsonl").open("w") as out:
        for op in sorted(by_op):
            if only and op not in only or not only and of_another(op):
                continue
            calls = apart(op, copy.deepcopy(by_op[op]))
            if calls is None:
                print(f"crashed: {op}", file=sys.stderr)
            out.write("".join(x + "\n" for x in sorted(calls or [])))


if __name__ == "__main__":
    main()
