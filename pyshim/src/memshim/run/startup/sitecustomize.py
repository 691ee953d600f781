"""Python runs this at the start of every process of a program under memshim run (run/program.py puts its folder first on PYTHONPATH): the process is
observed from the moment that torch is imported. Whatever sitecustomize stands behind this one is run too."""

import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]  # processes that it starts have it by their environment

_WANTED = "MEMSPEC_RUN"


def _observe() -> None:
    from importlib.abc import MetaPathFinder

    class AfterTorch(MetaPathFinder):
        """Stands before the finders, once, until torch is asked for."""

        def find_spec(self, name, path=None, target=None):
            if name != "torch":
                return None
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(name)
            if spec is None or spec.loader is None:
                return spec
            execute = spec.loader.exec_module

            def execute_and_begin(module):
                execute(module)
                if importlib.util.find_spec("memshim") is None:
                    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(HERE))))
                from memshim.run import observe

                observe.begin()

            spec.loader.exec_module = execute_and_begin
            return spec

    sys.meta_path.insert(0, AfterTorch())


if os.environ.get(_WANTED):
    _observe()
_behind = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
if _behind is not None and _behind.loader is not None:
    _behind.loader.exec_module(importlib.util.module_from_spec(_behind))
