"""A loop over a ModuleDict's items, with an index."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({"up": nn.Linear(32, 64), "down": nn.Linear(64, 32)})

    def forward(self, x):
        sums = []
        for i, (name, part) in enumerate(self.parts.items()):
            x = part(x)
            if name == "up":
                sums.append(x + i)
        return x, sums[0]


def inputs():
    return (torch.zeros(64, 32),)
