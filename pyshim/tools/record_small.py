"""The small modules of testdata/artifacts/small, each of which shows one thing."""

import importlib.util
import os
import pathlib
import sys

from record_case import KINDS, Case

# Through the neutral prefix: the archives name these files.
FOLDER = pathlib.Path(os.environ["MEMSPEC_RECORD_PREFIX"]) / "testdata/artifacts/small"


def _case(path: pathlib.Path) -> Case:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return Case(path.stem, "small", module.Model, module.inputs, getattr(module, "kinds", KINDS))


def cases() -> list[Case]:
    return [_case(path) for path in sorted(FOLDER.glob("*.py"))]


def versions() -> list[str]:
    return []
