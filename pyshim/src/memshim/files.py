"""Files that appear whole or not at all, and temporary folders that no later run finds."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

LOCK = "lock"
FRESH = 3600  # seconds in which a folder may be without its lock: it has just been made


def write_whole(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write a file; its folder is made. OSError names the file, and nothing half-written is
    left."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        os.replace(part, path)
    except OSError as e:
        with contextlib.suppress(OSError):
            part.unlink()
        raise OSError(e.errno, e.strerror, str(path)) from None
    except BaseException:  # Ctrl-C
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    return path


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading. OSError where it is a pipe, a device or a folder, without waiting."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "Not a regular file", os.fspath(path))
    return os.fdopen(file, "rb")


def check_writable(path: str | os.PathLike[str]) -> None:
    """OSError, which names the file, where it cannot be written. What is there stays as it is."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.is_dir():
            raise IsADirectoryError(21, "Is a directory")
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe
            return
        part.touch()
        part.unlink()
    except OSError as e:
        raise OSError(e.errno, e.strerror, str(path)) from None


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A folder for as long as it is used. Those of processes that were killed are removed: a lock
    shows which."""
    remove_dead(Path(tempfile.gettempdir()), prefix)
    made, lock = locked_folder(prefix)
    try:
        with lock:
            yield made
    finally:
        remove_folder(made)


def locked_folder(prefix: str, within: Path | None = None) -> tuple[Path, TextIO]:
    """A new temporary folder and its lock, which is held until that file is closed."""
    import fcntl  # not on Windows

    while True:
        made = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
        lock = open(made / LOCK, "w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (made / LOCK).exists():
            return made, lock
        lock.close()  # another process took the lock first, and the folder for one whose process was killed


def remove_folder(made: Path) -> None:
    shutil.rmtree(made, ignore_errors=True)


def remove_dead(within: Path, prefix: str, remove: Callable[[Path], None] = remove_folder) -> None:
    """Remove the folders whose processes are gone."""
    import fcntl

    for made in within.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            there = made.lstat()
            if there.st_uid != os.getuid() or made.is_symlink() or not made.is_dir():
                continue
            try:
                lock = os.open(made / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:
                if time.time() - there.st_mtime > FRESH:
                    remove(made)
                continue
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails where its process holds it
                remove(made)
            finally:
                os.close(lock)
