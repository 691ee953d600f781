"""Overloads that the calls above do not reach: one call each, so that no overload goes unseen."""

import torch

from ..spec import boo, c64, call, cl, cpu, exact, f16, i32, i64, sl, t, tr, u8

X, N = t(2, 3), i64(2, 3)
XS, YS, ZS = [t(2, 3), t(4), t()], [t(2, 3), t(4), t()], [t(2, 3), t(4), t()]
LIST = [0.5, 1.0, 2.0]

BITS = ("and", "or", "xor")
POLYNOMIALS = [
    *[f"chebyshev_polynomial_{k}" for k in "tuvw"], *[f"shifted_chebyshev_polynomial_{k}" for k in "tuvw"],
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
]  # fmt: skip
FOREACH_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin "
    "sinh sqrt tan tanh trunc"
).split()
BACKWARD = ("gelu", "mish", "logit", "hardsigmoid", "silu", "tanh", "sigmoid")
LIKE = ("uniform", "exponential", "cauchy", "log_normal", "normal_functional", "random")

CALLS = [
    *[exact(f"__i{n}__", "Scalar", N, 3) for n in (*BITS, "lshift", "rshift")],
    *[exact(f"__i{n}__", "Tensor", N, N) for n in ("lshift", "rshift", "xor")],
    *[exact(f"__{n}__", "Tensor", N, N) for n in ("lshift", "rshift")],
    *[exact(f"__{n}__", "Scalar", N, 3) for n in ("or", "xor")],
    *[exact(f"bitwise_{n}", o, *a) for n in BITS for o, a in (("Scalar", (N, 3)), ("Scalar_Tensor", (3, i32(2, 3))))],
    *[exact(f"bitwise_{n}_", "Scalar", N, 3) for n in BITS],
    *[exact(f"bitwise_{n}_shift", o, *a) for n in ("left", "right") for o, a in (("Tensor_Scalar", (N, 3)), ("Scalar_Tensor", (3, i32(2, 3))))],
    *[exact(f"bitwise_{n}_shift_", "Tensor_Scalar", N, 3) for n in ("left", "right")],
    *[exact(n + s, o, N if n != "multiply" else X, *a) for n in ("greater", "greater_equal", "less", "less_equal", "not_equal") for s in ("", "_") for o, a in (("Tensor", (t(2, 3),)), ("Scalar", (0.5,)))],
    *[exact(n, "Scalar", X, 2) for n in ("floor_divide_", "fmod_", "remainder_", "sub_", "subtract_", "true_divide_", "divide_", "multiply", "multiply_")],
    *[exact(n, "Tensor_mode", X, t(2, 3), rounding_mode="floor") for n in ("divide", "divide_")],
    *[exact(n, "Scalar_mode", X, 2, rounding_mode="trunc") for n in ("divide", "divide_", "div_")],
    *[exact("xlogy", o, *a) for o, a in (("Scalar_Other", (N, 2.0)), ("Scalar_Self", (2, X)))],
    exact("xlogy_", "Scalar_Other", X, 2.0),
    *[exact(f"special_{n}", o, *a) for n in ("xlog1py", "xlogy", "zeta") for o, a in (("other_scalar", (N, 2.0)), ("self_scalar", (2.0, X)))],
    *[exact(f"special_{n}", o, *a) for n in POLYNOMIALS for o, a in (("n_scalar", (X, 3)), ("x_scalar", (0.5, i32(2, 3))))],
    call("special_gammainc", X, X), call("special_gammaincc", X, X), call("special_logit", N), call("special_multigammaln", X, 2),
    call("arctan2_", X, X), exact("clamp_max", "", X, 1.0), exact("clamp_max", "", N, 1.5), exact("clamp_max_", "", X, 1.0),
    exact("clip", "Tensor", X, t(3), None), exact("clip_", "Tensor", X, t(3)),
    exact("float_power", "Tensor_Scalar", X, 2), exact("float_power", "Tensor_Scalar", N, 2.0), exact("float_power", "Scalar", 2, X),
    exact("float_power_", "Scalar", t(2, dtype=torch.float64), 2), exact("float_power_", "Tensor", t(2, dtype=torch.float64), t(2)),
    exact("isin", "Tensor_Scalar", tr(X), 2.0), exact("isin", "Scalar_Tensor", 2.0, X),
    exact("copy_", "float", X, 1.0), exact("copy_", "int", X, 1), exact("fill", "Tensor", tr(X), t()),
    call("_is_all_true", boo(2, 3)), call("_is_any_true", boo(2, 3)),
    *[call(f"_cast_{n}", X) for n in ("Byte", "Char", "Double", "Int", "Short")],
    call("_conj", c64(2, 3)), call("_conj_copy", tr(c64(2, 3))), call("_conj_physical", c64(2, 3)), call("_neg_view", X), call("_neg_view_copy", X),
    call("data", X), call("lift", X), call("_lazy_clone", tr(X)), call("detach_copy", tr(X)), call("_reshape_copy", X, [6]), call("_reshape_alias_copy", X, [6], [1]),
    exact("moveaxis", "intlist", t(2, 3, 4), [0, 1], [2, 0]),
    exact("select_copy", "int", tr(X), 0, 1), exact("slice_copy", "Tensor", X, 1, 0, 2), exact("split_copy", "Tensor", X, 2, 1), exact("squeeze_copy", "dims", t(1, 3, 1), [0, 2]),
    call("view_as_real_copy", c64(2, 3)), call("view_as_complex_copy", t(3, 2)), exact("view_copy", "dtype", X, torch.int32),
    call("resize", X, [4, 5]), call("resize_as", X, t(4, 5)), call("unflatten_dense_tensors", t(10), [t(2, 3), t(4)]), call("flatten_dense_tensors", [X, t(4)]),
    call("_stack", [X, t(2, 3)], 1), call("_stack", [cl(2, 3, 4, 5), cl(2, 3, 4, 5)], 1),
    *[exact("_unsafe_index", o, t(4, 5), a) for o, a in (("Tensor", [None, i64(3)]), ("Tensor_hacked_twin", [i64(2)]))],
    exact("_unsafe_index_put", "", t(4, 5), [None, i64(3)], t()), exact("_unsafe_index_put", "hacked_twin", t(4, 5), [i64(3)], t()),
    exact("index_put", "", tr(t(4, 5)), [None, i64(3)], t()), call("_unsafe_masked_index", t(4, 5), boo(4, 3), [None, i64(3)], 0.0),
    exact("_index_put_impl_", "", t(4, 5), [None, i64(3)], t()), call("_index_put_impl", t(4, 5), [None, i64(3)], t()),
    call("_unsafe_masked_index_put_accumulate", t(4, 5), boo(4, 3), [None, i64(3)], t(4, 3)),
    call("_dim_arange", X, 1), call("_pad_circular", t(2, 3, 4), [1, 1]), *[call("_pad_enum", t(2, 3, 4), [1, 1], m) for m in range(4)],
    call("_prelu_kernel", X, t(3)), call("_prelu_kernel_backward", X, X, t(1, 3)), call("_fused_dropout", X, 0.5), call("_masked_scale", X, u8(2, 3), 2.0),
    *[call(f"{n}_backward", cl(2, 3, 4, 5), cl(2, 3, 4, 5)) for n in BACKWARD], *[call(f"{n}_backward", tr(X), tr(t(2, 3))) for n in BACKWARD],
    call("hardshrink_backward", X, X, 0.5), call("softshrink_backward", X, X, 0.5), call("softplus_backward", X, X, 1.0, 20.0), call("log_sigmoid_backward", X, X, t(0)),
    call("rrelu_with_noise", X, t(2, 3), 0.1, 0.3, True), call("rrelu_with_noise_", X, t(2, 3), 0.1, 0.3, True), call("rrelu_with_noise_backward", X, X, X, 0.1, 0.3, True, False),
    call("glu_backward", t(2, 2), t(2, 4), 1), call("diagonal_backward", t(3), [3, 4], 0, 0, 1), call("unfold_backward", t(2, 3, 2), [2, 4], 1, 2, 1),
    call("masked_scatter_backward", X, boo(2, 3), [6]), call("index_select_backward", X, [2, 5], 1, i64(3)), call("gather_backward", X, t(2, 4), 1, N, False),
    call("value_selecting_reduction_backward", t(3), 0, i64(3), [2, 3], False), call("value_selecting_reduction_backward", t(1, 3), 0, i64(1, 3), [2, 3], True),
    call("_embedding_bag_dense_backward", t(2, 4), i64(6), i64(6), i64(2), i64(2), 10, False, 0, None), call("_embedding_bag_forward_only", t(10, 4), i64(6), i64(2)),
    call("embedding_renorm", t(10, 4), i64(6), 1.0, 2.0), call("reflection_pad1d_backward", t(2, 3, 6), t(2, 3, 4), [1, 1]),
    *[call(f"{n}_pad2d_backward", t(2, 3, 6, 6), t(2, 3, 4, 4), [1] * 4) for n in ("reflection", "replication")],
    *[call(f"{n}_pad3d_backward", t(1, 3, 6, 6, 6), t(1, 3, 4, 4, 4), [1] * 6) for n in ("reflection", "replication")], call("replication_pad1d_backward", t(2, 3, 6), t(2, 3, 4), [1, 1]),
    call("grid_sampler_2d_backward", t(2, 3, 4, 4), t(2, 3, 5, 5), t(2, 4, 4, 2), 0, 0, False, [True, True]), call("grid_sampler_2d_backward", t(2, 3, 4, 4), t(2, 3, 5, 5), t(2, 4, 4, 2), 0, 0, False, [False, True]),
    call("grid_sampler_3d_backward", t(2, 3, 4, 4, 4), t(2, 3, 5, 5, 5), t(2, 4, 4, 4, 3), 0, 0, False, [True, True]),
    call("upsample_nearest1d_backward", t(2, 3, 8), [8], [2, 3, 4]), call("upsample_linear1d_backward", t(2, 3, 8), [8], [2, 3, 4], False), call("_upsample_nearest_exact1d_backward", t(2, 3, 8), [8], [2, 3, 4]),
    *[call(f"{n}_backward", g(2, 3, 8, 8), [8, 8], [2, 3, 4, 4]) for n in ("_upsample_nearest_exact2d", "upsample_nearest2d") for g in (t, cl)],
    *[call(f"{n}_backward", g(2, 3, 8, 8), [8, 8], [2, 3, 4, 4], False) for n in ("upsample_bicubic2d", "upsample_bilinear2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa") for g in (t, cl)],
    *[call(f"{n}_backward", g(2, 3, 8, 8, 8), [8] * 3, [2, 3, 4, 4, 4]) for n in ("_upsample_nearest_exact3d", "upsample_nearest3d") for g in (t, cl)],
    call("upsample_trilinear3d_backward", t(2, 3, 8, 8, 8), [8] * 3, [2, 3, 4, 4, 4], False),
    *[call(n, g(2, 3, 4, 4), [8, 8], False) for n in ("_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa") for g in (t, cl)],
    *[exact(n, "vec", t(2, 3, 4, 4), None, False, [2.0, 2.0]) for n in ("_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa")],
    *[exact(f"{n}_window", "periodic", 5, p, device=torch.device("cuda")) for n in ("hann", "bartlett", "blackman", "hamming", "kaiser") for p in (True, False)],
    exact("hamming_window", "", 5, device=torch.device("cuda")), exact("hamming_window", "periodic_alpha", 5, True, 0.5, device=torch.device("cuda")),
    exact("hamming_window", "periodic_alpha_beta", 5, True, 0.5, 0.4, device=torch.device("cuda")), exact("kaiser_window", "beta", 5, True, 11.0, device=torch.device("cuda")),
    exact("bernoulli", "Tensor", X, X), exact("bernoulli_", "Tensor", X, X), exact("normal", "float_Tensor", 0.5, tr(X)),
    call("_standard_gamma", tr(X)), *[call(n, tr(X)) for n in LIKE], call("geometric", X, 0.5),
    exact("random", "from", X, 1, 5), exact("random", "to", X, 5), exact("random_", "", X), exact("random_", "to", X, 5),
    *[exact(n, "generator", [2, 3], generator=None, device=torch.device("cuda")) for n in ("rand", "randn")],
    *[exact(n, "generator", tr(X), generator=None) for n in ("rand_like", "randn_like")],
    exact("randint", "generator", 5, [2, 3], generator=None, device=torch.device("cuda")), exact("randint", "low_generator", 1, 5, [2, 3], generator=None, device=torch.device("cuda")),
    exact("randint_like", "generator", X, 5, generator=None), exact("randint_like", "low_generator_dtype", X, 1, 5, generator=None),
    exact("randint_like", "Tensor", X, cpu(dtype=torch.int64)), exact("randperm", "generator", 5, generator=None, device=torch.device("cuda")),
    *[exact("_add_relu" + s, "Tensor", X, t(2, 3)) for s in ("", "_")],
    *[call(f"_foreach_{n}{s}", XS) for n in FOREACH_UNARY for s in ("", "_")], call("_foreach_exp", [N, f16(4)]), call("_foreach_clone", [tr(X), t(4)]), call("_foreach_zero", XS), call("_foreach_copy", XS, YS),
    *[exact(f"_foreach_{n}{s}", "ScalarList", XS, LIST) for n in ("add", "sub", "mul", "div", "pow", "clamp_max", "clamp_min", "maximum", "minimum") for s in ("", "_")],
    *[exact(f"_foreach_{n}{s}", "Scalar", XS, 0.5) for n in ("sub", "pow", "clamp_max", "clamp_min", "maximum", "minimum") for s in ("", "_")],
    *[exact(f"_foreach_{n}{s}", "List", XS, YS) for n in ("sub", "pow", "clamp_max", "clamp_min", "maximum", "minimum") for s in ("", "_")],
    *[exact(f"_foreach_{n}{s}", "Tensor", XS, t()) for n in ("add", "mul", "div") for s in ("", "_")], exact("_foreach_pow", "ScalarAndTensor", 2.0, XS), exact("_foreach_pow", "ScalarAndTensor", 2.0, [N]),
    *[exact(f"_foreach_{n}{s}", "ScalarList", XS, YS, ZS, LIST) for n in ("addcmul", "addcdiv") for s in ("", "_")], *[exact(f"_foreach_{n}{s}", "Scalar", XS, YS, ZS, 0.5) for n in ("addcmul", "addcdiv") for s in ("", "_")],
    *[exact(f"_foreach_lerp{s}", "List", XS, YS, ZS) for s in ("", "_")], *[exact(f"_foreach_lerp{s}", "ScalarList", XS, YS, LIST) for s in ("", "_")], exact("_foreach_powsum", "Scalar", XS, 2.0),
    call("_foreach_mm", [t(2, 3)], [t(3, 4)]), exact("_foreach_add", "Scalar", [N, boo(4)], 0.5), exact("_foreach_div", "Scalar", [N, i32(4)], 2), exact("_foreach_add", "List", [N, sl(t(4, 6), 1, 0, 3)], [X, t(4, 3)]),
]  # fmt: skip
