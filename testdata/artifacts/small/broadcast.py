"""Broadcasting, expand, repeat and where."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        row = x[:1] + 1
        col = x[:, :1] * 2
        grid = row + col
        wide = row.expand(64, 32)
        tall = row.repeat(128, 1)
        y = torch.where(grid > 0, wide, col)
        return torch.lerp(y, grid, 0.5), tall.repeat_interleave(2, dim=0)


def inputs():
    return (torch.zeros(64, 32),)
