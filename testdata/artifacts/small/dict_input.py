"""A dict goes in, a dict comes out."""

from typing import Dict

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, batch: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
        y = batch["image"] * batch["scale"]
        return {"wide": torch.cat([y, y]), "sum": y.sum(dim=0)}


def inputs():
    return ({"image": torch.zeros(64, 32), "scale": torch.zeros(32)},)


kinds = ("script",)
