"""Models whose packages call operators of PyTorch's that inductor makes no kernels for:
record_compiled builds them."""

from __future__ import annotations

from typing import Any, NamedTuple


class Fallback(NamedTuple):
    device: str
    make: Any
    shape: list[int]
    dtype: str
    open_dims: dict[int, tuple[str, int, int]]
    shapes: list[list[int]]
    backend: str = ""  # of attention, the only one allowed while it is compiled; else PyTorch chooses


def attention(dtype: str, causal: bool = True) -> Any:
    """Attention between two linear layers."""

    def build() -> Any:
        import torch
        from torch import nn

        class Attention(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.qkv, self.out = nn.Linear(256, 768), nn.Linear(256, 256)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                b, t, _ = x.shape
                q, k, v = self.qkv(x).view(b, t, 3, 4, 64).permute(2, 0, 3, 1, 4)
                y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
                return self.out(y.transpose(1, 2).reshape(b, t, 256))

        return Attention().to(getattr(torch, dtype))

    return build


def random() -> Any:
    import torch
    from torch import nn
    from torch.nn import functional as f

    class Random(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            drawn = torch.randn(x.shape, device=x.device) + torch.rand(3, 64, device=x.device).sum(0)
            whole = torch.randint(2, 9, (64,), device=x.device) + torch.randint(9, (64,), device=x.device)
            return f.dropout(x, 0.5, True) + drawn + whole + torch.randn_like(x) + torch.rand_like(x)

    return Random()


def ordered() -> Any:
    """Sorts that are too large for a kernel of inductor's, places written, and bytes read as
    another dtype."""
    import torch
    from torch import nn

    class Ordered(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            values, places = torch.sort(x, dim=-1)
            _, stable = torch.sort(x, dim=0, stable=True)
            written = torch.zeros_like(x).scatter(1, places[:, :8], x[:, :8] * 2)
            filled = torch.zeros_like(x).scatter(1, places[:, :8], 3.0)
            return values, stable, written, filled, x.topk(5).values, x.view(torch.int32), x.kthvalue(3).indices

    return Ordered()


def scaled() -> Any:
    import torch
    from torch import nn

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", torch.zeros(512, 256).to(torch.float8_e4m3fn))
            self.register_buffer("scale", torch.ones(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            small = x.to(torch.float8_e4m3fn)
            y = torch._scaled_mm(small, self.weight.t(), self.scale, self.scale, out_dtype=torch.bfloat16)
            return y.relu()

    return Scaled()


def convolved() -> Any:
    from torch import nn

    layers = [nn.Conv2d(3, 32, 3, 2), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).half()


A100, H100 = "a100-sxm-80gb", "h100-sxm-80gb"
SEQUENCE: dict[int, tuple[str, int, int]] = {0: ("B", 2, 64), 1: ("S", 2, 512)}
FALLBACKS = {
    "attention_flash": Fallback(A100, attention("float16"), [2, 128, 256], "float16", {}, [[2, 128, 256]]),
    "attention_cudnn": Fallback(H100, attention("bfloat16"), [2, 128, 256], "bfloat16", {}, [[2, 128, 256]]),
    "attention_efficient": Fallback("t4", attention("float16"), [2, 128, 256], "float16", {}, [[2, 128, 256]]),
    "attention_math": Fallback("l4", attention("bfloat16"), [2, 128, 256], "bfloat16", {}, [[2, 128, 256]], "MATH"),
    "attention_open": Fallback(
        A100, attention("bfloat16", causal=False), [2, 128, 256], "bfloat16", SEQUENCE, [[2, 128, 256], [5, 77, 256]]
    ),
    "cudnn_open": Fallback(
        H100, attention("float16", causal=False), [2, 128, 256], "float16", SEQUENCE, [[2, 128, 256], [5, 77, 256]]
    ),
    "random": Fallback("t4", random, [3, 64], "float32", {}, [[3, 64]]),
    "ordered": Fallback("t4", ordered, [4, 70000], "float32", {}, [[4, 70000]]),
    "scaled": Fallback(H100, scaled, [64, 256], "bfloat16", {}, [[64, 256]]),
    "convolved_half": Fallback(
        "t4", convolved, [2, 3, 65, 65], "float16", {0: ("B", 1, 64)}, [[2, 3, 65, 65], [7, 3, 65, 65]]
    ),
}
