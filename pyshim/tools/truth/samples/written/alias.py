"""Second names of operators, and names that nothing else here calls. torch.export keeps them,
TorchScript does not."""

import torch

from ..spec import call, exact, i64, t

D = torch.device("cuda")
UNARY = ["arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "absolute", "negative", "fix"]
SPECIAL = [
    "digamma", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammaln", "i0", "log1p", "psi", "round", "sinc",
]  # fmt: skip

CALLS = [
    *[exact(n, "", t(2, 3)) for n in UNARY],
    *[exact(n + "_", "", t(2, 3)) for n in UNARY],
    *[exact("special_" + n, "", i64(2, 3)) for n in SPECIAL],
    exact("arctan2", "", t(2, 3), t(3)),
    exact("concatenate", "", [t(2, 3), t(2, 3)], 1),
    exact("row_stack", "", [t(3), t(2, 3)]),
    exact("clip_", "", t(2, 3), 0, 1),
    exact("multiply_", "Tensor", t(2, 3), t(3)),
    exact("subtract_", "Tensor", t(2, 3), t(3)),
    exact("divide_", "Tensor", t(2, 3), t(3)),
    exact("less_equal", "Scalar", t(2, 3), 0),
    exact("not_equal_", "Scalar", t(2, 3), 0),
    exact("swapaxes_", "", t(2, 3, 4), 0, 1),
    exact("swapdims_", "", t(2, 3, 4), 0, 1),
    exact("special_softmax", "", t(2, 3), 1),
    exact("special_log_softmax", "", t(2, 3), 1, dtype=None),
    exact("special_logsumexp", "", t(2, 3), [1]),
    exact("special_xlogy", "", t(2, 3), t(3)),
    exact("linalg_matmul", "", t(2, 3, 4), t(4, 5)),
    call("pad_sequence", [t(3, 4), t(5, 4)], True, 0.0),
    call("pad_sequence", [t(3, 4), t(5, 4)]),
    call("unsafe_split_with_sizes", t(2, 7), [3, 4], 1),
    call("empty_permuted", [2, 3, 4], [2, 0, 1], device=D),
    call("nll_loss_forward", t(4, 10), i64(4), None, 1, -100),
    call("nll_loss2d_forward", t(2, 10, 3, 3), i64(2, 3, 3), None, 1, -100),
    call("log_sigmoid_forward", t(2, 3)),
    call("uniform", t(2, 3), 0.0, 1.0),
    call("exponential", t(2, 3)),
    call("zero", t(2, 3)),
    call("mH", t(2, 3, 4)),
    call("matrix_H", t(2, 3)),
    call("norm_except_dim", t(4, 3, 2), 2, 0),
    call("is_non_overlapping_and_dense", t(2, 3)),
]
