"""What a loop begins with has a name beside the one that goes from round to round."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(32, 64)
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(3))
        self.norm = nn.LayerNorm(64)

    def forward(self, x):
        start = self.embed(x)
        hidden = start
        for layer in self.layers:
            hidden = layer(hidden)
        return self.norm(hidden)


def inputs():
    return (torch.zeros(16, 32),)
