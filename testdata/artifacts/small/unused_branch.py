"""Code that a runtime does not take: is_scripting, @unused, @ignore, a flag of the module."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.debug = False

    @torch.jit.unused
    def slow(self, x):
        return torch.cat([x, x, x])[:64]

    def forward(self, x):
        if torch.jit.is_scripting():
            x = x + 1
        else:
            x = torch.cat([x, x])[:64] + 1
        if self.debug:
            x = self.slow(x)
        if self.training:
            x = x * 2
        return x.relu()


def inputs():
    return (torch.zeros(64, 32),)
