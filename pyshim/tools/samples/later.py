"""Calls written by hand that came later than others: a file of their own, so that the numbers of those others stay as lists name them.

They run on fake tensors and, where HOST says so, in the TorchScript interpreter on CPU; not on described devices.
"""

from __future__ import annotations

from .host import host
from .spec import bad, boo, c64, call, cl, cpu, exact, f16, f64, i32, i64, sl, strided, t, tr

# An operator of the foreach family gives a float of an int, or keeps it.
TO_FLOAT = ("acos", "asin", "atan", "cos", "cosh", "erf", "erfc", "exp", "expm1", "lgamma", "log", "log10", "log1p", "log2", "rsqrt", "sigmoid", "sin", "sinh", "sqrt",
            "tan", "tanh", "reciprocal")
KEPT = ("abs", "ceil", "floor", "neg", "round", "sign", "trunc")
SCALARS = ("add", "sub", "mul", "div", "pow", "clamp_min", "clamp_max", "maximum", "minimum")

MATRICES = [  # of three the cheaper order is chosen, of more the cheapest tree
    [(2, 30), (30, 4), (4, 50)], [(30, 2), (2, 40), (40, 3)], [(5, 6), (6, 5), (5, 6)], [(3, 50), (50, 2), (2, 3)],
    [(40, 2), (2, 3), (3, 30)], [(7, 1), (1, 7), (7, 1)], [(10, 20), (20, 3), (3, 40), (40, 2)], [(2, 9), (9, 40), (40, 3), (3, 8)],
    [(30, 35), (35, 15), (15, 5), (5, 10), (10, 20), (20, 25)], [(5, 4), (4, 6), (6, 2), (2, 7), (7, 3)],
]  # fmt: skip

CALLS = [
    *[call(f"_foreach_{n}", [i64(2, 3), t(4)]) for n in TO_FLOAT + KEPT],
    *[call(f"_foreach_{n}", [i32(2), f16(3), t(4)], 2.5) for n in SCALARS],
    *[call(f"_foreach_{n}", [i32(2), f16(3)], 2) for n in SCALARS],
    *[exact(f"_foreach_{n}", "List", [i32(2), f16(3)], [f64(2), f16(3)]) for n in ("add", "mul", "div", "pow")],
    bad("_foreach_add", [t(2), t(3)], [t(2)]),
    bad("_foreach_mul", [t(2)], [t(3)]),
    *[call("linalg_multi_dot", [t(*m) for m in ms]) for ms in MATRICES],
    call("linalg_multi_dot", [t(3), t(3, 4), t(4, 2)]),
    call("linalg_multi_dot", [t(2, 3), t(3, 4), t(4)]),
    call("linalg_multi_dot", [t(3), t(3, 4), t(4, 9), t(9)]),
    call("linalg_multi_dot", [t(3, 4), t(4)]),
    bad("linalg_multi_dot", [t(3, 4), t(5, 2), t(2, 2)]),
    bad("linalg_multi_dot", [t(3, 4)]),
    bad("linalg_multi_dot", [t(3, 4), t(4), t(4, 2)]),
    *[call("linalg_qr", t(*s), m) for s in ((5, 3), (2, 3, 5), (4, 4)) for m in ("r", "reduced", "complete")],
    *[call("svd", t(*s), some, uv) for s in ((5, 3), (2, 3, 5)) for some in (True, False) for uv in (True, False)],
    *[call("linalg_svd", t(*s), full) for s in ((5, 3), (2, 3, 5)) for full in (True, False)],
    *[call("linalg_matrix_norm", t(2, 3, 4), o, d) for o in ("fro", "nuc") for d in ([-2, -1], [0, 2])],
    *[exact("linalg_matrix_norm", "", t(2, 3, 4), o, d, k) for o in (1, -1, 2, -2, float("inf")) for d in ([-2, -1], [0, 1]) for k in (True, False)],
    bad("linalg_matrix_norm", t(3), "fro"),
    *[call("linalg_cholesky", t(3, 3), upper=u) for u in (True, False)],
    bad("einsum", "ij,jk->ik", [t(2, 3), t(4, 5)]),
    bad("einsum", "ij->ijk", [t(2, 3)]),
    bad("einsum", "ijk->ij", [t(2, 3)]),
    bad("einsum", "ii->i", [t(2, 3)]),
    bad("einsum", "i,i->i", [t(2)]),
    call("einsum", "...ij,...jk->...ik", [t(4, 2, 3), t(3, 5)]),
    call("einsum", "bij,bkj->bik", [t(4, 2, 3), t(4, 5, 3)]),
    call("einsum", "ii->i", [t(3, 3)]),
    call("einsum", "ij,ij", [t(2, 3), t(2, 3)]),
    call("einsum", "ij,j->i", [t(2, 3), t(1)]),
    call("einsum", "abc,cd,de->abe", [t(2, 3, 4), t(4, 5), t(5, 6)]),
    *[bad(n, t(2, 3, 4), f64(2, 4, 5)) for n in ("bmm",)],
    bad("baddbmm", t(2, 3, 5), t(2, 3, 4), f64(2, 4, 5)),
    bad("addmv", t(3), t(3, 4), f16(4)),
    bad("dot", t(4), f16(4)),
    bad("cdist", t(3), t(2, 3)),
    bad("cdist", t(2, 3), t(3)),
    bad("cdist", t(2, 3), t(2, 4)),
    call("cdist", t(3, 1, 4, 3), t(2, 5, 3)),
    call("cdist", t(2, 3), t(5, 3), 1.0),
    call("cdist", t(30, 3), t(5, 3), 2.0),
    call("cdist", t(2, 3), t(5, 3), 2.0, 1),
    call("cdist", t(0, 3), t(5, 3)),
    bad("embedding", t(10, 4), t(3)),
    bad("embedding", t(4), i64(3)),
    call("embedding", t(10, 4), i32(2, 3)),
    call("embedding", t(10, 4), i64()),
    bad("complex", i64(3), i64(3)),
    bad("complex", t(3), i64(3)),
    call("complex", f64(3), f64(2, 3)),
    call("polar", f64(3), f64(2, 3)),
    bad("polar", t(3), f64(3)),
    *[call("stft", x, 8, hop, win, None, norm, one, True) for x in (t(2, 40), strided([2, 40], [80, 2]), t(40)) for hop, win in ((None, None), (3, 6)) for norm in (True, False)
      for one in (True, False)],
    call("stft", t(2, 40), 8, 4, 6, t(6), False, True, True),
    call("stft", c64(40), 8, None, None, None, False, False, True),
    bad("stft", t(2, 6), 8, None, None, None, False, True, True),
    bad("stft", t(2, 40), 8, 0, None, None, False, True, True),
    bad("stft", t(2, 40), 8, 2, 9, None, False, True, True),
    bad("stft", t(2, 40), 8, 2, 6, t(5), False, True, True),
    *[call("index", x, i) for x in (t(5, 6, 7),) for i in ([i64(2)], [None, i64(2)], [None, None, i64(2, 3)], [i64(2), None, i64(2)], [i64(2, 1), i64(3)])],
    bad("index", t(5, 6), [i64(2), i64(3)]),
    bad("index", t(5, 6), [i64(2), i64(2), i64(2)]),
    bad("index", t(5, 6), [t(2)]),
    bad("index", t(5, 6), [boo(4)]),
    call("index_select", t(5, 6, 7), 1, i64(2)),
    call("index_select", t(5, 6, 7), -1, i32(4)),
    bad("index_select", t(5, 6), 2, i64(2)),
    call("index_select", t(), 0, i64(1)),
    *[call("split", t(7, 4), n, d) for n in (1, 3, 7, 9) for d in (0, 1, -1)],
    call("split", t(0, 4), 0),
    call("split", t(0, 4), 3),
    bad("split", t(7, 4), 0),
    bad("split", t(7, 4), -1),
    bad("split", t(7, 4), 2, 2),
    bad("split", t(), 2),
    bad("view", tr(t(4, 6)), [24]),
    bad("view", t(4, 6), [5, -1]),
    bad("view", t(4, 6), [-1, -1]),
    call("view", sl(t(4, 6, 2), 1, 0, 3), [4, 6]),
    bad("view", sl(t(4, 6, 2), 1, 0, 3), [12, 2, 7]),
    call("cosine_similarity", t(4, 5), f64(5), 1, 1e-3),
    call("cosine_similarity", t(4, 1, 5), t(3, 5), -1),
    call("cosine_similarity", f64(4, 5), f64(4, 5), 1),
    call("cosine_similarity", f64(5), t(4, 5), 1),
    call("cosine_similarity", f16(4, 5), t(4, 5), 1),
    *[call("cosine_embedding_loss", t(*s), t(*s), t(*y), 0.5, r) for s, y in (((4, 5), (4,)), ((5,), ())) for r in (0, 1, 2)],
    *[call("_weight_norm", t(4, 5, 6), g, d) for g, d in ((t(4, 1, 1), 0), (t(1, 1, 6), 2))],
    call("native_batch_norm", t(2, 3, 4, 4), t(3), t(3), t(3), t(3), True, 0.1, 1e-5),
    *[bad("native_batch_norm", t(2, 3, 4, 4), *[t(4) if i == j else t(3) for j in range(4)], False, 0.1, 1e-5) for i in range(4)],
    call("torchvision::deform_conv2d", t(2, 3, 9, 8), t(4, 3, 3, 2), t(2, 12, 5, 7), t(2, 6, 5, 7), t(4), 2, 1, 1, 0, 1, 1, 1, 1, True),
    *[call(n, sl(cl(2, 4, 8, 6), 1, 0, 3), *a) for n, a in (("upsample_nearest2d", ([4, 9],)), ("upsample_bilinear2d", ([4, 9], True)), ("adaptive_avg_pool2d", ([2, 3],)))],
    *[call("pad", t(2, 3, 4, 5), p, m) for p, m in (([1, 2], "constant"), ([1, 2, 0, 3], "reflect"), ([1, 2, 3, 4], "replicate"), ([1, 1, 2, 2], "circular"))],
    *[bad("pad", t(2, 3, 4, 5), p, m) for p, m in (([1], "constant"), ([5, 5, 0, 0], "reflect"), ([1, 2, 3, 4, 5, 6, 7, 8], "replicate"))],
]

TYPES = (11, 3, 5, 6, 7, 9)  # bool, int32, half, float, double, complex64, as c10 numbers them
HOST = [host("can_cast", a, b) for a in TYPES for b in TYPES] + [host("promote_types", a, b) for a in TYPES for b in TYPES]
