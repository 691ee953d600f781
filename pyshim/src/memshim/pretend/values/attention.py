"""Attention of cuDNN's whose plan cannot be made. PyTorch keeps a place for a plan before it makes
it: where that fails (a dropout of 1), the first call is an error, and from 2.15 the next one with
the same arguments follows the empty place and ends the process, on a real card too. Here it is the
error again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

PLANNED = {
    "aten::_scaled_dot_product_cudnn_attention",
    "aten::_cudnn_attention_forward",
    "aten::_scaled_dot_product_cudnn_attention_backward",
    "aten::_cudnn_attention_backward",
}


class Unplanned:
    """The calls that failed in this process, with what PyTorch said."""

    def __init__(self) -> None:
        self.errors: dict[Any, str] = {}

    def guarded(self, name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel of an operator, which says an error again that it has said of a call like
        this."""

        def kernel(keyset: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            call = (name, torch.cuda.current_device(), alike((args, sorted(kwargs.items()))))
            if call in self.errors:
                raise RuntimeError(self.errors[call])
            try:
                return run(keyset, args, kwargs)
            except torch.OutOfMemoryError:
                raise
            except RuntimeError as e:
                self.errors[call] = str(e)
                raise

        return kernel


def alike(value: Any) -> Any:
    """What of the arguments a plan depends on."""
    if isinstance(value, torch.Tensor):
        return value.shape, value.stride(), value.dtype
    if isinstance(value, (tuple, list)):
        return tuple(map(alike, value))
    return value
