"""The Python side of memspec. It estimates nothing: the memspec binary does, and this package speaks its JSON.

run    a case or a region of code is run, and what it takes is recorded
look   who took it: by line, between two lines, by layer
pretend  a GPU that is not there
judge  budgets: memspec.yaml's cases, marks on tests
workspace  what cuDNN answers about its workspace
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

from memshim.moved import keep_old_paths

if TYPE_CHECKING:
    from memshim import pretend
    from memshim.look.modelsize import modelsize
    from memshim.look.profile import Profiler
    from memshim.look.trace import trace
    from memshim.look.track import Tracker, clear_cache, track
    from memshim.run.export import export

__all__ = ["Profiler", "Tracker", "clear_cache", "export", "modelsize", "pretend", "trace", "track"]

_OF = {"Profiler": "look.profile", "Tracker": "look.track", "clear_cache": "look.track", "export": "run.export", "modelsize": "look.modelsize",
       "trace": "look.trace", "track": "look.track"}


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: every process on a pretend GPU imports this package."""
    if name == "pretend":
        return importlib.import_module("memshim.pretend")
    if name not in _OF:
        raise AttributeError(f"module 'memshim' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"memshim.{_OF[name]}"), name)
    return found


class _Package(types.ModuleType):
    """trace, track and export are functions here, and were modules: importing one by its old path leaves the name to the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _OF or not isinstance(value, types.ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
keep_old_paths()
