"""--on DEVICE: a command starts itself anew on a pretend GPU."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from memshim import binary, pretend
from memshim.pretend.activate import DESCRIPTION
from memshim.printed import say

USAGE = 2


class Unusable(Exception):
    """The device cannot be had. The text is for the user."""


def add_arguments(p: argparse.ArgumentParser, required: bool = False) -> None:
    p.add_argument(
        "--on",
        action="append",
        required=required,
        metavar="DEVICE",
        help="on a pretend GPU: a device of memspec devices; repeats, for several",
    )
    p.add_argument("--memory", metavar="SIZE", help="with --on, another size of its memory, such as 40GiB")
    p.add_argument("--count", type=int, default=1, metavar="N", help="with --on, so many of it (1)")


def environment(a: argparse.Namespace) -> dict[str, str]:
    """The variables that --on asks for; none without it."""
    if not a.on:
        if a.memory or a.count != 1:
            raise Unusable("got --memory or --count without --on, want --on DEVICE beside it")
        return {}
    try:
        return pretend.environment(a.on, count=a.count, memory=a.memory)
    except (ValueError, pretend.Unsupported, pretend.BuildError, binary.BinaryError) as e:
        raise Unusable(str(e)) from None


def case_device(a: argparse.Namespace) -> dict[str, Any]:
    """The device as a case reports one."""
    found = pretend.find(a.on[0])
    return {"name": found.name, "memory": found.memory}


def enter(a: argparse.Namespace, command: str) -> int | None:
    """Go on in a process that has the device, if this one has not: then this does not return. The
    exit code where that cannot be."""
    try:
        wanted = environment(a)
    except Unusable as e:
        say(f"memshim {command}: {e}", file=sys.stderr)
        return USAGE
    if not wanted or os.environ.get(DESCRIPTION) == wanted[DESCRIPTION]:
        return None
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **wanted})
