"""Run a program as python would, and do something when it first imports torch: not before, so that
what it sets up (environment variables, the devices it sees, forks) holds as without us."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable

from memshim.pretend.after_import import once_imported
from memshim.printed import say


def run(name: str, arguments: list[str], module: bool = False) -> None:
    """Run a script, or a module by name, as __main__."""
    sys.argv = [name, *arguments]
    if module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(name)))
        runpy.run_path(name, run_name="__main__")


def code_of(program: Callable[[], None], then: Callable[[], None]) -> int:
    """Run a program; its exit code. What it raises is raised. then is called when torch has been
    imported; a ValueError there is wrong usage: 2."""

    def begin() -> None:
        try:
            then()
        except ValueError as e:
            raise Refused(str(e)) from None

    try:
        once_imported("torch", begin)
        program()
    except Refused as e:
        say(f"memshim: {e}", file=sys.stderr)
        return 2
    except SystemExit as e:
        if isinstance(e.code, str):
            say(e.code, file=sys.stderr)
        return e.code if isinstance(e.code, int) else 0 if e.code is None else 1
    return 0


class Refused(BaseException):
    """What was asked for is not there. No program catches it by accident."""
