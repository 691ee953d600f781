"""Statistics, transforms and copies that only a device distinguishes, of operands in several layouts."""

from __future__ import annotations

from .lines import Lines, f, last, of


def lines() -> list[dict]:
    """All of them, in order."""
    c = Lines()
    statistics(c)
    ranks(c)
    losses(c)
    patches(c)
    scatters(c)
    transforms(c)
    return c.all


def statistics(c: Lines) -> None:
    """Order statistics of rows, covariances and histograms."""
    wide, turned = f(64, 10), f(64, 10, strides=[1, 64])
    for name in ("quantile", "nanquantile"):
        for x in (wide, turned, f(640), f(4, 6, 10)):
            for dim in (None, 0, -1):
                c.call(f"aten::{name}", x, f(3), dim)
                c.call(f"aten::{name}.scalar", x, 0.5, dim)
        c.call(f"aten::{name}.scalar", wide, 0.5, 1, True)
        for how in ("lower", "midpoint", "nearest"):
            c.call(f"aten::{name}", wide, f(3), 1, interpolation=how)
            c.call(f"aten::{name}.scalar", wide, 0.5, 1, interpolation=how)
    for x in (wide, turned, f(100), f(1, 100), of("h", 64, 10), of("i", 64, 10), of("c", 64, 10)):
        c.call("aten::cov", x)
        c.call("aten::cov", x, correction=0)
        c.call("aten::corrcoef", x)
    for x in (f(1000), wide, turned, f(4), of("d", 1000)):
        c.call("aten::histc", x, 100, 0, 1)
        c.call("aten::histc", x, 100, 0, 0)
        c.call("aten::histc", x, 1 << 16, 0, 1)


def ranks(c: Lines) -> None:
    """Ranks and places along a dimension."""
    for x in (f(64, 10), f(64, 10, strides=[1, 64]), f(4, 6, 1000), f(4, 6, 1000, strides=[1, 4, 24]), f(5000)):
        for name in ("median", "nanmedian"):
            c.call(f"aten::{name}", x)
            for dim in (0, -1):
                c.call(f"aten::{name}.dim", x, dim)
                c.call(f"aten::{name}.dim", x, dim, True)
        for dim in (0, -1):
            c.call("aten::kthvalue", x, 3, dim)
            c.call("aten::mode", x, dim)
            c.call("aten::cummax", x, dim)
            c.call("aten::cummin", x, dim)
            c.call("aten::_safe_softmax", x, dim)
    c.call("aten::_safe_softmax", f(), 0)
    for x in (f(1000), f(64, 10), f(64, 10, strides=[1, 64])):
        for right in (False, True):
            c.call("aten::searchsorted.Tensor", f(100), x, right=right)
            c.call("aten::bucketize.Tensor", x, f(100), right=right)
        c.call("aten::searchsorted.Tensor", f(200, strides=[2]), x)
        c.call("aten::searchsorted.Tensor", f(100), x, sorter=of("i", 100))
    c.call("aten::searchsorted.Tensor", f(64, 100), f(64, 10))
    c.call("aten::searchsorted.Tensor", f(64, 100), f(64, 10, strides=[1, 64]))
    c.call("aten::searchsorted.Tensor", f(64, 100, strides=[1, 64]), f(64, 10), sorter=of("i", 64, 100))
    c.call("aten::searchsorted.Tensor", f(100), of("h", 10))


def losses(c: Lines) -> None:
    """Losses of classes, smoothed and weighted, and norms of batches."""
    classes = of("i", 64)
    for x in (f(64, 10), f(64, 10, strides=[1, 64]), of("h", 64, 10)):
        for red in (0, 1, 2):
            for smoothing in (0.0, 0.1):
                for weight in (None, of(x.dtype, 10)):
                    c.call("aten::cross_entropy_loss", x, classes, weight, red, -100, smoothing)
                    c.call("aten::cross_entropy_loss", x, of(x.dtype, 64, 10), weight, red, -100, smoothing)
    for x in (f(4, 10, 8, 8), last("f", 4, 10, 8, 8), f(4, 10, 8, 8, strides=[640, 1, 80, 10])):
        for red in (0, 1, 2):
            for target in (of("i", 4, 8, 8), of("i", 4, 8, 8, strides=[64, 1, 8])):
                c.call("aten::nll_loss2d", x, target, f(10), red)
                c.call("aten::cross_entropy_loss", x, target, None, red, -100, 0.1)
    for x in (f(8, 6, 5, 5), last("f", 8, 6, 5, 5), f(8, 6, 5, 5, strides=[150, 1, 6, 30])):
        for training in (False, True):
            for weight, bias in ((f(6), f(6)), (None, None), (f(6), None)):
                c.call("aten::native_batch_norm", x, weight, bias, f(6), f(6), training, 0.1, 1e-5)


def patches(c: Lines) -> None:
    """Windows as columns, and pools of three dimensions."""
    x, one, two, none = f(3, 8, 16, 16), [1, 1], [2, 2], [0, 0]
    turned = f(3, 8, 16, 16, strides=[2048, 256, 1, 16])
    for y in (x, turned, last("f", 3, 8, 16, 16), f(8, 16, 16), f(1, 8, 16, 16)):
        c.call("aten::im2col", y, [3, 3], one, none, one)
        c.call("aten::im2col", y, [1, 1], one, none, two)
    for y in (f(3, 72, 196), f(3, 72, 196, strides=[14112, 1, 72]), f(72, 196)):
        c.call("aten::col2im", y, [16, 16], [3, 3], one, none, one)
    for y in (x, turned, last("f", 3, 8, 16, 16), of("h", 3, 8, 16, 16)):
        for bias in (None, of(y.dtype, 12)):
            c.call("aten::slow_conv_transpose2d", y, of(y.dtype, 8, 12, 3, 3), [3, 3], bias, two, one, one, one)
    for d in "fh":
        for sizes in ((20, 4, 8), (1, 4, 8)):
            c.call("aten::conv_tbc", of(d, *sizes), of(d, 3, sizes[2], 6), of(d, 6), 1)
    for z in (f(2, 8, 6, 6, 6), f(2, 8, 6, 6, 6, strides=[1728, 216, 1, 6, 36]), last("f", 2, 8, 6, 6, 6)):
        for size in ([1, 1, 1], [2, 3, 4]):
            c.call("aten::_adaptive_avg_pool3d", z, size)
            c.call("aten::adaptive_avg_pool3d", z, size)
            c.call("aten::adaptive_max_pool3d", z, size)


def scatters(c: Lines) -> None:
    """Copies that something is written into."""
    for x in (f(64, 10), f(64, 10, strides=[1, 64]), f(64, 10, strides=[20, 2]), f(64, 10, strides=[0, 1])):
        c.call("aten::roll", x, [3], [0])
        c.call("aten::roll", x, [3, 2], [0, 1])
        c.call("aten::roll", x, [3])
        c.call("aten::roll", x, [0], [0])
        c.call("aten::select_scatter", x, f(10), 0, 3)
        c.call("aten::slice_scatter", x, f(8, 10), 0, 4, 12)
        c.call("aten::diagonal_scatter", x, f(10))


def transforms(c: Lines) -> None:
    """Fourier transforms over every dimension, cut and padded."""
    for d in "fc":
        for x in (of(d, 8, 16, 32), of(d, 8, 16, 32, strides=[1, 256, 8]), of(d, 8, 16, 32, strides=[512, 1, 16])):
            for dim in (-1, 1, 0):
                for n in (None, 8, 64):
                    c.call("aten::fft_fft", x, n, dim)
                    if d == "f":
                        c.call("aten::fft_rfft", x, n, dim)
                    c.call("aten::fft_irfft", x, n, dim)
            for dims in (None, [0, 1], [1, 2], [2, 0]):
                c.call("aten::fft_fftn", x, None, dims)
                c.call("aten::fft_ifftn", x, None, dims)
                if d == "f":
                    c.call("aten::fft_rfftn", x, None, dims)
                c.call("aten::fft_irfftn", x, None, dims)
    for x in (f(2, 64), f(64)):
        for window in (None, f(16)):
            for onesided in (None, False):
                c.call("aten::stft", x, 16, 4, None, window, False, onesided, True)
                c.call("aten::stft", x, 16, 4, None, window, True, onesided, True)
