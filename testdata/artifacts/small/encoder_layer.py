"""nn.TransformerEncoderLayer: eager takes a fused operator that a traced archive does not have."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)

    def forward(self, x):
        return self.layer(x) + 1


def inputs():
    return (torch.zeros(2, 48, 64),)
