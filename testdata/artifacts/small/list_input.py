"""Lists of tensors, numbers and flags as inputs."""

from typing import List

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, xs: List[torch.Tensor], scale: float, twice: bool):
        out: List[torch.Tensor] = []
        for x in xs:
            y = x * scale
            if twice:
                y = torch.cat([y, y])
            out.append(y)
        return out


def inputs():
    return ([torch.zeros(64, 32), torch.zeros(16, 32)], 0.5, True)


kinds = ("script",)
