"""Random numbers and dropout."""

import torch

from ..spec import bad, call, cl, f16, i64, t, tr

CALLS = [
    *[
        call(n, t(2, 3), 0.5, train)
        for n in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
        for train in (True, False)
    ],
    *[
        call(n, t(2, 3), 0.5, train)
        for n in ("dropout_", "feature_dropout_", "alpha_dropout_")
        for train in (True, False)
    ],
    call("dropout", t(2, 3), 0.0, True),
    call("dropout", t(2, 3), 1.0, True),
    call("dropout", cl(2, 3, 4, 4), 0.1, True),
    call("dropout", tr(t(2, 3)), 0.1, True),
    call("dropout", f16(2, 3), 0.1, True),
    call("dropout", t(0, 3), 0.1, True),
    call("dropout", cl(2, 3, 4, 4), 0.1, False),
    call("feature_dropout", t(2, 3, 4, 4), 0.5, True),
    bad("dropout", t(2, 3), 1.5, True),
    call("native_dropout", t(2, 3), 0.5, True),
    call("native_dropout", t(2, 3), 0.5, False),
    call("bernoulli", t(2, 3)),
    call("bernoulli", t(2, 3), 0.5),
    call("bernoulli_", t(2, 3), 0.5),
    call("multinomial", t(2, 3), 2),
    call("multinomial", t(3), 2, True),
    call("normal", t(2, 3), 1.0),
    call("normal", t(2, 3), t(3)),
    call("normal_", t(2, 3), 0.0, 1.0),
    call("log_normal_", t(2, 3), 1.0, 2.0),
    call("cauchy_", t(2, 3)),
    call("geometric_", t(2, 3), 0.5),
    call("uniform_", t(2, 3), 0.0, 1.0),
    call("exponential_", t(2, 3)),
    call("random_", i64(2, 3), 0, 10),
    call("rrelu", t(2, 3), 0.1, 0.3, False),
    call("rrelu", t(2, 3), 0.1, 0.3, True),
    call("randint_like", t(2, 3), 10),
    call("poisson", t(2, 3)),
    call("randperm", 5, dtype=torch.int32, device=torch.device("cuda")),
]
