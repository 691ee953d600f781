"""Members of an enumeration as attributes, in lists, by value; `is` knows each only by its own object in TorchScript."""

from enum import Enum

import torch
from torch import nn


class Mode(Enum):
    ONCE = 1
    TWICE = 2


class Repeat(nn.Module):
    def __init__(self, mode: Mode):
        super().__init__()
        self.mode = mode

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.mode == Mode.ONCE:
            return x + 1
        if self.mode is Mode.TWICE:
            return torch.cat([x, x]) * 2
        return x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Repeat(Mode.ONCE)
        self.second = Repeat(Mode.TWICE)

    def forward(self, x):
        y = self.second(self.first(x))
        for mode in [Mode.ONCE, Mode.TWICE]:
            y = y.repeat(mode.value, 1)
        return y


def inputs():
    return (torch.zeros(64, 32),)


kinds = ("script",)
