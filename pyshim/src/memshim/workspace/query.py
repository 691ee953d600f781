"""The process that asks cuDNN, and the handle on it.

    python -m memshim.workspace.query FOLDER CLASS [LIBRARY...]
        an empty CLASS reports the version only; libraries are loaded before cuDNN

One JSON document a line: it says hello with its version, then answers each call that it reads.
cuDNN may crash or hang in it.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from typing import Any

from memshim import workdir

START = 120.0  # seconds to load the library


class Lost(Exception):
    """The process ended or had to be ended. The text says how."""


class Unable(Exception):
    """The library cannot be asked about the device class at all."""


class Refusal(Exception):
    """cuDNN has no plan for the call, and says so."""


class Process:
    """A child that has the library loaded for one device class."""

    def __init__(
        self, folder: str, beside: Iterable[str] = (), device_class: str = "", command: list[str] | None = None
    ):
        self._stderr = tempfile.TemporaryFile()
        command = command or workdir.module("memshim.workspace.query")
        env = os.environ | {"PYTHONPATH": workdir.search_path(os.environ)}
        self._child = subprocess.Popen(
            [*command, folder, device_class, *beside],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=env,
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        assert self._child.stdin is not None and self._child.stdout is not None  # pipes
        self._stdin, self._stdout = self._child.stdin, self._child.stdout
        threading.Thread(target=self._read, daemon=True).start()
        hello = self._receive(START)
        if "error" in hello:
            self.close()
            raise Unable(hello["error"])
        self.version = tuple(hello["version"])
        self.cuda = hello["cuda"]

    def _read(self) -> None:
        for line in self._stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _receive(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            self.close()
            raise Lost(f"no answer for {seconds:g} s") from None
        if line is None:
            raise Lost(self._ending())
        try:
            answer: dict[str, Any] = json.loads(line)
            return answer
        except ValueError:
            self.close()
            raise Lost(f"got {line[:80]!r} from it, want JSON") from None

    def _ending(self) -> str:
        """How the child ended: its signal, and the last thing it said."""
        code = self._child.wait()
        how = f"ended with exit code {code}"
        if code < 0:
            try:
                how = f"crashed ({signal.Signals(-code).name})"
            except ValueError:
                how = f"crashed (signal {-code})"
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace").strip().splitlines()
        self.close()
        return f"{how}: {said[-1]}" if said else how

    def ask(self, call: dict[str, Any], seconds: float = 60.0) -> dict[str, Any]:
        """The answer to a call. Lost, after which the process is of no more use, or Refusal."""
        try:
            self._stdin.write(json.dumps(call).encode() + b"\n")
            self._stdin.flush()
        except OSError:
            raise Lost(self._ending()) from None
        answer = self._receive(seconds)
        if "refused" in answer:
            raise Refusal(answer["refused"])
        return answer

    def close(self) -> None:
        self._child.kill()
        self._child.wait()
        self._stdin.close()
        self._stderr.close()


@functools.cache
def driver() -> tuple[str, ...]:
    """The libraries that replace the driver, to be loaded before cuDNN; none where they cannot
    be built.

    Where it finds no driver at all cuDNN takes other engines than on a machine with a GPU: for
    depthwise convolutions in half precision on 7.5 one that wants twice the input's bytes, where
    PyTorch takes one that wants nothing.
    """
    from memshim.pretend import build, support

    try:
        support.check_machine()
        return tuple(str(build.library() / name) for name in (build.LIBRARY, build.NVML))
    except (support.Unsupported, build.BuildError):
        return ()


def load_driver(device_class: str) -> None:
    from memshim.workspace import deviceclass

    os.environ |= {"MEMSPEC_PRETEND": deviceclass.card(device_class), "CUDA_VISIBLE_DEVICES": "0"}
    for path in driver():
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


def serve(folder: str, device_class: str, *beside: str) -> None:
    """The child's own work."""
    from memshim.workspace import cudnn, deviceclass

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the library prints is no answer

    def say(what: dict[str, Any]) -> None:
        print(json.dumps(what), file=out, flush=True)

    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError):
        pass
    try:
        if device_class:
            load_driver(device_class)
        library = cudnn.Library(folder, beside)
        deviceclass.check(device_class, library.cuda)
        device = library.device(deviceclass.properties(device_class)) if device_class else None
    except (OSError, LookupError) as e:
        return say({"error": str(e)})
    except cudnn.Refused as e:
        return say({"error": f"cuDNN refuses device class {device_class}: {e}"})
    say({"version": library.version, "cuda": library.cuda})
    if device is None:
        return
    for line in sys.stdin:
        try:
            say(library.answer(json.loads(line), device))
        except cudnn.Refused as e:
            say({"refused": str(e)})


if __name__ == "__main__":
    serve(*sys.argv[1:])
