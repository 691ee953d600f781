"""Do something once a module has been imported.

The startup folders' sitecustomize.py load this file by its path, before memshim can be imported: it
uses the standard library alone."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any


class After(importlib.abc.MetaPathFinder):
    """Does something once a module is there, the first time. Stands before the finders until then:
    many only ask whether there is such a module."""

    def __init__(self, name: str, act: Callable[[Any], None]) -> None:
        self.name, self.act, self.asking = name, act, False
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.name or self.asking:
            return None
        self.asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.asking = False
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_act(module: Any) -> None:
            execute(module)
            if module.__name__ == self.name and self in sys.meta_path:
                sys.meta_path.remove(self)
                self.act(module)

        spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec


def once_imported(name: str, act: Callable[[], None]) -> None:
    """Call act now where the module is imported already, else once it will have been."""
    if name in sys.modules:
        act()
    else:
        After(name, lambda module: act())
