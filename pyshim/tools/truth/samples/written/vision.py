"""Resizing, sampling, shuffling of pixels, torchvision's operators."""

from ..spec import bad, call, cl, f16, i64, t, tr


def resize(name, *flags):
    return [
        call(name, t(2, 3, 4, 6), [8, 12], *flags, None),
        call(name, t(2, 3, 4, 6), None, *flags, [2.0, 2.0]),
        call(name, t(2, 3, 5, 7), None, *flags, [0.5, 1.5]),
        call(name, t(2, 3, 4, 6), [8, 12], *flags),
        call(name, cl(2, 3, 4, 6), [8, 12], *flags, None),
        call(name, cl(2, 8, 4, 6), [8, 12], *flags, None),
        call(name, tr(t(2, 3, 6, 4)), [8, 12], *flags, None),
        call(name, f16(2, 3, 4, 6), [3, 3], *flags, None),
    ]


CALLS = [
    bad("upsample_nearest2d", t(2, 3, 4), [8, 12], None),
    *resize("upsample_nearest2d"),
    *resize("_upsample_nearest_exact2d"),
    *resize("upsample_bilinear2d", False),
    *resize("upsample_bicubic2d", True),
    *resize("_upsample_bilinear2d_aa", False),
    call("upsample_nearest1d", t(2, 3, 8), [16], None),
    call("upsample_nearest1d", t(2, 3, 8), None, [2.0]),
    call("upsample_linear1d", t(2, 3, 8), [16], False, None),
    call("upsample_nearest3d", t(1, 3, 4, 4, 4), [8, 8, 8], None),
    call("upsample_trilinear3d", t(1, 3, 4, 4, 4), None, False, [2.0, 2.0, 2.0]),
    call("grid_sampler", t(2, 3, 4, 4), t(2, 5, 6, 2), 0, 0, False),
    call("grid_sampler", cl(2, 3, 4, 4), t(2, 5, 6, 2), 1, 1, True),
    call("grid_sampler_2d", t(2, 3, 4, 4), t(2, 5, 6, 2), 0, 0, False),
    call("grid_sampler_3d", t(1, 3, 4, 4, 4), t(1, 2, 5, 6, 3), 0, 0, False),
    call("affine_grid_generator", t(2, 2, 3), [2, 3, 4, 5], False),
    call("affine_grid_generator", t(2, 3, 4), [2, 3, 4, 5, 6], True),
    call("pixel_shuffle", t(2, 12, 4, 4), 2),
    call("pixel_shuffle", cl(2, 12, 4, 4), 2),
    bad("pixel_shuffle", t(2, 10, 4, 4), 2),
    call("pixel_unshuffle", t(2, 3, 4, 4), 2),
    call("channel_shuffle", t(2, 8, 4, 4), 2),
    call("channel_shuffle", cl(2, 8, 4, 4), 2),
    call("native_channel_shuffle", t(2, 8, 4, 4), 2),
    call("torchvision::roi_align", t(1, 4, 16, 16), t(5, 5), 0.25, 7, 7, 2, False),
    call("torchvision::roi_align", f16(1, 4, 16, 16), f16(5, 5), 0.25, 3, 3, -1, True),
    call("torchvision::roi_pool", t(1, 4, 16, 16), t(5, 5), 0.25, 7, 7),
    call("torchvision::ps_roi_align", t(1, 49, 16, 16), t(5, 5), 0.25, 7, 7, 2),
    call("torchvision::ps_roi_pool", t(1, 49, 16, 16), t(5, 5), 0.25, 7, 7),
    call(
        "torchvision::deform_conv2d",
        t(1, 4, 8, 8),
        t(6, 4, 3, 3),
        t(1, 18, 8, 8),
        t(1, 9, 8, 8),
        t(6),
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        True,
    ),
    bad("upsample_nearest2d", t(2, 3, 4, 4), [8, 8], [2.0, 2.0]),
    call("native_channel_shuffle", i64(2, 8, 4, 4), 4),
]
