"""An object of a scripted class holds tensors in its attributes."""

import torch
from torch import nn


@torch.jit.script
class Cache:
    def __init__(self, x: torch.Tensor):
        self.x = x
        self.hits = 0

    def swap(self, y: torch.Tensor) -> torch.Tensor:
        old = self.x
        self.x = y
        self.hits += 1
        return old


class Model(nn.Module):
    def forward(self, x):
        cache = Cache(x + 1)
        old = cache.swap(torch.cat([x, x]))
        y = old * 2
        old = cache.swap(y)
        return old + cache.x.repeat(2, 1)


def inputs():
    return (torch.zeros(64, 32),)


kinds = ("script",)
