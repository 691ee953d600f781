"""Tuples are made, unpacked, indexed, swapped and returned."""

from typing import Tuple

import torch
from torch import nn


class Model(nn.Module):
    def pair(self, x) -> Tuple[torch.Tensor, torch.Tensor]:
        return x + 1, torch.cat([x, x])

    def forward(self, x):
        a, b = self.pair(x)
        a, b = b, a
        c = self.pair(b)
        d, _ = self.pair(c[0])
        return a, (c[1], d * 2)


def inputs():
    return (torch.zeros(64, 32),)
