"""Calls that only a device distinguishes: large reductions and sorts, layouts that libraries copy,
kernels that are chosen by size. Nothing runs, so sizes are as large as they need to be. A line is
that of testdata/aten/README.md."""

from __future__ import annotations

from typing import Any

from . import families_on_devices, layers_on_devices, statistics_on_devices, turned_on_devices
from .lines import Lines, Tensor, f, last, last_strides, of


def lines() -> list[dict]:
    """All of them, in order: names count from 1."""
    c = Lines()
    products(c)
    reductions(c)
    sorts(c)
    convolutions(c)
    attention(c)
    operands(c)
    products_of_patches(c)
    windows(c)
    groups(c)
    out = c.all + layers_on_devices.lines() + families_on_devices.lines()
    for line in statistics_on_devices.lines():
        if line not in out:
            out.append(line)
    return out + turned_on_devices.lines()


def products(c: Lines) -> None:
    """Which products cublasLt takes, and which operands are copied."""
    x, w = f(64, 32), f(32, 16)
    for bias in (f(16), f(16, strides=[2]), f(1, 16), f(64, 16), f(1), f(16, strides=[0])):
        c.call("aten::addmm", bias, x, w)
    c.call("aten::addmm", f(16), x, w, beta=2)
    c.call("aten::addmm", f(16), x, w, alpha=2)
    c.call("aten::addmm", f(16), f(1, 32), w)
    c.call("aten::addmm", f(1), x, f(32, 1))
    c.call("aten::addmm", f(16), f(64, 1), f(1, 16))
    for d in "hbdc":
        c.call("aten::addmm", of(d, 16), of(d, 64, 32), of(d, 32, 16))
    for strides in ([1, 64], [64, 2], [1, 32], [33, 1], [0, 1], [1, 0], [32, 0]):
        c.call("aten::mm", f(64, 32, strides=strides), w)
        c.call("aten::mm", f(16, 64), f(64, 32, strides=strides))
    c.call("aten::mm", f(64, 1, strides=[1, 1]), f(1, 16))
    c.call("aten::mm", f(1, 32, strides=[1, 1]), w)
    for strides in ([2048, 32, 1], [2048, 1, 64], [2048, 64, 2], [0, 32, 1], [32, 128, 1], [1, 128, 4]):
        c.call("aten::bmm", f(4, 64, 32, strides=strides), f(4, 32, 16))
        c.call("aten::baddbmm", f(4, 64, 16), f(4, 64, 32, strides=strides), f(4, 32, 16))
    c.call("aten::mv", f(64, 32, strides=[1, 64]), f(32))
    c.call("aten::mv", f(64, 32, strides=[64, 2]), f(32))
    c.call("aten::mv", x, f(32, strides=[2]))
    c.call("aten::dot", f(32), f(32, strides=[2]))
    c.call("aten::_addmm_activation", f(16), x, w)
    c.call("aten::linear", f(8, 64, 32), f(16, 32), f(16))
    c.call("aten::linear", f(8, 64, 32, strides=[32, 256, 1]), f(16, 32), f(16))
    c.call("aten::linear", f(8, 64, 32), f(16, 32))
    c.call("aten::linear", f(32), f(16, 32), f(16))
    c.call("aten::linear", of("h", 8, 64, 32), of("h", 16, 32), of("h", 16))


def reductions(c: Lines) -> None:
    """Reductions whose blocks of threads meet in global memory, and those that do not."""
    for d, sizes, dims in (
        ("f", (65536, 1024), [0]),
        ("f", (2048, 4096), [0]),
        ("f", (64, 1024), [1]),
        ("f", (1 << 26,), [0]),
        ("f", (1 << 20,), [0]),
        ("f", (1000, 1000, 100), [1]),
        ("f", (1000, 1000, 100), [0, 2]),
        ("f", (32, 2048, 7, 7), [2, 3]),
        ("h", (65536, 1024), [0]),
        ("d", (65536, 1024), [0]),
        ("h", (1 << 24,), [0]),
        ("b", (4096, 4096), [0]),
        ("f", (8, 3, 512, 512), [0, 2, 3]),
        ("f", (16384, 3), [0]),
        ("f", (100000, 7), [0]),
        ("c", (65536, 512), [0]),
    ):
        x = of(d, *sizes)
        c.call("aten::sum.dim_IntList", x, dims)
        c.call("aten::mean.dim", x, dims)
        if d not in "c":
            c.call("aten::amax", x, dims)
            c.call("aten::var.correction", x, dims)
            c.call("aten::linalg_vector_norm", x, 2, dims)
        if len(dims) == 1 and d not in "c":
            c.call("aten::argmax", x, dims[0])
            c.call("aten::max.dim", x, dims[0])
            c.call("aten::logsumexp", x, dims)
            c.call("aten::prod.dim_int", x, dims[0])
    c.call("aten::sum.dim_IntList", last("f", 32, 64, 128, 128), [0, 2, 3])
    c.call("aten::mean.dim", last("f", 32, 2048, 14, 14), [2, 3])
    c.call("aten::sum.dim_IntList", f(4096, 4096, strides=[1, 4096]), [0])
    c.call("aten::sum.dim_IntList", f(4096, 4096, strides=[1, 4096]), [1])
    c.call("aten::any.dim", of("?", 65536, 1024), 0)
    c.call("aten::all", of("?", 1 << 24))
    c.call("aten::aminmax", f(65536, 1024), dim=0)
    c.call("aten::count_nonzero.dim_IntList", f(65536, 1024), [0])
    for n in (1000, 1 << 20, 1 << 24):
        c.call("aten::cumsum", f(n), 0)
        c.call("aten::cumsum", of("i", n), 0)
    c.call("aten::cumsum", f(64, 1 << 16), 1)
    c.call("aten::cumsum", f(1 << 16, 64), 0)


def sorts(c: Lines) -> None:
    """Sorts, selections and what CUB takes for them."""
    for sizes, dim in (
        ((4096,), 0),
        ((4097,), 0),
        ((1 << 20,), 0),
        ((1 << 24,), 0),
        ((8, 5000), 1),
        ((100, 5000), 1),
        ((200, 5000), 1),
        ((5000, 8), 0),
        ((2, 1 << 20), 1),
        ((1000, 100), 1),
        ((1000, 100), 0),
        ((16, 2048), 1),
    ):
        for d in "fi":
            c.call("aten::sort.stable", of(d, *sizes), stable=False, dim=dim)
        c.call("aten::sort.stable", of("h", *sizes), stable=True, dim=dim)
        c.call("aten::topk", f(*sizes), 5, dim)
        c.call("aten::kthvalue", f(*sizes), 5, dim)
    c.call("aten::topk", f(5, 200000), 5, 1)
    c.call("aten::topk", f(200000, 5), 5, 0)
    for n in (1, 64, 1000, 100000, 1 << 22):
        c.call("aten::nonzero", of("?", n))
        c.call("aten::nonzero", f(n))
        c.call("aten::index.Tensor", f(n, 2), [of("?", n)])
        c.call("aten::masked_select", f(n), of("?", n))
        c.call("aten::index_put", f(n, 2), [of("i", n)], f(n, 2), True)
        c.call("aten::embedding_dense_backward", f(n, 16), of("i", n), 1000, -1, False)
    c.call("aten::nonzero", of("?", 100, 100, 3))
    c.call("aten::randperm", 100, device={"device": "cuda"})
    c.call("aten::randperm", 100000, device={"device": "cuda"})
    c.call("aten::multinomial", f(4, 1000), 10)
    c.call("aten::multinomial", f(4, 1000), 10, True)


def convolutions(c: Lines) -> None:
    """Kernels of PyTorch's own and copies; cuDNN's workspaces are what it answers here."""

    def conv(
        x: Tensor,
        w: Tensor,
        stride: int = 1,
        padding: int = 0,
        groups: int = 1,
        dilation: int = 1,
        cudnn: bool = True,
    ) -> None:
        n = len(x.sizes) - 2
        whole(x, w, None, [stride] * n, [padding] * n, [dilation] * n, False, [0] * n, groups, cudnn=cudnn)

    def whole(*args: Any, cudnn: bool = True) -> None:
        # benchmark, deterministic, cudnn_enabled, allow_tf32
        c.call("aten::_convolution", *args, False, False, cudnn, True)

    for kw in ({}, {"cudnn": False}):
        conv(f(4, 8, 32, 32), f(16, 8, 3, 3), padding=1, **kw)
        conv(f(4, 8, 32, 32), f(16, 8, 1, 1), **kw)
        conv(f(4, 8, 32, 32), f(16, 8, 1, 1), stride=2, **kw)
        conv(f(4, 8, 32, 32), f(16, 4, 3, 3), groups=2, **kw)
        conv(last("f", 4, 8, 32, 32), f(16, 8, 3, 3), **kw)
        conv(f(4, 8, 32, 32), last("f", 16, 8, 3, 3), **kw)
        conv(last("f", 4, 8, 32, 32), last("f", 16, 8, 3, 3), **kw)
        conv(f(4, 8, 32, 32, strides=[16384, 1024, 1, 32]), f(16, 8, 3, 3), **kw)
        conv(f(4, 8, 32), f(16, 8, 3), **kw)
        conv(f(4, 8, 32, strides=[256, 1, 8]), f(16, 8, 3), **kw)
        conv(f(2, 4, 8, 16, 16), f(8, 4, 3, 3, 3), **kw)
        conv(f(2, 4, 8, 16, 16), f(4, 1, 3, 3, 3), groups=4, **kw)
        conv(f(4, 8, 32, 32), f(8, 1, 3, 3), groups=8, **kw)
        conv(f(4, 8, 32, 32, strides=[16384, 1024, 1, 32]), f(8, 1, 3, 3), groups=8, **kw)
        conv(last("f", 4, 8, 32, 32), f(8, 1, 3, 3), groups=8, **kw)
        conv(of("d", 4, 8, 32, 32), of("d", 16, 8, 3, 3), **kw)
        conv(of("b", 4, 8, 32, 32), of("b", 16, 8, 3, 3), **kw)
        whole(f(4, 16, 16, 16), f(16, 8, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1, **kw)
        whole(last("f", 4, 16, 16, 16), f(16, 8, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [0, 0], 1, **kw)
        whole(f(4, 16, 16), f(16, 8, 3), None, [2], [1], [1], True, [0], 1, **kw)
    # check_cudnn_depthwise_workload_with_filter: half
    for batch in (1, 2, 8, 16, 17, 32):
        for channels, size, filter in (
            (128, 7, 1),
            (128, 14, 1),
            (256, 28, 3),
            (256, 14, 3),
            (512, 7, 3),
            (512, 6, 3),
            (64, 28, 3),
            (16, 14, 3),
            (64, 14, 5),
            (512, 14, 7),
        ):
            conv(
                of("h", batch, channels, size, size),
                of("h", channels, 1, filter, filter),
                padding=filter // 2,
                groups=channels,
            )
    for stride in (1, 2, 3):
        conv(of("h", 2, 512, 14, 14), of("h", 512, 1, 3, 3), stride=stride, groups=512)
    conv(of("h", 2, 512, 1, 14), of("h", 512, 1, 1, 3), groups=512)
    conv(of("h", 2, 512, 14, 14), of("h", 512, 1, 3, 3), dilation=2, groups=512)
    for mask in ([True, True, True], [False, True, False], [True, False, False]):
        for x, w, g, groups in (
            (f(4, 8, 32, 32), f(16, 8, 3, 3), f(4, 16, 32, 32), 1),
            (last("f", 4, 8, 32, 32), f(16, 8, 3, 3), f(4, 16, 32, 32), 1),
            (f(4, 8, 32, 32), f(8, 1, 3, 3), f(4, 8, 32, 32), 8),
            (f(4, 8, 32), f(16, 8, 3), f(4, 16, 32), 1),
        ):
            n = len(x.sizes) - 2
            c.call("aten::convolution_backward", g, x, w, [16], [1] * n, [1] * n, [1] * n, False, [0] * n, groups, mask)


def attention(c: Lines) -> None:
    """Which kernel, and what it takes."""
    sdpa = "aten::scaled_dot_product_attention"
    for d in "fhbd":
        for q, k in ((128, 128), (1, 4096), (1, 128), (100, 100), (4096, 4096)):
            c.call(sdpa, of(d, 2, 8, q, 64), of(d, 2, 8, k, 64), of(d, 2, 8, k, 64))
        c.call(sdpa, of(d, 2, 8, 128, 64), of(d, 2, 8, 128, 64), of(d, 2, 8, 128, 64), is_causal=True)
        c.call(sdpa, of(d, 2, 8, 128, 64), of(d, 2, 8, 128, 64), of(d, 2, 8, 128, 64), of(d, 2, 1, 128, 128))
        c.call(sdpa, of(d, 2, 8, 128, 64), of(d, 2, 2, 128, 64), of(d, 2, 2, 128, 64), enable_gqa=True)
        for dim in (40, 60, 80, 96, 160, 256, 512):
            c.call(sdpa, of(d, 1, 4, 256, dim), of(d, 1, 4, 256, dim), of(d, 1, 4, 256, dim))


def operands(c: Lines) -> None:
    """Operands of another dtype, on the host, or of a layout that a kernel does not read."""
    cond, x, h = of("?", 64, 64), f(64, 64), of("h", 64, 64)
    c.call("aten::where.self", cond, x, x)
    c.call("aten::where.self", cond, h, x)
    c.call("aten::where.self", cond, x, h)
    c.call("aten::where.self", cond, f(host=True), x)
    c.call("aten::where.self", cond, x, f(host=True))
    c.call("aten::where.self", cond, of("d", host=True), x)
    c.call("aten::where.self", cond, f(1), x)
    c.call("aten::where.ScalarOther", cond, x, 1.0)
    c.call("aten::where.ScalarSelf", cond, 1.0, h)
    c.call("aten::add.Tensor", x, f(host=True))
    c.call("aten::add.Tensor", h, x)
    c.call("aten::mul.Tensor", x, f(64, 64, strides=[1, 64]))
    c.call("aten::masked_fill.Scalar", x, cond, 0.0)
    c.call("aten::index.Tensor", x, [of("i", 8, host=True)])
    c.call("aten::index_select", x, 0, of("i", 8))
    c.call("aten::gather", x, 1, of("i", 64, 8))
    c.call("aten::copy_", x, f(64, 64, host=True))
    c.call("aten::copy_", f(64, 64, strides=[1, 64]), f(64, 64, host=True))
    c.call("aten::copy_", f(64, 64, host=True), f(64, 64, strides=[1, 64]))
    for sizes in ((8, 64, 128), (8, 64, 100)):
        c.call("aten::native_layer_norm", f(*sizes), [sizes[-1]], f(sizes[-1]), f(sizes[-1]), 1e-5)
        c.call("aten::_softmax", f(*sizes), -1, False)
    c.call("aten::native_layer_norm", f(8, 64, 128, strides=[128, 1024, 1]), [128], f(128), f(128), 1e-5)
    c.call("aten::_softmax", f(8, 64, 128, strides=[128, 1024, 1]), -1, False)
    for x in (
        f(8, 32, 28, 28),
        last("f", 8, 32, 28, 28),
        f(8, 32, 1, 1),
        of("h", 8, 32, 28, 28),
        f(8, 32, 28, 28, strides=[25088, 784, 1, 28]),
    ):
        n = x.sizes[2] * x.sizes[3]
        ch = x.dtype
        c.call("aten::native_group_norm", x, of(ch, 32), of(ch, 32), 8, 32, n, 4, 1e-5)
        c.call("aten::native_group_norm", x, None, None, 8, 32, n, 4, 1e-5)
    for training in (False, True):
        for x in (f(8, 32, 28, 28), last("f", 8, 32, 28, 28)):
            c.call("aten::_batch_norm_impl_index", x, f(32), f(32), f(32), f(32), training, 0.1, 1e-5, True)
            c.call("aten::_batch_norm_impl_index", x, None, None, f(32), f(32), training, 0.1, 1e-5, True)
    for x in (
        f(2, 8, 16, 16),
        last("f", 2, 8, 16, 16),
        last("f", 2, 3, 16, 16),
        f(2, 8, 16, 16, strides=[2048, 256, 1, 16]),
    ):
        c.call("aten::upsample_nearest2d", x, [32, 32])
        c.call("aten::upsample_bilinear2d", x, [32, 32], False)
        c.call("aten::upsample_bicubic2d", x, [32, 32], False)
        c.call("aten::max_pool2d_with_indices", x, [2, 2])
        c.call("aten::avg_pool2d", x, [2, 2])
        c.call("aten::_adaptive_avg_pool2d", x, [4, 4])
        c.call("aten::constant_pad_nd", x, [1, 1, 1, 1])
        c.call("aten::reflection_pad2d", x, [1, 1, 1, 1])


def products_of_patches(c: Lines) -> None:
    """Convolutions without cuDNN: columns of one sample, a product each, groups one after the
    other."""

    def conv(
        x: Tensor,
        w: Tensor,
        bias: Tensor | None = None,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        transposed: bool = False,
    ) -> None:
        n = len(x.sizes) - 2
        c.call(
            "aten::_convolution",
            x,
            w,
            bias,
            [stride] * n,
            [padding] * n,
            [dilation] * n,
            transposed,
            [0] * n,
            groups,
            False,
            False,
            False,
            True,
        )

    x, w, b = f(3, 8, 16, 16), f(12, 8, 3, 3), f(12)
    conv(x, w, b)
    conv(x, f(12, 8, 1, 1), padding=1)
    conv(x, f(12, 8, 1, 1), b, dilation=2)
    conv(x, f(12, 8, 1, 3))
    conv(x, w, b, dilation=2)
    conv(last("f", 3, 8, 16, 16), last("f", 12, 8, 3, 3), b, dilation=2)
    conv(x, last("f", 12, 8, 1, 1), dilation=2, stride=2)
    conv(x, f(12, 4, 3, 3), b, groups=2)
    conv(last("f", 3, 8, 16, 16), last("f", 12, 4, 3, 3), groups=2)
    conv(x, f(12, 2, 1, 1), groups=4)
    conv(x, f(12, 4, 3, 3), dilation=2, groups=2)
    conv(f(1, 8, 16, 16), f(12, 4, 3, 3), groups=2)
    conv(f(3, 8, 16), f(12, 8, 3), b)
    conv(f(3, 8, 16), f(12, 4, 3), b, groups=2)
    conv(f(3, 8, 16), f(12, 8, 1))
    for z in (f(2, 8, 6, 6, 6), f(2, 8, 6, 6, 6, strides=last_strides([2, 8, 6, 6, 6]))):
        conv(z, f(12, 8, 3, 3, 3), b)
        conv(z, f(12, 8, 1, 1, 1))
        conv(z, f(12, 8, 3, 3, 3, strides=last_strides([12, 8, 3, 3, 3])), b, stride=2, padding=1)
        conv(z, f(12, 4, 3, 3, 3), groups=2)
        conv(z, f(8, 6, 3, 3, 3), f(12), groups=2, transposed=True)
        conv(z, f(8, 6, 3, 3, 3), transposed=True)
    conv(x, f(8, 12, 3, 3), b, transposed=True)
    conv(x, last("f", 8, 12, 3, 3), b, transposed=True)
    conv(last("f", 3, 8, 16, 16), last("f", 8, 12, 3, 3), stride=2, transposed=True)
    conv(x, f(8, 12, 1, 1), transposed=True)
    conv(x, f(8, 6, 3, 3), b, groups=2, transposed=True)
    conv(f(3, 8, 16), f(8, 6, 3), groups=2, transposed=True)
    conv(of("c", 3, 8, 16, 16), of("c", 12, 8, 3, 3))
    for mask in ([True, True, True], [False, True, False], [True, False, False]):
        for x, w, g, groups in (
            (f(3, 8, 8, 8, 8), f(12, 8, 3, 3, 3), f(3, 12, 8, 8, 8), 1),
            (f(3, 8, 8, 8), f(12, 4, 3, 3), f(3, 12, 8, 8), 2),
        ):
            n = len(x.sizes) - 2
            c.call("aten::convolution_backward", g, x, w, [12], [1] * n, [1] * n, [1] * n, False, [0] * n, groups, mask)


def windows(c: Lines) -> None:
    """ceil_mode drops a window that would begin beyond the input."""
    for size, kernel, stride, padding in (
        (4, 2, 4, 0),
        (5, 2, 4, 0),
        (4, 3, 3, 1),
        (5, 3, 3, 1),
        (6, 3, 3, 1),
        (7, 2, 3, 0),
        (8, 2, 3, 1),
    ):
        c.call(
            "aten::max_pool2d_with_indices",
            f(1, 1, size, size),
            [kernel, kernel],
            [stride, stride],
            [padding, padding],
            [1, 1],
            True,
        )
        c.call("aten::avg_pool2d", f(1, 1, size, size), [kernel, kernel], [stride, stride], [padding, padding], True)
        c.call("aten::avg_pool3d", f(1, 1, size, size, size), [kernel] * 3, [stride] * 3, [padding] * 3, True)


def groups(c: Lines) -> None:
    """One product a group; a batch norm that updates its statistics."""
    for d in "bhf":
        offs = Tensor("i32", (4,))
        c.call("aten::_grouped_mm", of(d, 64, 32), of(d, 4, 32, 24), offs)
        c.call("aten::_grouped_mm", of(d, 64, 32), of(d, 4, 32, 20, strides=[640, 1, 32]), offs)
        c.call("aten::_grouped_mm", of(d, 4, 16, 32), of(d, 32, 64, strides=[1, 32]), offs)
        c.call("aten::_grouped_mm", of(d, 16, 64), of(d, 64, 24, strides=[1, 64]), offs)
        c.call("aten::_grouped_mm", of(d, 4, 16, 32), of(d, 4, 32, 20, strides=[640, 1, 32]))
    for x in (f(4, 8, 16, 16), last("f", 4, 8, 16, 16), of("h", 4, 8, 16, 16), f(4, 8)):
        c.call("aten::_batch_norm_with_update", x, f(8), f(8), f(8), f(8), 0.1, 1e-5)
