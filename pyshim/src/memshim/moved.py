"""Where modules were before they had folders: `import memshim.plugin`, `from memshim.trace import trace` and the like go on working."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from types import ModuleType

MOVED = {
    **{name: f"memshim.run.{name}" for name in ("build", "export", "frames", "gpu", "history", "inputs", "measure", "record", "watch")},
    **{name: f"memshim.look.{name}" for name in ("trace", "track")}, "profiler": "memshim.look.profile",
    **{name: f"memshim.judge.{name}" for name in ("check", "marks", "plugin", "report")},
    **{name: f"memshim.workspace.{name}" for name in ("cudnn", "deviceclass", "query", "torchwheel")}, "scratchfile": "memshim.workspace.profiles",
}


class OldPaths(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the module that stands there now: the same one, so that what is changed in it is changed for all."""

    def find_spec(self, name: str, path=None, target=None):
        package, _, last = name.rpartition(".")
        return importlib.util.spec_from_loader(name, self) if package == "memshim" and last in MOVED else None

    def create_module(self, spec) -> ModuleType:
        module = importlib.import_module(MOVED[spec.name.rpartition(".")[2]])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = module.__spec__.loader_state  # importing has put the old path's there


def keep_old_paths() -> None:
    sys.meta_path.append(OldPaths())
