"""A loop over modules is unrolled when scripted."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(32, 64), nn.Linear(64, 128), nn.Linear(128, 32)])

    def forward(self, x):
        seen = x
        for layer in self.layers:
            seen = torch.relu(layer(seen))
        return seen


def inputs():
    return (torch.zeros(64, 32),)
