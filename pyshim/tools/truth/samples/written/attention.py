"""Attention."""

from ..spec import bad, bf16, boo, call, ex, f16, perm, sl, t, tr

QKV = t(2, 6, 48)


def heads(x, start):
    """q, k or v of a packed projection, as transformers cut it: [B,L,3D] to [B,H,L,d]."""
    b, length, width = x.sizes
    d = width // 3
    cut = sl(x, 2, start * d, start * d + d)
    h, each = 4, d // 4
    view = type(cut)(cut.dtype, (b, length, h, each), (cut.strides[0], cut.strides[1], each, 1), cut.offset, cut.store)
    return tr(view, 1, 2)


WEIGHTS = [t(24, 8), t(24), t(8, 8), t(8)]

CALLS = [
    call("scaled_dot_product_attention", t(2, 4, 6, 8), t(2, 4, 6, 8), t(2, 4, 6, 8)),
    call("scaled_dot_product_attention", t(2, 4, 6, 8), t(2, 4, 6, 8), t(2, 4, 6, 8), None, 0.0, True),
    call("scaled_dot_product_attention", t(2, 4, 6, 8), t(2, 4, 10, 8), t(2, 4, 10, 8), t(2, 1, 6, 10)),
    call("scaled_dot_product_attention", t(2, 4, 6, 8), t(2, 4, 10, 8), t(2, 4, 10, 8), boo(6, 10)),
    call("scaled_dot_product_attention", t(2, 4, 6, 8), t(2, 4, 6, 8), t(2, 4, 6, 8), None, 0.1),
    call("scaled_dot_product_attention", t(2, 4, 6, 8), t(2, 4, 6, 8), t(2, 4, 6, 8), scale=0.5),
    call("scaled_dot_product_attention", t(2, 8, 6, 8), t(2, 2, 6, 8), t(2, 2, 6, 8), enable_gqa=True),
    call("scaled_dot_product_attention", f16(2, 4, 6, 8), f16(2, 4, 6, 8), f16(2, 4, 6, 8)),
    call("scaled_dot_product_attention", f16(2, 4, 6, 8), f16(2, 4, 6, 8), f16(2, 4, 6, 8), None, 0.0, True),
    call("scaled_dot_product_attention", f16(2, 4, 6, 8), f16(2, 4, 6, 8), f16(2, 4, 6, 8), boo(2, 1, 6, 6)),
    call("scaled_dot_product_attention", f16(2, 4, 6, 8), f16(2, 4, 6, 8), f16(2, 4, 6, 8), f16(1, 1, 6, 6)),
    call("scaled_dot_product_attention", bf16(2, 4, 6, 8), bf16(2, 4, 6, 8), bf16(2, 4, 6, 8)),
    call("scaled_dot_product_attention", tr(t(2, 6, 4, 8), 1, 2), tr(t(2, 6, 4, 8), 1, 2), tr(t(2, 6, 4, 8), 1, 2)),
    call("scaled_dot_product_attention", heads(QKV, 0), heads(QKV, 1), heads(QKV, 2)),
    call("scaled_dot_product_attention", t(2, 6, 8), t(2, 10, 8), t(2, 10, 8)),
    call("scaled_dot_product_attention", t(2, 4, 6, 8), t(2, 4, 6, 8), t(2, 4, 6, 12)),
    call("scaled_dot_product_attention", t(1, 4, 1, 8), t(1, 4, 7, 8), t(1, 4, 7, 8), ex(t(1, 1, 1, 7), 1, 4, 1, 7)),
    bad("scaled_dot_product_attention", t(2, 4, 6, 8), t(2, 4, 6, 7), t(2, 4, 6, 8)),
    bad("scaled_dot_product_attention", t(2, 4, 6, 8), t(2, 4, 6, 8), t(2, 4, 6, 8), t(6, 6), 0.0, True),
    bad("scaled_dot_product_attention", f16(2, 4, 6, 8), t(2, 4, 6, 8), t(2, 4, 6, 8)),
    call("_scaled_dot_product_attention_math", t(2, 4, 6, 8), t(2, 4, 6, 8), t(2, 4, 6, 8)),
    call("_scaled_dot_product_flash_attention", f16(2, 4, 6, 8), f16(2, 4, 6, 8), f16(2, 4, 6, 8)),
    call(
        "_scaled_dot_product_flash_attention",
        tr(f16(2, 6, 4, 64), 1, 2),
        tr(f16(2, 9, 4, 64), 1, 2),
        tr(f16(2, 9, 4, 64), 1, 2),
    ),
    call("_scaled_dot_product_efficient_attention", t(2, 4, 6, 8), t(2, 4, 6, 8), t(2, 4, 6, 8), None, False),
    call("_scaled_dot_product_efficient_attention", t(2, 4, 6, 8), t(2, 4, 6, 8), t(2, 4, 6, 8), None, True),
    call("_scaled_dot_product_cudnn_attention", f16(2, 4, 6, 8), f16(2, 4, 6, 8), f16(2, 4, 6, 8), None, False),
    call("_native_multi_head_attention", *[t(2, 5, 8)] * 3, 8, 2, *WEIGHTS),
    call("_native_multi_head_attention", *[t(2, 5, 8)] * 3, 8, 2, *WEIGHTS, None, False, False, None),
    call("_native_multi_head_attention", *[t(2, 5, 8)] * 3, 8, 2, *WEIGHTS, None, True, True, None),
    call("_native_multi_head_attention", *[t(2, 5, 8)] * 3, 8, 2, *WEIGHTS, boo(2, 5), False, True, 1),
    call(
        "_native_multi_head_attention",
        *[f16(2, 5, 64)] * 3,
        64,
        2,
        f16(192, 64),
        f16(192),
        f16(64, 64),
        f16(64),
        None,
        False,
        True,
        None,
    ),
    call(
        "_transformer_encoder_layer_fwd",
        t(2, 5, 8),
        8,
        2,
        *WEIGHTS,
        True,
        False,
        1e-05,
        t(8),
        t(8),
        t(8),
        t(8),
        t(16, 8),
        t(16),
        t(8, 16),
        t(8),
    ),  # fmt: skip
    call("scaled_dot_product_attention", perm(t(6, 2, 4, 8), 1, 2, 0, 3), t(2, 4, 6, 8), t(2, 4, 6, 8)),
]
