"""TorchScript takes addmm apart into a product and a sum where both factors are 1, whatever the order and names of its arguments."""

import torch
from torch import Tensor, nn


class Model(nn.Module):
    def forward(self, b: Tensor, x: Tensor, w: Tensor) -> Tensor:
        plain = torch.addmm(b, x, w)
        named = torch.addmm(mat2=w, mat1=plain, input=b)
        ones = torch.addmm(b, named, w, beta=1, alpha=1.0)
        return torch.addmm(b, ones, w, alpha=2)


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    return torch.rand(16), torch.rand(8, 16), torch.rand(16, 16)
