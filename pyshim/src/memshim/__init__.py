"""The Python side of memspec. It estimates nothing: the memspec binary does, and this package
speaks its JSON.

pretend      a pretend GPU: a described device that PyTorch takes for real
workspace    what cuDNN answers about its workspace
gpu          what this process runs on
allocator    what an allocator did
attribution  whose each allocation is
origin       what a file was made from
case         one case is run
exporting    an artifact is written (memshim.export is the function for users)
look         who took the memory: by line, between two lines, by layer
program      one program is run
judge        budgets: memspec.yaml's cases, marks on tests

Each package imports those above it alone; pyproject.toml has the table.
"""

# Nothing but what Python has loaded already is imported before HIDDEN: not even __future__.
import os
import sys

SHOWN = "memshim-shown"  # python -X: -P hides the working directory from memshim alone (workdir.module)


def _hide_working_directory() -> str:
    """Take the working directory off the search path, where `python -m memshim` put it first, and
    return it: nothing that this package imports comes out of a checkout. memshim.workdir puts it
    back for the user's own code."""
    if getattr(sys.flags, "safe_path", False):
        return os.getcwd() if SHOWN in sys._xoptions else ""
    if sys.argv[:1] != ["-m"]:  # so only while Python looks for the module
        return ""
    word = sys.orig_argv[len(sys.orig_argv) - len(sys.argv)]  # the last of Python's own
    module = word.partition("m")[2] if word.startswith("-") else word  # -mmemshim is one word
    if module.partition(".")[0] != "memshim" or not sys.path or (sys.path[0] or os.getcwd()) != os.getcwd():
        return ""
    return sys.path.pop(0) or os.getcwd()


HIDDEN = _hide_working_directory()

import importlib  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

if TYPE_CHECKING:
    from memshim import pretend
    from memshim.exporting.command import export
    from memshim.judge.search import largest as fit
    from memshim.look.modelsize import modelsize
    from memshim.look.profile import Profiler
    from memshim.look.trace import trace
    from memshim.look.track import Tracker, clear_cache, track
    from memshim.program.call import run

__all__ = ["Profiler", "Tracker", "clear_cache", "export", "fit", "modelsize", "pretend", "run", "trace", "track"]

_OF = {
    "Profiler": "look.profile",
    "Tracker": "look.track",
    "clear_cache": "look.track",
    "export": "exporting.command",
    "fit": "judge.search",
    "modelsize": "look.modelsize",
    "run": "program.call",
    "trace": "look.trace",
    "track": "look.track",
}

_CALLED = {"fit": "largest"}  # in its module, where it has another name


def __getattr__(name: str) -> Any:
    """Imported when it is used: every process on a pretend GPU imports this package."""
    if name == "pretend":
        return importlib.import_module("memshim.pretend")
    if name not in _OF:
        raise AttributeError(f"module 'memshim' has no attribute {name!r}")
    module = importlib.import_module(f"memshim.{_OF[name]}")
    found = globals()[name] = getattr(module, _CALLED.get(name, name))
    return found


def __dir__() -> list[str]:
    """The names for users, which a notebook completes."""
    return [*__all__, "__all__", "__doc__", "__file__", "__name__", "__path__", "__spec__"]
