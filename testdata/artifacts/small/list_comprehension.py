"""Lists made by a comprehension, and read by index and by length."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        rows = [r * 2 for r in torch.unbind(x.view(4, 16, 32))]
        sums = [torch.cat([r, r]) for r in rows]
        y = sums[len(sums) - 1] + rows[0].repeat(2, 1)
        return y


def inputs():
    return (torch.zeros(64, 32),)
