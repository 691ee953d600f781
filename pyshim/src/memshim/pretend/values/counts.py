"""Operators whose result has a size that depends on values: how many rows it has, from the result that the CPU gives. CUDA's kernels read that count
from the device, and allocate by it."""

from __future__ import annotations


OF = {
    "aten::nonzero": lambda r: r.shape[0],
    "aten::_unique": lambda r: r[0].shape[0],
    "aten::_unique2": lambda r: r[0].shape[0],
    "aten::unique_dim": lambda r: r[0].shape[0],
    "aten::unique_consecutive": lambda r: r[0].shape[0],
    "aten::unique_dim_consecutive": lambda r: r[0].shape[0],
    "torchvision::nms": lambda r: r.shape[0],
}


