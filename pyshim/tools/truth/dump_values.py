"""Write calls of operators on small CPU tensors with the values that PyTorch computes: size
arithmetic as traced programs carry it.

    python -m truth values testdata/aten

writes testdata/aten/<torch major.minor>/samples/values.jsonl (format: testdata/aten/README.md).
Takes a second.
"""

import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from dump_schemas import release

A, B = torch.tensor([7, -3, 5]), torch.tensor([2, 2, -2])
F, G = torch.tensor([1.5, -2.25, 7.75]), torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
M, Z, T = torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor(7), torch.tensor([True, False, True])
PLACES, ROWS = torch.tensor([0, -1]), torch.tensor([1, 0, 1])


def calls():
    """(operator, overload, arguments, keyword arguments)"""
    for op in ("add", "sub"):
        yield from [
            (op, "Tensor", A, B),
            (op, "Scalar", A, 3),
            (op, "Scalar", A, 2.5),
            (op, "Tensor", M, Z),
            (op, "Tensor", A, F, {"alpha": 2}),
        ]
    yield from [("rsub", "Scalar", A, 10), ("rsub", "Tensor", A, B)]
    for op in ("mul", "div", "floor_divide", "remainder", "fmod"):
        tensor = "" if op == "floor_divide" else "Tensor"
        yield from [
            (op, tensor, A, B),
            (op, tensor, F, B),
            (op, "Scalar", A, 2),
            (op, "Scalar", F, 2),
            (op, "Scalar", A, -4),
        ]
    for mode in ("floor", "trunc"):
        how = {"rounding_mode": mode}
        yield from [
            ("div", "Tensor_mode", A, B, how),
            ("div", "Scalar_mode", F, 2, how),
            ("div", "Scalar_mode", A, -2, how),
        ]
    yield from [
        ("pow", "Tensor_Scalar", A, 2),
        ("pow", "Tensor_Tensor", torch.tensor([2, 3]), torch.tensor([3, 4])),
        ("pow", "Tensor_Scalar", F, 2.0),
    ]
    yield from [("maximum", "", A, B), ("minimum", "", F, torch.zeros(3))]
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield from [(op, "Tensor", A, B), (op, "Scalar", F, 1.5)]
    yield from [(op, "", T, A) for op in ("logical_and", "logical_or", "logical_xor")]
    yield from [("logical_not", "", T), ("logical_not", "", A)]
    yield from [(op, "", x) for op in ("neg", "ceil", "floor", "trunc", "sign", "abs", "round") for x in (F, A)]
    yield ("round", "", torch.tensor([0.5, 1.5, 2.5, -0.5]))
    yield from [(op, "", G) for op in ("exp", "log", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tanh", "log2")]
    yield from [("sqrt", "", torch.tensor([1, 4])), ("log2", "", torch.tensor([1, 4]))]
    yield from [
        ("clamp", "", A, 0, 6),
        ("clamp", "", F, None, 2.5),
        ("clamp", "Tensor", A, B, torch.tensor(6)),
        ("clamp", "", A, 0.5, None),
    ]
    yield from [("clamp_min", "", A, 1), ("clamp_max", "", F, 1)]
    yield from [
        ("view", "", M, [3, 2]),
        ("reshape", "", M, [3, 2]),
        ("reshape", "", M.t(), [6]),
        ("flatten", "using_ints", M),
        ("t", "", M),
        ("numpy_T", "", M),
    ]
    yield from [
        ("transpose", "int", M, 0, 1),
        ("permute", "", M, [1, 0]),
        ("movedim", "int", M, 0, 1),
        ("expand", "", A, [2, 3]),
    ]
    yield from [("unsqueeze", "", M, 1), ("squeeze", "", M[None]), ("squeeze", "dim", M[None], 0)]
    yield from [("select", "int", M, 1, -1), ("select", "int", M, 0, 1), ("select", "int", M.t(), 0, 1)]
    yield from [("slice", "Tensor", M, 1, 1, 3), ("slice", "Tensor", M, 1, 0, 3, 2), ("narrow", "", M, 1, 1, 2)]
    yield from [("cat", "", [A, B]), ("cat", "", [M, M], 1), ("cat", "", [M, M]), ("cat", "", [A, F])]
    yield from [
        ("stack", "", [A, B]),
        ("stack", "", [A, B], 1),
        ("stack", "", [Z, Z]),
        ("stack", "", [M, M], -1),
        ("stack", "", [M, M], 1),
    ]
    yield from [
        ("index", "Tensor_hacked_twin", A, [PLACES]),
        ("index", "Tensor_hacked_twin", M, [ROWS]),
        ("index_select", "", M, 0, ROWS),
    ]
    yield from [
        ("clone", "", M.t()),
        ("contiguous", "", M.t()),
        ("_to_copy", "", M.t(), {"dtype": torch.int32}),
        ("detach", "", A),
        ("alias", "", A),
    ]
    yield from [
        ("to", "dtype", x, d) for x, d in ((F, torch.int64), (A, torch.float32), (A, torch.bool), (F, torch.bool))
    ]
    yield from [
        ("arange", "", 5),
        ("arange", "start", 2, 7),
        ("arange", "start_step", 7, 2, -2),
        ("arange", "", 2.5),
        ("arange", "start_step", 0, 1, 0.3),
    ]
    yield from [
        ("zeros", "", [2, 2]),
        ("ones", "", [3], {"dtype": torch.int64}),
        ("full", "", [2], 7),
        ("full", "", [2], 1.5),
    ]
    yield from [
        ("zeros_like", "", A),
        ("ones_like", "", F),
        ("full_like", "", A, 4),
        ("new_zeros", "", A, [2]),
        ("new_full", "", A, [2], 3),
    ]
    yield from [("scalar_tensor", "", 5), ("scalar_tensor", "", True, {"dtype": torch.bool})]
    for op in ("sub", "rsub"):
        yield from [
            (op, "Tensor", F, G, {"alpha": 2.5}),
            (op, "Tensor", A, B, {"alpha": 3}),
            (op, "Scalar", F, 2.5, 2.0),
            (op, "Scalar", A, 10, 3),
        ]
    yield from [
        ("remainder", "Tensor", F, -G),
        ("fmod", "Tensor", -F, G),
        ("floor_divide", "", -F, G),
        ("div", "Tensor_mode", -F, G, {"rounding_mode": "trunc"}),
    ]
    yield from [("pow", "Tensor_Scalar", torch.tensor([3]), 0), ("pow", "Tensor_Scalar", torch.tensor([-2]), 3)]
    yield from [
        ("index_select", "", M, 0, torch.tensor([1])),
        ("index", "Tensor_hacked_twin", M, [torch.tensor([-1, -2])]),
    ]
    yield from [
        ("maximum", "", F, G.float()),
        ("minimum", "", A, B),
        ("eq", "Tensor", F, G),
        ("ne", "Tensor", F, G),
        ("ge", "Tensor", A, A),
        ("le", "Tensor", A, A),
    ]


class Encode:
    """Values as testdata writes them; storages are numbered in order of appearance."""

    def __init__(self):
        self.storages = {}

    def value(self, v):
        if isinstance(v, torch.Tensor):
            return self.tensor(v)
        if isinstance(v, (list, tuple)):
            return [self.value(x) for x in v]
        return {"dtype": str(v).removeprefix("torch.")} if isinstance(v, torch.dtype) else v

    def tensor(self, x):
        storage = x.untyped_storage()
        sid = self.storages.setdefault(storage._cdata, len(self.storages))
        out = {"d": str(x.dtype).removeprefix("torch."), "s": list(x.shape)}
        if x.stride() != torch.empty(x.shape).stride():
            out["st"] = list(x.stride())
        if x.storage_offset():
            out["o"] = x.storage_offset()
        out |= {"dev": "cpu", "sid": sid}
        if storage.nbytes() != x.numel() * x.itemsize:
            out["n"] = storage.nbytes()
        return out | {"v": x.flatten().tolist()}


def line(op, overload, *args):
    named = args[-1] if args and isinstance(args[-1], dict) else {}
    given = list(args[:-1]) if named else list(args)
    encode = Encode()
    out = {"op": "aten::" + op} | ({"overload": overload} if overload else {})
    out |= {"args": encode.value(given), "kwargs": {k: encode.value(v) for k, v in named.items()}}
    result = getattr(getattr(torch.ops.aten, op), overload or "default")(*given, **named)
    return out | {"outs": [encode.value(result)], "backend": "cpu"}


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "testdata/aten")
    text = [json.dumps(line(*c), separators=(",", ":"), allow_nan=False) for c in calls()]
    (root / release() / "samples" / "values.jsonl").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
