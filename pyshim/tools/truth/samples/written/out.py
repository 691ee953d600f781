"""Overloads that write into tensors that are given: of the right sizes, of others, empty, of
another dtype, of other strides."""

from ..spec import bad, boo, call, cl, exact, f16, f64, i64, t, tr

X, Y, N = t(2, 3), t(2, 3), i64(2, 3)

UNARY = (
    "abs neg ceil floor trunc sign exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos "
    "atan sinh cosh tanh sigmoid "
    "erf erfc erfinv lgamma digamma silu mish hardsigmoid hardswish frac"
).split()
BINARY = "add sub mul div maximum minimum fmax fmin atan2".split()
COMPARE = "eq ne lt le gt ge".split()
LOGIC = "and or xor".split()

CALLS = [
    *[exact(n, "out", X, out=t(2, 3)) for n in UNARY],
    *[exact(n, "out", X, Y, out=t(2, 3)) for n in BINARY],
    *[exact(n, "Tensor_out", X, Y, out=t(2, 3)) for n in ("remainder", "fmod")],
    *[exact(n, o, X, y, out=boo(2, 3)) for n in COMPARE for o, y in (("Tensor_out", Y), ("Scalar_out", 0.5))],
    *[exact(f"logical_{n}", "out", X, Y, out=boo(2, 3)) for n in LOGIC],
    *[exact(f"bitwise_{n}", "Tensor_out", N, i64(2, 3), out=i64(2, 3)) for n in LOGIC],
    exact("logical_not", "out", X, out=boo(2, 3)), exact("bitwise_not", "out", N, out=i64(2, 3)), exact("round", "out", X, out=t(2, 3)),
    exact("div", "out_mode", X, Y, rounding_mode="floor", out=t(2, 3)),
    exact("pow", "Tensor_Tensor_out", X, Y, out=t(2, 3)), exact("pow", "Tensor_Scalar_out", X, 2, out=t(2, 3)), exact("pow", "Scalar_out", 2, X, out=t(2, 3)),
    exact("clamp", "out", X, 0, 1, out=t(2, 3)), exact("clamp", "Tensor_out", X, Y, None, out=t(2, 3)), exact("clamp_min", "out", X, 0, out=t(2, 3)),
    exact("clamp_max", "out", X, 0, out=t(2, 3)), exact("elu", "out", X, out=t(2, 3)), exact("hardtanh", "out", X, out=t(2, 3)),
    exact("leaky_relu", "out", X, out=t(2, 3)), exact("softplus", "out", X, out=t(2, 3)), exact("threshold", "out", X, 0, 1, out=t(2, 3)),
    exact("where", "self_out", boo(2, 3), X, Y, out=t(2, 3)), exact("nan_to_num", "out", X, out=t(2, 3)),
    exact("lerp", "Scalar_out", X, Y, 0.5, out=t(2, 3)), exact("lerp", "Tensor_out", X, Y, t(2, 3), out=t(2, 3)),
    exact("addcmul", "out", X, Y, t(2, 3), out=t(2, 3)), exact("addcdiv", "out", X, Y, t(2, 3), out=t(2, 3)),
    # sizes, dtypes and strides
    exact("atan2", "out", X, Y, out=t(0)), exact("atan2", "out", X, Y, out=t(4, 4)), exact("atan2", "out", X, Y, out=f64(2, 3)),
    exact("atan2", "out", N, i64(2, 3), out=t(2, 3)), exact("atan2", "out", tr(t(3, 2)), Y, out=t(0)), exact("atan2", "out", X, t(3), out=tr(t(3, 2))),
    exact("add", "out", cl(2, 3, 4, 5), cl(2, 3, 4, 5), out=t(0)), exact("add", "out", f16(2, 3), t(3), out=f16(2, 3)), exact("exp", "out", N, out=t(0)),
    # reductions
    exact("sum", "IntList_out", X, [1], out=t(2)), exact("sum", "IntList_out", X, [1], True, out=t(0)), exact("mean", "out", X, [0], out=t(3)),
    *[exact(n, "out", X, [1], out=t(2)) for n in ("amax", "amin", "logsumexp")],
    *[exact(n, "out", X, 1, out=boo(2)) for n in ("any", "all")],
    *[exact(n, "out", X, 1, out=i64(2)) for n in ("argmax", "argmin")],
    exact("prod", "int_out", X, 1, out=t(2)), *[exact(n, "out", X, 1, out=t(2, 3)) for n in ("cumsum", "cumprod")],
    exact("max", "dim_max", X, 1, max=t(2), max_values=i64(2)), exact("max", "dim_max", X, 1, max=t(0), max_values=i64(0)),
    exact("min", "dim_min", X, 1, min=t(2), min_indices=i64(2)),
    *[exact(n, "dim_values", X, 1, values=t(2), indices=i64(2)) for n in ("median", "nanmedian")], exact("mode", "values", X, 1, values=t(2), indices=i64(2)),
    # the rest
    exact("sort", "values", X, values=t(2, 3), indices=i64(2, 3)), exact("sort", "values_stable", X, stable=True, values=t(0), indices=i64(0)),
    exact("topk", "values", X, 2, values=t(2, 2), indices=i64(2, 2)), exact("kthvalue", "values", X, 2, values=t(2), indices=i64(2)),
    exact("cat", "out", [X, Y], 1, out=t(2, 6)), exact("cat", "out", [X, Y], out=t(0)), exact("index_select", "out", X, 1, i64(2), out=t(2, 2)),
    exact("gather", "out", X, 1, i64(2, 2), out=t(2, 2)), exact("tril", "out", X, out=t(2, 3)), exact("triu", "out", X, out=t(0)),
    bad("atan2", X, Y, out=i64(2, 3)), bad("add", X, t(2, 4), out=t(2, 3)), call("mul", X, Y, out=t(2, 3)),
]  # fmt: skip
