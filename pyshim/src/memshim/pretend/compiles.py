"""What compiles leave: PyTorch makes a folder for each and keeps it, for what was compiled is
loaded from there. On a pretend GPU no later process reads it (caches from earlier runs would change
an answer), so it goes with the process.

A folder stays that TORCHINDUCTOR_CACHE_DIR named, one whose code is reported in the log
(TORCH_LOGS=output_code), and one with a package that AOTInductor wrote.
What a process leaves that was killed is removed by a later one: a lock says whether its process is
there.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memshim import files

FOLDER = "inductor-pretend"
PREFIX = "process-"

_own: dict[int, tuple[Path, Any]] = {}  # by process: its folder, and its lock while it holds it


def base(environ: Mapping[str, str] = os.environ) -> Path:
    """Where memshim keeps its caches."""
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memshim"


class _Tempfile:
    """The module tempfile, as inductor finds it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(tempfile, name)

    def mkdtemp(self, suffix: str | None = None, prefix: str | None = None, dir: Any = None) -> str:
        if dir is not None and Path(dir) == base() / FOLDER and "output_code" not in os.environ.get("TORCH_LOGS", ""):
            dir = folder()
        return tempfile.mkdtemp(suffix, prefix, dir)


def watch(utils: Any) -> None:
    """torch._inductor.utils is imported."""
    utils.tempfile = _Tempfile()


def folder() -> str:
    """This process's own."""
    if os.getpid() not in _own:
        within = base() / FOLDER
        files.remove_dead(within, PREFIX, without_package)
        made, lock = files.locked_folder(PREFIX, within)  # held to the end
        _own[os.getpid()] = made, lock
        atexit.register(remove, made, os.getpid())
    return str(_own[os.getpid()][0])


def without_package(made: Path) -> None:
    """Remove a folder, but not one with a package that AOTInductor wrote."""
    if not any(made.rglob("*.pt2")):
        files.remove_folder(made)


def remove(made: Path, process: int) -> None:
    if os.getpid() == process:
        without_package(made)


def remove_own() -> None:
    """This process's, where it ends without what is registered with atexit."""
    if found := _own.get(os.getpid()):
        remove(found[0], os.getpid())
