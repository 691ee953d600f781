"""TorchScript joins a concatenation into the one around it where both go along one dimension, and only there."""

import torch
from torch import Tensor, nn


class Model(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        other = torch.cat([torch.cat([x, x], 1), y], 0)
        same = torch.cat([torch.cat([x, x], 1), y], 1)
        shared = torch.cat([x, x], 1)  # it has another user: it stays
        return other.sum() + same.sum() + torch.cat([shared, y], 1).sum() + shared.sum()


def inputs() -> tuple[Tensor, Tensor]:
    return torch.rand(4, 8), torch.rand(4, 16)
