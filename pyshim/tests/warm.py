"""Python commands that tests run: each is forked from a process that has imported torch
(warm_server.py), which takes milliseconds where the import takes seconds. run stands for
subprocess.run([sys.executable, ...]).

A forked command has its own arguments, environment, working folder, streams and __main__, runs
sitecustomize and imports torch, whose modules come from memory. What a test about the start itself
needs and this is not: another hash seed, Python's options, variables that are read before Python's
first line. Such a test starts a process. Where the environment has a variable that is read when torch is
loaded, run starts one too."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import marshal
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from warm_server import early

from memshim import pretend

SERVER = Path(__file__).with_name("warm_server.py")
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

    def run(
        self,
        arguments: list[str],
        folder: str,
        environ: dict[str, str],
        text: str | None,
        timeout: float | None,
        spares: int,
    ) -> tuple[int, str, str]:
        """The exit status of a command, and what it printed."""
        request = {
            "arguments": arguments,
            "environment": environ,
            "folder": folder,
            "numbers": [0, 1, 2],
            "before": None,
            "session": False,
            "spares": spares,
        }
        with contextlib.ExitStack() as stack:
            given, out, err = (stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3))
            given.write(text or "")
            given.seek(0)
            socket.send_fds(self._connection, [pickle.dumps(request)], [given.fileno(), out.fileno(), err.fileno()])
            pid = self._answer(None)
            try:
                status = self._answer(timeout)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._answer(None)
                raise subprocess.TimeoutExpired([sys.executable, *arguments], timeout or 0) from None
            for stream in (out, err):
                stream.seek(0)
            return status, out.read(), err.read()

    def _answer(self, timeout: float | None) -> int:
        self._connection.settimeout(timeout)
        answer = self._connection.recv(64)
        assert answer, f"the process that forks ended: {self._p.wait()}"
        return int(answer)

    def close(self) -> None:
        self._connection.close()
        self._p.wait()
        self._folder.cleanup()


@functools.cache
def server(pretending: bool) -> Server:
    """Forks commands on pretend GPUs, or others."""
    started = Server(os.environ | (pretend.environment("t4") if pretending else {}))
    atexit.register(started.close)
    return started


@functools.cache
def fixed(pretending: bool) -> dict[str, str]:
    return early(os.environ | (pretend.environment("t4") if pretending else {}))


def run(
    command: list[str],
    cwd: str | os.PathLike[str] = ".",
    env: dict[str, str] | None = None,
    input: str | None = None,
    timeout: float | None = 300,
    check: bool = False,
    spares: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """What subprocess.run gives of a Python command, with what it printed as text. spares: how many
    Python programs of the command itself are forked too, those that it starts first (1 of
    memshim's)."""
    assert command[0] == sys.executable
    words, environ = [*map(str, command[1:])], dict(os.environ if env is None else env)
    front = words[:2] == ["-m", "memshim"]
    starts = front and ("--on" in words or words[2] == "run") and "none" not in words
    pretending = starts or environ.get("LD_PRELOAD", "") != os.environ.get("LD_PRELOAD", "")
    if words[0].startswith("-") and words[0] not in ("-c", "-m") or not starts and early(environ) != fixed(pretending):
        p = subprocess.run(command, cwd=cwd, env=env, input=input, timeout=timeout, capture_output=True, text=True)
    else:
        if spares is None:
            spares = 4 if "--check-values" in words else 1 if front else 0
        p = subprocess.CompletedProcess(
            command, *server(pretending).run(words, os.path.abspath(cwd), environ, input, timeout, spares)
        )
    if check:
        p.check_returncode()
    return p
