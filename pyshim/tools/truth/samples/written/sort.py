"""Order."""

from ..spec import bad, call, f16, i64, t, tr

CALLS = [
    call("sort", t(3, 5)),
    call("sort", t(3, 5), 0, True),
    call("sort", tr(t(3, 5)), 1),
    call("sort", t(3, 5), stable=True, dim=-1, descending=False),
    call("argsort", t(3, 5), -1, True),
    call("argsort", t(3, 5)),
    call("argsort", i64(3, 5), dim=0, stable=True),
    call("topk", t(3, 5), 2),
    call("topk", t(3, 5), 2, 0, True, True),
    call("topk", tr(t(3, 5)), 2),
    call("topk", f16(3, 5), 5, -1, False, False),
    bad("topk", t(3, 5), 6),
    call("kthvalue", t(3, 5), 2),
    call("median", t(3, 5)),
    call("median", t(3, 5), 1),
    call("mode", t(3, 5)),
    call("msort", t(3, 5)),
    call("searchsorted", t(5), t(2, 3)),
    call("searchsorted", t(5), t(2, 3), out_int32=True, right=True),
    call("bucketize", t(2, 3), t(5)),
    call("histc", t(3, 5), 10, 0, 1),
    call("quantile", t(3, 5), 0.5, 1),
]
