"""The calls of written_host.jsonl, more of what host.jsonl has: the ends of ranges, what is empty,
what is refused."""

from __future__ import annotations

import math

import torch

from .host import As, HostCall, host

Z, O = torch.tensor(5), torch.ones(2, 3)


def numbers() -> list[HostCall]:
    out = [
        host("pow", a, b) for a, b in [(3, 5), (-2, 3), (2, 62), (7, 1), (0, 3), (3, 0), (2.5, 3), (-2.5, 2), (1, 100)]
    ]
    out += [
        host(n, a, b)
        for n in ("floordiv", "remainder", "divmod", "__round_to_zero_floordiv")
        for a, b in [(1, 5), (-1, 5), (5, -3), (9, 9), (-9, 4), (-9, -4)]
    ]
    out += [
        host(n, a, b)
        for n in ("floordiv", "remainder", "divmod", "fmod")
        for a, b in [(5.5, 1.25), (-5.5, 1.25), (5.5, -1.25), (0.5, 3.0), (-6.0, 3.0)]
    ]
    out += [host("div", a, b) for a, b in [(1, 3), (1.0, 3.0), (-6, 4), (0, 5), (2.5, 5)]]
    out += [
        host(n, a, b)
        for n in ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__")
        for a, b in [(12, 10), (1, 4), (-8, 2), (255, 1)]
    ]
    out += [
        host(n, a, b)
        for n in ("__and__", "__or__", "__xor__", "eq", "ne")
        for a in (True, False)
        for b in (True, False)
    ]
    out += [host("gcd", a, b) for a, b in [(17, 5), (18, -12), (0, 7), (-7, 0), (100, 75)]]
    out += [host("atan2", a, b) for a, b in [(3, 1), (0.5, -1.5), (2.5, 1)]] + [
        host("copysign", a, b) for a, b in [(3, 1), (-3, 1), (2.5, -1), (0.5, 3)]
    ]
    out += [host(n, v) for n in ("ceil", "floor", "round") for v in (7, -7, 1.2, -1.2, 1.5, 4.5, -3.5, 0.0)]
    out += [
        host(n, v)
        for n in (
            "sqrt",
            "exp",
            "expm1",
            "log10",
            "log1p",
            "cos",
            "tan",
            "atan",
            "erf",
            "erfc",
            "gamma",
            "lgamma",
            "fabs",
            "cosh",
        )
        for v in (1, 0.5, 3.25)
    ]
    out += [host(n, v) for n in ("acos", "asin", "atanh", "degrees", "radians") for v in (0.25, 0)] + [
        host("acosh", 1.5),
        host("degrees", 180.0),
        host("radians", 90.0),
    ]
    out += [host("factorial", n) for n in (0, 1, 2, 10, 20)] + [host("factorial", -1)]
    out += [host(n, v) for n in ("isnan", "isinf", "isfinite") for v in (-math.inf, 0.0, -1.5)]
    out += [host("Int", v) for v in (1e10, -0.5, "0", "-0", "+7", "", "12 ", "0x10", False)] + [
        host("Float", v) for v in ("", "1e5", "-inf", "nan", ".5", False, -7)
    ]
    out += (
        [host("Bool", v) for v in (-1, 1, 1.0)]
        + [host("neg", v) for v in (0, -7, 0.5)]
        + [host("prim::abs", v) for v in (0, 7, -7, -0.5)]
    )
    out += [host(n, v) for n in ("frexp", "modf") for v in (1.0, -0.25, 3.75)] + [
        host("ldexp", 1.5, -2),
        host("ldexp", -1.0, 3),
    ]
    out += [
        host(n, a, b)
        for n in ("prim::max", "prim::min")
        for a, b in [(1, 2), (2, 1), (-1.5, -2.5), (1, 1.5), (2.5, 2), (3, 3)]
    ]
    out += [host("log", a, b) for a, b in [(27, 3), (2.0, 10.0)]] + [
        host("add", a, b) for a, b in [("", ""), ("ab", "")]
    ]
    return out


def strings() -> list[HostCall]:
    s = "a-b-c"
    out = [host(n, s, sep) for n in ("partition", "rpartition") for sep in ("-", "c", "a", "zz")]
    out += [host("split", s, "-", n) for n in (0, 1, 2, 9)]
    out += [host("rsplit", s, "-", n) for n in (0, 1, 2, 9, -1)]
    out += [host("split", s, "zz"), host("rsplit", s, "zz"), host("split", "  a  ")]
    out += [
        host(n, "banana", "an", *at)
        for n in ("find", "rfind", "index", "rindex", "count")
        for at in ((), (2,), (1, 3), (-3,), (-5, -1), (9,), (0, 0), (4, 2))
    ]
    out += [
        host(n, "banana", p, *at)
        for n in ("startswith", "endswith")
        for p in ("ba", "na", "")
        for at in ((), (1,), (-2,), (0, 4), (5, 3), (7,))
    ]
    out += [host(n, "", "") for n in ("find", "rfind", "startswith", "endswith")] + [
        host("find", "abc", ""),
        host("rfind", "abc", ""),
    ]
    out += [host("replace", "aXbXc", "X", to, n) for to in ("", "--") for n in (-1, 0, 1, 2, 5)]
    out += [host(n, "ab", w) for n in ("center", "ljust", "rjust", "zfill") for w in (0, 2, 3, 4, 7)]
    out += [host(n, "ab", 6, ".") for n in ("center", "ljust", "rjust")]
    out += [host("center", "ab", 6, "..")]
    out += [host("zfill", v, 5) for v in ("+7", "-", "", "12345", "1.5")]
    out += [host("__getitem__", "abc", i) for i in (1, -3, 3, -4)] + [
        host("slice", "abcdef", *b)
        for b in [(1, 4, 2), (-2, None, 1), (None, -2, 1), (4, 2, 1), (0, 99, 1), (-99, 3, 1)]
    ]
    out += [
        host(n, v)
        for n in ("upper", "lower", "capitalize", "title", "swapcase")
        for v in ("hELLO wORLD", "x1y", "it's")
    ]
    texts = ("a", "A", "a1", "1", "_a", "A b", "A B", "\t", "\x01", "é", "1.5", "aB")
    tests = (
        "isupper",
        "islower",
        "istitle",
        "isalpha",
        "isalnum",
        "isdigit",
        "isdecimal",
        "isnumeric",
        "isspace",
        "isidentifier",
        "isprintable",
    )
    out += [host(n, v) for n in tests for v in texts]
    out += (
        [host(n, "  x y ") for n in ("strip", "lstrip", "rstrip")]
        + [host("expandtabs", "a\tb\tcd\te", n) for n in (1, 4, 8)]
        + [host("expandtabs", "ab\ncd\te")]
    )
    out += (
        [host("ord", v) for v in ("0", "~", "", "ab")]
        + [host("chr", v) for v in (0, 65, 127, 255)]
        + [host(n, v) for n in ("hex", "oct", "bin") for v in (0, 1, 10, -1, -255)]
    )
    out += [
        host("join", ", ", ["a"]),
        host("join", "-", ["a", "", "c"]),
        host("splitlines", "a\nb\n"),
        host("splitlines", ""),
        host("splitlines", "a\nb\n", True),
    ]
    out += [
        host("format", "{}{}", 1, 2),
        host("format", "a{}b", -1.5),
        host("format", "{", 1),
        host("format", "{}", False),
        host("format", "{}", [1.5, 2.0]),
        host("format", "{}", ["a", "b"]),
    ]
    out += [
        host("percentFormat", "%s", "a"),
        host("percentFormat", "%i and %d", 1, 2),
        host("percentFormat", "%s%%", "a"),
        host("percentFormat", "no", 1),
    ]
    out += [
        host("str", v)
        for v in (
            0,
            -5,
            0.5,
            -1.5,
            1e15,
            123456.0,
            1e-5,
            1e-4,
            False,
            "",
            [],
            [1],
            [1.5, 2.0],
            ["a", "b"],
            [True, False],
            (1,),
            (1, 2),
            ("a",),
            {},
            {"a": 1, "b": 2},
            -math.inf,
            100.0,
        )
    ]
    return out


def containers() -> list[HostCall]:
    xs, e = [3, 1, 2, 1], As([], "List[int]")
    bounds = [(1, None, 2), (None, None, 3), (-3, -1, 1), (3, 1, 1), (-9, 9, 1), (4, None, 1), (0, 0, 1)]
    out = (
        [host("slice", xs, *b) for b in bounds]
        + [host("__getitem__", xs, i) for i in (0, 3, -4, 4, -5)]
        + [host("_set_item", xs, i, 7) for i in (0, 3, -4, -5)]
    )
    out += (
        [host("insert", xs, i, 9) for i in (0, 4, -4, -9)]
        + [host("pop", xs, i) for i in (3, -4, 4, -5)]
        + [host("Delete", xs, i) for i in (3, 4, -5)]
    )
    out += (
        [host("index", xs, v) for v in (3, 1)]
        + [host("count", xs, v) for v in (3, 7)]
        + [host("remove", xs, 3), host("remove", xs, 2)]
    )
    out += [host("sort", [2.5, -1.0, 2.5], r) for r in (True, False)] + [
        host("sort", ["b", "a", "ab"], True),
        host("sort", e),
        host("sorted", [3, -1]),
    ]
    out += [
        host("extend", xs, e),
        host("extend", e, xs),
        host("append", e, 1),
        host("reverse", [1]),
        host("reverse", [1, 2]),
        host("copy", e),
        host("list", ""),
    ]
    out += [host("mul", [1, 2], n) for n in (1, 3)] + [
        host("mul", 3, [1]),
        host("mul_", [1], 3),
        host("add", [1.5], [2.5]),
        host("add", ["a"], ["b", "c"]),
        host("add_", e, [1]),
    ]
    out += [
        host("sum", [1.5, 2.5]),
        host("sum", [-1, 1]),
        host("any", [False, False]),
        host("all", [True, False]),
        host("all", [True]),
        host("any", ["", "a"]),
        host("all", [0.5, 0.0]),
    ]
    out += [host(n, v) for n in ("prim::max", "prim::min") for v in ([5], [1, 7, 3], [2.5, -1.5], [True, False])]
    out += [
        host(n, a, b)
        for n in ("prim::max", "prim::min")
        for a, b in [([1], [1, 2]), ([2], [1, 2]), ([1, 2], [1, 2]), ([0.5], [1.5])]
    ]
    out += [
        host(n, a, b)
        for n in ("eq", "ne")
        for a, b in [([1, 2], [1, 3]), ([1], [1, 0]), ([1, 2], [1, 2]), ([2], [1, 9])]
    ]
    out += [
        host("__range_length", *b)
        for b in [(0, 1, 1), (0, 9, 3), (0, 8, 3), (9, 0, -3), (8, 0, -3), (0, 0, -1), (1, 0, 1)]
    ]
    out += [host("prim::rangelist", 1), host("prim::rangelist", -1)]
    out += [host("__derive_index", *b) for b in [(0, 0, 1), (3, 1, 1), (1, 0, -2)]]
    out += [host("broadcast_shapes", *s) for s in [([1], [5]), ([5, 1], [1, 4]), ([2], [3])]] + [
        host("_infer_size", *s) for s in [([1], [5]), ([2, 3], [3]), ([2], [3])]
    ]
    out += [host("prim::ReductionSizes", [2, 3, 4], d, k) for d in ([0], [2], [0, 1, 2]) for k in (True, False)]
    out += [host("_size_if_not_equal", [1], [1, 1]), host("_size_if_not_equal", [2, 4], [2, 3])]
    d, n, m = {"x": 1, "y": 2, "z": 3}, {2: 1.5, -1: 2.5}, {"k": [1]}
    out += [host(op, v) for op in ("len", "keys", "values", "items", "copy") for v in (d, n)] + [
        host("len", m),
        host("popitem", {"a": 1}),
        host("popitem", As({}, "Dict[str, int]")),
    ]
    out += [
        host("Delete", d, "y"),
        host("pop", d, "y"),
        host("pop", d, "x", 7),
        host("pop", n, 2),
        host("get", n, 2),
        host("get", n, 5, 0.5),
        host("setdefault", n, -1, 9.5),
        host("setdefault", n, 3, 9.5),
    ]
    out += [
        host("update", d, {"y": 7}),
        host("update", n, {-1: 0.5, 9: 1.0}),
        host("clear", n),
        host("_set_item", n, 2, 0.5),
        host("_set_item", n, 7, 0.5),
        host("__contains__", n, -1),
        host("__contains__", n, 9),
    ]
    out += [host("dict", [(1, 2.5), (1, 3.5)]), host("__getitem__", n, -1), host("__getitem__", n, 9)]
    return out


def tensors() -> list[HostCall]:
    q = torch.zeros(2, 3, 4)[:, 1:]
    out = [
        host("get_device", O),
        host("is_set_to", q, q),
        host("is_set_to", q, q.clone()),
        host("result_type", O, 2.5),
        host("result_type", torch.ones(2, dtype=torch.int32), 2),
        host("prim::data", q),
    ]
    out += [
        host(n, v)
        for n in ("Int", "Float", "Bool", "item", "ScalarImplicit")
        for v in (torch.tensor(-2), torch.tensor(0.0), torch.tensor(True), torch.tensor([4]))
    ]
    out += [host(n, O) for n in ("IntImplicit", "FloatImplicit", "item", "Float", "Bool")]
    out += [
        host("IntImplicit", torch.tensor(1.5)),
        host("IntImplicit", torch.tensor([3])),
        host("FloatImplicit", torch.tensor([1.5])),
    ]
    out += [
        host(n, v)
        for n in (
            "is_contiguous",
            "is_non_overlapping_and_dense",
            "size",
            "stride",
            "storage_offset",
            "numel",
            "dim",
            "len",
        )
        for v in (q, q.transpose(1, 2), O.t(), O[:0], O[:, :1])
    ]
    out += [host("size", q, d) for d in (-3, 2, -4)]
    out += [host("stride", q, d) for d in (1, -3, -4)]
    out += [host("len", torch.tensor(1)), host("is_nonzero", torch.tensor(0.0)), host("is_nonzero", O)]
    out += [
        host("prim::" + n, q)
        for n in (
            "is_meta",
            "is_mkldnn",
            "is_mps",
            "is_nested",
            "is_xla",
            "is_xpu",
            "is_vulkan",
            "is_sparse_csr",
            "is_ipu",
            "itemsize",
            "nbytes",
            "dtype",
            "layout",
        )
    ]
    out += [
        host(n, q)
        for n in (
            "is_neg",
            "is_inference",
            "is_distributed",
            "is_pinned",
            "retains_grad",
            "is_conj",
            "is_complex",
            "element_size",
            "is_floating_point",
        )
    ]
    out += [host("tensor", v) for v in ([[1.5]], [[True, False]], -1, [[[1], [2]]])] + [
        host("tensor", 1.5, dtype=torch.bool),
        host("tensor", [0, 1], dtype=torch.bool),
    ]
    out += [host("promote_types", a, b) for a in (0, 1, 3, 4, 5, 6, 7, 11, 15) for b in (2, 6, 9, 15)] + [
        host("can_cast", a, b) for a in (0, 4, 6, 9, 11) for b in (0, 4, 6, 9, 11)
    ]
    return out


CALLS = [*numbers(), *strings(), *containers(), *tensors()]
