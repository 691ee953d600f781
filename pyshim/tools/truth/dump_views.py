"""Write the strides that fake tensors give a view, a case a line.

    python -m truth views testdata/aten

writes testdata/aten/<torch major.minor>/fake_views.txt: sizes, strides and shape of `aten::view` on
a fake CUDA tensor, and the strides of the result, or `refused`. Fake tensors make views dimension
by dimension (torch/_refs/__init__.py _reshape_view_helper), and where a dimension has one element
they may give it another stride than a device does.
"""

import itertools
import random
import sys
from pathlib import Path

import torch
from dump_schemas import release
from torch._subclasses.fake_tensor import FakeTensorMode

SIZES = [
    (),
    (1,),
    (6,),
    (1, 6),
    (6, 1),
    (2, 3),
    (1, 4, 6),
    (4, 1, 6),
    (2, 1, 12),
    (1, 1, 24),
    (2, 3, 4),
    (1, 2, 12),
    (1, 3, 4, 2),
    (2, 1, 3, 4),
    (1, 6, 1, 4),
    (0, 3),
    (2, 0, 4),
]


def layouts(sizes: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Dense strides in every order of the dims, and some that leave gaps."""
    out = set()
    for order in itertools.permutations(range(len(sizes))):
        strides, step = [0] * len(sizes), 1
        for d in order:
            strides[d] = step
            step *= max(sizes[d], 1)
        out.add(tuple(strides))
        out.add(tuple(2 * s for s in strides))
        out.add(tuple(0 if n == 1 else s for n, s in zip(sizes, strides)))
    return out


def shapes(numel: int) -> list[tuple[int, ...]]:
    if numel == 0:
        return [(0,), (0, 3), (3, 0, 2)]
    parts = [d for d in range(1, numel + 1) if numel % d == 0]
    out = [s for n in range(0, 4) for s in itertools.product(parts, repeat=n) if _product(s) == numel]
    return out + [(1, *s) for s in out if len(s) == 3] + [(*s, 1) for s in out if len(s) == 3]


def _product(values: tuple[int, ...]) -> int:
    out = 1
    for v in values:
        out *= v
    return out


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "testdata/aten")
    out = root / release() / "fake_views.txt"
    pick = random.Random(0)
    lines = []
    with FakeTensorMode():
        for sizes in SIZES:
            cases = [(st, sh) for st in sorted(layouts(sizes)) for sh in shapes(_product(sizes))]
            for strides, shape in pick.sample(cases, min(len(cases), 90)):
                x = torch.empty_strided(sizes, strides, device="cuda")
                try:
                    strides_text = str(list(x.view(shape).stride()))
                except (RuntimeError, ValueError):
                    strides_text = "refused"
                lines.append(f"{list(sizes)} {list(strides)} {list(shape)} {strides_text}".replace(", ", ","))
    out.write_text("\n".join(lines) + "\n")
    print(out, len(lines))


if __name__ == "__main__":
    main()
