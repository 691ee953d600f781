"""Calls of transforms, statistics, products, indices and joins that only a device distinguishes:
what their parts take and when each dies, in other layouts, dtypes and modes."""

from __future__ import annotations

from .lines import Lines, Tensor, f, last, of


def lines() -> list[dict]:
    """All of them, in order."""
    c = Lines()
    transforms(c)
    statistics(c)
    products(c)
    places(c)
    joins(c)
    return c.all


def transforms(c: Lines) -> None:
    """Fourier transforms of planes and of frames."""
    for x in (f(6, 8, 10), f(6, 8, 10, strides=[1, 60, 6]), of("c", 6, 8, 10)):
        c.call("aten::fft_fft2", x)
    for signal in (f(2, 64), f(64), of("c", 2, 64)):
        for hop, width, window in ((4, None, f(16)), (4, 12, f(12))):
            for onesided in (None, False):
                c.call("aten::stft", signal, 16, hop, width, window, False, onesided, True)
        c.call("aten::stft.center", signal, 16, 4, None, f(16), True, "reflect", False, None, True)
        c.call("aten::stft.center", signal, 16, 4, None, f(16), False, "reflect", True, None, True)
    c.call("aten::stft", f(2, 64), 16, 4, None, f(16), False, True, False)


def statistics(c: Lines) -> None:
    """Integrals, order statistics and reductions."""
    for x in (f(6, 8), f(6, 8, strides=[1, 6]), of("h", 6, 8), of("i", 6, 8), f(0, 8), f(6, 1)):
        d, floats = x.dtype, x.dtype != "i"
        for dim in (0, 1):
            c.call("aten::trapezoid.x", x, of(d, x.sizes[dim]), dim=dim)
            c.call("aten::trapezoid.dx", x, dx=2.0, dim=dim)
            c.call("aten::cumulative_trapezoid.x", x, x, dim=dim)
            c.call("aten::cumulative_trapezoid.dx", x, dx=2.0, dim=dim)
            c.call("aten::sort", x, dim, True)
            if not x.strides:
                c.call("aten::cummax", x, dim)
            if floats:
                c.call("aten::logcumsumexp", x, dim)
                c.call("aten::logsumexp", x, [dim])
                c.call("aten::nanmean", x, [dim])
                c.call("aten::std_mean.dim", x, [dim])
                c.call("aten::cumprod", x, dim)
            if x.sizes[dim] and not x.strides:
                c.call("aten::median.dim", x, dim)
                c.call("aten::kthvalue", x, 1, dim)
            if x.sizes[dim]:
                c.call("aten::aminmax", x, dim=dim)
                c.call("aten::topk", x, 1, dim)
        c.call("aten::sum_to_size", x, [1, x.sizes[1]])
        c.call("aten::sum_to_size", x, [x.sizes[1]])
        c.call("aten::sum_to_size", x, [])
        c.call("aten::nansum", x)
        c.call("aten::count_nonzero", x)
        if floats:
            c.call("aten::dist", x, x, 2.0)
        c.call("aten::msort", x)
        c.call("aten::argsort", x, 0)
    c.call("aten::searchsorted.Tensor", f(6, 8), f(6, 3))
    c.call("aten::bucketize.Tensor", f(6, 8), f(5))
    c.call("aten::median", f(6, 8))


def products(c: Lines) -> None:
    """Products of every rank, of operands in turned layouts, and those made of several."""
    a, b, v = f(6, 8), f(8, 4), f(8)
    at, bt = f(6, 8, strides=[1, 6]), f(8, 4, strides=[1, 8])
    for x in (a, at, f(2, 6, 8), f(2, 6, 8, strides=[1, 16, 2]), f(3, 2, 6, 8), v, f(1, 6, 8), f(0, 8)):
        for y in (b, bt, v, f(2, 8, 4), f(2, 8, 4, strides=[32, 1, 8]), f(3, 1, 8, 4), f(8, 0)):
            c.call("aten::matmul", x, y)
    for d in "hbc":
        c.call("aten::vdot", of(d, 8), of(d, 8))
        c.call("aten::linalg_vecdot", of(d, 6, 8), of(d, 6, 8))
        c.call("aten::inner", of(d, 6, 8), of(d, 4, 8))
        c.call("aten::outer", of(d, 6), of(d, 4))
        c.call("aten::addr", of(d, 6, 4), of(d, 6), of(d, 4))
        c.call("aten::addmv", of(d, 6), of(d, 6, 8), of(d, 8))
        c.call("aten::addbmm", of(d, 6, 4), of(d, 2, 6, 8), of(d, 2, 8, 4))
        c.call("aten::kron", of(d, 2, 3), of(d, 4, 5))
    for n in (0, 1, 2, 3, 4, 6, 7):
        c.call("aten::linalg_matrix_power", f(2, 6, 6), n)
    c.call("aten::linalg_multi_dot", [f(10, 4), f(4, 30), f(30, 2)])
    c.call("aten::linalg_multi_dot", [f(10), f(10, 30), f(30, 2), f(2)])
    c.call("aten::tensordot", f(3, 4, 5), f(4, 3, 2), [1, 0], [0, 1])
    c.call("aten::tensordot", f(3, 4, 5), f(5, 4, 2), [1, 2], [1, 0])
    for equation, sizes in (
        ("ij,jk->ik", ((6, 8), (8, 4))),
        ("ij,kj->ki", ((6, 8), (4, 8))),
        ("bij,bjk->bik", ((2, 6, 8), (2, 8, 4))),
        ("bhid,bhjd->bhij", ((2, 3, 6, 8), (2, 3, 5, 8))),
        ("i,j->ij", ((6,), (4,))),
        ("ij->ji", ((6, 8),)),
        ("ii->i", ((6, 6),)),
        ("ij->", ((6, 8),)),
        ("...ij,...jk->...ik", ((2, 6, 8), (2, 8, 4))),
        ("ij,jk,kl->il", ((6, 8), (8, 4), (4, 3))),
        ("bij,j->bi", ((2, 6, 8), (8,))),
        ("ij,ij->i", ((6, 8), (6, 8))),
        ("abc,cd,be->ade", ((2, 3, 4), (4, 5), (3, 6))),
    ):
        c.call("aten::einsum", equation, [f(*s) for s in sizes])
        c.call("aten::einsum", equation, [of("h", *s) for s in sizes])
    for order in (2.0, 1.0, 0.0):
        for dim in (None, [0], [1]):
            c.call("aten::linalg_vector_norm", at, order, dim)
    c.call("aten::linalg_cross", f(6, 3), f(6, 3))
    c.call("aten::linalg_cross", f(6, 3, strides=[1, 6]), f(6, 3))
    c.call("aten::linalg_vander", f(6))
    c.call("aten::linalg_vander", f(2, 6), N=3)


def places(c: Lines) -> None:
    """Reading and writing by position, of turned tensors and other dtypes."""
    for x in (f(6, 8), f(6, 8, strides=[1, 6]), of("h", 6, 8), f(6, 8, strides=[16, 2])):
        d = x.dtype
        src = of(d, 4, 8)
        c.call("aten::index_add", x, 0, of("i", 4), src)
        c.call("aten::index_copy", x, 0, of("i", 4), src)
        c.call("aten::index_fill.int_Scalar", x, 1, of("i", 4), 1.0)
        c.call("aten::scatter.src", x, 0, of("i", 4, 8), src)
        c.call("aten::scatter.value", x, 0, of("i", 4, 8), 1.0)
        c.call("aten::scatter_add", x, 0, of("i", 4, 8), src)
        c.call("aten::take", x, of("i", 3, 5))
        c.call("aten::take_along_dim", x, of("i", 2, 8), 0)
        c.call("aten::masked_fill.Scalar", x, of("?", 8), 0.0)
        c.call("aten::masked_fill.Tensor", x, of("?", 6, 1), Tensor(d, ()))
        if x.strides != [16, 2]:
            c.call("aten::select_scatter", x, of(d, 8), 0, 2)
            c.call("aten::slice_scatter", x, of(d, 6, 3), 1, 2, 5)
            c.call("aten::diagonal_scatter", x, of(d, 6))
        c.call("aten::diag", x)
        c.call("aten::diag", of(d, 6), 1)
        c.call("aten::diag_embed", x, 1)
        c.call("aten::tril", x, -1)
        c.call("aten::triu", x, 1)
        c.call("aten::gather", x, 1, of("i", 6, 3))
        c.call("aten::index_select", x, 1, of("i", 3))
        c.call("aten::index.Tensor", x, [None, of("i", 3)])
        c.call("aten::index.Tensor", x, [of("i", 4, 1), of("i", 3)])
        c.call("aten::index.Tensor", x, [of("i32", 3)])
        c.call("aten::where.self", of("?", 6, 1), x, of("d", 8))
        c.call("aten::where.ScalarOther", of("?", 6, 8), x, 1.0)


def joins(c: Lines) -> None:
    """Joined and repeated tensors of other layouts, ranks and dtypes."""
    for xs in (
        [f(6, 8), f(6, 8, strides=[1, 6])],
        [f(6, 8), of("h", 6, 8)],
        [of("i", 6, 8), of("h", 6, 8), f(6, 8)],
        [f(8), f(8)],
        [Tensor("f", ()), Tensor("f", ())],
        [last("f", 2, 3, 4, 4), last("f", 2, 3, 4, 4)],
        [last("f", 2, 3, 4, 4), f(2, 3, 4, 4)],
    ):
        if xs[0].sizes:
            c.call("aten::cat", xs, 0)
            c.call("aten::cat", xs, -1)
        c.call("aten::stack", xs, 0)
        c.call("aten::stack", xs, -1)
        for op in ("hstack", "vstack", "dstack", "column_stack"):
            c.call(f"aten::{op}", xs)
        if len(xs[0].sizes) <= 2:
            c.call("aten::block_diag", xs)
        if len(xs[0].sizes) == 1:
            c.call("aten::cartesian_prod", xs)
            c.call("aten::meshgrid.indexing", xs, indexing="xy")
    c.call("aten::cat", [f(0), f(6, 8)], 0)
    c.call("aten::cat", [f(6, 8), f(0), f(6, 8)], 1)
    c.call("aten::pad_sequence", [f(3, 4), f(5, 4)], True)
    c.call("aten::pad_sequence", [f(3, 4), f(5, 4)], False, 1.0)
    for x in (f(6, 8), f(6, 8, strides=[1, 6]), f(6, 1)):
        c.call("aten::repeat_interleave.self_int", x, 3, 0)
        c.call("aten::repeat_interleave.self_int", x, 3)
        c.call("aten::repeat", x, [2, 1, 3])
        c.call("aten::tile", x, [2])
        if not x.strides:
            c.call("aten::roll", x, [1, 2], [0, 1])
            c.call("aten::roll", x, [3])
        c.call("aten::flip", x, [0])
        for k in (0, 1, 2, 3, -1):
            c.call("aten::rot90", x, k)
