"""Expressions over several lines: chains of methods, operands, a list. Each is one statement."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 32)
        self.second = nn.Linear(32, 32)

    def forward(self, x):
        y = self.first(x)
        y = (
            y.reshape(64, 4, 8)
            .transpose(1, 2)
            .contiguous()
            .reshape(64, 32)
        )
        parts = (
            torch.sin(y) * 2 -
            torch.cos(y) * 3
        )
        parts = [
            self.first(parts),
            self.second(parts),
        ]
        parts = torch.cat(parts, 1)
        return torch.relu(
            self.second(
                parts[:, :32] + y
            )
        )


def inputs():
    return (torch.zeros(64, 32),)
