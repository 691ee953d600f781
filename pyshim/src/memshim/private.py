"""Folders and files of this user's alone: what lies there is loaded into processes, or kept open by
them."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

OURS = "memshim"  # the folder in a cache from which on all is this user's alone


class NotPrivate(RuntimeError):
    """Somebody else owns it or may write to it. The text names it."""


def folder(path: Path) -> Path:
    """Make a folder that only this user may use, and those above it down from OURS. NotPrivate: one
    that is there already is not such a folder."""
    chain = [path]
    while chain[0].name != OURS and OURS in chain[0].parts:
        chain.insert(0, chain[0].parent)
    chain[0].parent.mkdir(parents=True, exist_ok=True)
    for f in chain:
        try:
            f.mkdir(mode=0o700)
        except FileExistsError:
            check(f, os.stat(f))
    return path


def check(path: Path, found: os.stat_result) -> None:
    """NotPrivate where it is not this user's alone to write to. Windows has no such modes."""
    if not hasattr(os, "getuid"):
        return
    if found.st_uid != os.getuid():
        raise NotPrivate(
            f"{path}: got a folder or file of user {found.st_uid}, want one of this user's own ({os.getuid()})"
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotPrivate(
            f"{path}: got mode {stat.S_IMODE(found.st_mode):o}, want one that this user alone may write to: "
            f"look at what lies there, then chmod go-w {path}"
        )


def lock_file(path: Path) -> int:
    """Open a file to lock it, made where it is not there: its contents stay, a link is not
    followed, and nothing is waited for."""
    try:
        f = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as e:
        what = "a link" if e.errno == errno.ELOOP else e.strerror
        raise NotPrivate(f"{path}: got {what}, want a file of this user's own to lock") from None
    found = os.fstat(f)
    try:
        if not stat.S_ISREG(found.st_mode):
            raise NotPrivate(f"{path}: got a pipe, a device or a socket, want a file of this user's own to lock")
        check(path, found)
    except NotPrivate:
        os.close(f)
        raise
    return f
