"""Slices, reshapes and splits: views where the strides allow it, copies where not."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        y = x * 1
        a = y.view(32, 64).transpose(0, 1)
        b = a.reshape(-1)
        c = a.contiguous().view(-1)
        d, e = y.chunk(2, dim=1)
        f = torch.flatten(y[::2], 0, 1)
        g = e.unsqueeze(0).expand(4, 64, 16)
        h = g.permute(1, 2, 0).squeeze(0)
        i = y.contiguous().reshape(8, 8, 32).narrow(0, 1, 2)
        return b + c, d, f, h, i.select(1, 0)


def inputs():
    return (torch.zeros(64, 32),)
