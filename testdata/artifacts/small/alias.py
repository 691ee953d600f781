"""keep = out is gone from the printed code; the name holds the storage all the same."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        out = x * 2
        keep = out
        out = out + 1
        out = torch.cat([out, out])
        out = out[:64] - 1
        return out * keep


def inputs():
    return (torch.zeros(64, 32),)
