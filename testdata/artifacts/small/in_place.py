"""Operators that write an argument make no storage."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        y = x + 1
        y.mul_(2).add_(x)
        y += x
        z = self.act(y)
        z[:, 0] = 5
        z[1] = x[0]
        z[2:4, :16].fill_(1)
        w = torch.zeros(64, 32, dtype=x.dtype, device=x.device)
        torch.mul(z, 2, out=w)
        return w.t_()


def inputs():
    return (torch.zeros(64, 32),)
