"""The working directory on the search path: there for the user's code alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import memshim


def show() -> None:
    """Put the working directory where `python -m` had it: user code is about to be imported."""
    if memshim.HIDDEN and memshim.HIDDEN not in sys.path:
        sys.path.insert(0, memshim.HIDDEN)


def module(name: str) -> list[str]:
    """The command that runs a module of this package by this Python. Python imports modules before
    it gets to ours, and with -m from the working directory: -P keeps it from that, where there is
    one (3.11). show() works there all the same, unless the user asked for -P by its variable."""
    safe = sys.version_info >= (3, 11) and not os.environ.get("PYTHONSAFEPATH")
    return [sys.executable, *(["-P", "-X", memshim.SHOWN] if safe else []), "-m", name]


def search_path(environ: Mapping[str, str]) -> str:
    """PYTHONPATH for a module of this package: this package first, and no empty entry, which is the
    working directory."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return os.pathsep.join(filter(None, [package, *environ.get("PYTHONPATH", "").split(os.pathsep)]))
