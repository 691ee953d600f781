"""Calls of operators that the other files have none of, and of defaults and edges of those that they
have. They run on fake tensors and, but for what those alone take, on described devices too."""

from __future__ import annotations

import torch

from .spec import bad, boo, c64, call, cl, cpu, ex, exact, f16, f64, i32, i64, perm, sl, strided, t, tr

CONVOLUTION = [
    *[call(f"conv{n}d", x, w, t(8), padding=p) for p in ("same", "valid") for n, x, w in (
        (1, t(2, 4, 9), t(8, 4, 3)), (2, t(2, 4, 9, 9), t(8, 4, 3, 2)), (3, t(2, 4, 5, 5, 5), t(8, 4, 3, 2, 2)))],
    *[call(f"conv{n}d", x, w, None, 1, "same", d) for d in (1, 2, 3) for n, x, w in (
        (1, t(2, 4, 9), t(8, 4, 2)), (2, t(2, 4, 9, 9), t(8, 4, 2, 3)), (2, cl(2, 4, 9, 9), t(8, 4, 4, 4)))],
    *[bad("conv2d", t(2, 4, 9, 9), t(8, 4, 3, 3), None, s, "same") for s in (2, [1, 2], [2, 1])],
    bad("conv2d", t(2, 4, 9, 9), t(8, 4, 3, 3), None, 1, "none of them"),
    *[exact("_convolution_mode", "", t(2, 4, 9, 9), t(8, 4, 3, 3), None, s, p, d, g) for s, p, d, g in (
        ([1], "same", [1], 1), ([1, 1], "same", [2, 1], 1), ([2], "valid", [1], 1), ([2, 1], "valid", [1, 2], 1))],
    *[call("conv2d", x, w, None, s, p, d, g) for x, w, s, p, d, g in (
        (t(2, 4, 9, 9), t(8, 4, 3, 3), [2, 1], [1, 0], [1, 2], 1), (t(4, 9, 9), t(8, 4, 3, 3), 1, 0, 1, 1),
        (t(2, 4, 9, 9), t(8, 2, 3, 3), 1, 1, 1, 2), (t(2, 4, 9, 9), t(4, 1, 3, 3), 1, 1, 1, 4), (t(0, 4, 9, 9), t(8, 4, 3, 3), 1, 1, 1, 1))],
    *[call(f"conv_transpose{n}d", x, w, None, *a) for n, x, w in (
        (1, t(2, 4, 9), t(4, 8, 3)), (2, t(2, 4, 9, 9), t(4, 8, 3, 3)), (3, t(2, 4, 5, 5, 5), t(4, 8, 3, 3, 3)))
      for a in ((), (2, 1, 1), (3, 0, 2, 1, 2), (1, 0, 0, 2))],
    *[call("conv_tbc", x, t(3, 4, 8), t(8), p) for x, p in ((t(9, 2, 4), 0), (t(9, 2, 4), 1), (t(9, 2, 4), 2), (t(1, 2, 4), 1), (t(1, 2, 4), 2), (t(2, 2, 4), 0), (t(2, 2, 4), 1), (t(2, 2, 4), 2))],
]  # fmt: skip

LAYERS = [
    *[call("one_hot", i64(*s), n) for s in ((3,), (2, 3), ()) for n in (1, 5)],
    *[call("poisson_nll_loss", x, y, log, full, 1e-8, r) for x, y in ((t(3, 4), t(3, 4)), (t(4), f64(3, 4))) for log in (True, False) for full in (True, False) for r in (0, 1, 2)],
    *[call("triplet_margin_loss", a, b, n, 1.0, 2.0, 1e-6, swap, r) for swap in (True, False) for r in (0, 1, 2) for a, b, n in (
        (t(3, 4), t(3, 4), t(3, 4)), (t(4), t(4), t(4)), (f16(1, 4), f16(3, 4), f16(3, 4)))],
    *[call(n, x, y, *a, r) for r in (0, 1, 2) for n, a in (("cosine_embedding_loss", (t(3), 0.5)), ("margin_ranking_loss", (t(3, 4), 0.5))) for x, y in ((t(3, 4), t(3, 4)),)],
    *[call(n, x, y, r) for r in (0, 1, 2) for n in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "hinge_embedding_loss") for x, y in (
        (t(3, 4), t(3, 4)), (tr(t(4, 3)), t(3, 4)), (f16(3, 4), f16(3, 4)), (t(0, 4), t(0, 4)))if n != "hinge_embedding_loss"],
    *[call("hinge_embedding_loss", t(3, 4), y, 1.0, r) for y in (t(3, 4), t(4)) for r in (0, 1, 2)],
    *[call("kl_div", x, y, r, log_target=g) for x, y in ((t(3, 4), t(3, 4)), (t(), t())) for r in (0, 1, 2) for g in (True, False)],
    *[call("binary_cross_entropy", t(3, 4), t(3, 4), w, r) for w in (None, t(4), t(3, 4)) for r in (0, 1, 2)],
    *[call("binary_cross_entropy_with_logits", t(3, 4), t(3, 4), w, p, r) for w in (None, t(4)) for p in (None, t(4)) for r in (0, 1, 2)],
    *[call("cross_entropy_loss", x, y, w, r, i, s) for x, y in ((t(5, 4), i64(5)), (t(4), i64()), (t(2, 4, 3), i64(2, 3)), (t(5, 4), t(5, 4)), (t(2, 4, 3, 3), i64(2, 3, 3))) for w in (None, t(4)) for r in (0, 1, 2) for i, s in ((-100, 0.0), (-100, 0.1))],
    *[call("nll_loss_nd", x, y, None, r) for r in (0, 1, 2) for x, y in ((t(5, 4), i64(5)), (t(4), i64()), (t(2, 4, 3), i64(2, 3)), (t(2, 4, 3, 3), i64(2, 3, 3)), (t(2, 4, 3, 3, 2), i64(2, 3, 3, 2)), (t(0, 4), i64(0)))],
    *[call(n, x, y, *a, r) for r in (0, 1, 2) for n, y2, a in (("multi_margin_loss", i64(5), (1, 1.0, None)), ("multilabel_margin_loss", i64(5, 4), ())) for x, y in ((t(5, 4), y2),)],
    *[exact("nll_loss2d_backward", "", t(*g), t(2, 4, 3, 3), i64(2, 3, 3), None, r, -100, t()) for g, r in (((2, 3, 3), 0), ((), 1), ((), 2))],
    *[exact("smooth_l1_loss_backward", "", t(*g), t(3, 4), t(3, 4), r, 1.0) for g, r in (((3, 4), 0), ((), 1), ((), 2))],
    *[exact("_fused_rms_norm_backward", "", x, x, [4], t(2, 3, 1), w, m) for x in (t(2, 3, 4),) for w in (t(4), None) for m in ([True, True], [True, False]) if w is not None or not m[1]],
    *[exact("adaptive_max_pool3d_backward", "", t(2, 3, 2, 2, 2), x, i64(2, 3, 2, 2, 2)) for x in (t(2, 3, 4, 6, 8), cl(2, 3, 4, 6, 8))],
    *[exact(f"_adaptive_avg_pool{n}d_backward", "", t(2, 3, *[2] * n), cl(2, 3, *[4] * n)) for n in (2, 3)],
    *[exact("max_pool3d_with_indices_backward", "", t(2, 3, 2, 2, 2), cl(2, 3, 4, 4, 4), [2, 2, 2], [2, 2, 2], [0, 0, 0], [1, 1, 1], False, i64(2, 3, 2, 2, 2))],
    *[exact("avg_pool3d_backward", "", t(2, 3, 2, 2, 2), x, [2, 2, 2], s, [0, 0, 0], False, True, None) for x in (t(2, 3, 4, 4, 4), cl(2, 3, 4, 4, 4)) for s in ([], [2, 2, 2])],
    *[call("pad", x, p, m) for m in ("constant", "reflect", "replicate", "circular") for x, p in (
        (t(2, 3, 5), [1, 2]), (t(2, 3, 5), [0, 0]), (cl(2, 3, 5, 5), [1, 0, 2, 1]), (t(2, 3, 5, 5), [2, 2]) , (t(2, 3, 4, 4, 4), [1, 1, 0, 1, 2, 0])) if len(p) == 2 * (len(x.sizes) - 2) or m == "constant"],
    *[call("constant_pad_nd", x, p) for x, p in ((t(3, 4), [-1, 0]), (t(3, 4), [0, 0]), (t(3, 4), [1, -1, 2, 2]), (t(3, 4), [0, -4]), (t(), []), (cl(2, 3, 4, 4), [1, 1]))],
    *[bad("constant_pad_nd", t(3, 4), p) for p in ([1], [1, 1, 1, 1, 1, 1], [-5, 0])],
    *[call("affine_grid_generator", t(2, k, k + 1), [2, 3, *[4, 5, 6][:k]], a) for k in (2, 3) for a in (True, False)],
    *[call("grid_sampler", x, g, m, p, a) for x, g in ((t(2, 3, 4, 5), t(2, 6, 7, 2)), (t(2, 3, 4, 5, 6), t(2, 6, 7, 8, 3)), (cl(2, 3, 4, 5), t(2, 6, 7, 2))) for m in (0, 1) for p in (0, 1, 2) for a in (True,) if m or p or len(x.sizes) == 5],
    *[call(f"{k}_pool{n}d", x, *a) for n, x in ((1, t(2, 3, 8)), (2, t(2, 3, 8, 8)), (2, cl(2, 3, 8, 8)), (3, t(2, 3, 8, 8, 8)), (2, t(3, 8, 8))) for k, many in (
        ("max", ((3,), (3, 2), (3, 2, 1), (3, 2, 1, 2), (3, 2, 1, 1, True), (2, [], 0, 1, True))), ("avg", ((3,), (3, 2), (3, 2, 1), (3, 2, 1, True), (3, 2, 1, False, False), (2, [], 0, True)))) for a in many],
    *[call("max_pool2d", t(2, 3, 8, 9), k, s) for k, s in (([2, 3], [3, 2]), ([3, 2], []), (2, [1, 2]))],
    *[call(f"adaptive_{k}_pool{n}d", x, o) for k in ("avg", "max") for n, x, os in ((1, t(2, 3, 8), (1, 3)), (2, t(2, 3, 8, 8), (1, [2, 3], [1, 1])), (2, cl(2, 3, 8, 8), (1, [2, 3])), (3, t(2, 3, 8, 8, 8), (1, [2, 3, 4])), (1, t(3, 8), (2,)), (2, t(3, 8, 8), (2,))) for o in os],
    *[call("fractional_max_pool2d", t(2, 3, 8, 8), [2, 2], [4, 4], t(2, 3, 2))],
    *[call(n, x, g, w, b) for n in ("group_norm",) for x, g in ((t(2, 6, 4), 3), (cl(2, 6, 4, 4), 2), (f16(2, 6, 4, 4), 1), (t(2, 6), 6), (t(0, 6, 4), 3)) for w, b in ((None, None), (t(6), t(6))) if x.dtype == torch.float32 or w is None],
    *[call("instance_norm", x, w, w, r, r, u, 0.1, 1e-5, True) for x in (t(2, 6, 4), cl(2, 6, 4, 4), f16(2, 6, 4)) for w in (None, t(6)) for r, u in ((None, True), (t(6), True), (t(6), False)) if x.dtype == torch.float32 or (w is None and r is None)],
    *[call("batch_norm", x, w, w, t(6), t(6), train, 0.1, 1e-5, cud) for x in (t(2, 6), t(2, 6, 4), cl(2, 6, 4, 4), tr(t(2, 4, 6))) for w in (None, t(6)) for train in (True, False) for cud in (True, False)],
    *[call("pixel_shuffle", x, r) for x, r in ((t(8, 3, 4), 2), (t(2, 2, 9, 3, 4), 3), (cl(2, 4, 3, 3), 1), (t(2, 4, 0, 3), 2))],
    *[call("pixel_unshuffle", x, r) for x, r in ((t(2, 6, 8), 2), (t(2, 2, 6, 9), 3), (t(2, 4, 0, 4), 2))],
    *[call("channel_shuffle", x, g) for x, g in ((t(2, 6, 4), 2), (cl(2, 6, 4, 4), 3), (t(6, 4, 4), 2))],
    *[call("im2col", x, k, d, p, s) for x in (t(2, 3, 8, 8), t(3, 8, 8), tr(t(2, 3, 8, 8))) for k, d, p, s in (([2, 2], [1, 1], [0, 0], [1, 1]), ([3, 2], [2, 1], [1, 2], [2, 3]), ([8, 8], [1, 1], [0, 0], [1, 1]))],
    *[call("col2im", x, [8, 8], k, d, p, s) for x, k, d, p, s in ((t(2, 12, 49), [2, 2], [1, 1], [0, 0], [1, 1]), (t(12, 49), [2, 2], [1, 1], [0, 0], [1, 1]), (tr(t(2, 49, 12)), [2, 2], [1, 1], [0, 0], [1, 1]))],
    *[call("bilinear", t(5, 3), t(5, 4), t(6, 3, 4), b) for b in (None, t(6))],
    *[call("embedding_bag", t(10, 4), i64(*i), o, False, m, False, w, last) for i, o in (((6,), i64(3)), ((2, 3), None), ((0,), i64(2))) for m in (0, 1, 2) for w in (None,) for last in (False, True) if o is not None],
    *[call("cosine_similarity", a, b, d) for a, b in ((t(3, 4), t(3, 4)), (t(1, 4), t(3, 4)), (t(4), t(3, 4))) for d in (0, 1, -1)],
    *[call("pairwise_distance", a, b, 2.0, 1e-6, k) for a, b in ((t(3, 4), t(3, 4)), (t(4), t(3, 4))) for k in (True, False)],
    *[call("pdist", t(5, 3), p) for p in (0.0, 1.0, 2.0)], call("pdist", t(1, 3)), call("pdist", t(0, 3)), call("pdist", t(3, 0)),
    *[call(n, x, *a) for x in (t(2, 3, 4, 4), cl(2, 3, 4, 4)) for n, a in (("upsample_nearest2d", ([8, 6],)), ("upsample_bilinear2d", ([8, 6], True)), ("upsample_bicubic2d", ([3, 5], False)))],
    *[exact(n, "vec", x, None, *a, f) for n, x, a, f in (("upsample_nearest1d", t(2, 3, 5), (), [2.5]), ("upsample_linear1d", t(2, 3, 5), (True,), [0.7]), ("upsample_nearest3d", t(2, 3, 4, 5, 6), (), [2.0, 1.5, 0.5]), ("upsample_trilinear3d", t(2, 3, 4, 5, 6), (False,), [2.0, 1.5, 0.5]))],
    *[call("torchvision::roi_align", x, t(5, 5), 0.5, 3, 4, 2, a) for x in (t(2, 3, 8, 8), cl(2, 3, 8, 8)) for a in (True, False)],
    *[call("torchvision::ps_roi_align", t(2, 12, 8, 8), t(5, 5), 0.5, 2, 3, 2), call("torchvision::ps_roi_pool", t(2, 12, 8, 8), t(5, 5), 0.5, 2, 3), call("torchvision::roi_pool", t(2, 3, 8, 8), t(5, 5), 0.5, 2, 3)],
    *[call("torchvision::deform_conv2d", t(2, 4, 8, 8), t(6, 4 // g, 3, 3), t(2, 18 * o, 8, 8), t(2, 9 * o, 8, 8), t(6), 1, 1, 1, 1, 1, 1, g, o, True) for g in (1, 2) for o in (1, 2)],
]  # fmt: skip

SHAPES = (  # contiguous, turned, every second, expanded, in the middle of a storage, with the first dimension innermost, empty
    t(2, 3, 4), perm(t(4, 2, 3), 1, 2, 0), sl(t(2, 3, 8), 2, 0, 8, 2), ex(t(3, 1), 2, 3, 4), sl(t(2, 5, 4), 1, 1, 4),
    strided((2, 3, 4), (1, 2, 6)), t(2, 0, 4),
)  # fmt: skip

LAYOUTS = [
    *[call(n, x, *a) for x in SHAPES for n, a in (
        ("relu", ()), ("clone", ()), ("contiguous", ()), ("empty_like", ()), ("zeros_like", ()), ("sum", ([0], True)), ("softmax", (-1,)), ("cumsum", (1,)),
        ("sort", (0,)), ("flip", ([0, 2],)), ("reshape", ([-1],)), ("flatten", (1,)), ("flatten", (0, 1)), ("unfold", (2, 2, 1)), ("expand", ([5, -1, -1, -1],)), ("repeat", ([1, 2, 1],)),
        ("roll", ([1], [2])), ("movedim", ([0], [2])), ("unsqueeze", (1,)), ("squeeze", ()), ("diagonal", (0, 1, 2)), ("tril", ()), ("bernoulli", ()), ("argsort", ()), ("topk", (2,)),
        ("dropout", (0.5, True)), ("layer_norm", ([4],)), ("std", ()), ("amax", ([1],)), ("mT", ()), ("tensor_split", (2, 2)), ("narrow", (2, 1, 2)), ("cdist", (t(2, 3, 4),)), ("index_select", (2, i64(3))),
        ("masked_fill", (boo(4), 1.0)), ("gather", (2, i64(1, 1, 2))), ("matmul", (t(4, 5),)), ("linear", (t(5, 4), t(5))), ("var_mean", ()), ("cummax", (2,)), ("kthvalue", (1,)), ("median", (1,)), ("mode", ()), ("logsumexp", ([0, 1],)), ("triu", (1,)), ("rot90", (1, [1, 2])),
        ("take_along_dim", (i64(1, 1, 2), 2)), ("nan_to_num", ()), ("clamp", (0.0,)), ("pow", (2,)), ("glu", ()), ("unbind", (2,)), ("chunk", (2, 2)), ("norm", (2,)), ("prod", (1,)), ("count_nonzero", ()), ("diff", ()))
      if not (0 in x.sizes and n in ("amax", "kthvalue", "cummax", "median", "mode", "topk", "sum", "gather"))],
    *[call(n, x, y) for n in ("add", "atan2") for x in SHAPES for y in SHAPES if all(a == b or 1 in (a, b) for a, b in zip(x.sizes, y.sizes))],
    *[call("where", boo(4), x, y) for x in SHAPES[:6] for y in SHAPES[:6]],
    *[call("cat", [x, y], d) for x in SHAPES[:6] for y in SHAPES[:6] for d in (0, -1)],
    *[call("stack", [x, x], d) for x in SHAPES for d in (0, 2, -1)],
    *[call("_to_copy", x, dtype=torch.float16) for x in SHAPES], *[call("clone", x, memory_format=f) for x in (cl(2, 3, 4, 4), t(2, 3, 4, 4), perm(t(4, 2, 3, 4), 1, 2, 0, 3)) for f in (torch.contiguous_format, torch.preserve_format, torch.channels_last)],
    *[call("addmm", b, x, y) for b in (t(5), t(3, 5), t(1, 5), t()) for x in (t(3, 4), tr(t(4, 3))) for y in (t(4, 5), tr(t(5, 4)))],
]  # fmt: skip

LINALG = [
    *[call(n, t(*a), t(*b)) for n in ("linalg_solve", "linalg_solve_ex") for a, b in (((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3)), ((2, 3, 3), (2, 3, 2)), ((2, 3, 3), (1, 3, 2)), ((4, 3, 3), (4, 3, 1)))],
    *[call(n, t(*a), pivot=p) for n in ("linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex") for a in ((3, 3), (5, 3), (2, 3, 5)) for p in (True, False)],
    *[call("lu_unpack", t(*a), i32(*a[:-2], min(a[-2:])), d, p) for a in ((3, 3), (5, 3), (2, 3, 5)) for d in (True, False) for p in (True, False)],
    *[call(n, t(*a)) for n in ("linalg_det", "linalg_slogdet", "linalg_inv", "linalg_inv_ex", "linalg_cholesky_ex", "linalg_eigh", "linalg_eigvalsh", "linalg_matrix_exp", "logdet") for a in ((3, 3), (2, 3, 3), (0, 3, 3))],
    *[call(n, x) for n in ("linalg_pinv", "linalg_matrix_rank", "linalg_cond", "linalg_svdvals") for x in (t(3, 4), t(2, 4, 3))],
    *[call("linalg_matrix_power", t(3, 3), n) for n in (-2, -1, 0, 1, 2, 3, 5)],
    *[call("linalg_vector_norm", x, o, d, k) for x in (t(3, 4), c64(3, 4)) for o in (0, 1, 2, float("inf")) for d in (None, [0], [0, 1]) for k in (True, False)],
    *[call("linalg_cross", a, b) for a, b in ((t(2, 3), t(2, 3)), (t(1, 3), t(4, 3)))], bad("linalg_cross", t(2, 4), t(2, 4)),
    *[call("tensordot", t(2, 3, 4), t(4, 3, 5), a, b) for a, b in (([2], [0]), ([1, 2], [1, 0]), ([], []))], *[call("kron", t(*a), t(*b)) for a, b in (((2, 3), (4, 5)), ((2,), (3, 4)), ((2, 1, 3), (4,)))],
    *[call("triangular_solve", t(2, 3, 4), t(2, 3, 3), u) for u in (True, False)], *[call("linalg_solve_triangular", t(3, 3), t(3, 4), upper=u, left=True) for u in (True, False)], call("linalg_solve_triangular", t(4, 4), t(3, 4), upper=True, left=False),
    *[call("cholesky_solve", t(3, 2), t(3, 3)), call("cholesky_inverse", t(3, 3)), call("ormqr", t(4, 3), t(3), t(4, 2)), call("linalg_householder_product", t(4, 3), t(3))],
    *[call(n, t(*a), t(*b), t(*c)) for n, a, b, c in (("addbmm", (3, 5), (2, 3, 4), (2, 4, 5)), ("addbmm", (5,), (2, 3, 4), (2, 4, 5)), ("baddbmm", (5,), (2, 3, 4), (2, 4, 5)), ("addmv", (3,), (3, 4), (4,)), ("addmv", (1,), (3, 4), (4,)), ("addr", (3, 4), (3,), (4,)))],
    *[call("einsum", e, [t(*x) for x in xs]) for e, xs in (("ij,jk->ik", ((2, 3), (3, 4))), ("ij,kj->ik", ((2, 3), (4, 3))), ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))), ("ijk,k->i", ((2, 3, 4), (4,))), ("ij,ik->jk", ((2, 3), (2, 4))), ("ij,kl->ik", ((2, 3), (4, 5))),
        ("i,j->ij", ((2,), (3,))), ("ii", ((3, 3),)), ("ij->ji", ((2, 3),)), ("ij->", ((2, 3),)), ("bhqd,bhkd->bhqk", ((2, 3, 4, 5), (2, 3, 6, 5))), ("bhqk,bhkd->bqhd", ((2, 3, 4, 6), (2, 3, 6, 5))), ("...i,...i->...", ((2, 3, 4), (3, 4))))],
    *[exact("bmm", "out", t(2, 3, 4), t(2, 4, 5), out=t(2, 3, 5)), exact("mm", "dtype", f16(3, 4), f16(4, 5), torch.float32), exact("bmm", "dtype", f16(2, 3, 4), f16(2, 4, 5), torch.float32)],
]  # fmt: skip

OTHERS = [
    *[call(n, x, None, d) for x in (t(2, 3, 4, 6), perm(t(6, 2, 3, 4), 1, 2, 3, 0), sl(t(2, 3, 4, 12), 3, 0, 12, 2)) for n in ("fft_fftn", "fft_rfftn") for d in ([3], [0], [2, 3], [0, 1], [1, 2, 3], [0, 1, 2, 3], [3, 1])],
    *[call(n, x, None, d) for x in (c64(2, 3, 4, 6), perm(c64(6, 2, 3, 4), 1, 2, 3, 0), ex(c64(3, 4, 1), 2, 3, 4, 6)) for n in ("fft_ifftn", "fft_irfftn") for d in ([3], [0], [2, 3], [0, 1], [1, 2, 3], [0, 1, 2, 3], [3, 1])],
    *[call(n, x, k, d) for n in ("fft_rfft", "fft_fft", "fft_ifft") for x in (t(3, 8), f64(3, 8)) for k in (None, 5, 9) for d in (0, 1)],
    *[call("segment_reduce", t(6, 3), r, lengths=i64(2), unsafe=True) for r in ("sum", "max")], *[call("segment_reduce", t(6, 3), r, offsets=o, unsafe=True) for r in ("sum", "mean") for o in (i64(3), i64(1))], bad("segment_reduce", t(6, 3), "sum"),
    *[call("isin", x, y) for x, y in ((t(3, 4), t(2)), (t(3), t(40)), (i64(3), i64(2)), (t(0), t(2)), (t(3), t(0)))],
    *[exact("isin", "Tensor_Scalar", t(3), 1), exact("isin", "Scalar_Tensor", 1, t(3)), exact("isin", "Scalar_Tensor", 1.5, t(3))],
    *[call("log_sigmoid_forward", x) for x in (cpu(2, 3), t(2, 3), tr(t(2, 3)))], *[call("scalar_tensor", v, device=torch.device("cuda")) for v in (1, 1.5, True)],
    *[call(n, a, b, 5, device=torch.device("cuda")) for n in ("linspace", "logspace") for a, b in ((0, 1), (0.0, 1.0), (0j, 1.0), (0.0, 1j))],
    *[exact("scatter", "src_out", t(3, 4), 1, i64(3, 2), t(3, 4), out=o) for o in (t(3, 4), t(0))], *[exact("scatter", "value_out", t(3, 4), 1, i64(3, 2), 1.0, out=t(3, 4))], *[exact("scatter_reduce", "two_out", t(3, 4), 1, i64(3, 2), t(3, 4), "sum", out=t(3, 4))],
    *[call(n, t(5, 4), d, i64(3), *a) for d in (0, -1) for n, a in (("index_fill", (1.0,)),)], *[call(n, t(5, 4), d, i64(3), s) for n in ("index_add", "index_copy") for d, s in ((0, t(3, 4)), (-1, t(5, 3)))], *[call("index_reduce", t(5, 4), 0, i64(3), t(3, 4), r) for r in ("prod", "mean", "amax")],
    *[call(n, t(5, 4), s, *a) for n, s, a in (("select_scatter", t(4), (0, -1)), ("slice_scatter", t(2, 4), (0, 1, 3)), ("slice_scatter", t(5, 2), (1, 0, 4, 2)), ("diagonal_scatter", t(4), (0,)), ("diagonal_scatter", t(3), (1,)), ("diagonal_scatter", t(4), (-1, 0, 1)), ("as_strided_scatter", t(2, 2), ([2, 2], [4, 1])))],
    *[call("repeat_interleave", t(2, 3), r, d) for r, d in ((2, None), (2, 0), (3, -1), (0, 1))], *[call("quantile", t(4, 6), t(3), d, k, interpolation=i) for d in (None, 0) for k in (True, False) for i in ("linear", "nearest")],
    *[call("tensor_split", t(7, 3), n, d) for n, d in ((3, 0), ([2, 5], 0), (5, 1), ([-2], 0))], *[call("unflatten", t(2, 12), 1, s) for s in ([3, 4], [-1, 6], [3, 2, 2])], *[call("broadcast_to", t(3, 1), [2, 3, 4])],
    *[call("searchsorted", t(*a), t(*b), right=r, out_int32=i) for a, b in (((5,), (2, 3)), ((2, 5), (2, 3))) for r in (True, False) for i in (True, False)], *[call("bucketize", t(2, 3), t(5), out_int32=i) for i in (True, False)],
    *[call("renorm", t(3, 4, 5), p, d, 1.0) for p in (1.0, 2.0) for d in (0, -1)],
    *[call(n, t(3, 4), *a) for n, a in (("trapezoid", ()), ("cumulative_trapezoid", ()), ("logcumsumexp", (1,)), ("aminmax", ()), ("nansum", ()), ("nanmean", ()), ("std_mean", ([1],)))],
    *[call("gradient", t(4, 5), dim=d) for d in (0, 1, -1)],
]  # fmt: skip

CALLS = CONVOLUTION + LAYERS + LAYOUTS + LINALG + OTHERS

HOST: list = []
