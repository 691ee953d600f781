"""A NamedTuple is made, read by name and returned."""

from typing import NamedTuple

import torch
from torch import nn


class Boxes(NamedTuple):
    corners: torch.Tensor
    scores: torch.Tensor


class Model(nn.Module):
    def detect(self, x) -> Boxes:
        wide = torch.cat([x, x], dim=1)
        return Boxes(wide[:, :32] * 2, wide.sum(dim=0))

    def forward(self, x):
        found = self.detect(x)
        better = Boxes(corners=found.corners + 1, scores=found.scores)
        return better


def inputs():
    return (torch.zeros(64, 32),)
