"""Write the C functions that an AOTInductor package calls operators by: python -m truth shims OUT

OUT is engine/artifact/aotinductor/shims.txt. A line is a function without its prefix aoti_torch_
and its device, the overload that it calls, its arguments in C's order, and behind `->` its results:
T a tensor, n a number. An argument whose name ends in * is a list: C gives its length behind it.
One that ends in @ is a device: C gives its index behind it. The generated functions are those of
torchgen's list (torchgen/aoti/fallback_ops.py), all versions of each; the others stand in
torch/csrc/inductor/aoti_torch/c/shim.h.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torchgen
from torchgen.aoti.fallback_ops import inductor_fallback_ops
from torchgen.gen import parse_native_yaml
from torchgen.gen_aoti_c_shim import convert_arg_type_and_name, get_fallback_op_name
from torchgen.model import BaseTy, BaseType

# Functions of shim.h that call an operator, with the arguments that C has.
BY_HAND = {
    "copy_": ("aten::copy_", "self src non_blocking ->"),
    "index_put_out": ("aten::index_put.out", "out self indices* values accumulate ->"),
    "scatter_out": ("aten::scatter.src_out", "out self dim index src ->"),
    "scatter_reduce_out": ("aten::scatter_reduce.two_out", "out self dim index src reduce include_self ->"),
    "zero_": ("aten::zero_", "self ->"),
}


def arguments(schema: Any) -> list[Any]:
    if schema.is_out_fn():
        return [*schema.arguments.out, *schema.arguments.flat_non_out]
    return list(schema.arguments.flat_all)


def named(argument: Any) -> str:
    """The argument's name with what follows it in C."""
    _, names, _, _ = convert_arg_type_and_name(argument.type, argument.name, argument.is_write)
    if len(names) == 1:
        return str(argument.name)
    return argument.name + ("@" if names[1].endswith("_index_") else "*")


def results(schema: Any) -> str:
    if schema.is_out_fn() or schema.name.name.inplace:
        return ""
    tensor = BaseType(BaseTy.Tensor)
    return "".join("T" if r.type == tensor else "n" for r in schema.returns)


def versions(new: dict[str, Any]) -> Iterator[tuple[str, set[str]]]:
    """The suffix of each version of a function, and the arguments that it lacks."""
    numbers = sorted((int(k[1:]) for k in new if k != "since"), reverse=True)
    lacks: set[str] = set()
    for n in numbers:
        yield f"_v{n}", set(lacks)
        lacks |= set(new[f"v{n}"]["new_args"])
    yield "", lacks


def functions() -> Iterator[tuple[str, str, str]]:
    yaml = Path(torchgen.__file__).parent / "packaged/ATen/native"
    parsed = parse_native_yaml(str(yaml / "native_functions.yaml"), str(yaml / "tags.yaml"))
    for f in parsed.native_functions:
        op = get_fallback_op_name(f)
        if op not in inductor_fallback_ops:
            continue
        schema = f.func
        key = f"aten::{schema.name.name}" + (f".{schema.name.overload_name}" if schema.name.overload_name else "")
        for suffix, lacks in versions(inductor_fallback_ops[op]):
            given = " ".join(named(a) for a in arguments(schema) if a.name not in lacks)
            yield schema.name.unambiguous_name() + suffix, key, f"{given} -> {results(schema)}".strip()


def main() -> int:
    rows = [*functions(), *((name, *rest) for name, rest in BY_HAND.items())]
    head = f"# Written by python -m truth shims with torch {torch.__version__.split('+')[0]}.\n"
    Path(sys.argv[1]).write_text(head + "".join(" ".join(row) + "\n" for row in sorted(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
