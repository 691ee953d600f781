"""Calls of layers that only a device distinguishes: each kernel of convolutions and their
gradients, every reduction of losses, and what norms, resizing, pooling and padding copy."""

from __future__ import annotations

from .lines import Lines, Tensor, f, last, last_strides, of


def lines() -> list[dict]:
    """All of them, in order."""
    c = Lines()
    kernels_by_name(c)
    gradients_of_convolutions(c)
    losses(c)
    norms(c)
    resized(c)
    return c.all


def kernels_by_name(c: Lines) -> None:
    """Convolutions that name their kernel, and the flags of those that name cuDNN's."""
    x, w = f(3, 8, 16, 16), f(12, 8, 3, 3)
    turned = f(3, 8, 16, 16, strides=[2048, 256, 1, 16])
    two, one, none = [2, 2], [1, 1], [0, 0]
    for y in (x, turned, last("f", 3, 8, 16, 16), f(1, 8, 16, 16), of("h", 3, 8, 16, 16)):
        d = y.dtype
        for k in (3, 1):
            for bias in (None, of(d, 12)):
                c.call("aten::_slow_conv2d_forward", y, of(d, 12, 8, k, k), [k, k], bias, one, none)
            c.call("aten::thnn_conv2d", y, of(d, 12, 8, k, k), [k, k], of(d, 12), two, one)
        c.call("aten::slow_conv_dilated2d", y, of(d, 12, 8, 3, 3), [3, 3], of(d, 12), one, none, two)
        if y.strides:
            continue
        c.call("aten::slow_conv_transpose2d", y, of(d, 8, 12, 3, 3), [3, 3], of(d, 12), two, one, one, one)
        c.call("aten::_conv_depthwise2d", y, of(d, 8, 1, 3, 3), [3, 3], of(d, 8), one, none, one)
        c.call("aten::cudnn_convolution_relu", y, of(d, 12, 8, 3, 3), of(d, 12), one, one, one, 1)
        c.call("aten::cudnn_convolution_relu", y, of(d, 12, 4, 3, 3), of(d, 12), two, none, one, 2)
    c.call("aten::cudnn_convolution_add_relu", x, w, f(3, 12, 16, 16), 1.0, None, one, one, one, 1)
    z = f(2, 8, 6, 6, 6)
    c.call("aten::slow_conv_dilated3d", z, f(12, 8, 3, 3, 3), [3] * 3, f(12), [1] * 3, [0] * 3, [2] * 3)
    c.call("aten::slow_conv_transpose3d", z, f(8, 12, 3, 3, 3), [3] * 3, None, [2] * 3, [1] * 3, [1] * 3, [1] * 3)
    c.call("aten::conv_depthwise3d", z, f(8, 1, 3, 3, 3), [3] * 3, f(8), [1] * 3, [0] * 3, [1] * 3)
    for deterministic in (False, True):
        for tf32 in (False, True):
            c.call("aten::cudnn_convolution", x, w, one, two, one, 1, False, deterministic, tf32)
            c.call(
                "aten::cudnn_convolution_transpose",
                x,
                f(8, 12, 3, 3),
                one,
                one,
                two,
                one,
                1,
                False,
                deterministic,
                tf32,
            )
    for d in "fh":
        c.call("aten::conv_tbc", of(d, 20, 4, 8), of(d, 3, 8, 6), of(d, 6), 1)
    c.call("aten::im2col", x, [3, 3], one, none, one)
    c.call("aten::im2col", f(8, 16, 16), [2, 2], one, none, two)


def gradients_of_convolutions(c: Lines) -> None:
    """Each gradient alone and all of them, by each kernel, of operands in several layouts."""
    masks = ([True, True, True], [True, False, False], [False, True, False], [False, False, True])
    for mask in masks:
        for x, w, g, groups, transposed in (
            (f(2, 8, 6, 6, 6), f(8, 1, 3, 3, 3), f(2, 8, 6, 6, 6), 8, False),
            (f(2, 8, 6, 6), f(8, 1, 3, 3), f(2, 8, 6, 6), 8, False),
            (f(2, 8, 6), f(8, 1, 3), f(2, 8, 6), 8, False),
            (last("f", 2, 8, 6, 6), last("f", 8, 1, 3, 3), f(2, 8, 6, 6), 8, False),
            (f(2, 8, 6, 6, strides=[288, 36, 1, 6]), f(12, 8, 3, 3), f(2, 12, 6, 6), 1, False),
            (f(2, 8, 6, 6), f(12, 8, 3, 3), last("f", 2, 12, 6, 6), 1, False),
            (last("f", 2, 8, 6, 6), f(12, 8, 3, 3), last("f", 2, 12, 6, 6), 1, False),
            (f(2, 8, 6), f(12, 8, 3), f(2, 12, 6), 1, False),
            (f(2, 8, 6, strides=[48, 1, 8]), f(12, 8, 3), f(2, 12, 6), 1, False),
            (f(2, 8, 6, 6), f(8, 12, 3, 3), f(2, 12, 6, 6), 1, True),
            (f(2, 8, 6), f(8, 6, 3), f(2, 12, 6), 2, True),
            (f(0, 8, 6, 6), f(12, 8, 3, 3), f(0, 12, 6, 6), 1, False),
        ):
            n = len(x.sizes) - 2
            out = w.sizes[1] * groups if transposed else w.sizes[0]
            c.call(
                "aten::convolution_backward",
                g,
                x,
                w,
                [out],
                [1] * n,
                [1] * n,
                [1] * n,
                transposed,
                [0] * n,
                groups,
                mask,
            )


def losses(c: Lines) -> None:
    """Losses and what their kernels copy, for every reduction."""
    turned = f(64, 10, strides=[1, 64])
    for red in (0, 1, 2):
        for x in (f(64, 10), turned, of("h", 64, 10), f(0, 10)):
            y, n = of(x.dtype, *x.sizes), x.sizes[0]
            for name in ("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss", "soft_margin_loss"):
                c.call(f"aten::{name}", x, y, red)
            c.call("aten::binary_cross_entropy", x, y, None, red)
            c.call("aten::binary_cross_entropy", x, y, of(x.dtype, 10), red)
            c.call("aten::binary_cross_entropy_with_logits", x, y, None, None, red)
            c.call("aten::binary_cross_entropy_with_logits", x, y, of(x.dtype, 10), of(x.dtype, 10), red)
            c.call("aten::kl_div", x, y, red)
            c.call("aten::kl_div", x, y, red, log_target=True)
            c.call("aten::poisson_nll_loss", x, y, True, True, 1e-8, red)
            c.call("aten::poisson_nll_loss", x, y, False, False, 1e-8, red)
            c.call("aten::hinge_embedding_loss", x, y, 1.0, red)
            c.call("aten::margin_ranking_loss", x, y, y, 0.0, red)
            c.call("aten::cosine_embedding_loss", x, y, of(x.dtype, n), 0.0, red)
            c.call("aten::triplet_margin_loss", x, y, y, 1.0, 2.0, 1e-6, True, red)
            c.call("aten::triplet_margin_loss", x, y, y, 1.0, 2.0, 1e-6, False, red)
            at = of("i", n)
            c.call("aten::multi_margin_loss", x, at, 1, 1.0, None, red)
            c.call("aten::multi_margin_loss", x, at, 1, 1.0, of(x.dtype, 10), red)
            c.call("aten::nll_loss_nd", x, at, None, red, -100)
            if not n:
                continue
            if x is not turned:
                c.call("aten::multilabel_margin_loss", x, of("i", n, 10), red)
            if red:
                c.call("aten::cross_entropy_loss", x, at, None, red, -100, 0.1)
            c.call("aten::cross_entropy_loss", x, y, of(x.dtype, 10), red, -100, 0.1)
            c.call("aten::cross_entropy_loss", x, y, None, red, -100, 0.0)
        image, places = f(2, 10, 6, 7), of("i", 2, 6, 7)
        c.call("aten::cross_entropy_loss", image, places, None, red, -100, 0.0)
        c.call("aten::cross_entropy_loss", last("f", 2, 10, 6, 7), places, f(10), red, -100, 0.0)
        c.call("aten::cross_entropy_loss", f(2, 10, 7), of("i", 2, 7), None, red, -100, 0.0)
        c.call("aten::cross_entropy_loss", f(2, 10, 7), of("i", 2, 7, strides=[1, 2]), None, red, -100, 0.0)
        c.call("aten::cross_entropy_loss", f(10), Tensor("i", ()), None, red, -100, 0.0)
        c.call("aten::cross_entropy_loss", f(10), f(10), None, red, -100, 0.0)
        c.call("aten::nll_loss2d", image, places, f(10), red, -100)
        c.call("aten::multi_margin_loss", f(10), of("i", 1), 1, 1.0, None, red)
        c.call("aten::multilabel_margin_loss", f(10), of("i", 10), red)


def norms(c: Lines) -> None:
    """Norms and softmaxes of other layouts, dtypes and sizes, some of their weights there."""
    turned = f(4, 8, 6, 6, strides=[288, 36, 1, 6])
    for x in (
        f(4, 8, 6, 6),
        last("f", 4, 8, 6, 6),
        turned,
        of("h", 4, 8, 6, 6),
        of("b", 4, 8, 6, 6),
        f(0, 8, 6, 6),
    ):
        d = x.dtype
        for w, bias in ((None, None), (of(d, 8), of(d, 8)), (of(d, 8), None)):
            for training in (False, True) if x is not turned or bias else ():
                c.call("aten::_batch_norm_impl_index", x, w, bias, f(8), f(8), training, 0.1, 1e-5, True)
            if not x.sizes[0]:
                continue
            c.call("aten::instance_norm", x, w, bias, None, None, True, 0.1, 1e-5, True)
            c.call("aten::group_norm", x, 4, w, bias)
        c.call("aten::_batch_norm_impl_index", x, f(8), f(8), None, None, True, 0.1, 1e-5, True)
        c.call("aten::_batch_norm_impl_index", x, f(8), f(8), f(8), f(8), True, 0.1, 1e-5, True)
        if not x.sizes[0]:
            continue
        c.call("aten::layer_norm", x, [6, 6], of(d, 6, 6), of(d, 6, 6))
        c.call("aten::layer_norm", x, [6], None, of(d, 6, strides=[2]))
        for w in (None, of(d, 6), f(6), of("d", 6)):
            c.call("aten::rms_norm", x, [6], w)
        c.call("aten::rms_norm", x, [6, 6], None, 1e-5)
        for dim in (0, 1, 3):
            c.call("aten::_weight_norm", x, of(d, *[n if i == dim else 1 for i, n in enumerate(x.sizes)]), dim)
            c.call("aten::norm_except_dim", x, 2, dim)
            c.call("aten::softmax.int", x, dim)
            if not x.strides:
                c.call("aten::_safe_softmax", x, dim)
        c.call("aten::norm_except_dim", x, 2, -1)
    c.call("aten::instance_norm", f(4, 8, 6), f(8), f(8), f(8), f(8), False, 0.1, 1e-5, True)
    c.call("aten::instance_norm", f(4, 8, 6, strides=[48, 1, 8]), None, None, f(8), f(8), True, 0.1, 1e-5, True)


def resized(c: Lines) -> None:
    """Resizing, pooling and padding of few and many channels, in each layout."""
    for ch in (3, 16):
        for x in (last("f", 2, ch, 8, 8), f(2, ch, 8, 8, strides=[64 * ch, 64, 1, 8])):
            for name in ("upsample_nearest2d", "_upsample_nearest_exact2d"):
                c.call(f"aten::{name}", x, [12, 5])
            for name in (
                "upsample_bilinear2d",
                "upsample_bicubic2d",
                "_upsample_bilinear2d_aa",
                "_upsample_bicubic2d_aa",
            ):
                c.call(f"aten::{name}", x, [12, 5], False)
            c.call("aten::adaptive_avg_pool2d", x, [1, 1])
            c.call("aten::adaptive_avg_pool2d", x, [3, 2])
            c.call("aten::adaptive_max_pool2d", x, [3, 2])
            c.call("aten::max_pool2d", x, [3, 3], [2, 2], [1, 1])
            c.call("aten::max_pool1d", f(2, ch, 8), [2])
            c.call("aten::avg_pool1d", f(2, ch, 8, strides=[8 * ch, 1, ch]), [2])
            for mode in ("reflect", "replicate", "circular", "constant"):
                c.call("aten::pad", x, [1, 2, 0, 1], mode)
            c.call("aten::constant_pad_nd", x, [-1, -2, 0, 0])
            c.call("aten::pixel_shuffle", x, 1)
            c.call("aten::pixel_unshuffle", x, 2)
            c.call("aten::grid_sampler", x, f(2, 5, 6, 2), 0, 0, False)
    for x in (
        f(2, 3, 4, 4, 4),
        Tensor("f", (2, 3, 4, 4, 4), last_strides([2, 3, 4, 4, 4])),
        f(2, 3, 4, 4, 4, strides=[192, 64, 16, 1, 4]),
    ):
        c.call("aten::upsample_nearest3d", x, [5, 6, 7])
        c.call("aten::upsample_trilinear3d", x, [5, 6, 7], True)
        c.call("aten::adaptive_avg_pool3d", x, [1, 1, 1])
        if not x.strides:
            c.call("aten::adaptive_avg_pool3d", x, [2, 1, 3])
            c.call("aten::adaptive_max_pool3d", x, [2, 1, 3])
        c.call("aten::max_pool3d", x, [2, 2, 2])
        c.call("aten::pad", x, [1, 1, 1, 1, 1, 1], "reflect")
        c.call("aten::pad", x, [1, 1, 1, 1, 1, 1], "replicate")
        c.call("aten::grid_sampler", x, f(2, 3, 4, 5, 3), 0, 0, False)
    c.call("aten::upsample_nearest1d", f(2, 3, 8, strides=[24, 1, 3]), [12])
    c.call("aten::upsample_linear1d", f(2, 3, 8, strides=[24, 1, 3]), [12], False)
    c.call("aten::replication_pad1d", f(2, 3, 8, strides=[24, 1, 3]), [1, 1])
    c.call("aten::reflection_pad1d", f(2, 3, 8, strides=[24, 1, 3]), [1, 1])
    c.call("aten::pdist", f(5, 3, strides=[1, 5]), 2.0)
    c.call("aten::pairwise_distance", f(5, 3), f(3), 2.0, 1e-6, True)
    c.call("aten::cosine_similarity", f(5, 3), f(3), 1)
    c.call("aten::cosine_similarity", f(5, 3), of("i", 5, 3), 1)
    c.call("aten::cosine_similarity", of("h", 5, 3), of("h", 5, 3), 0)
