"""The small modules of testdata/artifacts/small, each of which shows one thing."""

import functools
import importlib.util
import os
import pathlib
import sys
import types

from record_case import KINDS, Case

# Through the neutral prefix: the archives name these files.
FOLDER = pathlib.Path(os.environ["MEMSPEC_RECORD_PREFIX"]) / "testdata/artifacts/small"


@functools.cache
def _load(path: pathlib.Path) -> types.ModuleType:
    """Imports a file where it is needed, which is a separate process: scripted classes register
    when imported."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _case(path: pathlib.Path) -> Case:
    text = path.read_text()
    only = next((k for k in KINDS if f'\nkinds = ("{k}",)\n' in text), None)
    return Case(
        path.stem, "small", lambda: _load(path).Model(), lambda: _load(path).inputs(), (only,) if only else KINDS
    )


def cases() -> list[Case]:
    return [_case(path) for path in sorted(FOLDER.glob("*.py"))]


def versions() -> list[str]:
    return []
