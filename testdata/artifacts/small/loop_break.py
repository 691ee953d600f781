"""continue and break become flags in the printed code."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        y = x + 1
        for i in range(10):
            if i % 2 == 0:
                continue
            z = y * i
            if i > 4:
                break
            y = torch.cat([z, y])
        return y - 1


def inputs():
    return (torch.zeros(16, 32),)
