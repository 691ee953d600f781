"""del releases a name in the middle of a frame."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        a = x + 1
        b = a * 2
        del a
        c = torch.cat([b, b, b])
        del b
        d = c.relu()
        return d


def inputs():
    return (torch.zeros(64, 32),)
