"""A name bound anew releases its old value after the new one is computed."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        x = x + 1
        x = x * 2
        y = x - 3
        x = y / 4
        return x


def inputs():
    return (torch.zeros(64, 32),)
