"""Packages of AOTInductor for tests, and what PyTorch allocates and frees for them on a pretend
GPU: python -m truth compiled DEVICE PACKAGES OUT [NAME…]

PACKAGES/NAME.DEVICE.pt2 is compiled where it is not there yet, for the device's class; a C++
compiler and CUDA's headers (CUDA_HOME) build it. OUT/NAME.DEVICE.pt2 is the package without its
binaries and without the folders that it was made in. OUT/NAME.DEVICE.txt keeps, for each of the
model's inputs, the baseline, the peaks of two calls and every event of the first
(testdata/compiled/README.md). Each runs in a separate process.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import memshim
from memshim import binary

sys.path.insert(0, str(Path(__file__).parent))
from branching_models import branch, counted, loop, own_operator, read, rows
from fallback_models import FALLBACKS


def encoder() -> Any:
    import torch

    return torch.nn.TransformerEncoderLayer(
        256, 4, 1024, batch_first=True, norm_first=True, activation="gelu", dropout=0.0
    )


def mlp() -> Any:
    from torch import nn

    return nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10))


def torchvision(name: str) -> Callable[[], Any]:
    def build() -> Any:
        import torchvision

        return getattr(torchvision.models, name)()

    return build


# A model, the shape that it is compiled for, its open dimensions with their ranges, and the shapes
# that it is called with.
MODELS: dict[str, tuple[Callable[[], Any], list[int], dict[int, tuple[str, int, int]], list[list[int]]]] = {
    "mlp": (mlp, [8, 64], {}, [[8, 64]]),
    "encoder": (encoder, [2, 64, 256], {}, [[2, 64, 256]]),
    "encoder_open": (encoder, [2, 64, 256], {0: ("B", 2, 64), 1: ("S", 2, 512)}, [[2, 64, 256], [5, 77, 256]]),
    "resnet18_open": (torchvision("resnet18"), [4, 3, 64, 64], {0: ("B", 1, 64)}, [[4, 3, 64, 64], [7, 3, 64, 64]]),
    "resnet50": (torchvision("resnet50"), [1, 3, 224, 224], {}, [[1, 3, 224, 224]]),
    **{make.__name__: (make, [8, 64], {}, [[8, 64]]) for make in (branch, loop, read, rows, counted, own_operator)},
    **{name: (f.make, f.shape, f.open_dims, f.shapes) for name, f in FALLBACKS.items()},
}


def dtype_of(name: str) -> str:
    return FALLBACKS[name].dtype if name in FALLBACKS else "float32"


def allowed(name: str) -> Any:
    """The backend of attention that a model is compiled for."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backend = FALLBACKS[name].backend if name in FALLBACKS else ""
    return sdpa_kernel([getattr(SDPBackend, backend)]) if backend else contextlib.nullcontext()


def build(name: str, path: Path) -> None:
    import torch
    import torch._inductor

    make, shape, open_dims, _ = MODELS[name]
    torch._inductor.config.aot_inductor.compile_wrapper_opt_level = "O0"  # of code that is not run
    torch._inductor.config.aot_inductor.precompile_headers = False
    dims = {at: torch.export.Dim(dim, min=least, max=most) for at, (dim, least, most) in open_dims.items()}
    with torch.no_grad(), allowed(name):
        module = make().eval().cuda()
        x = torch.randn(shape, device="cuda").to(getattr(torch, dtype_of(name)))
        program = torch.export.export(module, (x,), dynamic_shapes=(dims,) if dims else None)
        torch._inductor.aoti_compile_and_package(program, package_path=str(path))


def record(name: str, path: Path, shape: list[int]) -> list[str]:
    import torch

    sys.path.insert(0, str(Path(__file__).parent))
    from record_exported import measure

    x = torch.zeros(shape, device="cuda", dtype=getattr(torch, dtype_of(name)))
    MODELS[name][0]()  # the operators that it may bring
    model = torch._inductor.aoti_load_package(str(path))
    return [f"input {dtype_of(name)}[" + ",".join(map(str, shape)) + "]", *measure(torch, model, (x,), {})]


def strip(path: Path, out: Path) -> None:
    """The package as it is committed."""
    named = out.with_suffix(".whole")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(named, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename.endswith(".cpp"):
                text = data.decode().partition("// Compile cmd")[0]
                data = re.sub(r"/[\w./-]+/(?=c[a-z2-7]{51}\.)", "/tmp/inductor/", text).encode()
            new.writestr(zipfile.ZipInfo(info.filename), data)
    subprocess.run([binary.find(), "strip", str(named), "-o", str(out)], check=True, stdout=subprocess.DEVNULL)
    named.unlink()


def main() -> int:
    device, packages, out, names = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]
    if len(names) == 2 and names[0] == "--one":  # in a separate process: a package that is not there, or one call
        memshim.pretend(device)
        name, _, call = names[1].partition(":")
        path = packages / f"{name}.{device}.pt2"
        if not call:
            build(name, path)
        else:
            print("\n".join(record(name, path, MODELS[name][3][int(call)])))
        return 0
    import torch

    packages.mkdir(parents=True, exist_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    one = [sys.executable, __file__, device, str(packages), str(out), "--one"]
    for name in names or MODELS:
        if name in FALLBACKS and FALLBACKS[name].device != device:
            continue
        if not (packages / f"{name}.{device}.pt2").exists():
            subprocess.run([*one, name], check=True, stdout=subprocess.DEVNULL)
        strip(packages / f"{name}.{device}.pt2", out / f"{name}.{device}.pt2")
        head = ["compiled 1", f"torch {torch.__version__}", f"device {device}", f"model {name}"]
        lines = head[:]
        for call in range(len(MODELS[name][3])):
            text = subprocess.run(
                [*one, f"{name}:{call}"], check=True, stdout=subprocess.PIPE, text=True, env=os.environ
            ).stdout
            lines += [
                "",
                *[
                    line
                    for line in text.splitlines()
                    if line.split(" ", 1)[0] in ("input", "baseline", "pass", "events")
                ],
            ]
        (out / f"{name}.{device}.txt").write_text("\n".join(lines) + "\n")
        print(name, *[x for x in lines if x.startswith("pass")], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
