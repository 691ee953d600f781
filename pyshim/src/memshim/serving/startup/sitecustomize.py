"""Python runs this at the start of every process of an engine under memshim serve (command.py puts
its folder first on PYTHONPATH): the engine's classes are watched from the moment that they are
imported. Whatever sitecustomize stands behind this one is run too."""

import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# processes that it starts have it by their environment
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]

if os.environ.get("MEMSPEC_SERVE"):
    if importlib.util.find_spec("memshim") is None:
        sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(HERE))))
    from memshim.serving import watch

    watch.begin()
_behind = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
if _behind is not None and _behind.loader is not None:
    _behind.loader.exec_module(importlib.util.module_from_spec(_behind))
