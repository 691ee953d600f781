"""Write recorded calls on numbers, strings, lists, dicts and small CPU tensors with other values,
where PyTorch's answer is another than all that are recorded.

    python -m truth varied-host testdata/aten [op ...]

reads host.jsonl, written_host.jsonl and values.jsonl of testdata/aten/<torch major.minor>/samples
and writes written_varied_host.jsonl there (format: testdata/aten/README.md). Needs no GPU.
"""

import itertools
import json
import math
import os
import random
import signal
import sys
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

import dump_values
from dump_samples import dumped
from dump_schemas import release
from samples.host import As, HostCall, record

TAKEN, REFUSED, TRIES = 8, 2, 400  # of an overload
INTS = (0, 1, -1, 2, 3, -3, 7, 8, -9, 64, 255, 1000)
FLOATS = (0.0, 1.0, -1.0, 0.5, -2.5, 3.75, 1e10, math.inf, -math.inf)
STRINGS = (
    "",
    " ",
    "a",
    "A",
    "ab",
    " a b ",
    "a-b",
    "-a-",
    "aXbXc",
    "7",
    "-3",
    "0.5",
    "\t x\n",
    "z\ny",
    "ünï",
    "A1 b",
    "{} {}",
    "%d%s",
)
FLOAT_TENSORS = ([1.5, -2.25, 7.75], [0.0, -0.5, 2.5], [[1.0, -1.0], [0.5, 3.0]], 2.5, [-1.0])
INT_TENSORS = ([7, -3, 5], [0, -8, 2], [[1, 2, 3], [-4, 5, 6]], -3, [4])


def value(v):
    """A recorded value."""
    if isinstance(v, list):
        return [value(x) for x in v]
    if not isinstance(v, dict):
        return v
    if "sid" in v:
        if "v" not in v:
            raise KeyError("values")
        x = torch.tensor(v["v"], dtype=getattr(torch, v["d"])).reshape(v["s"])
        return torch.empty_strided(v["s"], v["st"], dtype=x.dtype).copy_(x) if "st" in v else x
    if "tuple" in v:
        return tuple(value(x) for x in v["tuple"])
    if "dict" in v:
        return {value(k): value(x) for k, x in v["dict"]}
    if "device" in v:
        return torch.device(v["device"])
    if "dtype" in v:
        return getattr(torch, v["dtype"])
    if "complex" in v:
        return complex(*(value(x) for x in v["complex"]))
    if "float" in v:
        return float(v["float"])
    raise KeyError(next(iter(v)))


def others(v):
    """Values of the same type."""
    if isinstance(v, bool):
        yield not v
    elif isinstance(v, int):
        yield from (*INTS, v + 1, v - 1, -v)
    elif isinstance(v, float):
        yield from (*FLOATS, v + 1, -v)
    elif isinstance(v, complex):
        yield from (v.conjugate(), -v, v * 1j, complex(v.real, 0))
    elif isinstance(v, str):
        yield from (*STRINGS, v[::-1], v + v, " " + v, v[:1], v[1:], v.upper())
    elif isinstance(v, torch.Tensor):
        if v.dtype == torch.bool:
            yield from (~v, torch.tensor(True), torch.tensor([[True, False]]))
        elif v.dtype.is_complex or v.is_quantized:
            return
        else:
            yield from (
                torch.tensor(x, dtype=v.dtype) for x in (FLOAT_TENSORS if v.dtype.is_floating_point else INT_TENSORS)
            )
            yield from (
                v.flip(0) if v.dim() else -v,
                -v,
                v.t() if v.dim() == 2 else v[None],
                v.to(torch.int32),
                v.to(torch.float64),
                v.to(torch.int64),
                v != 0,
            )
    elif isinstance(v, list) and v:
        for i, x in enumerate(v):
            yield from ([*v[:i], y, *v[i + 1 :]] for y in others(x))
        yield from ([*v, v[0]], v[:-1], v[::-1], v[:1], [*v, *v[::-1]])
    elif isinstance(v, dict) and v:
        yield dict(list(v.items())[:1])
        yield dict(reversed(v.items()))


def typed(v, like):
    """An empty list or dict with its type."""
    if v in ([], {}) and like:
        return As(v, type_of(like))
    return v


def type_of(v):
    from samples import host

    return host.type_of(v)


def line_of(call, name, direct):
    if not direct:
        return record(call)
    named = call.kwargs
    return dump_values.line(call.op.removeprefix("aten::"), name, *call.args, *([named] if named else []))


def varied(op, lines):
    out: list[str] = []
    by_overload: dict = {}
    for line, direct in lines:
        by_overload.setdefault((line.get("overload", ""), direct), []).append(line)
    for (name, direct), same in by_overload.items():
        known = {json.dumps([x.get("outs"), x.get("after")]) for x in same}
        bases, pool = [], {}
        for line in same:
            try:
                args, kwargs = [value(v) for v in line["args"]], {k: value(v) for k, v in line["kwargs"].items()}
            except (KeyError, RuntimeError):
                continue
            bases.append((args, kwargs))
            for k, v in [*enumerate(args), *kwargs.items()]:
                here = pool.setdefault(k, {})
                for o in itertools.chain([v], others(v)):
                    here.setdefault(f"{type(v).__name__} {o!r}", o)
        if not bases:
            continue
        rng = random.Random(op + name)
        taken, wrong = 0, 0
        for _ in range(TRIES):
            if taken >= TAKEN and wrong >= REFUSED:
                break
            args, kwargs = rng.choice(bases)
            args, kwargs = list(args), dict(kwargs)
            for k in rng.sample([*range(len(args)), *kwargs], min(rng.choice((1, 1, 2, 3)), len(args) + len(kwargs))):
                old = args[k] if isinstance(k, int) else kwargs[k]
                fit = [x for t, x in pool[k].items() if type(x) is type(old)]
                if not fit:
                    continue
                new = typed(rng.choice(fit), old)
                (args if isinstance(k, int) else kwargs).__setitem__(k, new)
            signal.alarm(5)
            try:
                line = line_of(HostCall(op, args, kwargs), name, direct)
                text = dumped(line)
            except Exception:  # no such call
                continue
            if (
                line.get("overload", "") != name
                or len(text) > 700
                or "9223372036854775808" in text.replace("-9223372036854775808", "")
            ):
                continue
            if line.get("error"):
                if wrong < REFUSED and text not in out:
                    wrong += 1
                    out.append(text)
                    yield text
                continue
            answer = json.dumps([line.get("outs"), line.get("after")])
            if answer in known or taken >= TAKEN:
                continue
            known.add(answer)
            taken += 1
            out.append(text)
            yield text


def apart(op, lines):
    """varied in a separate process, which a remainder by 0 or a loop without an end ends: what it
    wrote until then, and whether it came to its end."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        torch.set_num_threads(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(write, "w") as f:
            for text in varied(op, lines):
                f.write(text + "\n")
                f.flush()
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        text = f.read()
    _, status = os.waitpid(pid, 0)
    return text.splitlines(), status == 0


def main() -> None:
    warnings.simplefilter("ignore")
    root, only = Path(sys.argv[1]) / release() / "samples", set(sys.argv[2:])
    by_op: dict[str, list] = {}
    for name in ("host", "written_host", "values"):
        for text in (root / f"{name}.jsonl").read_text().splitlines():
            line = json.loads(text)
            if not line.get("error"):
                by_op.setdefault(line["op"], []).append((line, name == "values"))
    out = []
    for op in sorted(by_op):
        if only and op not in only:
            continue
        calls, whole = apart(op, by_op[op])
        if not whole:
            print(f"crashed: {op}, {len(calls)} calls kept", file=sys.stderr)
        out += calls
    (root / "written_varied_host.jsonl").write_text("".join(x + "\n" for x in out))


if __name__ == "__main__":
    main()
