"""Calls at the edges of what operators take, by family: what they refuse, and the ways that the
calls of samples/later.py do not go."""

from __future__ import annotations

import torch

from .host import host
from .spec import bad, bf16, boo, c64, call, cl, cpu, exact, f16, f64, i32, i64, perm, strided, t, tr, u8

ATTENTION = [
    bad("_scaled_dot_product_flash_attention", f16(2, 4, 8), f16(2, 4, 8), f16(2, 4, 8)),
    *[call("_native_multi_head_attention", t(2, 5, 8), t(2, 7, 8), t(2, 7, 8), 8, 2, t(24, 8), t(24), t(8, 8), t(8), None, w, a) for w in (True, False) for a in (True, False)],
    *[exact(f"_scaled_dot_product_{k}_attention_backward", "", *(f16(2, 4, 6, 8) for _ in range(4)), *more) for k, more in (
        ("flash", (f16(2, 4, 6, 8), t(2, 4, 6), i32(3), i32(3), 6, 6, 0.0, False, i64(), i64())),
        ("cudnn", (f16(2, 4, 6, 8), t(2, 4, 6, 1), i64(), i64(), f16(2, 4, 6, 6), i32(3), i32(3), 6, 6, 0.0, False)))],
    *[exact("_scaled_dot_product_efficient_attention_backward", "", q, q, k, v, bias, q, t(2, 4, 32), i64(), i64(), 0.0, [True, True, True, want], False)
      for q, k, v in ((t(2, 4, 6, 8), t(2, 4, 7, 8), t(2, 4, 7, 8)), (tr(t(2, 6, 4, 8), 1, 2), tr(t(2, 7, 4, 8), 1, 2), tr(t(2, 7, 4, 8), 1, 2)))
      for bias, want in ((t(2, 4, 6, 7), True), (t(2, 4, 6, 7), False))],
]  # fmt: skip

LINALG = [
    *[call("_grouped_mm", a, b, offs) for a, b, offs in ((bf16(8, 16), bf16(2, 16, 24), i32(2)), (bf16(2, 8, 16), bf16(16, 32), i32(2)), (bf16(8, 16), bf16(16, 24), i32(3)), (bf16(2, 8, 16), bf16(2, 16, 24), None))],
    *[bad("_grouped_mm", a, b, offs) for a, b, offs in ((bf16(8), bf16(2, 8, 8), i32(2)), (bf16(8, 16), bf16(2, 8, 24), i32(2)), (bf16(8, 16), bf16(2, 16, 24), None), (bf16(2, 8, 16), bf16(2, 16, 24), i32(2)),
                                                       (bf16(8, 16), bf16(2, 16, 24), i64(2)), (bf16(8, 16), bf16(2, 16, 24), i32(3)), (bf16(2, 8, 16), bf16(3, 16, 24), None))],
    bad("matmul", t(4, 5), cpu(5, 6)),
    bad("mm", t(4, 5), cpu(5, 6)),
    *[exact(n, "dtype", *a, torch.float32) for n, a in (("mm", (f16(4, 5), f16(5, 6))), ("bmm", (f16(2, 4, 5), f16(2, 5, 6))), ("addmm", (f16(6), f16(4, 5), f16(5, 6))))],
    *[call("_addmm_activation", t(6), t(4, 5), t(5, 6), use_gelu=g) for g in (True, False)],
    *[call("linalg_eigvals", x) for x in (f64(2, 3, 3),)],
    *[call(n, t(2, 3, 3)) for n in ("_linalg_det", "_linalg_slogdet", "_linalg_svd", "_linalg_eigh")],
    *[call("_linalg_eigvals", t(2, 3, 3)), call("linalg_pinv", t(2, 4, 3)), call("orgqr", t(4, 3), t(3))],
    *[call("_linalg_solve_ex", t(2, 3, 3), t(2, 3, 4), left=left) for left in (True,)],
    *[call("linalg_vector_norm", x, o, None, k) for x in (t(2, 3), f16(2, 3)) for o, k in ((2.0, True), (0.0, False), (float("inf"), False))],
    *[exact("linalg_matrix_norm", "", t(2, 3, 4), -2, [-2, -1], True, dtype=torch.float64)],
    *[exact("linalg_matrix_norm", "str_ord", t(2, 3, 4), "nuc", [-2, -1], False, dtype=torch.float64)],
    *[call("outer", *a) for a in ((t(3), t(5)), (strided((3,), (2,)), t(5)), (t(3), f16(5)))],
    *[call("ger", t(3), t(5))],
    *[call("matmul", t(3, 4), tr(t(5, 6, 4))), call("matmul", t(4), tr(t(5, 6, 4))), call("matmul", t(1, 4), t(5, 4, 6)), call("matmul", t(2, 5, 3, 4), t(4)), call("matmul", tr(t(2, 4, 3)), t(4, 6))],
    *[bad("addmm", t(7), t(4, 5), t(5, 6)), bad("baddbmm", t(2, 4, 7), t(2, 4, 5), t(2, 5, 6)), bad("mv", t(3, 4), t(3)), bad("mm", t(3), t(3, 4)), bad("bmm", t(3, 4), t(3, 4, 5))],
    *[call("vander", i64(4), n, inc) for n in (None, 3) for inc in (True, False)],
    *[call("linalg_vander", x, N=n) for x in (t(3), f64(2, 3), i64(3)) for n in (None, 2)],
]  # fmt: skip

NN = [
    *[bad("conv2d", *a) for a in ((t(2, 3, 8, 8), cpu(4, 3, 3, 3)), (t(2, 3, 2, 2), t(4, 3, 3, 3)))],
    *[bad("torchvision::nms", *a, 0.5) for a in ((t(5, 3), t(5)), (t(5, 4), t(5, 1)), (t(5, 4), t(6)), (t(4), t(4)))],
    *[bad(f"torchvision::{n}", x, r, 1.0, 7, 7, *a) for n, a in (("roi_align", (2, False)), ("roi_pool", ()), ("ps_roi_align", (2,)), ("ps_roi_pool", ())) for x, r in ((t(2, 49, 8, 8), t(5, 4)),)],
    *[bad(f"torchvision::{n}", t(2, 50, 8, 8), t(5, 5), 1.0, 7, 7, *a) for n, a in (("ps_roi_align", (2,)), ("ps_roi_pool", ()))],
    *[call(f"torchvision::{n}", t(2, 98, 8, 8), t(5, 5), 1.0, 7, 7, *a) for n, a in (("roi_align", (2, False)), ("roi_pool", ()), ("ps_roi_align", (2,)), ("ps_roi_pool", ()))],
    *[call(f"torchvision::{n}", t(2, 12, 8, 8), t(5, 5), 1.0, 2, 3, *a) for n, a in (("roi_align", (2, False)), ("roi_pool", ()), ("ps_roi_align", (2,)), ("ps_roi_pool", ()))],
    *[bad("torchvision::box_iou_rotated", t(3), t(4, 5))],
    *[bad("glu", t(), -1), bad("glu", t(3, 5), 1)],
    *[bad("upsample_nearest2d", t(2, 3, 8), [4, 4])],
    *[call("pairwise_distance", *a) for a in ((i64(2, 3), i64(2, 3)), (t(2, 3), i64(2, 3)), (i64(2, 3), f64(3)))],
    *[bad("batch_norm", t(3), None, None, t(3), t(3), False, 0.1, 1e-5, True), bad("instance_norm", t(3), None, None, None, None, True, 0.1, 1e-5, True)],
    *[exact(n, o, t(2, 3, 4, 4), *a) for n, o, a in (("upsample_nearest2d", "vec", (None, [2.0, 2.0])), ("upsample_bilinear2d", "vec", (None, True, [1.5, 2.0])))],
    *[bad("upsample_nearest2d", t(2, 3, 4, 4), None, None), bad("upsample_nearest2d", t(2, 3, 4, 4), [8, 8], [2.0, 2.0])],
    *[bad(n, t(5, 3, 4), h, [t(g * 6, 4), t(g * 6, 6), t(g * 6), t(g * 6)], True, 1, 0.0, False, False, False) for n, g, h in (("gru", 3, t(3, 6)), ("rnn_tanh", 1, t(3, 6)), ("lstm", 4, [t(1, 3, 6)]))],
    *[bad(n, t(3, 4), *h, t(g * 6, 4), t(g * 6, 6)) for n, g, h in (("gru_cell", 3, (t(1, 3, 6),)), ("rnn_relu_cell", 1, (t(4, 6),)), ("lstm_cell", 4, ([t(3, 6)],)))],
    *[call(n, *a) for n, a in (("huber_loss_backward", (t(2, 3), t(2, 3), t(2, 3), 0, 1.0)), ("soft_margin_loss_backward", (t(2, 3), t(2, 3), t(2, 3), 0)), ("binary_cross_entropy_backward", (t(2, 3), t(2, 3), t(2, 3), None, 0)))],
    *[call(n, *a) for n, a in (("adaptive_max_pool2d_backward", (t(2, 3, 2, 2), t(2, 3, 8, 8), i64(2, 3, 2, 2))), ("_adaptive_avg_pool3d_backward", (t(2, 3, 2, 2, 2), t(2, 3, 4, 6, 8))), ("max_pool3d_with_indices_backward", (t(2, 3, 2, 2, 2), t(2, 3, 4, 4, 4), [2, 2, 2], [2, 2, 2], [0, 0, 0], [1, 1, 1], False, i64(2, 3, 2, 2, 2))))],
    *[call("multilabel_margin_loss_forward", x, y, r) for x, y, r in ((t(3, 4), i64(3, 4), 0), (t(3, 4), i64(3, 4), 1), (t(4), i64(4), 1))],
    *[call("_euclidean_dist", t(3, 4), t(5, 4)), call("miopen_batch_norm", t(2, 3, 4), t(3), t(3), t(3), t(3), True, 0.1, 1e-5)],
    *[call("native_batch_norm", x, t(3), t(3), t(3), t(3), train, 0.1, 1e-5) for x in (t(2, 3, 4), f16(2, 3, 4), t(0, 3)) for train in (True, False)],
    *[call("native_layer_norm", x, [4], w, b, 1e-5) for x in (t(2, 3, 4), tr(t(2, 4, 3))) for w, b in ((None, None), (t(4), None))],
    *[bad("native_layer_norm", t(2, 3, 4), [5], None, None, 1e-5), bad("native_layer_norm", t(2, 3, 4), [4], t(5), None, 1e-5), bad("native_group_norm", t(2, 6, 4), None, None, 2, 6, 4, 4, 1e-5)],
]  # fmt: skip

POINTWISE = [
    *[bad("sub", boo(3), boo(3)), bad("rsub", boo(3), boo(3)), bad("lerp", t(3), f64(3), 0.5), bad("lerp", t(3), t(3), f64(3)),
      bad("neg", boo(3)), 
      bad("polar", t(3), f64(3)), bad("where", t(3), t(3), t(3)), bad("clamp", t(3), None, None), bad("dist", i64(3), i64(3)), bad("isclose", t(3), f64(3)),
      bad("xlogy_", i64(3), i64(3)), bad("div_", i64(3), i64(3)), bad("exp_", i64(3)), bad("add_", i64(3), t(3)), bad("mul_", t(3), t(2, 3))],
    *[bad("gradient", t(4, 5), dim=d, edge_order=o) for d, o in ((1, 3), (1, 0))],
    *[exact("gradient", "scalarint", t(4, 5), spacing=2.0, dim=d, edge_order=o) for d in (None, 0, 1) for o in (1, 2)],
    *[exact("gradient", "array", t(4, 5), dim=[0, 1], edge_order=2), exact("gradient", "scalarrayarray", t(4, 5), spacing=[2.0, 1.0], dim=[0, 1])],
    bad("gradient", t(2, 5), dim=0, edge_order=2),
    *[call("diff", t(4, 5), 1, d, *a) for d, a in ((0, (t(1, 5), None)), (1, (None, t(4, 2))), (-1, (t(4, 1), t(4, 2))))],
    *[bad("diff", t()), bad("diff", t(4, 5), 1, -1, t(3))],
    *[bad("mul", t(3), cpu(3)), bad("add", t(2, 3), t(2, 4)), bad("addcmul", t(3), cpu(3), t(3))],
    *[call("mul", x, y) for x, y in ((t(3), cpu()), (cpu(), t(3)), (f16(3), cpu()), (i64(3), cpu()), (u8(3), i64()), (boo(3), u8()), (c64(3), f64()))],
    *[call("pow", *a) for a in ((2.0, t(3)), (2, i64(3)), (True, t(3)), (t(3), 2), (i64(3), 2.0))],
    *[call("prelu", x, w) for x, w in ((t(2, 3), t(3)), (t(2, 3), t(1)), (cl(2, 3, 4, 4), t(3)), (t(3), t(1)))],
    *[call(n, x) for n in ("log_sigmoid", "mish", "hardswish", "silu") for x in (t(2, 3), tr(t(2, 3)), f16(2, 3))],
    *[call("isclose", t(3), t(3), 1e-5, 1e-8, n) for n in (True, False)],
    *[bad("floor_divide", x, x) for x in (c64(3), boo(3))], bad("div", c64(3), c64(3), rounding_mode="floor"), bad("lcm", boo(3), boo(3)),
]  # fmt: skip

INDEX = [
    *[bad("gather", t(3, 4), 1, i) for i in (f16(3, 4), t(3, 4), i64(3), i64(3, 4, 1), i64(4, 4))],
    *[bad("scatter", t(3, 4), 1, i64(3, 4), f64(3, 4)), bad("scatter", t(3, 4), 1, i64(3, 5), t(3, 4)), bad("take_along_dim", t(3, 4), t(3, 4), 1), bad("take_along_dim", t(3, 4), i64(3), 1)],
    *[bad("masked_select", t(3), t(3)), bad("masked_fill", t(3), t(3), 1.0), bad("masked_fill", t(3), boo(3), t(3)), bad("masked_scatter", t(3), t(3), t(3)), bad("masked_scatter", t(3), boo(3), f64(3)), bad("masked_scatter", t(3), boo(4), t(3))],
    *[bad("index_select", t(3, 4), 2, i64(3)), bad("index_add", t(3, 4), 0, i64(3), t(2, 4)), ],
    *[bad("index", t(3, 4), [t(3)]), bad("index", t(3, 4), [boo(4)]), bad("index", t(3, 4), [i64(3), i64(2)]), bad("index", t(3, 4), [i64(3), i64(3), i64(3)])],
    *[call("index_put", t(3, 4), [i64(3)], v) for v in (t(), t(4), t(3, 4), t(1, 3, 4), t(1, 1))],
    *[call("index_put", t(3, 4, 5), [None, i64(2)], v) for v in (t(), t(5), t(3, 2, 5), t(3, 1, 5))],
    *[bad("take", t(3, 4), t(3)), bad("embedding", t(4), i64(3)), bad("embedding", t(4, 3), t(3))],
    *[bad("diagonal", t(3), 0, 0, 1), bad("diagonal", t(3, 4), 0, 1, 1), bad("diag_embed", t(3, 4), 0, 1, 1)],
    *[bad("scatter_add", t(3, 4), 1, i, t(3, 4)) for i in (t(3, 4), boo(3, 4))], call("scatter_add", t(3, 4), 1, i32(3, 4), t(3, 4)),
]  # fmt: skip

REDUCE = [
    *[bad("mean", i64(3)), bad("logsumexp", t(3), [1]), bad("argmax", t(0)), bad("amax", t(0, 3), [0]), bad("median", t(3), 1), bad("kthvalue", t(3), 4, 0), bad("topk", t(3), 4), bad("topk", t(3), -1),
      bad("cumsum", t(3), 1), bad("sum", t(3), [1]), bad("sum", t(3, 4), [0, 0]), bad("prod", t(3), 1), bad("all", t(3), 1), bad("mode", t(3), 1), bad("norm", i64(3), 2), bad("aminmax", t(0)), bad("renorm", t(3, 4), 2.0, 2, 1.0), bad("renorm", t(3), 2.0, 0, 1.0),
      bad("cov", t(2, 3, 4)), bad("corrcoef", t(2, 3, 4)), bad("trapezoid", t()), bad("cumulative_trapezoid", t()), bad("histc", i64(3), 0), bad("bincount", t(3)), bad("searchsorted", t(3, 4), t(2, 4))],
    *[call("trapezoid", t(3, 5), dim=d) for d in (0, 1)], *[exact("trapezoid", "x", t(3, 5), x, dim=d) for x, d in ((t(5), 1), (t(3), 0), (t(3, 5), 1))],
    *[call("cumulative_trapezoid", t(3, 5), dim=d) for d in (0, 1)], *[exact("cumulative_trapezoid", "x", t(3, 5), x, dim=d) for x, d in ((t(5), 1), (t(3), 0), (t(3, 5), 1))],
    *[call("var_mean", *a, correction=1, keepdim=k) for a in ((t(3, 4), [0]), (t(3, 4), None), (f16(3, 4), [1]), (c64(3, 4), [1])) for k in (True, False)],
    *[call(n, x, d, k) for n in ("logsumexp", "amax", "nansum", "mean", "sum") for x, d, k in ((t(3, 4), [0], True), (t(3, 4), [0, 1], False), (f16(3, 4), [-1], False), (t(3, 4), [], True))],
    *[exact("norm", "ScalarOpt_dtype", t(3, 4), 2.0, dtype=torch.float64)],
    *[exact(n, "Scalar", *a) for n, a in (("searchsorted", (t(5), 2.0)), ("bucketize", (2.0, t(5))))],
]  # fmt: skip

VIEW = [
    *[bad("cat", [t(3), cpu(3)]), bad("cat", [t(3, 4), t(3)]), bad("cat", [t(3, 4), t(3, 5)]), bad("cat", [t(3)], 1), bad("stack", [t(3), t(4)]), bad("stack", [t(3)], 2), bad("meshgrid", [t(3), t(4)], indexing="zz"), bad("meshgrid", [t(3, 2), t(4)]),
      bad("block_diag", [t(2, 2, 2)]), bad("cartesian_prod", [t(2, 2)]), bad("combinations", t(2, 2)), bad("combinations", t(3), -1), bad("chunk", t(3), 0), bad("split", t(3), -1), bad("split", t(3), [1, 1]), bad("split_with_sizes", t(3), [1, 1]), bad("split_with_sizes", t(3), [4, -1]),
      bad("tensor_split", t(), 2), bad("unbind", t()), bad("narrow", t(3), 0, 2, 2), bad("narrow", t(3), 0, 0, -1), bad("narrow", t(), 0, 0, 1), bad("select", t(), 0, 0), bad("select", t(3), 0, 3), bad("select", t(3), 0, -4), bad("slice", t(), 0), bad("slice", t(3), 0, 0, 3, 0), bad("unfold", t(3), 0, 4, 1), bad("unfold", t(3), 0, 2, 0),
      bad("view", t(3, 4), [5, 2]), bad("view", tr(t(3, 4)), [12]), bad("view", t(3, 4), [-1, -1]), bad("reshape", t(3, 4), [-1, 5]), bad("expand", t(3), [4]), bad("expand", t(3, 1), [3]), bad("expand", t(3), [-1, 3]), bad("permute", t(3, 4), [0, 0]), bad("permute", t(3, 4), [0]), bad("transpose", t(3, 4), 0, 2),
      bad("squeeze", t(3, 1), 2), bad("unsqueeze", t(3), 2), bad("flatten", t(3, 4), 1, 0), bad("repeat", t(3, 4), [2]), bad("tile", t(3), [-1]), bad("roll", t(3, 4), [1, 2], [0]), bad("flip", t(3), [1]), bad("flip", t(3), [0, 0]), bad("as_strided", t(3), [2], [1, 1]), bad("as_strided", t(3), [2], [-1]),
      bad("pixel_shuffle", t(3, 4), 2), bad("imag", t(3)), bad("repeat_interleave", t(3), -1), bad("repeat_interleave", t(3), t(3)), bad("movedim", t(3, 4), [0, 0], [0, 1]), bad("tril", t(3)), bad("triu", t()), bad("rot90", t(3, 4), 1, [0, 0]), bad("unflatten", t(6), 1, [2, 3])],
    *[exact("view", "dtype", x, d) for x, d in ((t(3, 4), torch.int32), (t(3, 4), torch.float64), (t(3, 4), torch.float16), (f16(3, 4), torch.int8), (f64(3, 4), torch.uint8), (strided((3, 4), (6, 1)), torch.float64), (strided((3, 4), (6, 1), 2), torch.float64), (strided((3, 2, 4), (8, 16, 1)), torch.float64))],
    *[call("cat", [t(0), t(3, 4)]), call("cat", [t(3, 4), t(0)]), call("cat", [t(0), t(0)]), call("cat", [cl(2, 3, 4, 4), cl(2, 5, 4, 4)], 1), call("cat", [cl(2, 3, 4, 4), t(2, 5, 4, 4)], 1), call("cat", [t(2, 3), f64(2, 3), i64(2, 3)])],
    *[call("meshgrid", [t(3), t(4), t()], indexing=i) for i in ("ij", "xy")], call("meshgrid", [t(3)], indexing="xy"),
    *[call("block_diag", m) for m in ([t(), t(3), t(2, 4)], [t(2, 0), t(0, 3)], [t(2), f64(2, 2)])],
    *[call("combinations", t(5), r, w) for r in (0, 1, 2, 3) for w in (True, False)],
    *[call("moveaxis", t(2, 3), [], []), call("permute", t(), []), call("squeeze", t()), call("transpose", t(), 0, -1), call("flatten", t()), call("roll", t(3, 4), 1), call("roll", t(), 1), call("flip", t(3, 4), [])],
    *[call("repeat", t(3, 4), r) for r in ([2, 1], [1, 1], [2, 1, 3], [0, 1])], call("tile", t(3, 4), [2]), call("tile", t(3, 4), [2, 1, 1]),
    *[exact("split", "sizes", t(6, 4), [1, 2, 3], 0), call("split", t(0, 4), 2), call("split", t(6), 4), call("chunk", t(6), 4), call("chunk", t(0, 4), 3), call("chunk", t(3), 5), call("split", t(0), 0)],
    *[exact("unfold", "", t(7, 4), 0, n, s) for n, s in ((3, 2), (7, 1), (0, 1), (2, 9))], exact("unfold", "", t(), 0, 1, 1),
    *[call("expand_as", t(3, 1), t(2, 3, 4)), call("view_as", t(6), t(2, 3)), call("reshape_as", tr(t(2, 3)), t(6)), call("atleast_1d", t()), call("atleast_2d", t(3)), call("atleast_3d", t(3, 4)), call("atleast_3d", t(3)), call("atleast_3d", t())],
]  # fmt: skip

FFT = [
    *[bad("fft_fft", t(), 3), bad("fft_fft2", t(3)), bad("fft_rfftn", c64(3, 4)), bad("fft_fftn", t(3, 4), [1, 2, 3]), bad("fft_fftn", t(3, 4), None, [0, 0]), bad("fft_fftn", t(3, 4), [2], [0, 1]), bad("fft_irfft", t(3, 4), 0), bad("fft_ihfft", c64(3, 4)), bad("fft_irfft", t(1))],
    *[exact("stft", "center", x, 8, h, w, win, center, "reflect", False, one, True) for x, h, w, win, center, one in ((t(40), None, None, t(8), True, True), (t(2, 40), 3, 6, t(6), False, True), (t(2, 40), 4, None, None, True, False), (t(40), 2, 8, None, False, None))],
    *[bad("stft", x, n, h, w, win, False, True, True) for x, n, h, w, win in ((t(2, 3, 40), 8, 2, 8, None), (t(40), 41, 2, 8, None), (t(40), 8, 0, 8, None), (t(40), 8, 2, 9, None), (t(40), 8, 2, 6, t(8)), (t(), 8, 2, 6, None))],
    *[bad("istft", *a) for a in ((t(5, 9), 8), (c64(5), 8), (c64(6, 9), 8), (c64(5, 9), 8, 9), (c64(5, 9), 8, 2, 9), (c64(2, 3, 5, 9), 8), (c64(5, 0), 8))],
    *[bad(n, c64(3, 4), [3, 0]) for n in ("fft_irfftn", "fft_hfftn")], bad("fft_irfftn", c64(3, 1)),
]  # fmt: skip

CREATE = [
    *[call("empty_permuted", s, p, dtype=torch.float32, device=torch.device("cuda")) for s, p in (([2, 3, 4], [0, 1, 2]), ([2, 3, 4], [2, 0, 1]), ([2, 0, 4], [0, 2, 1]), ([2, 3, 0], [2, 1, 0]), ([2, 0, 4], [0, 1, 2]))],
    *[bad("empty_permuted", [2, 3], p, dtype=torch.float32, device=torch.device("cuda")) for p in ([0], [0, 0], [0, 2])],
    *[bad(n, t(2, 3), memory_format=torch.channels_last) for n in ("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like")],
    *[bad(n, t(2, 3, 4, 4), memory_format=torch.channels_last_3d) for n in ("empty_like", "zeros_like")],
    *[bad("full_like", t(2, 3), 1.0, memory_format=torch.channels_last), bad("contiguous", t(2, 3), memory_format=torch.channels_last), bad("clone", t(2, 3), memory_format=torch.channels_last), bad("empty", [2, 3], dtype=torch.float32, device=torch.device("cuda"), memory_format=torch.channels_last)],
    *[bad("arange", 0, float("nan"), 1, dtype=torch.float32, device=torch.device("cuda")), bad("arange", 0, 5, 0, dtype=torch.float32, device=torch.device("cuda")), bad("arange", 5, 0, 1, dtype=torch.float32, device=torch.device("cuda")), bad("linspace", 0, 1, -1, dtype=torch.float32, device=torch.device("cuda")), bad("eye", -1, dtype=torch.float32, device=torch.device("cuda")), bad("empty", [-1], dtype=torch.float32, device=torch.device("cuda")), bad("randperm", -1, dtype=torch.int64, device=torch.device("cuda"))],
    *[bad("multinomial", x, n, r) for x, n, r in ((t(2, 3, 4), 1, True), (t(), 1, True), (t(3), -1, True))],
    *[call("multinomial", x, n, r) for x, n, r in ((t(3), 3, False), (t(2, 3), 5, True), (t(2, 3), 3, False), (f16(3), 1, True))],
    *[bad("dropout", t(3), 1.5, True), bad("normal_", t(3), 0.0, -1.0)],
    *[call(f"{n}_window", k, *a, dtype=torch.float32, device=torch.device("cuda")) for n in ("hann", "kaiser") for k in (0, 1, 5) for a in ((), (False,))],
    *[bad(f"{n}_window", -1, dtype=torch.float32, device=torch.device("cuda")) for n in ("hann", "bartlett", "kaiser")],
    *[call("dropout", t(3), 0.0, True), call("dropout", t(3), 1.0, True), call("alpha_dropout", t(3), 0.5, True), call("feature_dropout", t(2, 3, 4), 0.5, True), call("feature_alpha_dropout", t(2, 3, 4), 0.5, True), call("native_dropout", t(3), 0.5, True), call("native_dropout", t(3), 0.5, False), bad("feature_dropout", t(3), 0.5, True)],
    *[call("_to_copy", x, dtype=d) for x in (cl(2, 3, 4, 4), tr(t(2, 3)), perm(t(2, 3, 4), 2, 0, 1)) for d in (torch.float16, torch.int64)],
    *[call("tril_indices", r, c, o, device=torch.device("cuda")) for r, c, o in ((3, 4, 0), (4, 3, -1), (3, 3, 2), (0, 3, 0), (3, 3, -5))], *[call("triu_indices", r, c, o, device=torch.device("cuda")) for r, c, o in ((3, 4, 0), (4, 3, -1), (3, 3, 2), (3, 3, 5))], bad("tril_indices", -1, 3, 0, device=torch.device("cuda")),
    *[bad("randint", *a, [2], dtype=torch.int64, device=torch.device("cuda")) for a in ((3, 3), (5, 3), (0,))], call("randint", 3, 4, [2], dtype=torch.int64, device=torch.device("cuda")),
]  # fmt: skip

CALLS = ATTENTION + LINALG + NN + POINTWISE + INDEX + REDUCE + VIEW + FFT + CREATE

HOST = [
    *[host(n, a, b) for n in ("floordiv", "remainder", "fmod", "mathremainder", "div") for a, b in ((7, 3), (-7, 3), (7, -3), (7.5, 2.0), (-7.5, 2.0))],
    *[host("find", s, p, *r) for s, p, r in (("hello", "l", ()), ("hello", "", ()), ("hello", "z", ()), ("hello", "l", (3, 5)))],
    *[host(n, "a,b,,c", ",") for n in ("split", "partition", "rpartition", "rsplit")],
    *[host("expandtabs", s, n) for s in ("a\tb", "\t", "ab\tc\td") for n in (4, 8)],
    *[host("count", s, p, 0, 9) for s, p in (("banana", "an"), ("banana", "x"), ("", "a"))],
    *[host("chr", n) for n in (0, 65)], *[host("ord", s) for s in ("a", "ab", "")],
]  # fmt: skip
