"""A result written in place keeps nothing else of the tuple from being simplified: `x * 1` of another one goes."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        y = x + x
        y.mul_(2).relu_()
        z = (x + 1) * 1
        y[y > 0] = 2.0
        return z, y, x + 3


def inputs():
    return (torch.zeros(64, 32),)


kinds = ("script",)
