"""An expression that goes on behind an operand on a later line."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        y = torch.cat([x, x])
        z = torch.relu(y)
        return y[:48, :] * torch.sin(
            torch.exp(z))[:48]


def inputs():
    return (torch.zeros(64, 32),)
