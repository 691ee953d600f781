"""Backward operators that Core ATen names, and their neighbours."""

import torch

from ..spec import call, cl, f16, i64, t, u8

CALLS = [
    call("convolution_backward", t(2, 4, 8, 8), t(2, 3, 8, 8), t(4, 3, 3, 3), [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True]),
    call("convolution_backward", t(2, 4, 8, 8), t(2, 3, 8, 8), t(4, 3, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False]),
    call("convolution_backward", cl(2, 4, 8, 8), cl(2, 4, 8, 8), t(4, 1, 3, 3), [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 4, [True, True, False]),
    call("native_layer_norm_backward", t(2, 6, 16), t(2, 6, 16), [16], t(2, 6, 1), t(2, 6, 1), t(16), t(16), [True, True, True]),
    call("native_layer_norm_backward", t(2, 6, 16), t(2, 6, 16), [16], t(2, 6, 1), t(2, 6, 1), None, None, [True, False, False]),
    call("native_group_norm_backward", t(2, 8, 4, 4), t(2, 8, 4, 4), t(2, 4), t(2, 4), t(8), 2, 8, 16, 4, [True, True, True]),
    call("native_batch_norm_backward", t(2, 8, 4, 4), t(2, 8, 4, 4), t(8), t(8), t(8), t(8), t(8), True, 1e-05, [True, True, True]),
    call("cudnn_batch_norm_backward", t(2, 8, 4, 4), t(2, 8, 4, 4), t(8), t(8), t(8), t(8), t(8), 1e-05, u8(0)),
    call("_adaptive_avg_pool2d_backward", t(2, 8, 1, 1), t(2, 8, 7, 7)),
    call("_adaptive_avg_pool2d_backward", t(2, 8, 3, 3), cl(2, 8, 7, 7)),
    call("avg_pool2d_backward", t(2, 8, 4, 4), t(2, 8, 8, 8), [2, 2], [2, 2], [0, 0], False, True, None),
    call("max_pool2d_with_indices_backward", t(2, 8, 4, 4), t(2, 8, 8, 8), [2, 2], [2, 2], [0, 0], [1, 1], False, i64(2, 8, 4, 4)),
    call("embedding_dense_backward", t(2, 3, 4), i64(2, 3), 10, -1, False),
    call("threshold_backward", t(2, 3), t(2, 3), 0),
    call("gelu_backward", t(2, 3), t(2, 3)),
    call("silu_backward", t(2, 3), t(2, 3)),
    call("sigmoid_backward", t(2, 3), t(2, 3)),
    call("tanh_backward", t(2, 3), t(2, 3)),
    call("hardswish_backward", t(2, 3), t(2, 3)),
    call("hardsigmoid_backward", t(2, 3), t(2, 3)),
    call("hardtanh_backward", t(2, 3), t(2, 3), 0, 6),
    call("leaky_relu_backward", t(2, 3), t(2, 3), 0.1, False),
    call("elu_backward", t(2, 3), 1.0, 1, 1, False, t(2, 3)),
    call("_softmax_backward_data", t(2, 3), t(2, 3), 1, torch.float32),
    call("_log_softmax_backward_data", t(2, 3), t(2, 3), 1, torch.float32),
    call("native_dropout_backward", t(2, 3), t(2, 3, dtype=torch.bool), 2.0),
    call("nll_loss_backward", t(), t(4, 10), i64(4), None, 1, -100, t()),
    call("mse_loss_backward", t(), t(4, 5), t(4, 5), 1),
    call("upsample_nearest2d_backward", t(2, 3, 8, 8), [8, 8], [2, 3, 4, 4]),
    call("upsample_bilinear2d_backward", t(2, 3, 8, 8), [8, 8], [2, 3, 4, 4], False),
    call("_cdist_forward", t(4, 3), t(5, 3), 2.0, None),
    call("_pdist_forward", t(4, 3)),
    call("_fft_c2r", t(2, 9, dtype=torch.complex64), [1], 2, 16),
    call("native_layer_norm_backward", f16(2, 6, 16), f16(2, 6, 16), [16], t(2, 6, 1), t(2, 6, 1), f16(16), f16(16), [True, True, True]),
]
