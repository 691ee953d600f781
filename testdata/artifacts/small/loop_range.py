"""A counted loop: what is bound in it lives on to the next round and past the end."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, n: int):
        total = torch.zeros_like(x)
        step = x
        for i in range(n):
            step = x * i
            wide = torch.cat([step, step])
            total = total + wide[:64]
        return total + step


def inputs():
    return (torch.zeros(64, 32), 3)


kinds = ("script",)
