"""Look-ups."""

from ..spec import bad, call, f16, i32, i64, t, tr

CALLS = [
    call("embedding", t(10, 4), i64(2, 3)),
    call("embedding", t(10, 4), i64(2, 3), -1, False, False),
    call("embedding", t(10, 4), i64(2, 3), 0),
    call("embedding", f16(10, 4), i32(3)),
    call("embedding", t(10, 4), i64()),
    call("embedding", t(10, 4), i64(0, 3)),
    call("embedding", t(10, 4), tr(i64(2, 3))),
    call("embedding", tr(t(4, 10)), i64(2, 3)),
    bad("embedding", t(10, 4), t(2, 3)),
    bad("embedding", t(10), i64(2)),
    call("embedding_bag", t(10, 4), i64(6), i64(2)),
    call("embedding_bag", t(10, 4), i64(6), i64(2), False, 1, False, None, False),
    call("embedding_bag", t(10, 4), i64(6), i64(3), False, 0, False, t(6), True),
    call("embedding_bag", t(10, 4), i64(6), i64(2), False, 2),
    call("_embedding_bag", t(10, 4), i64(6), i64(2)),
    call("one_hot", i64(2, 3), 10),
]
