"""One name for all results of an operator keeps those that nothing uses."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        top = torch.topk(x, 4, dim=1)
        y = x + top.values.sum()
        first = x.sort(dim=1)[0]
        top = x.max(dim=1)
        return y * 2, first + top.indices.unsqueeze(1)


def inputs():
    return (torch.zeros(64, 32),)


kinds = ("script",)
