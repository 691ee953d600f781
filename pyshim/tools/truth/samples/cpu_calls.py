"""Calls that fake CUDA tensors refuse, run on real CPU tensors.

Sizes that depend on values: MOST gives each operator the values that make its result as large as it
can be, LESS others.
QUANT: quantised tensors and fake quantisation. DRIVER: operators whose kernels ask for a GPU even
on fake tensors.
"""

from __future__ import annotations

import torch

from .host import HostCall, host

ONES, ZEROS = torch.ones(2, 3), torch.zeros(2, 3)
MASK = torch.ones(2, 3, dtype=torch.bool)
SOME = torch.tensor([[True, False, True], [False, False, True]])
RANGE = torch.arange(6)
SAME = torch.tensor([1, 1, 2, 2, 2, 0])
APART = torch.tensor([[0.0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]])
ON_TOP = torch.tensor([[0.0, 0, 1, 1], [0, 0, 1, 1], [4, 4, 5, 5]])
SCORES = torch.tensor([0.9, 0.8, 0.7])

MOST: list[HostCall] = [
    host("nonzero", ONES),
    host("nonzero", torch.tensor(1.0)),
    host("nonzero", torch.ones(2, 3, 4, dtype=torch.bool)),
    host("nonzero_numpy", ONES),
    host("argwhere", ONES),
    host("where", MASK),
    host("masked_select", ONES, MASK),
    host("masked_select", torch.ones(3), MASK),
    host("index", ONES, [MASK]),
    host("index", torch.ones(2, 3, 4), [MASK]),
    host("index", torch.ones(2, 3, 4), [torch.ones(2, dtype=torch.bool)]),
    host("unique_consecutive", RANGE),
    host("unique_consecutive", RANGE, True, True),
    host("unique_consecutive", RANGE.reshape(2, 3), False, False, 0),
    host("_unique2", RANGE),
    host("_unique2", RANGE, True, True, True),
    host("_unique2", RANGE.reshape(2, 3), True, True, False),
    host("unique_dim", RANGE.reshape(3, 2), 0, True, True, True),
    host("_unique", RANGE, True, True),
    host("torchvision::nms", APART, SCORES, 0.5),
    host("repeat_interleave", torch.tensor([2, 2, 2]), output_size=6),
    host("combinations", RANGE, 2),
]

LESS: list[HostCall] = [
    host("nonzero", ZEROS),
    host("nonzero", SOME),
    host("masked_select", ONES, SOME),
    host("index", ONES, [SOME]),
    host("unique_consecutive", SAME, True, True),
    host("_unique2", SAME, True, True, True),
    host("unique_dim", torch.tensor([[1, 2], [1, 2], [0, 0]]), 0, True, True, True),
    host("torchvision::nms", ON_TOP, SCORES, 0.5),
    host("repeat_interleave", torch.tensor([1, 0, 3])),
    host("repeat_interleave", ONES, torch.tensor([1, 0, 3]), 1),
    host("bincount", torch.tensor([0, 1, 1, 4])),
    host("bincount", torch.tensor([0, 1, 1, 4]), None, 8),
    host("one_hot", torch.tensor([0, 2]), -1),
    host("equal", ONES, ONES),
    host("equal", ONES, ZEROS),
    host("allclose", ONES, ONES),
]

DRIVER: list[HostCall] = [
    host("ctc_loss", torch.zeros(6, 2, 4).log_softmax(2), torch.ones(2, 3, dtype=torch.int64), [6, 6], [3, 3]),
    host("ctc_loss", torch.zeros(6, 2, 4).log_softmax(2), torch.ones(2, 3, dtype=torch.int64), [6, 6], [3, 3], 0, 0),
    host("geqrf", torch.ones(4, 3)),
    host("histogram", torch.rand(6, generator=torch.Generator().manual_seed(0)).round(decimals=2), 4),
    host("cov", torch.ones(3, 4)),
    host("corrcoef", torch.eye(3)),
    host("linalg_lstsq", torch.eye(3), torch.ones(3, 2)),
    host("istft", torch.ones(33, 26, dtype=torch.complex64), 64, 16, 64, torch.ones(64)),
]

X = torch.tensor([[0.0, 0.5, 1.0], [1.5, 2.0, 2.5]])
Q = torch.quantize_per_tensor(X, 0.5, 0, torch.quint8)

QUANT: list[HostCall] = [
    host("fake_quantize_per_tensor_affine", X, 0.5, 0, 0, 255),
    host("fake_quantize_per_tensor_affine", X, torch.tensor([0.5]), torch.tensor([0], dtype=torch.int32), 0, 255),
    host(
        "fake_quantize_per_channel_affine",
        X,
        torch.tensor([0.5, 0.5, 0.5]),
        torch.zeros(3, dtype=torch.int32),
        1,
        0,
        255,
    ),
    host("fake_quantize_per_tensor_affine_cachemask", X, 0.5, 0, 0, 255),
    host("quantize_per_tensor", X, 0.5, 0, torch.quint8),
    host("quantize_per_tensor", X, 0.5, 0, torch.qint8),
    host("quantize_per_tensor", X, 0.5, 0, torch.qint32),
    host("quantize_per_tensor_dynamic", X, torch.quint8, False),
    host("dequantize", Q),
    host("int_repr", Q),
    host("q_scale", Q),
    host("q_zero_point", Q),
    host("quantized::add", Q, Q, 0.5, 0),
    host("quantized::mul", Q, Q, 0.5, 0),
    host("quantized::cat", [Q, Q], 1, 0.5, 0),
    host("relu", Q),
    host("max_pool2d", torch.quantize_per_tensor(torch.ones(1, 2, 4, 4), 0.5, 0, torch.quint8), [2, 2]),
]
