"""Attributes of an engine's objects, whose names may change from one release to the next."""

from __future__ import annotations

from typing import Any


class Moved(AttributeError):
    """An attribute of the engine that this release does not have where others do."""


def read(of: Any, path: str) -> Any:
    """An attribute of an attribute: read(worker, "model_runner.model_memory_usage"). Moved where
    there is none."""
    at = of
    for name in path.split("."):
        if not hasattr(at, name):
            raise Moved(f"{type(of).__name__}.{path}")
        at = getattr(at, name)
    return at
