"""Exported programs hold pickles, and PyTorch loads some of them without its safe unpickler. Here
all of them are loaded by the safe one: what names a global that is not on PyTorch's list is
refused, and nothing of it runs, unless --trust was given."""

from __future__ import annotations

import argparse
import os
import pickle
from typing import Any

TRUST = "MEMSPEC_TRUST"  # set by --trust, for the processes that run cases too


class Unsafe(Exception):
    """A pickle that may run code. The text is for the user."""


class _Trust(argparse.Action):
    def __call__(self, *_: Any) -> None:
        os.environ[TRUST] = "1"


def add_argument(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--trust",
        action=_Trust,
        nargs=0,
        help="also load .pt2 files whose pickles may run code; without it they are refused. The code of "
        "source: is run in any case",
    )


def load_program(path: str) -> Any:
    """torch.export.load. Errors: Unsafe, and PyTorch's own."""
    import torch

    if os.environ.get(TRUST):
        return torch.export.load(path)
    load = torch.load

    def safely(*arguments: Any, **keywords: Any) -> Any:
        return load(*arguments, **keywords | {"weights_only": True})

    torch.load = safely
    try:
        return torch.export.load(path)
    except Exception as e:
        cause: BaseException | None = e
        while cause is not None and not isinstance(cause, pickle.UnpicklingError):
            cause = cause.__cause__ or cause.__context__
        if cause is None:
            raise
        raise Unsafe(
            f"{path}: got a pickle that PyTorch's safe unpickler refuses ({_first(str(cause))}); --trust loads it, "
            f"which may run code"
        ) from None
    finally:
        torch.load = load


def _first(text: str) -> str:
    """The first line that names what was found."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if "GLOBAL" in line or "Unsupported" in line]
    return (named or lines or ["it does not say why"])[0][:200]
