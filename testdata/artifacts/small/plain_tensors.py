"""Tensors that are plain attributes: neither parameters nor buffers. `module.to` leaves them where they are."""

from typing import List

import torch
from torch import nn

kinds = ("script",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes: List[torch.Tensor] = [torch.zeros(512, 2), torch.ones(256, 2)]
        self.scale = torch.zeros(32)

    def forward(self, x):
        y = x * self.scale.to(x.device)
        for s in self.sizes:
            y = y + s.to(device=x.device, dtype=x.dtype).sum()
        return y


def inputs():
    return (torch.zeros(64, 32),)
