"""A dict of tensors: set, read, replace, remove, walk."""

from typing import Dict

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        d: Dict[str, torch.Tensor] = {}
        d["a"] = x + 1
        d["b"] = d["a"][:32] * 2
        d["a"] = torch.cat([d["b"], d["b"], d["b"]])
        if "b" in d:
            gone = d.pop("b")
            d["c"] = gone - 1
        out = torch.zeros_like(x[:1])
        for key, value in d.items():
            out = out + value.sum(dim=0, keepdim=True)
        return out, d


def inputs():
    return (torch.zeros(64, 32),)


kinds = ("script",)
