"""Calls written by hand that came later than others: a separate file, so that the numbers of
those others stay as lists name them.

They run on fake tensors and, where HOST says so, in the TorchScript interpreter on CPU; not on
described devices.
"""

from __future__ import annotations

from .host import host
from .spec import bad, boo, c64, call, cl, exact, f16, f64, i32, i64, sl, strided, t, tr, u8

# An operator of the foreach family gives a float of an int, or keeps it.
TO_FLOAT = (
    "acos",
    "asin",
    "atan",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "reciprocal",
)
KEPT = ("abs", "ceil", "floor", "neg", "round", "sign", "trunc")
SCALARS = ("add", "sub", "mul", "div", "pow", "clamp_min", "clamp_max", "maximum", "minimum")

MATRICES = [  # of three the cheaper order is chosen, of more the cheapest tree
    [(2, 30), (30, 4), (4, 50)], [(30, 2), (2, 40), (40, 3)], [(5, 6), (6, 5), (5, 6)], [(3, 50), (50, 2), (2, 3)],
    [(40, 2), (2, 3), (3, 30)], [(7, 1), (1, 7), (7, 1)], [(10, 20), (20, 3), (3, 40), (40, 2)], [(2, 9), (9, 40), (40, 3), (3, 8)],
    [(30, 35), (35, 15), (15, 5), (5, 10), (10, 20), (20, 25)], [(5, 4), (4, 6), (6, 2), (2, 7), (7, 3)],
    [(6, 100), (100, 2), (2, 5)], [(5, 2), (2, 100), (100, 6)], [(100, 5), (5, 2), (2, 50)], [(2, 7), (7, 90), (90, 80)],
]  # fmt: skip

CALLS = [
    *[call(f"_foreach_{n}", [i64(2, 3), t(4)]) for n in TO_FLOAT + KEPT],
    *[call(f"_foreach_{n}", [i32(2), f16(3), t(4)], 2.5) for n in SCALARS],
    *[call(f"_foreach_{n}", [i32(2), f16(3)], 2) for n in SCALARS],
    *[exact(f"_foreach_{n}", "List", [i32(2), f16(3)], [f64(2), f16(3)]) for n in ("add", "mul", "div", "pow")],
    bad("_foreach_add", [t(2), t(3)], [t(2)]),
    bad("_foreach_mul", [t(2)], [t(3)]),
    call("_foreach_mm", [t(2, 3), t(4, 5)], [t(3, 6), t(5, 7)]),
    *[
        bad("_foreach_mm", a, b)
        for a, b in (
            ([t(2, 3)], [t(4, 5)]),
            ([t(3)], [t(3, 5)]),
            ([t(2, 3)], [t(3)]),
            ([t(2, 3), t(2, 3)], [t(3, 5)]),
            ([t(2, 3)], [t(2, 3, 5)]),
        )
    ],
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
    *[
        exact("linalg_matrix_norm", "", t(2, 3, 4), o, d, k)
        for o in (1, -1, 2, -2, float("inf"))
        for d in ([-2, -1], [0, 1])
        for k in (True, False)
    ],
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
    *[
        call("matmul", t(*a), t(*b))
        for a, b in (
            ((4, 2, 3), (1, 3, 5)),
            ((1, 2, 3), (4, 3, 5)),
            ((4, 2, 3), (3,)),
            ((3,), (4, 3, 5)),
            ((2, 1, 4, 3), (6, 3, 5)),
            ((4, 2, 3), (3, 5)),
        )
    ],
    bad("matmul", t(4, 2, 3), t(3, 3, 5)),
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
    *[
        call("stft", x, 8, hop, win, None, norm, one, True)
        for x in (t(2, 40), strided([2, 40], [80, 2]), t(40))
        for hop, win in ((None, None), (3, 6))
        for norm in (True, False)
        for one in (True, False)
    ],
    call("stft", t(2, 40), 8, 4, 6, t(6), False, True, True),
    call("stft", c64(40), 8, None, None, None, False, False, True),
    bad("stft", t(2, 6), 8, None, None, None, False, True, True),
    bad("stft", t(2, 40), 8, 0, None, None, False, True, True),
    bad("stft", t(2, 40), 8, 2, 9, None, False, True, True),
    bad("stft", t(2, 40), 8, 2, 6, t(5), False, True, True),
    *[
        call("index", x, i)
        for x in (t(5, 6, 7),)
        for i in ([i64(2)], [None, i64(2)], [None, None, i64(2, 3)], [i64(2), None, i64(2)], [i64(2, 1), i64(3)])
    ],
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
    *[
        call("cosine_embedding_loss", t(*s), t(*s), t(*y), 0.5, r)
        for s, y in (((4, 5), (4,)), ((5,), ()))
        for r in (0, 1, 2)
    ],
    *[call("_weight_norm", t(4, 5, 6), g, d) for g, d in ((t(4, 1, 1), 0), (t(1, 1, 6), 2))],
    call("native_batch_norm", t(2, 3, 4, 4), t(3), t(3), t(3), t(3), True, 0.1, 1e-5),
    *[
        bad("native_batch_norm", t(2, 3, 4, 4), *[t(4) if i == j else t(3) for j in range(4)], False, 0.1, 1e-5)
        for i in range(4)
    ],
    call(
        "torchvision::deform_conv2d",
        t(2, 3, 9, 8),
        t(4, 3, 3, 2),
        t(2, 12, 5, 7),
        t(2, 6, 5, 7),
        t(4),
        2,
        1,
        1,
        0,
        1,
        1,
        1,
        1,
        True,
    ),
    *[
        call(n, sl(cl(2, 4, 8, 6), 1, 0, 3), *a)
        for n, a in (
            ("upsample_nearest2d", ([4, 9],)),
            ("upsample_bilinear2d", ([4, 9], True)),
            ("adaptive_avg_pool2d", ([2, 3],)),
        )
    ],
    *[
        call("pad", t(2, 3, 4, 5), p, m)
        for p, m in (
            ([1, 2], "constant"),
            ([1, 2, 0, 3], "reflect"),
            ([1, 2, 3, 4], "replicate"),
            ([1, 1, 2, 2], "circular"),
        )
    ],
    *[call("histogramdd", t(6, 3), b) for b in ([2, 3, 4], [1, 1, 1])],
    *[exact("histogramdd", "int_bins", f64(*s), 4) for s in ((6, 3), (2, 5, 2))],
    call("histogramdd", t(6, 2), [2, 3], [0.0, 1.0, 0.0, 1.0], t(6), True),
    exact("histogramdd", "TensorList_bins", t(6, 2), [t(3), t(5)]),
    bad("histogramdd", t(6, 3), [2, 3]),
    *[
        call("quantized::embedding_bag_byte_rowwise_offsets", u8(10, 24), *a)
        for a in ((i64(6), i64(3)), (i32(6), i32(4), False, 0, False, None, None, True))
    ],
    call("quantized::embedding_bag_byte_unpack", u8(10, 24)),
    *[
        bad("pad", t(2, 3, 4, 5), p, m)
        for p, m in (([1], "constant"), ([5, 5, 0, 0], "reflect"), ([1, 2, 3, 4, 5, 6, 7, 8], "replicate"))
    ],
    call("logdet", c64(3, 3)),
    exact("linalg_pinv", "rcond_tensor", t(4, 3), t(), False),
    exact("linalg_pinv", "rcond_tensor", t(2, 4, 3), t(2)),
    exact("linalg_matrix_rank", "tol_tensor", t(2, 4, 3), t(2), False),
    exact("linalg_matrix_rank", "", t(4, 4), 0.5, True),
    exact("linalg_matrix_rank", "atol_rtol_tensor", t(2, 4, 4), atol=t(2), rtol=t()),
    *[call("linalg_matrix_power", t(2, 3, 3), n) for n in (-3, -1, 0, 1, 2, 3, 5, 8)],
    bad("linalg_matrix_power", t(2, 3), 2),
    *[call("linalg_vander", x, **kw) for x, kw in ((t(4), {}), (i64(4), {"N": 3}), (t(2, 4), {"N": 6}), (c64(3), {}))],
    *[
        call("linalg_tensorinv", t(4, 6, 8, 3), 2),
        call("linalg_tensorinv", t(24, 8, 3), 1),
        bad("linalg_tensorinv", t(4, 6, 8, 3), 0),
        bad("linalg_tensorinv", t(4, 6, 8, 3), 5),
    ],
    *[
        call("linalg_tensorsolve", t(2, 3, 6), t(2, 3)),
        call("linalg_tensorsolve", t(6, 4, 2, 3, 4), t(6, 4)),
        call("linalg_tensorsolve", t(2, 6, 3), t(2, 3), [1]),
    ],
    call("einsum", " i j , j k -> i k ", [t(2, 3), t(3, 4)]),
    bad("einsum", "i1,j->ij", [t(2), t(3)]),
    bad("einsum", "ijk", [t(2, 3)]),
    bad("einsum", "i", [t(2, 3)]),
    *[
        call("einsum", "ij,jk,kl->il", [t(2, 3), t(3, 4), t(4, 5)], path=p)
        for p in ([1, 2, 0, 1], [0, 1, 0, 1], [0, 2, 0, 1])
    ],
    bad("einsum", "ij,jk,kl->il", [t(2, 3), t(3, 4), t(4, 5)], path=[0, 5, 0, 1]),
    *[
        call("einsum", q, [t(*a), t(*b)])
        for q, a, b in (
            ("i,ij->i", (3,), (3, 4)),
            ("ij,k->i", (2, 3), (4,)),
            ("bij,ij->b", (4, 2, 3), (2, 3)),
            ("ij,ij->ij", (2, 3), (2, 3)),
            ("i,j->ij", (2,), (3,)),
            ("bi,bj->bij", (2, 3), (2, 4)),
            ("ab,cb->ac", (2, 3), (4, 3)),
            ("...i,i->...", (2, 5, 3), (3,)),
        )
    ],
    call("einsum", "ijj->i", [t(2, 3, 3)]),
    *[
        call("matmul", t(*a), t(*b))
        for a, b in (
            ((3, 4), (5, 4, 2)),
            ((2, 3, 4), (4,)),
            ((4,), (2, 4, 3)),
            ((2, 2, 3, 4), (4,)),
            ((5,), (5,)),
            ((3, 4), (2, 2, 4, 5)),
        )
    ],
    *[call("matmul", tr(t(4, 3)), x) for x in (t(5, 4, 2), tr(t(5, 2, 4)), t(4, 2))],
    *[
        call("tensordot", t(*a), t(*b), da, db)
        for a, b, da, db in (
            ((2, 3, 4), (3, 4, 5), [1, 2], [0, 1]),
            ((2, 3), (1, 4), [1], [0]),
            ((2, 1), (3, 4), [1], [0]),
            ((2, 3), (4, 5), [], []),
        )
    ],
    bad("tensordot", t(2, 3), t(3, 4), [1], [0, 1]),
    bad("tensordot", t(2, 3), t(4, 4), [1], [0]),
    call("chain_matmul", [t(3, 3)]),
    call("chain_matmul", [t(2, 3), t(3, 4), t(4, 5)]),
    bad("chain_matmul", [t(2, 3), t(3)]),
    *[
        call("bilinear", t(*a), t(*b), t(5, 3, 4), bias)
        for a, b, bias in (((3,), (4,), t(5)), ((2, 3), (2, 4), None), ((6, 2, 3), (6, 2, 4), t(5)))
    ],
    bad("bilinear", t(2, 3), t(2, 4), t(3, 4), None),
    bad("bilinear", t(), t(2, 4), t(5, 3, 4), None),
    *[
        exact("linalg_norm", "", t(2, 3), o, d, k)
        for o in (None, 2.0, 1.0, -2.0, float("inf"), 0.0)
        for d, k in ((None, False), ([0, 1], True), ([1], False))
        if not (o == 0.0 and d != [1])
    ],
    *[exact("linalg_cond", "", t(2, 3, 3), p) for p in (None, 2.0, -2.0, 1.0, float("inf"), float("-inf"))],
    *[exact("linalg_cond", "p_str", t(2, 3, 3), p) for p in ("fro", "nuc")],
    *[exact("frobenius_norm", "dim", t(2, 3, 4), d, k) for d in ([1], [0, 2], []) for k in (False, True)],
    *[
        exact("nuclear_norm", o, *a)
        for o, a in (("", (t(2, 3),)), ("", (t(2, 3), True)), ("dim", (t(2, 3, 4), [0, 2])))
    ],
    *[
        call("linalg_solve", t(*a), t(*b), left=left)
        for a, b, left in (
            ((3, 3), (3,), True),
            ((2, 3, 3), (2, 3), True),
            ((2, 3, 3), (2, 3, 5), True),
            ((3, 3), (5, 3), False),
            ((2, 3, 3), (3, 5), True),
        )
    ],
    *[
        call(n, t(2, 3, 3))
        for n in (
            "linalg_eig",
            "linalg_eigvals",
            "linalg_eigh",
            "linalg_eigvalsh",
            "linalg_inv",
            "inverse",
            "slogdet",
            "linalg_slogdet",
            "linalg_det",
            "det",
            "logdet",
            "matrix_exp",
        )
    ],
    call("linalg_eigvals", c64(2, 3, 3)),
    bad("linalg_qr", t(5, 3), "other"),
    *[
        bad("conv2d", t(2, 3, 8, 8), w, *a)
        for w, a in (
            (t(4, 3, 3), ()),
            (t(4, 2, 3, 3), ()),
            (t(4, 3, 3, 3), (t(5),)),
            (t(5, 1, 3, 3), (None, 1, 0, 1, 3)),
            (t(4, 3, 3, 3), (None, 0)),
        )
    ],
    call("conv2d", t(2, 0, 8, 8), t(4, 0, 3, 3)),
    call("conv2d", t(0, 3, 8, 8), t(4, 3, 3, 3)),
    *[
        exact(f"conv{n}d", "padding", t(2, 3, *[8] * n), t(4, 3, *k), None, 1, m, d)
        for n, k in ((1, (4,)), (2, (3, 4)), (2, (4, 5)), (3, (2, 3, 4)))
        for m in ("same", "valid")
        for d in (1, 2)
    ],
    bad("conv2d", t(2, 3, 8, 8), t(4, 3, 3, 3), None, 1, "other"),
    bad("conv2d", t(2, 3, 8, 8), t(4, 3, 3, 3), None, 2, "same"),
    *[
        call("cdist", x, y, p)
        for x, y, p in ((t(2, 0), t(3, 0), 2.0), (t(30, 3), t(30, 3), 0.0), (t(2, 3), t(4, 3), float("inf")))
    ],
    *[
        call("pairwise_distance", x, y, p, 1e-6, k)
        for x, y, p, k in (
            (t(2, 3), t(2, 3), 2.0, False),
            (t(2, 3), t(3), 1.0, True),
            (i64(2, 3), i64(2, 3), 2.0, False),
        )
    ],
    bad("nll_loss", t(), i64()),
    *[call("nll_loss", *a) for a in ((t(3), i64(), t(3)), (t(2, 3), i64(2), None, 0))],
    *[
        call("cross_entropy_loss", *a)
        for a in (
            (t(2, 3), i64(2), t(3), 1, -100, 0.1),
            (t(2, 3), t(2, 3), t(3), 2, -100, 0.1),
            (t(3), t(3)),
            (t(3), i64()),
            (t(2, 3, 4), i64(2, 4), None, 0, 1, 0.2),
        )
    ],
    *[
        call(n, t(2, 6, 4, 4), *a)
        for n, a in (
            ("pixel_shuffle", (1,)),
            ("channel_shuffle", (3,)),
            ("pixel_unshuffle", (2,)),
            ("pixel_unshuffle", (4,)),
        )
    ],
    *[
        call(n, *a)
        for n in ("fft_fft", "fft_ifft", "fft_rfft", "fft_ihfft")
        for a in ((t(3, 8),), (t(3, 8), 5, 0, "ortho"), (i64(6), 9))
    ],
    *[call(n, *a) for n in ("fft_irfft", "fft_hfft") for a in ((c64(3, 5),), (c64(3, 5), 7, 0, "forward"), (t(6), 4))],
    *[
        call(n, *a)
        for n in ("fft_fftn", "fft_rfftn", "fft_ifft2", "fft_rfft2", "fft_ihfftn")
        for a in ((t(3, 4, 8),), (t(3, 4, 8), [2, 5]), (t(3, 4, 8), [6, 3], [0, 1], "ortho"))
    ],
    *[bad("fft_fft", t(3, 8), n, d) for n, d in ((0, -1), (3, 2))],
    bad("fft_rfft", c64(3, 8)),
    *[
        call(n, t(3, 4, 5), q, d, k)
        for n in ("quantile", "nanquantile")
        for q, d, k in ((t(2), 1, False), (t(), None, True), (t(3), -1, True))
    ],
    *[
        exact(n, "scalar", t(3, 4), 0.5, 1, False, interpolation=i)
        for n in ("quantile", "nanquantile")
        for i in ("linear", "lower", "higher", "midpoint", "nearest")
    ],
    bad("quantile", t(3, 4), t(2, 2)),
    bad("quantile", i64(3, 4), t(2)),
    *[call("moveaxis", t(2, 3, 4), a, b) for a, b in ((0, 2), ([0, 1], [1, 2]))],
    bad("movedim", t(2, 3, 4), [0, 1], [1]),
    *[call("rot90", t(2, 3, 4), k, [0, 2]) for k in (0, 1, 2, 3, -1)],
    bad("rot90", t(2, 3), 1, [0]),
    *[call(n, [t(3), t(4)]) for n in ("cartesian_prod", "block_diag")],
    *[
        call(n, [t(*a), t(*a)])
        for n in ("hstack", "vstack", "dstack", "column_stack")
        for a in ((), (3,), (2, 3), (2, 3, 4))
    ],
    *[call("unflatten", t(6, 4), d, s) for d, s in ((0, [2, 3]), (1, [2, -1]), (-1, [4, 1]))],
    bad("unflatten", t(6, 4), 0, [4, 2]),
    bad("unflatten", t(6, 4), 0, []),
    *[
        exact("tensor_split", o, t(7, 4), a, d)
        for o, a in (("sections", 3), ("indices", [2, 5]), ("sections", 9))
        for d in (0, 1)
    ],
    bad("tensor_split", t(7), 0),
    *[call("repeat_interleave", t(3, 4), n, d) for n, d in ((2, None), (3, 1), (1, 0))],
    *[
        call("view_as_complex", t(3, 2)),
        call("view_as_real", c64(3)),
        bad("view_as_complex", t(3, 3)),
        bad("view_as_complex", i64(3, 2)),
        bad("view_as_real", t(3)),
    ],
]

TYPES = (11, 3, 5, 6, 7, 9)  # bool, int32, half, float, double, complex64, as c10 numbers them
HOST = [host("can_cast", a, b) for a in TYPES for b in TYPES] + [
    host("promote_types", a, b) for a in TYPES for b in TYPES
]
