"""Integers of 64 bits without a sign, such as a seed that torchtitan broadcasts: torch 2.6 takes none
above the largest signed one from a kernel in Python, and `.item()` of a device's tensor would end with
an error. It is read as signed there, which has the same bits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch


def follow() -> None:
    """Change nothing where PyTorch takes such a number."""
    try:
        torch.ops.aten.scalar_tensor.default(1 << 63, dtype=torch.uint64)
    except RuntimeError:
        torch.Tensor.item = read_as_signed(torch.Tensor.item)  # type: ignore[assignment, method-assign]


def read_as_signed(item: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    """Tensor.item, which reads an integer without a sign as one with it."""

    @functools.wraps(item)
    def read(self: torch.Tensor) -> Any:
        if self.dtype is torch.uint64 and self.is_cuda:
            return item(self.view(torch.int64)) % (1 << 64)
        return item(self)

    return read
