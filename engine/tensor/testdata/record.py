"""What PyTorch says of dtypes and of layouts: writes dtypes.txt and layouts.txt beside this file.

    python engine/tensor/testdata/record.py
"""

import itertools
import random
from pathlib import Path

import torch

HERE = Path(__file__).parent
HEAD = "# Written by record.py, torch {}. {}\n"


def number(dtype):
    """c10::ScalarType's, as a traced graph writes it; - where no tensor of it can be made."""
    try:
        graph = torch.jit.trace(lambda x: torch.empty(2, dtype=dtype), torch.ones(1), check_trace=False).graph
        return list(next(n for n in graph.nodes() if n.kind() == "aten::empty").inputs())[1].toIValue()
    except RuntimeError:
        return "-"


def asked(question):
    try:
        return question()
    except RuntimeError:  # PyTorch has no answer
        return None


def dtypes():
    names = {}
    for name in dir(torch):
        if isinstance(getattr(torch, name), torch.dtype):
            names.setdefault(getattr(torch, name), []).append(name)
    out = []
    for d, known in names.items():
        main = str(d)[6:]
        traits = [t for t, ask in (("floating", lambda: d.is_floating_point), ("complex", lambda: d.is_complex), ("signed", lambda: d.is_signed)) if asked(ask)]
        real, parts_of = (str(asked(ask) or "torch.-")[6:] for ask in (d.to_real, d.to_complex))
        others = sorted(n for n in known if n != main)
        out.append(f"{main} {number(d)} {d.itemsize} {real} {parts_of} {','.join(traits) or '-'} {','.join(others) or '-'}")
    return sorted(out)


def layout(sizes, strides):
    t = torch.empty_strided(sizes, strides)
    like = torch.ops.aten.is_strides_like_format
    rank = len(sizes)
    last = rank == 4 and t.is_contiguous(memory_format=torch.channels_last)
    last3 = rank == 5 and t.is_contiguous(memory_format=torch.channels_last_3d)
    like2 = rank == 4 and like(t, torch.channels_last)
    like3 = rank == 5 and like(t, torch.channels_last_3d)
    answers = (t.is_contiguous(), last, last3, like2, like3, torch.ops.aten.is_non_overlapping_and_dense(t))
    flags = "".join(c if yes else "-" for c, yes in zip("c23lLd", answers))
    comma = lambda xs: ",".join(map(str, xs)) or "-"
    return f"{comma(sizes)} {comma(strides)} {flags} {t.untyped_storage().nbytes()}"


def layouts():
    rng = random.Random(1)
    seen = {}
    for rank in range(6):
        shapes = list(itertools.product((0, 1, 2, 3), repeat=rank))
        ones = [s for s in shapes if rank > 3 and 0 not in s and s.count(1) >= rank - 2]  # where strides are ambiguous
        for sizes in rng.sample(shapes, min(len(shapes), 40)) + ones:
            base = torch.empty(sizes)
            strides = [base.stride()]
            if rank in (4, 5):
                strides.append(base.to(memory_format=torch.channels_last if rank == 4 else torch.channels_last_3d).stride())
            order = list(range(rank))
            rng.shuffle(order)
            strides.append(torch.empty([sizes[i] for i in order]).permute([order.index(i) for i in range(rank)]).stride())
            for s in list(strides):
                s = list(s)
                if s:
                    s[rng.randrange(rank)] = rng.choice((0, 1, 2, 3, 6, 12))
                    strides.append(tuple(s))
            for s in strides:
                seen[layout(sizes, s)] = None
    return list(seen)


def write(name, what, lines):
    (HERE / name).write_text(HEAD.format(torch.__version__.partition("+")[0], what) + "\n".join(lines) + "\n")


write("dtypes.txt", "Name, number, bytes an element, dtype of its parts, dtype whose parts it is, traits, other names.", dtypes())
write("layouts.txt", "Sizes, strides, then: c contiguous, 2 and 3 channels last, l and L strides like it, d dense; bytes of its storage as float32.", layouts())
