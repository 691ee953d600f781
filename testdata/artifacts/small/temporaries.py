"""A nested expression has values without names: each goes with the operator that takes it last."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        y = torch.relu(x + 1) * torch.sigmoid(x[:, :16].repeat(1, 2) - 1)
        return (y + torch.tanh(torch.cat([y, y], dim=1) * 2)[:, :32]).exp()


def inputs():
    return (torch.zeros(64, 32),)
