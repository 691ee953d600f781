"""Python runs this at the start of a process that has pretend GPUs (memshim.pretend.environment
puts its folder first on PYTHONPATH): values and reads are followed from the moment that torch is
imported. A sitecustomize of the machine's own is run too."""

import importlib.machinery
import importlib.util
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))


def run_own() -> None:
    """The sitecustomize that this one stands before."""
    elsewhere = [p for p in sys.path if os.path.abspath(p or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def follow() -> None:
    if not os.environ.get("MEMSPEC_PRETEND"):
        return
    module = types.ModuleType("memshim_after_import")
    path = os.path.join(os.path.dirname(HERE), "after_import.py")
    importlib.machinery.SourceFileLoader(module.__name__, path).exec_module(module)
    module.once_imported("torch", start)


def start() -> None:
    if importlib.util.find_spec("memshim") is None:
        sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(HERE))))
    from memshim.pretend import follow

    follow.start()


follow()
run_own()
