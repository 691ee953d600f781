"""New tensors from sizes and numbers."""

import torch

from ..spec import boo, call, cl, ex, f16, i64, sl, t, tr

D = torch.device("cuda")
F, H, L, B = torch.float32, torch.float16, torch.int64, torch.bool
S = torch.strided

CALLS = [
    *[call(n, [2, 3], dtype=F, device=D) for n in ("zeros", "ones", "empty")],
    *[
        call(n, [2, 3], dtype=H, layout=S, device=D, pin_memory=False)
        for n in ("zeros", "ones", "empty", "rand", "randn")
    ],
    *[call(n, [2, 3], device=D) for n in ("zeros", "ones", "empty", "rand", "randn")],
    *[call(n, [2, 3]) for n in ("zeros", "ones", "empty")],
    *[call(n, [], dtype=L, device=D) for n in ("zeros", "ones")],
    *[call(n, [2, 0], device=D) for n in ("zeros", "ones")],
    call("empty", [2, 3, 4, 4], device=D, memory_format=torch.channels_last),
    call("full", [2, 3], 1.5, device=D),
    call("full", [2, 3], 1, device=D),
    call("full", [2, 3], True, device=D),
    call("full", [2, 3], 1, dtype=F, device=D),
    call("full", [], float("-inf"), dtype=H, layout=None, device=D, pin_memory=False),
    *[
        call(n, x)
        for n in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like")
        for x in (t(2, 3), cl(2, 3, 4, 4), tr(t(2, 3)), f16(2, 3))
    ],
    call("zeros_like", ex(t(1, 3), 2, 3)),
    call("zeros_like", sl(t(2, 6), 1, 0, 3)),
    call("zeros_like", sl(t(2, 6), 1, 0, 6, 2)),
    call("zeros_like", t(2, 3), dtype=L),
    call("zeros_like", t(2, 3), dtype=B, layout=S, device=D, pin_memory=False, memory_format=torch.preserve_format),
    call("ones_like", cl(2, 3, 4, 4), memory_format=torch.contiguous_format),
    call("zeros_like", t(2, 3, 4, 4), memory_format=torch.channels_last),
    call("zeros_like", t(2, 3), device=torch.device("cpu")),
    call("full_like", t(2, 3), 7),
    call("full_like", i64(2, 3), 0.5),
    call("full_like", cl(2, 3, 4, 4), 1, dtype=B),
    call("new_zeros", f16(2, 3), [4]),
    call("new_zeros", f16(2, 3), [4], dtype=F),
    call("new_ones", i64(2, 3), [4, 5]),
    call("new_empty", t(2, 3), [4], dtype=L, layout=S, device=D, pin_memory=False),
    call("new_full", t(2, 3), [4], 1),
    call("new_full", i64(2, 3), [4], 1.5),
    call("new_empty_strided", t(2), [2, 3], [1, 2]),
    call("empty_strided", [2, 3], [1, 2], device=D),
    call("arange", 5, device=D),
    call("arange", 5.0, device=D),
    call("arange", 5, dtype=F, device=D),
    call("arange", 1, 7, device=D),
    call("arange", 1, 7, 2, device=D),
    call("arange", 0.0, 1.0, 0.1, device=D),
    call("arange", 10, 0, -3, dtype=L, layout=S, device=D, pin_memory=False),
    call("arange", 0, 5, dtype=None, layout=None, device=D, pin_memory=False),
    call("arange", 5),
    call("range", 1, 7, 2, device=D),
    call("linspace", 0, 1, 5, device=D),
    call("linspace", 0.0, 1.0, 5, dtype=H, device=D),
    call("linspace", 0, 1, 0, device=D),
    call("logspace", 0, 1, 5, device=D),
    call("eye", 4, device=D),
    call("eye", 4, 6, dtype=B, device=D),
    call("scalar_tensor", 1.5, device=D),
    call("scalar_tensor", 1, dtype=L, device=D),
    call("scalar_tensor", 1.5),
    call("hann_window", 16, device=D),
    call("hamming_window", 16, True, device=D),
    call("blackman_window", 16, device=D),
    call("bartlett_window", 16, device=D),
    call("kaiser_window", 16, device=D),
    call("fill_", t(2, 3), 1.0),
    call("fill_", t(2, 3), t()),
    call("fill_", tr(t(2, 3)), 0),
    call("fill", t(2, 3), 1.0),
    call("fill", tr(t(2, 3)), 1.0),
    call("zero_", t(2, 3)),
    call("complex", t(2, 3), t(2, 3)),
    call("polar", t(2, 3), t(2, 3)),
    call("vander", t(3), 4),
    call("randperm", 6, device=D),
    call("randint", 0, 10, [2, 3], device=D),
    call("randint", 10, [2, 3], dtype=F, device=D),
    call("normal", 0.0, 1.0, [2, 3], device=D),
    call("tril_indices", 4, 5, 0, device=D),
    call("zeros_like", boo(2, 3)),
]
