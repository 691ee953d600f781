"""Signals."""

import torch

from ..spec import call, t

CALLS = [
    call("stft", t(2, 400), 64, 16, 64, t(64), False, True, True),
    call("stft", t(2, 400), 64, 16, 64, t(64), False, True, False),
    call("stft", t(2, 400), 64, 16, 64, t(64), True, "reflect", False, True, True),
    call("fft_rfft", t(2, 16)),
    call("fft_rfftfreq", 16, device=torch.device("cuda")),
    call("fft_fftfreq", 16, 0.5, device=torch.device("cuda")),
    call("fft_irfft", t(2, 9, dtype=torch.complex64)),
    call("fft_fft2", t(2, 4, 4)),
    call("_fft_r2c", t(2, 16), [1], 0, True),
    call("_fft_c2c", t(2, 16, dtype=torch.complex64), [1], 0, True),
]
