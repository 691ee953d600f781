"""A number computed with a local's size takes no local's place."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x):
        y = self.act(x)
        n = y.shape[0] // 2
        z = x[:n] * 2
        return torch.cat([z, z])


def inputs():
    return (torch.zeros(64, 32),)
