"""Write every operator schema that PyTorch registers, one a line.

    python pyshim/tools/dump_schemas.py testdata/aten

writes testdata/aten/<torch major.minor>/schemas.txt. Names are sorted; the overloads
of one name stand in the order of torch._C._jit_get_schemas_for_operator, which is
the order the TorchScript resolver tries them in. autocast.txt beside it names the
overloads that torch.autocast("cuda") has a kernel for.
"""

import sys
from pathlib import Path

import torch
import torchvision  # noqa: F401  registers torchvision::nms and its neighbours


def release() -> str:
    """The directory name of this PyTorch: 2.15 for 2.15.0+cu132."""
    return ".".join(torch.__version__.split(".")[:2])


def schemas() -> list[str]:
    """All schemas as text, by name, overloads in resolution order."""
    names = sorted({s.name for s in torch._C._jit_get_all_schemas()})
    return [str(s) for n in names for s in torch._C._jit_get_schemas_for_operator(n)]


def autocast() -> list[str]:
    """The overloads whose arguments torch.autocast("cuda") looks at, sorted."""
    keys = {s.name + ("." + s.overload_name if s.overload_name else "") for s in torch._C._jit_get_all_schemas()}
    return sorted(k for k in keys if _has_kernel(k))


def _has_kernel(key: str) -> bool:
    try:
        return torch._C._dispatch_has_kernel_for_dispatch_key(key, "AutocastCUDA")
    except RuntimeError:  # the interpreter's own operators are not dispatched
        return False


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "testdata/aten")
    out = root / release() / "schemas.txt"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(s + "\n" for s in schemas()))
    (out.parent / "autocast.txt").write_text("".join(k + "\n" for k in autocast()))
    print(out)


if __name__ == "__main__":
    main()
