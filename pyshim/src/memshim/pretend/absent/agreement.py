"""Checks that all ranks have the same: what absent ranks send in them is what this rank sends, since
the program would end otherwise."""

from __future__ import annotations

import functools
from typing import Any

import torch.distributed as dist

from memshim.pretend.library import Library

CHECKS = ("_verify_params_across_processes",)  # of the number and the shapes of DDP's parameters


def assume() -> None:
    """torch is imported."""
    agreed = Library().agreed

    def checked(check: Any) -> Any:
        @functools.wraps(check)
        def agrees(*args: Any, **kwargs: Any) -> Any:
            agreed(1)
            try:
                return check(*args, **kwargs)
            finally:
                agreed(0)

        return agrees

    for name in CHECKS:
        if check := getattr(dist, name, None):
            setattr(dist, name, checked(check))
