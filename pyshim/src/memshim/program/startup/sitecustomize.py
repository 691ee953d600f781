"""Python runs this at the start of every process of a program under memshim run (program/command.py
puts its folder first on PYTHONPATH): the process is observed from the moment that torch is
imported. Whatever sitecustomize stands behind this one is run too."""

import atexit
import importlib.machinery
import importlib.util
import json
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
# processes that it starts have it by their environment
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]

_WANTED = "MEMSPEC_RUN"


def _found() -> None:
    if importlib.util.find_spec("memshim") is None:
        sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(HERE))))


def _begin(torch: object) -> None:
    _found()
    from memshim.program import observe

    observe.begin()


def _observe() -> None:
    after_import = types.ModuleType("memshim_after_import")
    path = os.path.join(HERE, "..", "..", "pretend", "after_import.py")
    importlib.machinery.SourceFileLoader(after_import.__name__, path).exec_module(after_import)
    after_import.After("torch", _begin)


def _keep_interrupt() -> None:
    """Python ends by SIGINT where KeyboardInterrupt ended the program, unless code that was
    evaluated since reset what it knows of that, as our report's does. Registered first, this is
    called last."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if isinstance(error, KeyboardInterrupt) and not hasattr(sys, "ps1"):
        try:
            exec("raise KeyboardInterrupt")
        except KeyboardInterrupt:
            pass


def _name_missing() -> None:
    """A line for the package that ended the program, where torch was not imported yet: afterwards the
    report names it."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if "torch" in sys.modules or not isinstance(error, ModuleNotFoundError) or hasattr(sys, "ps1"):
        return
    package = (error.name or "").partition(".")[0]
    if package and importlib.util.find_spec(package) is None:
        from memshim.printed import say

        said = f"memshim: got no package {package}, want it installed for {sys.executable}"
        say(said, file=sys.stderr, flush=True)


if os.environ.get(_WANTED):
    atexit.register(_keep_interrupt)
    atexit.register(_name_missing)
    _observe()
    if json.loads(os.environ[_WANTED])["record"]:  # what it reads from the start on, which the recording holds
        _found()
        from memshim.origin.reads import Reads

        Reads().begin()
_behind = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
if _behind is not None and _behind.loader is not None:
    _behind.loader.exec_module(importlib.util.module_from_spec(_behind))
