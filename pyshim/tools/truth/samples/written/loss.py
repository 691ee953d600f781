"""Losses and distances."""

from ..spec import bad, call, f16, i64, t, tr

CALLS = [
    call("cross_entropy_loss", t(4, 10), i64(4)),
    call("cross_entropy_loss", t(4, 10), i64(4), t(10), 1, -100, 0.0),
    call("cross_entropy_loss", t(4, 10), i64(4), None, 0),
    call("cross_entropy_loss", t(4, 10), i64(4), None, 1, -100, 0.1),
    call("cross_entropy_loss", t(4, 10), t(4, 10)),
    call("cross_entropy_loss", t(2, 10, 3, 3), i64(2, 3, 3)),
    call("cross_entropy_loss", f16(4, 10), i64(4)),
    call("nll_loss", t(4, 10), i64(4)),
    call("nll_loss2d", t(2, 10, 3, 3), i64(2, 3, 3)),
    call("nll_loss_nd", t(2, 10, 3, 3), i64(2, 3, 3), None, 0),
    *[
        call(n, t(4, 5), t(4, 5), r)
        for n in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "kl_div")
        for r in (0, 1, 2)
    ],
    call("mse_loss", t(4, 5), t(5)),
    call("binary_cross_entropy", t(4, 5), t(4, 5)),
    call("binary_cross_entropy", t(4, 5), t(4, 5), t(5), 0),
    call("binary_cross_entropy_with_logits", t(4, 5), t(4, 5)),
    call("binary_cross_entropy_with_logits", t(4, 5), t(4, 5), t(5), t(5), 0),
    call("cosine_similarity", t(4, 5), t(4, 5), 1),
    call("pairwise_distance", t(4, 5), t(4, 5)),
    call("cosine_embedding_loss", t(4, 5), t(4, 5), t(4)),
    call("triplet_margin_loss", t(4, 5), t(4, 5), t(4, 5)),
    call("margin_ranking_loss", t(4), t(4), t(4)),
    call("hinge_embedding_loss", t(4, 5), t(4, 5)),
    call("cdist", t(2, 4, 3), t(2, 5, 3)),
    call("cdist", t(2, 40, 3), t(2, 50, 3), 2.0),
    call("pdist", t(4, 3)),
    call("mse_loss", tr(t(5, 4)), t(4, 5), 0),
    bad("cross_entropy_loss", t(4, 10), i64(5)),
]
