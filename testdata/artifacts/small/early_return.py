"""Two ways out of a function; the rest of it is not run."""

import torch
from torch import nn


class Model(nn.Module):
    def pick(self, x, deep: bool):
        y = x + 1
        if not deep:
            return y
        z = torch.cat([y, y])
        return z[:64] * 2

    def forward(self, x):
        a = self.pick(x, False)
        b = self.pick(a, True)
        return a + b


def inputs():
    return (torch.zeros(64, 32),)
