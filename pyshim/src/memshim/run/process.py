"""Processes that measure one case each: started anew, or forked from one that has PyTorch loaded already."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memshim.run import record
from memshim.run.errors import FAILED, KINDS, TIMEOUT, ModelError
from memshim.run.frames import inside, shorten
from memshim.run.request import TOO_LONG

WAIT = 6 * 3600.0  # seconds: how long others may hold the GPU before a case


def _environment() -> dict[str, str]:
    """Ours, with this package to be found, and any text to be printed."""
    path = os.pathsep.join(p for p in (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")) if p)
    return os.environ | {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8:backslashreplace"}


def _start(command: list[str], **kw: Any) -> subprocess.Popen:
    return subprocess.Popen(command, env=_environment(), start_new_session=True, **kw)


def end(p: subprocess.Popen) -> None:
    """End a process with all that it started: what it left behind would hold the GPU."""
    try:
        os.killpg(p.pid, signal.SIGKILL) if hasattr(os, "killpg") else p.kill()
    except (ProcessLookupError, PermissionError):
        pass
    p.wait()


def read(status: int, out: str, said: str, timeout: float) -> dict:
    """The record that a process wrote, or the error that its status and its last words tell."""
    if status == 0 and os.path.exists(out):
        return record.read(out)
    lines = [line for line in Path(said).read_text(encoding="utf-8", errors="replace").strip().splitlines() if line]
    told = [line.removeprefix("memshim: ") for line in lines if line.startswith("memshim: ")]
    text = told[-1] if told else lines[-1] if lines else ""  # a model may print what it likes before
    late = next((i for i, line in enumerate(lines) if line.startswith(TOO_LONG)), None)
    if status != 0 and not told and late is not None:
        raise ModelError(f"not done after {timeout:g} s{_at(lines[late:])}")
    if status < 0:
        raise ModelError(f"the process ended by signal {-status}" + (f": {text}" if text else ""))
    if status == 0:
        raise ModelError("the process ended without a record, as after os._exit(0)")
    raise KINDS.get(status, ModelError)(text or f"the process ended with {status}")


def _at(lines: list[str]) -> str:
    """The user's innermost line in faulthandler's stacks."""
    for line in lines:
        parts = line.strip().split('"')
        if len(parts) == 3 and parts[0] == "File " and not inside(parts[1]):
            return f" ({shorten(parts[1])}:{parts[2].removeprefix(', line ').partition(' ')[0]})"
    return ""


class Fresh:
    """A new process for each case."""

    def __init__(self) -> None:
        self._p: subprocess.Popen | None = None

    def measure(self, case: dict, at: str = "auto", timeout: float = TIMEOUT, stacks: str = "python") -> dict:
        """The record of one case (as memspec cases tells it), measured in a process of its own. at: auto, cuda or cpu."""
        with tempfile.TemporaryDirectory(prefix="memshim-") as folder:
            out, said = os.path.join(folder, "record.json"), os.path.join(folder, "stderr")
            command = [sys.executable, "-m", "memshim", "measure", "--request", "-", "--output", out, "--where", at, "--stacks", stacks,
                       "--timeout", str(timeout)]
            with open(said, "wb") as stderr:
                p = self._p = _start(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=stderr)
                try:
                    with contextlib.suppress(BrokenPipeError):
                        p.stdin.write(json.dumps(case).encode())
                        p.stdin.close()
                    status = p.wait(timeout + WAIT)
                except subprocess.TimeoutExpired:
                    raise ModelError(f"not done after {timeout + WAIT:g} s") from None
                finally:
                    end(p)
            return read(status, out, said, timeout)

    def close(self) -> None:
        if self._p:
            end(self._p)


class Server:
    """A process with PyTorch loaded that forks one for each case: a case costs milliseconds, not the import. Unix alone."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="memshim-")
        self._said = os.path.join(self._folder.name, "server")
        with open(self._said, "wb") as said:
            self._p = _start([sys.executable, "-m", "memshim.run.server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said)

    def measure(self, case: dict, at: str = "auto", timeout: float = TIMEOUT, stacks: str = "python") -> dict:
        """As Fresh.measure."""
        with tempfile.TemporaryDirectory(dir=self._folder.name) as folder:
            out, said = os.path.join(folder, "record.json"), os.path.join(folder, "stderr")
            line = {"case": case, "output": out, "stderr": said, "where": at, "timeout": timeout, "stacks": stacks,
                    "folder": os.getcwd(),
                    "environment": _environment()}
            answer = b""
            with contextlib.suppress(BrokenPipeError):
                self._p.stdin.write(json.dumps(line).encode() + b"\n")
                self._p.stdin.flush()
                answer = self._p.stdout.readline()
            if not answer:
                return read(self._p.wait() or FAILED, "", self._said, timeout)
            return read(json.loads(answer)["status"], out, said, timeout)

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._p.stdin.close()
        end(self._p)
        self._folder.cleanup()


def runner() -> Fresh | Server:
    """What many cases are measured by."""
    return Server() if hasattr(os, "fork") else Fresh()


def measure_all(cases: list[dict], jobs: int, one: Callable[[dict, Callable[..., dict]], Any]) -> Iterator[Any]:
    """What one(case, measure) gives for each case, in order, so many at a time; measure is a runner's."""
    work: queue.Queue = queue.Queue()
    for i, case in enumerate(cases):
        work.put((i, case))
    done: list[queue.Queue] = [queue.Queue() for _ in cases]
    runners = [runner() if len(cases) > 1 else Fresh() for _ in range(max(1, min(jobs, len(cases))))]

    def worker(r: Fresh | Server) -> None:
        while True:
            try:
                i, case = work.get_nowait()
            except queue.Empty:
                return
            try:
                done[i].put((one(case, r.measure), None))
            except BaseException as e:
                done[i].put((None, e))

    threads = [threading.Thread(target=worker, args=(r,), daemon=True) for r in runners]
    for t in threads:
        t.start()
    try:
        for d in done:
            result, error = d.get()
            if error is not None:
                raise error
            yield result
    finally:  # whatever ends it early ends the processes too
        with contextlib.suppress(queue.Empty):
            while True:
                work.get_nowait()
        for r in runners:
            r.close()
        for t in threads:
            t.join()
