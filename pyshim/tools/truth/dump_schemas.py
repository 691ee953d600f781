"""Write every operator schema that PyTorch registers, one a line.

    python -m truth schemas testdata/aten

writes testdata/aten/<torch major.minor>/schemas.txt. Names are sorted; the overloads
of one name stand in the order of torch._C._jit_get_schemas_for_operator, which is
the order the TorchScript resolver tries them in. autocast.txt beside it names the
overloads that torch.autocast("cuda") has a kernel for; autocast_script.txt the
operators before which TorchScript's executor writes casts into the graph under it.
"""

import re
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


def scripted() -> list[str]:
    """`operator cast`, sorted: what the executor's pass does to each operator on tensors; `refused`
    where it raises."""
    torch.set_autocast_enabled("cuda", True)
    found = set()
    for s in torch._C._jit_get_all_schemas():
        if (
            not s.name.startswith("aten::")
            or "_autocast" in s.name
            or not any("Tensor" in str(a.type) for a in s.arguments)
        ):
            continue
        # a dtype that may be left out is: with one, sums and softmax are left alone
        types = [
            "NoneType" if a.name == "dtype" and a.default_value is None else _written(str(a.type)) for a in s.arguments
        ]
        parameters = ", ".join(f"%a{i} : {t}" for i, t in enumerate(types))
        results = ", ".join(f"%r{i} : Tensor" for i in range(len(s.returns)))
        call = f"{results} = {s.name}" if results else s.name
        try:
            graph = torch._C.parse_ir(
                f"graph({parameters}):\n  {call}({', '.join(f'%a{i}' for i in range(len(types)))})\n  return "
                f"({'%r0' if results else ''})\n"
            )
        # other results than tensors, or types that the parser does not read: nothing of those is
        # cast
        except RuntimeError:
            continue
        try:
            torch._C._jit_pass_autocast(graph)
        except RuntimeError:
            found.add(f"{s.name} refused")
            continue
        found |= {f"{s.name} {cast}" for cast in ("reduced", "full") if f"_autocast_to_{cast}_precision" in str(graph)}
    torch.set_autocast_enabled("cuda", False)
    return sorted(found)


def _written(text: str) -> str:
    """A schema's type as the parser of graphs reads it."""
    text = re.sub(r"Optional\[(?:List\[(\w+)\]|(\w+))\]", lambda m: f"{m[1]}[]?" if m[1] else f"{m[2]}?", text)
    return re.sub(r"\b(number|Scalar)\b", "int", re.sub(r"List\[(\w+)\]", r"\1[]", text))


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "testdata/aten")
    out = root / release() / "schemas.txt"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(s + "\n" for s in schemas()))
    (out.parent / "autocast.txt").write_text("".join(k + "\n" for k in autocast()))
    (out.parent / "autocast_script.txt").write_text("".join(k + "\n" for k in scripted()))
    print(out)


if __name__ == "__main__":
    main()
