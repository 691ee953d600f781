"""The working directory on the search path: there for the user's code alone."""

from __future__ import annotations

import sys

import memshim


def show() -> None:
    """Put the working directory where `python -m` had it: user code is about to be imported."""
    if memshim.HIDDEN and memshim.HIDDEN not in sys.path:
        sys.path.insert(0, memshim.HIDDEN)
