"""Lists of tensors at once, as optimizers do."""

from ..spec import bad, call, exact, f16, t, tr

XS, YS, ZS = [t(2, 3), t(4), t()], [t(2, 3), t(4), t()], [t(2, 3), t(4), t()]

CALLS = [
    *[call(n, XS, YS) for n in ("_foreach_add", "_foreach_mul", "_foreach_div", "_foreach_sub", "_foreach_maximum")],
    *[call(n, XS, 0.5) for n in ("_foreach_add", "_foreach_mul", "_foreach_div", "_foreach_sub", "_foreach_pow")],
    *[call(n, XS, 0.5) for n in ("_foreach_add_", "_foreach_mul_", "_foreach_div_")],
    *[call(n, XS, YS) for n in ("_foreach_add_", "_foreach_mul_", "_foreach_div_", "_foreach_copy_")],
    *[
        call(n, XS)
        for n in (
            "_foreach_sqrt",
            "_foreach_neg",
            "_foreach_abs",
            "_foreach_reciprocal",
            "_foreach_zero_",
            "_foreach_sqrt_",
        )
    ],
    call("_foreach_add", XS, YS, alpha=-1),
    exact("_foreach_mul", "ScalarList", XS, [0.5, 1.0, 2.0]),
    call("_foreach_mul", XS, t()),
    call("_foreach_addcmul", XS, YS, ZS, 0.5),
    call("_foreach_addcdiv", XS, YS, ZS, 0.5),
    exact("_foreach_addcdiv_", "ScalarList", XS, YS, ZS, [0.5, 1.0, 2.0]),
    call("_foreach_addcmul_", XS, YS, ZS, 0.5),
    call("_foreach_lerp_", XS, YS, 0.1),
    call("_foreach_lerp", XS, YS, 0.1),
    call("_foreach_norm", XS),
    call("_foreach_norm", [f16(2, 3), f16(4)], 2),
    call("_foreach_max", [t(2, 3), t(4)]),
    call("_foreach_clamp_max_", XS, 1.0),
    call("_foreach_add", [tr(t(2, 3))], [t(3, 2)]),
    call("_foreach_add", [f16(2, 3)], [t(2, 3)]),
    bad("_foreach_add", [t(2, 3)], [t(2, 3), t(2)]),
]
