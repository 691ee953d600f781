"""Export modules of a few lines, each showing one thing of torch.export's format: python pyshim/tools/export_small.py OUT [NAME…]

They are kept in testdata/artifacts/exported, stripped (memspec strip).
"""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import export_numbers
import torch
from torch import nn
from torch.export import Dim


class Mutated(nn.Module):
    """A buffer and an input that are written, a lifted constant, a result of named fields in a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.linear = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 4)
        self.register_buffer("calls", torch.zeros(()), persistent=False)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        x = self.norm(self.conv(x)).relu_()
        x = x.mean((2, 3))
        self.calls.add_(1)
        y.mul_(2)
        a, b = self.linear(x).chunk(2, 1)
        return a + b * torch.tensor([1.0, 2.0]) * 3, {"most": x.max(1)}


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(64, 16), nn.Linear(16, 64, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.embed(x))


class Branch(nn.Module):
    """torch.cond on data, on a size, and regions without gradient and with autocast."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.cond(x.sum() > 0, lambda a: torch.cat([a, a]).sum(0), lambda a: a.sum(0), (x,))
        with torch.no_grad():
            z = y * 2
        with torch.autocast("cpu", torch.bfloat16):
            return x @ x.t() + z.sum()


class Loops(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        from torch._higher_order_ops.while_loop import while_loop

        n, y = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (torch.tensor(0), x))
        return y + n


class Mapped(nn.Module):
    def forward(self, xs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        from torch._higher_order_ops.map import map as map_over

        return map_over(lambda x, b: x.relu() + b, xs, y)


class Scanned(nn.Module):
    """torch's scan: a sum that is carried, and what each round gives."""

    def forward(self, xs: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        from torch._higher_order_ops.scan import scan

        def step(total: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            total = total + x.relu()
            return total, total * 2 + y

        return scan(step, torch.zeros_like(y), xs)


class Associated(nn.Module):
    """torch's associative_scan over two tensors at once: an operator that runs a graph."""

    mode = "pointwise"

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
        from torch._higher_order_ops.associative_scan import associative_scan

        def recurrence(x: Any, y: Any) -> Any:
            return x[0] * y[0], x[1] * y[0] + y[1]

        return associative_scan(recurrence, (a, b.relu()), dim=1, combine_mode=self.mode)


class Vectorised(Associated):
    """The same written out, each combination a torch.vmap."""

    mode = "generic"


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


class Nested(nn.Module):
    """Inputs in a list, a dict, a number, None and a keyword."""

    def forward(self, pair: list[torch.Tensor], sizes: dict[str, torch.Tensor], n: int, mask: torch.Tensor | None = None, *, scale: torch.Tensor) -> list[torch.Tensor]:
        x = torch.cat(pair, dim=1) * scale
        return [x.reshape(x.shape[0], -1)[:, :n], sizes["a"] + sizes["b"]]


class Sizes(nn.Module):
    """Sizes that are computed from open ones."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        y = x.view(b, t // 2, 2 * c)
        return torch.cat([y, y.new_zeros(b, t // 2, c)], dim=2).view(b, -1, c)


class Data(nn.Module):
    """A size that tensor data decides."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        i = x.nonzero()
        return i.float() * 2


@torch.library.custom_op("memspec_test::twice", mutates_args=())
def twice(x: torch.Tensor, n: int) -> torch.Tensor:
    return torch.cat([x] * n)


@twice.register_fake
def _(x: torch.Tensor, n: int) -> torch.Tensor:
    return x.new_empty([x.shape[0] * n, *x.shape[1:]])


class Custom(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.memspec_test.twice(x + 1, 2).relu()


class Half(nn.Module):
    """Views of one buffer, an expanded one, and weights that are not contiguous."""

    def __init__(self) -> None:
        super().__init__()
        whole = torch.randn(100)
        self.register_buffer("whole", whole)
        self.register_buffer("part", whole[10:13])
        self.register_buffer("wide", torch.ones(1).expand(64, 32))
        self.weight = nn.Parameter(torch.randn(16, 32).t())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x @ self.weight).sum(1, keepdim=True) + self.part + self.wide[:, :3] + self.whole[:3]


class Again(nn.Module):
    """A module that is called twice, one inside another, and one whose result is not used."""

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Linear(16, 16), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.block(x)
        return self.block(y + x)


def portable(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program with the files in its stack traces named as on no particular machine."""
    here = [(p, "/opt/python/site-packages") for p in sys.path if p.endswith("site-packages")]
    here.append((str(Path(__file__).resolve().parent), "/opt/python/tools"))
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", []):
            text = node.meta.get("stack_trace") or ""
            for path, to in here:
                text = text.replace(path + "/", to + "/")
            if text:
                node.meta["stack_trace"] = text
    return program


def older(program: torch.export.ExportedProgram, layout: str) -> bytes:
    """The program in an older release's layout: its weights are files of torch.save, as torch 2.7 and 2.8 write them (torch/_export/serde/serialize.py, torch/export/pt2_archive)."""

    def saved(tensors: dict[str, torch.Tensor]) -> bytes:
        out = io.BytesIO()
        torch.save(tensors, out)
        return out.getvalue()

    model = next(text for name, text in members(program) if name.endswith("models/model.json"))
    constants = {k: v for k, v in program.constants.items() if isinstance(v, torch.Tensor)}
    weights = [saved(dict(program.state_dict)), saved(constants)]
    if layout == "2.8":
        files = {"archive/archive_format": b"pt2", "archive/archive_version": b"0", "archive/models/model.json": model,
                 "archive/data/weights/model.pt": weights[0], "archive/data/constants/model.pt": weights[1]}
    else:
        files = {"serialized_exported_program.json": model, "serialized_state_dict.pt": weights[0], "serialized_constants.pt": weights[1], "version": b"8.7"}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in files.items():
            z.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def members(program: torch.export.ExportedProgram) -> list[tuple[str, bytes]]:
    out = io.BytesIO()
    torch.export.save(program, out)
    with zipfile.ZipFile(out) as z:
        return [(name, z.read(name)) for name in z.namelist()]


B, T = Dim("B", min=1, max=64), Dim("T", min=2, max=128)


def models() -> dict[str, tuple[nn.Module, tuple[Any, ...], dict[str, Any], Any]]:
    """Each with its arguments and open sizes."""
    r = torch.randn
    return {
        "mutated": (Mutated(), (r(2, 3, 32, 32), r(5)), {}, ({0: B}, None)),
        "tied": (Tied(), (torch.ones(2, 7, dtype=torch.int64),), {}, ({0: B, 1: T},)),
        "branch": (Branch(), (r(8, 16),), {}, ({0: B},)),
        "loops": (Loops(), (r(8, 16),), {}, None),
        "mapped": (Mapped(), (r(3, 8, 16), r(16)), {}, None),
        "scanned": (Scanned(), (r(3, 8, 16), r(8, 16)), {}, None),
        "associated": (Associated(), (r(4, 7, 16), r(4, 7, 16)), {}, ({0: B}, {0: B})),
        "vectorised": (Vectorised(), (r(4, 7, 16), r(4, 7, 16)), {}, None),
        "nested": (Nested(), ([r(2, 3), r(2, 4)], {"a": r(6), "b": r(6)}, 5), {"scale": r(7)}, {"pair": [{0: B}, {0: B}], "sizes": {"a": None, "b": None}, "n": None, "scale": None}),
        "sizes": (Sizes(), (r(2, 12, 8),), {}, ({0: B, 1: 2 * Dim("half", min=1, max=64)},)),
        "data": (Data(), (r(8, 16),), {}, ({0: B},)),
        "custom": (Custom(), (r(8, 16),), {}, ({0: B},)),
        "half": (Half(), (r(64, 32),), {}, None),
        "again": (Again(), (r(2, 16),), {}, ({0: B},)),
        "numbers": (export_numbers.Numbers(), export_numbers.inputs(), {}, None),
    }


def main() -> int:
    out, names = Path(sys.argv[1]), sys.argv[2:]
    out.mkdir(parents=True, exist_ok=True)
    for name, (module, args, kwargs, dynamic) in models().items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        with torch.no_grad():
            program = torch.export.export(module.eval(), args, kwargs, dynamic_shapes=dynamic, strict=False)
        torch.export.save(portable(program), out / f"{name}.pt2")
        if name in ("tied", "half"):
            for layout in ("2.7", "2.8"):
                (out / f"{name}_{layout.replace('.', '')}.pt2").write_bytes(older(program, layout))
        if name == "mutated":
            torch.export.save(portable(program.run_decompositions()), out / "mutated_core.pt2")
    return 0


if __name__ == "__main__":
    sys.exit(main())
