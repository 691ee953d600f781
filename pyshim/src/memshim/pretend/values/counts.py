"""Operators whose result has a size that depends on values: how many rows it has, from the result
that the CPU gives. CUDA's kernels read that count from the device, and allocate by it."""

from __future__ import annotations

import math

import torch

from memshim.pretend.values import modes

OF = {
    "aten::nonzero": lambda r: r.shape[0],
    "aten::_unique": lambda r: r[0].shape[0],
    "aten::_unique2": lambda r: r[0].shape[0],
    "aten::unique_dim": lambda r: r[0].shape[0],
    "aten::unique_consecutive": lambda r: r[0].shape[0],
    "aten::unique_dim_consecutive": lambda r: r[0].shape[0],
    "torchvision::nms": lambda r: r.shape[0],
}


def chosen(mode: str, name: str, shape: torch.Size) -> torch.Tensor | None:
    """An argument on the host in the place of an unknown one, of which the operator finds as many
    as the mode says.
    None in mode balanced: what lies there, zeros mostly, is taken as it is."""
    if mode == modes.BALANCED:
        return None
    n = math.prod(shape)
    if name == "aten::nonzero":
        return (torch.zeros if mode == modes.LEAST else torch.ones)(shape, dtype=torch.bool, device="cpu")
    if name == "torchvision::nms":  # boxes: one upon the other, or all apart
        left = (
            torch.zeros(shape[0], device="cpu") if mode == modes.LEAST else 2.0 * torch.arange(shape[0], device="cpu")
        )
        return torch.stack([left, torch.zeros_like(left), left + 1, torch.ones_like(left)], 1)
    return (
        torch.zeros(shape, dtype=torch.int64, device="cpu")
        if mode == modes.LEAST
        else torch.arange(n, device="cpu").view(shape)
    )


def upper(mode: str, shape: torch.Size) -> int:
    """How many nonzero and unique find of more than can be computed."""
    return 0 if mode == modes.LEAST else math.prod(shape)
