"""The calls of host.jsonl: what serialised TorchScript asks of numbers, strings, lists and
dicts."""

from __future__ import annotations

import math

import torch

from .host import As, HostCall, host
from .host_strings import strings

INTS = [(7, 2), (-7, 2), (7, -2), (-7, -2), (0, 3), (6, 3)]
FLOATS = [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (0.1, 0.2), (1.0, 0.0)]
MIXED = [(7, 2.0), (-7, 2.5), (7.5, 2), (-7.5, -2), (3, 3.0)]
ORDERED = ["lt", "le", "gt", "ge", "eq", "ne"]


def arithmetic() -> list[HostCall]:
    out = []
    for name in (
        "add",
        "sub",
        "mul",
        "div",
        "floordiv",
        "remainder",
        "fmod",
        "pow",
        "prim::max",
        "prim::min",
        "divmod",
        "mathremainder",
    ):
        out += [host(name, a, b) for a, b in INTS + FLOATS + MIXED]
        if name not in ("remainder", "divmod", "fmod", "mathremainder"):  # remainder by 0 ends the process with SIGFPE
            out.append(host(name, 7, 0))
    out += [host("pow", a, b) for a, b in [(2, 10), (2, -1), (2.0, 0.5), (-8.0, 1.0 / 3), (10, 2.0), (0, 0)]]
    out += [host("__round_to_zero_floordiv", a, b) for a, b in INTS]
    out += [
        host(n, a, b)
        for n in ("__and__", "__or__", "__xor__")
        for a, b in [(6, 3), (-1, 5), (True, False), (True, True)]
    ]
    out += [host(n, a, b) for n in ("__lshift__", "__rshift__") for a, b in [(5, 2), (-5, 1)]]
    out += [host(n, a, b) for n in ("atan2", "copysign") for a, b in [(1, 2), (-1.5, 2.0), (1, -2.0)]]
    out += [host("gcd", a, b) for a, b in [(12, 18), (-12, 18), (0, 0)]]
    out += [host("add", a, b) for a, b in [(1 + 2j, 2), (1, 2j), (1.5, 2j)]] + [host("mul", 1 + 2j, 3 - 1j)]
    out += [host("add", 9223372036854775807, 1), host("mul", 1 << 40, 1 << 40), host("add", True, 1)]
    return out


def unary() -> list[HostCall]:
    out = [host(n, v) for n in ("neg", "prim::abs") for v in (3, -3, 2.5, -2.5, 1 + 2j)]
    out += [host(n, v) for n in ("ceil", "floor", "round") for v in (3, 2.5, -2.5, 3.5, 0.5, -0.5, 2.499)]
    out += [
        host(n, v)
        for n in ("sqrt", "exp", "log", "log10", "log1p", "sin", "cos", "tan", "tanh", "atan", "erf")
        for v in (2, 2.5)
    ]
    out += [
        host("sqrt", -1.0),
        host("log", -1.0),
        host("log", 0.0),
        host("log", 8, 2),
        host("log", 8.0, 2.0),
        host("factorial", 5),
    ]
    out += [host("Int", v) for v in (True, 2.9, -2.9, "12", " -3", "x", "2.5")]
    out += [host("Float", v) for v in (True, 3, "2.5", "inf", "-1e3", "x")]
    out += [host("Bool", v) for v in (0, 5, 0.0, -0.5)]
    out += [host("Complex", 1.0, 2.0), host("Complex", 1, 2)]
    out += [host("__not__", True), host("__not__", False)]
    out += [host(n, v) for n in ("isnan", "isinf", "isfinite") for v in (1.0, math.inf, math.nan)]
    out += [host("frexp", 8.5), host("modf", -2.75), host("ldexp", 0.5, 4), host("degrees", 1.0), host("radians", 90)]
    return out


def complexes() -> list[HostCall]:
    """Operators on complex numbers, and those that make them."""
    z, w = 1.5 + 2j, -0.5 - 0.25j
    ones = (
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "cos",
        "cosh",
        "exp",
        "log",
        "log10",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "neg",
        "angle",
        "prim::abs",
    )
    out = [host(n, v) for n in ones for v in (z, w)]
    out += [host(n, a, b) for n in ("add", "sub", "mul") for a, b in [(z, w), (2, z), (z, 2), (2.5, z), (z, 2.5)]]
    out += [host("div", z, w), *(host("pow", a, b) for a, b in [(z, w), (2.5, z), (z, 2.5)])]
    out += [host("log", a, b) for a, b in [(z, w), (2, z), (z, 2), (2.5, z), (z, 2.5)]]
    out += [host(n, a, b) for n in ("eq", "ne") for a, b in [(z, z), (z, w), (1.5, z), (z, 1.5), (2 + 0j, 2.0)]]
    out += [host(n, v) for n in ("isnan", "isinf", "isfinite") for v in (z, complex(1, math.inf), complex(math.nan, 0))]
    out += [host("angle", v) for v in (2, -2, 0, 2.5, -2.5)] + [host("sum", [z, w])]
    out += [host("polar", a, b) for a, b in [(2, 1), (2.5, 0.5), (2, 0.5), (2.5, 1)]]
    return out


def comparisons() -> list[HostCall]:
    pairs = [
        (1, 2),
        (2, 2),
        (3, 2),
        (1.5, 2.5),
        (2.0, 2.0),
        (2, 2.0),
        (2.5, 2),
        (3, 2.5),
        ("a", "b"),
        ("b", "a"),
        ("a", "a"),
        ("", "a"),
        ("Z", "a"),
    ]
    out = [host(n, a, b) for n in ORDERED for a, b in pairs]
    same = [
        (True, True), (True, False), ([1, 2], [1, 2]), ([1, 2], [2, 1]), ([1], [1, 2]), ([1.0], [1.0]), (["a"], ["a"]), ([True], [False]),
        (torch.device("cuda:0"), torch.device("cuda:0")), (torch.device("cuda"), torch.device("cuda:0")), (torch.device("cpu"), torch.device("cuda")),
        (1 + 0j, 1 + 0j), (1.0, 1 + 0j), (math.nan, math.nan),
    ]  # fmt: skip
    out += [host(n, a, b) for n in ("eq", "ne") for a, b in same]
    out += [
        host("__is__", As(None, "Optional[int]"), None),
        host("__isnot__", As(3, "Optional[int]"), None),
        host("__is__", As(3, "Optional[int]"), None),
    ]
    return out


def lists() -> list[HostCall]:
    xs, fs, ss, bs = [3, 1, 2, 1], [0.5, -1.5], ["b", "a", "c"], [True, False]
    out = [host("len", v) for v in (xs, [], fs, ss, [[1], [2, 3]])]
    out += [host("__getitem__", xs, i) for i in (0, 3, -1, -4, 4, -5)] + [
        host("__getitem__", ss, 1),
        host("select", xs, 1),
    ]
    bounds = [
        (None, None, 1), (1, None, 1), (None, 2, 1), (-2, None, 1), (None, -1, 1), (1, 3, 2), (0, 100, 1), (-100, 100, 3), (3, 1, 1),
        (None, None, -1), (3, 0, -1), (-1, None, -2), (None, None, 0), (0, 9223372036854775807, 1),
    ]  # fmt: skip
    out += (
        [host("slice", xs, *b) for b in bounds]
        + [host("slice", "hello", *b) for b in bounds]
        + [host("slice", xs), host("slice", ss, 1)]
    )
    out += [host("add", xs, [9]), host("add", ss, ss), host("add", As([], "List[int]"), xs), host("add_", xs, [9])]
    out += [
        host("mul", xs, 2),
        host("mul", 2, xs),
        host("mul", xs, 0),
        host("mul", xs, -1),
        host("mul", [0.0], 3),
        host("mul_", xs, 2),
    ]
    out += [
        host("append", xs, 5),
        host("append", ss, "d"),
        host("insert", xs, 1, 9),
        host("insert", xs, -1, 9),
        host("insert", xs, 100, 9),
    ]
    out += [
        host("pop", xs),
        host("pop", xs, 0),
        host("pop", xs, -2),
        host("pop", As([], "List[int]")),
        host("clear", xs),
        host("reverse", xs),
        host("extend", xs, [7, 8]),
    ]
    out += [
        host("remove", xs, 1),
        host("remove", xs, 5),
        host("count", xs, 1),
        host("index", xs, 2),
        host("index", xs, 5),
        host("index", ss, "c"),
    ]
    out += [
        host("_set_item", xs, 1, 9),
        host("_set_item", xs, -1, 9),
        host("_set_item", xs, 4, 9),
        host("Delete", xs, 0),
        host("Delete", xs, -1),
    ]
    out += [
        host("sort", xs),
        host("sort", xs, True),
        host("sort", fs),
        host("sort", ss),
        host("sort", bs),
        host("sorted", xs),
        host("sorted", ss),
    ]
    out += [host("copy", xs), host("list", xs), host("list", "abc")]
    out += (
        [host("prim::max", v) for v in (xs, fs, bs)]
        + [host("prim::min", v) for v in (xs, fs)]
        + [host("prim::max", As([], "List[int]"))]
    )
    out += [
        host("prim::max", [1, 5], [1, 4]),
        host("prim::min", [1, 5], [1, 4]),
        host("sum", xs),
        host("sum", fs),
        host("sum", bs),
    ]
    out += [
        host("any", bs),
        host("all", bs),
        host("any", [0, 0]),
        host("all", [1, 2]),
        host("all", As([], "List[int]")),
        host("any", [0.0, 0.5]),
    ]
    out += [
        host("__contains__", xs, 2),
        host("__contains__", xs, 7),
        host("__contains__", ss, "a"),
        host("__contains__", fs, 0.5),
    ]
    out += [
        host("prim::rangelist", 4),
        host("prim::rangelist", 0),
        host("__range_length", 0, 10, 3),
        host("__range_length", 10, 0, -3),
    ]
    out += [host("__range_length", 5, 5, 1), host("__range_length", 0, 10, -1), host("__range_length", 0, 10, 0)]
    out += [host("__derive_index", i, 2, 3) for i in (0, 4)] + [host("__derive_index", 2, 10, -3)]
    out += [
        host("broadcast_shapes", [2, 1, 3], [4, 1]),
        host("broadcast_shapes", [2, 3], [4, 3]),
        host("_infer_size", [2, 1], [3]),
    ]
    out += [host("_size_if_not_equal", [2, 3], [2, 3]), host("_size_if_not_equal", [2, 3], [3]), host("Size", [2, 3])]
    out += [host("prim::ReductionSizes", [2, 3, 4], [1], True), host("prim::ReductionSizes", [2, 3, 4], [0, 2], False)]
    return out


def dicts() -> list[HostCall]:
    d, n = {"x": 1, "y": 2}, {3: "c", 1: "a"}
    out = [
        host("len", d),
        host("len", As({}, "Dict[str, int]")),
        host("keys", d),
        host("values", d),
        host("items", d),
        host("keys", n),
        host("items", n),
    ]
    out += [
        host("__getitem__", d, "y"),
        host("__getitem__", d, "z"),
        host("__getitem__", n, 3),
        host("__contains__", d, "x"),
        host("__contains__", n, 2),
    ]
    out += [
        host("get", d, "x"),
        host("get", d, "z"),
        host("get", d, "z", 5),
        host("_set_item", d, "z", 3),
        host("_set_item", d, "x", 3),
        host("_set_item", n, 2, "b"),
    ]
    out += [
        host("Delete", d, "x"),
        host("Delete", d, "z"),
        host("pop", d, "x"),
        host("pop", d, "z"),
        host("pop", d, "z", 9),
        host("popitem", d),
    ]
    out += [
        host("setdefault", d, "x", 9),
        host("setdefault", d, "z", 9),
        host("update", d, {"x": 5, "w": 6}),
        host("copy", d),
        host("clear", d),
    ]
    out += [
        host("dict", [("a", 1), ("b", 2)]),
        host("dict", d),
        host("__getitem__", {True: 1, False: 0}, True),
        host("__getitem__", {0.5: 1}, 0.5),
    ]
    return out


def devices() -> list[HostCall]:
    cuda, cpu = torch.device("cuda:0"), torch.device("cpu")
    out = [host("device", v) for v in ("cpu", "cuda", "cuda:1", "nonsense")] + [host("device", "cuda", 1)]
    out += [host("prim::type", d) for d in (cuda, cpu)] + [
        host("prim::index", d) for d in (cuda, cpu, torch.device("cuda"))
    ]
    # c10::ScalarType numbers, as parameters: a call on constants is computed by the compiler
    out += [host("promote_types", a, b) for a, b in [(5, 15), (4, 5), (11, 0), (0, 1)]]
    out += [host("can_cast", 6, 4), host("can_cast", 4, 5), host("result_type", 1, 2.5)]
    out += [host("is_grad_enabled"), host("is_autocast_enabled")]
    out += [
        host("warn", "careful"),
        host("warn", "careful", 2),
        host("prim::RaiseException", "no"),
        host("prim::IfThenElse", True, 1, 2),
    ]
    out += [host("_unwrap_optional", As(3, "Optional[int]")), host("_unwrap_optional", As(None, "Optional[int]"))]
    out += [host("prim::unchecked_unwrap_optional", As(3, "Optional[int]")), host("prim::unchecked_cast", 3)]
    return out


def tensors() -> list[HostCall]:
    """Numbers to CPU tensors, and questions about a tensor."""
    x, y = torch.zeros(2, 3, 4), torch.zeros(3, 2, dtype=torch.float16).t()
    out = [
        host("tensor", v)
        for v in (1, 1.5, True, [1, 2], [1.5], [True], [[1, 2], [3, 4]], As([], "List[float]"), 1 + 2j)
    ]
    out += [
        host("tensor", 1, dtype=torch.float32),
        host("tensor", [1, 2], dtype=torch.float16),
        host("tensor", 2.5, dtype=torch.int64),
    ]
    out += [host("prim::NumToTensor", v) for v in (3, 2.5, True)] + [
        host("scalar_tensor", 3),
        host("scalar_tensor", 3, dtype=torch.int64),
    ]
    out += [
        host("ScalarImplicit", torch.tensor(3)),
        host("Int", torch.tensor(3)),
        host("Float", torch.tensor(2.5)),
        host("Bool", torch.tensor(True)),
    ]
    out += [
        host("IntImplicit", torch.tensor(3)),
        host("FloatImplicit", torch.tensor(2.5)),
        host("item", torch.tensor(2.5)),
        host("Int", torch.tensor(2.5)),
        host("Int", torch.zeros(2)),
    ]
    for v in (x, y, torch.tensor(1)):
        out += [
            host(n, v)
            for n in (
                "size",
                "stride",
                "dim",
                "numel",
                "storage_offset",
                "is_contiguous",
                "element_size",
                "is_floating_point",
                "len",
            )
        ]
        out += [
            host("prim::" + n, v)
            for n in (
                "dtype",
                "itemsize",
                "nbytes",
                "requires_grad",
                "is_quantized",
                "is_sparse",
                "layout",
                "device",
                "is_cuda",
                "is_cpu",
            )
        ]
    out += [host(n, x, d) for n in ("size", "stride") for d in (0, -1, 3)] + [
        host("is_complex", x),
        host("is_leaf", x),
        host("is_conj", x),
        host("is_nonzero", torch.tensor(2)),
    ]
    out += [host(n, v) for n in ("sym_size", "sym_numel", "sym_storage_offset", "sym_is_contiguous") for v in (x, y)]
    out += [
        host(n, v)
        for n in ("is_non_overlapping_and_dense", "sparse_dim", "dense_dim")
        for v in (x, y, torch.zeros(3, 1, 2).expand(3, 4, 2), torch.zeros(4, 4)[:, 1:3])
    ]
    out += [
        host("sym_size", x, 1),
        host("sym_stride", x, 0),
        host("_local_scalar_dense", torch.tensor(3)),
        host("len", [x, x]),
    ]
    return out


CALLS = [*arithmetic(), *unary(), *complexes(), *comparisons(), *lists(), *dicts(), *strings(), *devices(), *tensors()]
