"""Python commands that tests run: each is forked from a process that has imported torch
(warm_server.py), which takes milliseconds where the import takes seconds; and so are the Python
programs that a command starts. run stands for subprocess.run([sys.executable, ...]); within
programs() whatever is started by subprocess is forked.

A forked command has its own arguments, environment, working folder, streams and __main__, runs
sitecustomize and imports torch, whose modules come from memory. What a test about the start itself
needs and this is not: another hash seed, Python's options, variables that are read before Python's
first line, and that it has no child but those that it started: the process that forks for it is one.
Such a test starts a process. Where the environment has a variable that is read when torch is
loaded, run starts one too."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import marshal
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import warm_server
from warm_server import early

from memshim import pretend

SERVER = Path(__file__).with_name("warm_server.py")
AT_THE_START = dict(os.environ)  # of the tests: one of them may set variables for a while
FOR_THE_COMMAND = ("MEMSPEC_", "PYTHONPATH")  # of the environment, not for the process that is forked


class Server:
    """A process that has imported torch, with these variables."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="memshim-warm-")
        program = Path(self._folder.name, "warm.pyc")
        code = compile(SERVER.read_text(), "<frozen runpy>", "exec")
        program.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environ = {n: v for n, v in environ.items() if not n.startswith(FOR_THE_COMMAND)}
        self._p = subprocess.Popen(
            [sys.executable, str(program), str(theirs.fileno())], env=environ, pass_fds=[theirs.fileno()]
        )
        theirs.close()
        self.programs = warm_server.Programs(self._connection)

    def close(self) -> None:
        self._connection.close()
        self._p.wait()
        self._folder.cleanup()


@functools.cache
def server(pretending: bool) -> Server:
    """Forks commands on pretend GPUs, or others."""
    started = Server(AT_THE_START | (pretend.environment("t4") if pretending else {}))
    atexit.register(started.close)
    return started


@functools.cache
def fixed(pretending: bool) -> dict[str, str]:
    return early(AT_THE_START | (pretend.environment("t4") if pretending else {}))


def find(words: list[str], environ: Mapping[str, str]) -> warm_server.Programs | None:
    """What forks a Python program, where that is asked for and can be."""
    if not forking:
        return None
    front = words[:2] == ["-m", "memshim"]
    starts = front and ("--on" in words or words[2] in ("run", "capture")) and "none" not in words
    pretending = starts or environ.get("LD_PRELOAD", "") != AT_THE_START.get("LD_PRELOAD", "")
    if not starts and early(environ) != fixed(pretending):
        return None
    found = server(pretending).programs
    found.generations = forking[-1]
    return found


forking: list[int] = []  # while the programs that this process starts are forked, how many generations of theirs are
# A process that is forked itself starts forked programs already.
if not hasattr(subprocess.Popen._execute_child, "forks"):
    warm_server.fork_programs(find)


@contextlib.contextmanager
def programs(generations: int = 9) -> Iterator[None]:
    """Within it the Python programs that this process starts are forked, whoever starts them.
    generations: how many generations of programs that those start are forked too; a program whose
    programs are has one child more."""
    forking.append(generations)
    try:
        yield
    finally:
        forking.pop()


def run(
    command: list[str],
    cwd: str | os.PathLike[str] = ".",
    env: dict[str, str] | None = None,
    input: str | None = None,
    timeout: float | None = 300,
    check: bool = False,
    generations: int = 9,
) -> subprocess.CompletedProcess[str]:
    """What subprocess.run gives of a Python command, with what it printed as text. generations: as
    of programs."""
    assert command[0] == sys.executable
    with programs(generations):
        return subprocess.run(
            [*map(str, command)],
            cwd=cwd,
            env=env,
            input=input or "",
            timeout=timeout,
            check=check,
            capture_output=True,
            text=True,
        )
