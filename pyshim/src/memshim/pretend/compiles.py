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
import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memshim import private

FOLDER = "inductor-pretend"
PREFIX = "process-"
LOCK = "lock"
FRESH = 3600  # seconds in which a folder may be without its lock: it has just been made

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
        remove_dead(within)
        made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=within))
        lock = os.fdopen(private.lock_file(made / LOCK), "r+")  # held to the end
        fcntl.flock(lock, fcntl.LOCK_EX)
        _own[os.getpid()] = made, lock
        atexit.register(remove, made, os.getpid())
    return str(_own[os.getpid()][0])


def remove(made: Path, process: int) -> None:
    if os.getpid() == process and not any(made.rglob("*.pt2")):
        shutil.rmtree(made, ignore_errors=True)


def remove_own() -> None:
    """This process's, where it ends without what is registered with atexit."""
    if found := _own.get(os.getpid()):
        remove(found[0], os.getpid())


def remove_dead(within: Path) -> None:
    """The folders of processes that are gone."""
    for made in within.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError, private.NotPrivate):
            if not (made / LOCK).exists():
                if time.time() - made.stat().st_mtime > FRESH:
                    remove(made, os.getpid())
                continue
            with os.fdopen(private.lock_file(made / LOCK), "r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails where its process holds it
                remove(made, os.getpid())
