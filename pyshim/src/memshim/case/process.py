"""Processes that measure one case each: started anew, or forked from one that has PyTorch loaded
already."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import IO, Any

from memshim import workdir
from memshim.allocator import recording
from memshim.case import compare_values, program_case, record
from memshim.case.errors import KINDS, TIMEOUT, ModelError, NoGPU, NothingToRun
from memshim.case.request import TOO_LONG
from memshim.case.step import OWN_ITERATION
from memshim.frames import inside, shorten
from memshim.pretend.value_reads import ROUTING, VALUES

WAIT = 6 * 3600.0  # seconds: how long others may hold the GPU before a case


END = 0.5  # seconds for a server to end when its input is closed
ROOM = 4 << 40  # bytes of a pretend card on which a case is recorded whole
# a run with other values may take so many seconds, and so many times what the first one took
PATIENCE, MANY_TIMES = 30.0, 20.0


def _environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    """Ours, with this package to be found, and any text to be printed. extra: of a pretend GPU."""
    environ = os.environ | (extra or {})
    return environ | {"PYTHONPATH": workdir.search_path(environ), "PYTHONIOENCODING": "utf-8:backslashreplace"}


def pretended(case: dict[str, Any], at: str, memory: int | None = None) -> dict[str, str]:
    """The variables of a process on the pretend device of a case, where it is to be on one. memory:
    another size. NoGPU: it cannot be had."""
    from memshim import pretend

    if at != "pretend":
        return {}
    try:
        return pretend.environment(pretend.of_case(case["device"]), memory=memory, assume=_assumed(case))
    except (pretend.Unsupported, pretend.BuildError, ValueError) as e:
        raise NoGPU(str(e)) from None


OWN_STEP = "memshim/case/step.py:iteration"


def _assumed(case: dict[str, Any]) -> dict[str, int | str]:
    """What a case's assume: states of lines and functions of Python; other places are an archive's.
    memspec's own step skips no step of the optimizer."""
    stated = {
        a["place"]: a.get("values") or a["size"]
        for a in case.get("assume") or ()
        if a["place"] == ROUTING or re.fullmatch(r".+\.py:[\w.]+", a["place"])
    }
    return {OWN_STEP: compare_values.BALANCED} | stated


def _start(command: list[str], extra: dict[str, str] | None = None, **kw: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env=_environment(extra), start_new_session=True, **kw)


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # it was started with one
    return stream


def end(p: subprocess.Popen[bytes]) -> None:
    """End a process with all that it started: what it left behind would hold the GPU."""
    try:
        os.killpg(p.pid, signal.SIGKILL) if hasattr(os, "killpg") else p.kill()
    except (ProcessLookupError, PermissionError):
        pass
    p.wait()


def check(status: int, out: str, said: str, timeout: float) -> None:
    """The error that the status and the last words of a process report, where it did not write what
    it was to."""
    if status == 0 and os.path.exists(out):
        return
    lines = [line for line in Path(said).read_text(encoding="utf-8", errors="replace").strip().splitlines() if line]
    lines_of_ours = [line.removeprefix("memshim: ") for line in lines if line.startswith("memshim: ")]
    text = lines_of_ours[-1] if lines_of_ours else lines[-1] if lines else ""  # a model may print what it likes before
    late = next((i for i, line in enumerate(lines) if line.startswith(TOO_LONG)), None)
    if status != 0 and not lines_of_ours and late is not None:
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


class Runner:
    """Measures and captures cases, each in a separate process."""

    def __init__(self) -> None:
        self._environments: dict[str, dict[str, str]] = {}  # of pretend devices

    def run(self, folder: str, case: dict[str, Any], job: dict[str, Any], extra: dict[str, str]) -> None:
        """Do a job (where, timeout, stacks, recording) in a process whose environment has extra; it
        writes folder/out."""
        raise NotImplementedError

    def measure(
        self, case: dict[str, Any], at: str = "auto", timeout: float = TIMEOUT, stacks: str = "python"
    ) -> dict[str, Any]:
        """The record of one case (as memspec cases states it). at: auto, cuda, pretend or cpu.
        Errors: MeasureError."""
        if case.get("program"):
            raise NothingToRun("a program is recorded, not measured: python -m memshim capture records it")
        with tempfile.TemporaryDirectory(prefix="memshim-") as folder:
            self.run(
                folder, case, {"where": at, "timeout": timeout, "stacks": stacks, "recording": ""}, pretended(case, at)
            )
            return record.read(os.path.join(folder, "out"))

    def _pretended(self, case: dict[str, Any], at: str, memory: int | None = None) -> dict[str, str]:
        """As pretended, found once for each device."""
        key = json.dumps([case.get("device"), _assumed(case), at, memory], sort_keys=True)
        if key not in self._environments:
            self._environments[key] = pretended(case, at, memory)
        return self._environments[key]

    def capture(
        self,
        case: dict[str, Any],
        path: str,
        at: str = "pretend",
        timeout: float = TIMEOUT,
        extra: dict[str, str] | None = None,
        whole: bool = True,
    ) -> int:
        """Write the recording of one case; its size. extra: of another pretend GPU than the case's.
        whole: a module that does not fit its card is recorded on one with room, so that another size
        of memory can be judged; else the recording ends where the card's memory does. Errors:
        MeasureError."""
        if case.get("program"):
            return program_case.capture(case, path, timeout)
        job = {"where": at, "timeout": timeout, "stacks": "all", "recording": os.path.abspath(path)}
        with tempfile.TemporaryDirectory(prefix="memshim-") as folder:
            begin = time.monotonic()
            recorded = functools.partial(self._recorded, folder, case, job, at, extra, whole)
            data, reads = recorded(compare_values.BALANCED)
            if at == "pretend" and reads.decisive:
                job["timeout"] = min(timeout, PATIENCE + MANY_TIMES * (time.monotonic() - begin))
                data = compare_values.merge(
                    data,
                    reads,
                    [self._repeated(folder, recorded, values) for values in compare_values.OTHERS],
                )
        recording.write(data, path)
        return len(data)

    def _recorded(
        self,
        folder: str,
        case: dict[str, Any],
        job: dict[str, Any],
        at: str,
        extra: dict[str, str] | None,
        whole: bool,
        values: str,
    ) -> tuple[bytes, compare_values.Reads]:
        """A recording with these values, and what it read."""
        out, chosen = os.path.join(folder, "out"), {VALUES: values} if at == "pretend" else {}
        self.run(folder, case, job, (self._pretended(case, at) if extra is None else extra) | chosen)
        if whole and extra is None and recording.header(out)["oom"] and recording.header(out)["built"] != OWN_ITERATION:
            self.run(folder, case, job, self._pretended(case, at, ROOM) | chosen)
        return Path(out).read_bytes(), compare_values.read_reads(out)

    def _repeated(
        self, folder: str, recorded: Callable[[str], tuple[bytes, compare_values.Reads]], values: str
    ) -> compare_values.Run:
        """The same run with other values, whatever it comes to."""
        for name in ("out", "out" + compare_values.READS):
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(folder, name))
        try:
            data, reads = recorded(values)
            return compare_values.Run(values, compare_values.Parts(data), reads)
        except ModelError as e:
            return compare_values.Run(values, failed=compare_values.short(e))


class Fresh(Runner):
    """Each is started anew."""

    def __init__(self) -> None:
        super().__init__()
        self._p: subprocess.Popen[bytes] | None = None

    def run(self, folder: str, case: dict[str, Any], job: dict[str, Any], extra: dict[str, str]) -> None:
        out, said, timeout = os.path.join(folder, "out"), os.path.join(folder, "stderr"), job["timeout"]
        command = [
            *workdir.module("memshim"),
            "measure",
            "--request",
            "-",
            "--output",
            out,
            "--where",
            job["where"],
            "--stacks",
            job["stacks"],
            "--timeout",
            str(timeout),
            *(["--recording", job["recording"]] if job["recording"] else []),
        ]
        with open(said, "wb") as stderr:
            p = self._p = _start(command, extra, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=stderr)
            try:
                with contextlib.suppress(BrokenPipeError), _pipe(p.stdin) as stdin:
                    stdin.write(json.dumps(case).encode())
                status = p.wait(timeout + WAIT)
            except subprocess.TimeoutExpired:
                raise ModelError(f"not done after {timeout + WAIT:g} s") from None
            finally:
                end(p)
        check(status, out, said, timeout)

    def close(self) -> None:
        if self._p:
            end(self._p)


class Server(Runner):
    """A process with PyTorch loaded that forks one for each case: a case costs milliseconds, not
    the import. Unix alone. Cases on pretend GPUs are forked from another than the others: its CUDA
    is the pretended one from the start. several: each source has several cases, so that even the
    first is forked from a process that has imported it."""

    def __init__(self, several: bool = False) -> None:
        super().__init__()
        self._several = several
        self._folder = tempfile.TemporaryDirectory(prefix="memshim-")
        self._loaded: dict[bool, subprocess.Popen[bytes]] = {}  # by whether its CUDA is pretended

    def _said(self, pretending: bool) -> str:
        return os.path.join(self._folder.name, "pretending" if pretending else "server")

    def _server(self, extra: dict[str, str]) -> subprocess.Popen[bytes]:
        found = self._loaded.get(bool(extra))
        if found is None:
            with open(self._said(bool(extra)), "wb") as said:
                found = self._loaded[bool(extra)] = _start(
                    workdir.module("memshim.case.server"),
                    extra,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                )
        return found

    def run(self, folder: str, case: dict[str, Any], job: dict[str, Any], extra: dict[str, str]) -> None:
        out, said, p = os.path.join(folder, "out"), os.path.join(folder, "stderr"), self._server(extra)
        line = {
            "case": case,
            "output": out,
            "stderr": said,
            **job,
            "folder": os.getcwd(),
            "environment": _environment(extra),
            "several": self._several,
        }
        answer = b""
        with contextlib.suppress(BrokenPipeError):
            stdin = _pipe(p.stdin)
            stdin.write(json.dumps(line).encode() + b"\n")
            stdin.flush()
            answer = _pipe(p.stdout).readline()
        if answer:
            check(json.loads(answer)["status"], out, said, job["timeout"])
        else:
            del self._loaded[bool(extra)]
            status = p.wait()
            if status == 0:
                raise ModelError("the process that forks cases ended: its input was closed")
            check(status, "", self._said(bool(extra)), job["timeout"])

    def close(self) -> None:
        for p in list(self._loaded.values()):  # a worker may be at one
            with contextlib.suppress(BrokenPipeError):
                _pipe(p.stdin).close()
            with contextlib.suppress(subprocess.TimeoutExpired):  # one that runs no case ends by itself
                p.wait(END)
            end(p)
        self._folder.cleanup()


def runner(several: bool = False) -> Fresh | Server:
    """What many cases are measured by. several: of each source."""
    return Server(several) if hasattr(os, "fork") else Fresh()


def measure_all(
    cases: list[dict[str, Any]], jobs: int, one: Callable[[dict[str, Any], Callable[..., dict[str, Any]]], Any]
) -> Generator[Any, None, None]:
    """What one(case, measure) gives for each case, in order, so many at a time; measure is a
    runner's."""
    return each(cases, jobs, lambda case, runner: one(case, runner.measure))


def each(
    cases: list[dict[str, Any]], jobs: int, one: Callable[[dict[str, Any], Runner], Any], repeats: bool = False
) -> Generator[Any, None, None]:
    """What one(case, runner) gives for each case, in order, so many at a time. repeats: a case may run
    more than once."""
    work: queue.Queue[Any] = queue.Queue()
    for i, case in enumerate(cases):
        work.put((i, case))
    done: list[queue.Queue[Any]] = [queue.Queue() for _ in cases]
    runners = [runner() if repeats or len(cases) > 1 else Fresh() for _ in range(max(1, min(jobs, len(cases))))]

    def worker(r: Fresh | Server) -> None:
        while True:
            try:
                i, case = work.get_nowait()
            except queue.Empty:
                return
            try:
                done[i].put((one(case, r), None))
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
