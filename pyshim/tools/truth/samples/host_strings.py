"""Those calls of host.jsonl that take strings."""

from __future__ import annotations

import math

import torch

from .host import As, HostCall, host


def strings() -> list[HostCall]:
    s = "Hello, World"
    out = [
        host("len", s),
        host("add", "a", "b"),
        host("ord", "a"),
        host("chr", 97),
        host("hex", 255),
        host("oct", 8),
        host("bin", -5),
        host("hash", 5),
    ]
    out += [host("__getitem__", s, i) for i in (0, -1, 12)] + [host("prim::StringIndex", s, 1)]
    plain = [
        "upper", "lower", "capitalize", "title", "swapcase", "isupper", "islower", "istitle", "isalpha", "isalnum", "isdigit", "isdecimal", "isnumeric",
        "isspace", "isidentifier", "isprintable", "strip", "lstrip", "rstrip", "splitlines", "expandtabs",
    ]  # fmt: skip
    out += [host(n, v) for n in plain for v in (s, "", " ab1\t\n", "12", "Ab Cd")]
    out += [
        host(n, "xxabxx", "x")
        for n in (
            "strip",
            "lstrip",
            "rstrip",
            "partition",
            "rpartition",
            "count",
            "find",
            "rfind",
            "startswith",
            "endswith",
        )
    ]
    out += [
        host("find", s, "o", 5),
        host("find", s, "o", 0, 3),
        host("find", s, "zz"),
        host("rfind", s, "o"),
        host("index", s, "zz"),
        host("rindex", s, "o"),
    ]
    out += [
        host("count", s, "l"),
        host("count", "aaaa", "aa"),
        host("startswith", s, "ell", 1),
        host("endswith", s, "d"),
        host("endswith", s, ""),
    ]
    out += [
        host("split", "a b  c"),
        host("split", "a b  c", " "),
        host("split", "a,b,c", ",", 1),
        host("split", "", ","),
        host("split", "a,b", ",", -1),
    ]
    out += [
        host("rsplit", "a,b,c", ",", 1),
        host("rsplit", "a b"),
        host("splitlines", "a\nb\r\nc", True),
        host("join", ",", ["a", "b"]),
        host("join", "", As([], "List[str]")),
    ]
    out += [
        host("replace", "aaa", "a", "b"),
        host("replace", "aaa", "a", "b", 2),
        host("zfill", "-5", 4),
        host("center", "ab", 5, "*"),
        host("ljust", "ab", 4),
        host("rjust", "ab", 4, "0"),
    ]
    out += [
        host("format", "{} and {}", 1, 2.5),
        host("format", "{}", "x"),
        host("format", "{}", [1, 2]),
        host("format", "{} {}", True, None),
        host("format", "no holes", 1),
    ]
    out += [
        host("format", "{}", 1.0),
        host("format", "{}", 1e20),
        host("format", "{}", (1, "a")),
        host("format", "{}", {"a": 1}),
        host("format", "{}"),
    ]
    out += [
        host("percentFormat", "%d of %s", 3, "x"),
        host("percentFormat", "%f", 2.5),
        host("percentFormat", "%%"),
        host("percentFormat", "%x", 255),
    ]
    out += [
        host("str", v)
        for v in (
            1,
            -1,
            1.0,
            0.1,
            1e20,
            1e-7,
            123456789.123,
            True,
            "s",
            [1, 2],
            [0.5],
            ["a"],
            (1, 2.0),
            {"a": 1},
            math.inf,
            math.nan,
            1 + 2j,
        )
    ]
    out += [
        host("str", As(None, "Optional[int]")),
        host("str", torch.device("cuda:0")),
        host("str", 1e16),
        host("str", 100000.0),
        host("str", 1e5 + 0.5),
    ]
    return out
