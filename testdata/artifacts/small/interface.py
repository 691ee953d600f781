"""Submodules behind a module interface: which forward runs is known from the object alone."""

import torch
from torch import nn


@torch.jit.interface
class Block(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Double(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, x])


class Half(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return y[: y.size(0) // 2].clone()


class Model(nn.Module):
    first: Block
    second: Block

    def __init__(self):
        super().__init__()
        self.first = Double()
        self.second = Half()

    def forward(self, x):
        x = self.first(x)
        x = self.second.forward(x)
        return self.second.forward(x)


def inputs():
    return (torch.zeros(64, 32),)


kinds = ("script",)
