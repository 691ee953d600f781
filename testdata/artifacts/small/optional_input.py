"""An optional argument, given and not given."""

from typing import Optional

import torch
from torch import nn


class Model(nn.Module):
    def mix(self, x, mask: Optional[torch.Tensor] = None):
        y = x + 1
        if mask is not None:
            y = y.masked_fill(mask, 0.0)
        return y

    def forward(self, x, mask: Optional[torch.Tensor] = None):
        if mask is None:
            mask = x > 0
        a = self.mix(x, mask)
        b = self.mix(a)
        return b.relu()


def inputs():
    return (torch.zeros(64, 32), None)


kinds = ("script",)
