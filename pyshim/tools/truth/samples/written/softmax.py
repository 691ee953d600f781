"""Softmax and its relatives."""

import torch

from ..spec import bf16, call, cl, f16, i64, t, tr

CALLS = [
    call("softmax", t(2, 4, 6, 6), -1),
    call("softmax", t(2, 4, 6, 6), -1, None),
    call("softmax", f16(2, 4, 6, 6), -1, torch.float32),
    call("softmax", bf16(2, 4, 6, 6), -1, torch.float32),
    call("softmax", t(2, 4, 6, 6), 1, torch.float32),
    call("softmax", t(2, 4), 1, torch.float16),
    call("softmax", i64(2, 4), 1, torch.float32),
    call("softmax", tr(t(2, 4, 6)), -1),
    call("softmax", cl(2, 8, 4, 4), 1),
    call("softmax", t(), 0),
    call("softmax", t(0, 4), 1),
    call("log_softmax", t(8, 10), 1, None),
    call("log_softmax", t(8, 10), -1),
    call("log_softmax", f16(8, 10), -1, torch.float32),
    call("log_softmax", cl(2, 8, 4, 4), 1),
    call("log_softmax", tr(t(4, 6)), 0),
    call("_softmax", t(2, 4), 1, False),
    call("_softmax", f16(2, 4), 1, True),
    call("_softmax", f16(2, 4), 1, False),
    call("_log_softmax", t(2, 4), 1, False),
    call("_log_softmax", f16(2, 4), 1, True),
    call("_safe_softmax", t(2, 4), 1),
]
