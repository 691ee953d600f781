"""Processes that have imported the source of a case, from which its other cases are forked: many cases
of one model cost one import, and its model is made once.

Such a process is at the point where a case's own process is after the import, in the same
environment. It is used only where that is so: the import began no thread and no CUDA, drew no random
number, and bound none of the functions that memshim replaces before an import. Where a file that was
read has changed since, the source is imported again.

A model is made from the same seed as in a case's own process, and the random numbers go on after it
as they do there. It is kept where it is a module on the host whose making began no thread and no
CUDA. Otherwise each case makes its own.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import IO, Any

from memshim.attribution.operators import overloads
from memshim.case import build, settings
from memshim.origin import provenance
from memshim.origin.reads import Reads, current, look_up_distributions
from memshim.pretend.value_reads import VALUES

MOST = 4  # processes that wait at a time
ENDS = 20  # times that a process is looked at, a hundredth of a second apart, until it is killed
LARGE = 1 << 30  # bytes of a model: one process that holds such a one waits at a time
FAILED = -1  # the number of a source that cannot be shared


class Sources:
    """The processes of one server, by what was imported and how."""

    def __init__(self, answers: int, forked: Callable[..., int]):
        """answers: a descriptor that such a process does not keep. forked: runs a job in a process
        that is forked; its exit status."""
        self._answers, self._forked = answers, forked
        self._seen: set[str] = set()  # sources of which a case ran to its end
        self._waiting: dict[str, Waiting | None] = {}  # None: cannot be shared

    def ran(self, job: dict[str, Any], status: int) -> None:
        """A job was done in a process that imported its source itself."""
        if status == 0 and _shares(job):
            self._seen.add(_key(job))

    def run(self, job: dict[str, Any]) -> int | None:
        """The exit status of a job that ran in a process forked from one that has its source; None
        where there is none. Such a process begins with the second case of a source, and with the
        first where the job says that there are several."""
        if not _shares(job) or (key := _key(job)) not in self._seen and not job["several"]:
            return None
        for _ in range(2):  # again where a file has changed
            if key not in self._waiting:
                self._waiting[key] = self._begin(job)
            there = self._waiting[key]
            if there is None:
                return None
            status = there.run(job)
            if status is not None:
                self._waiting[key] = self._waiting.pop(key)  # the one that was used last is the last to be ended
                return status
            there.end()
            del self._waiting[key]
        return None

    def close(self) -> None:
        for there in self._waiting.values():
            if there is not None:
                there.end()

    def _begin(self, job: dict[str, Any]) -> Waiting | None:
        self._end_others()
        to_read, to = os.pipe()
        read, to_answer = os.pipe()
        pid = os.fork()
        if pid == 0:
            for fd in (to, read, self._answers, *(fd for w in self._waiting.values() if w for fd in w.descriptors)):
                os.close(fd)
            _wait_for_jobs(job, os.fdopen(to_read), os.fdopen(to_answer, "w"), self._forked)
        os.close(to_read)
        os.close(to_answer)
        begun = Waiting(pid, os.fdopen(to, "w"), os.fdopen(read))
        if begun.answer() == 0:
            return begun
        begun.end()
        return None

    def _end_others(self) -> None:
        """End processes that would be too many, or hold too much, beside a further one."""
        there = {k: w for k, w in self._waiting.items() if w}
        for i, (key, waiting) in enumerate(there.items()):
            if i <= len(there) - MOST or waiting.holds > LARGE:
                del self._waiting[key]
                waiting.end()


class Waiting:
    """A process that has a source, and its two pipes."""

    def __init__(self, pid: int, to: IO[str], answers: IO[str]):
        self._pid, self._to, self._answers = pid, to, answers
        self.holds = 0  # bytes of the model that it has made

    @property
    def descriptors(self) -> tuple[int, int]:
        return self._to.fileno(), self._answers.fileno()

    def answer(self) -> int | None:
        """What it answers; None where it ended, or says that a file has changed. Where whoever asked
        ends, this process does."""
        parent = os.getppid()
        while not select.select([self._answers], [], [], 0.5)[0]:
            if os.getppid() != parent:
                self.end()
                sys.exit(1)
        line = self._answers.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"status": None}
        self.holds = answer.get("holds", self.holds)
        status: int | None = answer["status"]
        return status

    def run(self, job: dict[str, Any]) -> int | None:
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(job), file=self._to, flush=True)
        return self.answer()

    def end(self) -> None:
        """End it. One that waits for a job ends by itself, with the process that serves in its place."""
        for stream in (self._to, self._answers):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        for _ in range(ENDS):
            if os.waitpid(self._pid, os.WNOHANG)[0]:
                return
            time.sleep(0.01)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _shares(job: dict[str, Any]) -> bool:
    """Whether a job's source may be imported once for several: recordings on a pretend GPU. On a real
    one nothing waits beside a case."""
    return bool(job["where"] == "pretend" and job["recording"] and job["case"]["source"])


def _key(job: dict[str, Any]) -> str:
    """What an import depends on. What unknown values read as is of no matter: none is read without CUDA."""
    case, environment = job["case"], job["environment"] | {VALUES: ""}
    return json.dumps(
        [case["source"], case["dir"], job["folder"], environment, settings.environment(case)], sort_keys=True
    )


def enter(job: dict[str, Any]) -> None:
    """Go to a job's folder, with its environment."""
    os.chdir(job["folder"])
    sys.path.insert(0, job["folder"])  # as python -m has it: the case is user code
    os.environ.clear()
    os.environ.update(job["environment"])


def _wait_for_jobs(job: dict[str, Any], jobs: Iterable[str], answers: IO[str], forked: Callable[..., int]) -> None:
    """In the forked process; never returns."""
    code = 1
    try:
        with open(os.devnull, "r+b") as nothing:
            for fd in (0, 1, 2):
                os.dup2(nothing.fileno(), fd)
        read = imported(job)
        if read is None or not _in_its_place(lambda: made(job), jobs, answers, forked):
            _serve(read, 0, jobs, answers, forked)
        code = 0
    finally:
        os._exit(code)


def _serve(read: Files | None, holds: int, jobs: Iterable[str], answers: IO[str], forked: Callable[..., int]) -> None:
    """Answer that the source is there, and then each job with the status of a process forked for it."""
    print(json.dumps({"status": FAILED if read is None else 0, "holds": holds}), file=answers, flush=True)
    for line in jobs:
        status = None if read is None or _changed(read) else forked(json.loads(line), enters=False)
        print(json.dumps({"status": status}), file=answers, flush=True)


def _in_its_place(
    make: Callable[[], tuple[Files, int] | None],
    jobs: Iterable[str],
    answers: IO[str],
    forked: Callable[..., int],
) -> bool:
    """Serve from another process that makes the model first; whether it could. This one stays as it
    was before, and waits."""
    parent, (to_read, to) = os.getppid(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if found := make():
                os.write(to, b"1")
                os.close(to)
                _serve(*found, jobs, answers, forked)
        finally:
            os._exit(0)
    os.close(to)
    could = os.read(to_read, 1) != b""
    os.close(to_read)
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if os.getppid() != parent:  # whoever asked has ended: so does this process, and with it that one
            os.kill(pid, signal.SIGKILL)
            os._exit(1)
        time.sleep(0.02)
    return could


Files = dict[str, tuple[int, int] | None]  # time and size of each, None of one that is not there


def imported(job: dict[str, Any]) -> Files | None:
    """Import a job's source as its own process would; the files that it read. None where a process
    that is forked from here would not be as that one is."""
    import torch

    from memshim.case.request import limit

    enter(job)
    case = job["case"]
    settings.apply(case)
    torch.manual_seed(0)
    random, modules, read = torch.get_rng_state(), set(sys.modules), Reads().begin()
    with limit(job["timeout"]):
        build.named(case["source"], case["dir"])
    if (
        torch.cuda.is_initialized()
        or threading.active_count() > 1
        or not _alone()
        or _refused_after_fork()
        or not torch.equal(random, torch.get_rng_state())
        or _bound(modules)
    ):
        return None
    read.began = 0.0  # a case begins it again
    look_up_distributions()
    overloads()
    gc.collect()
    kinds = (torch.nn.Module, torch.optim.Optimizer)
    if not any(issubclass(type(o), kinds) for o in gc.get_objects()):  # a case finds those among what it can reach
        gc.freeze()  # as in the process that this one is forked from
    return _files(case, read)


def made(job: dict[str, Any]) -> tuple[Files, int] | None:
    """Make the model of a job whose source is imported, for the processes that are forked from here:
    the files that were read, and the model's bytes. None where they would not be as one that makes it
    itself."""
    import torch

    from memshim.case.request import limit
    from memshim.gpu.storages import nbytes

    case, modules, threads = job["case"], set(sys.modules), torch.get_num_threads()
    torch.set_num_threads(1)  # the threads of a pool would not outlive a fork
    torch.manual_seed(0)
    try:
        with limit(job["timeout"]):
            model = build.load(case["source"], case["dir"])
    except BaseException:  # each case says it itself
        return None
    torch.set_num_threads(threads)
    read = current()
    if (
        read is None
        or not isinstance(model, torch.nn.Module)
        or any(t.device.type != "cpu" for t in (*model.parameters(), *model.buffers()))
        or torch.cuda.is_initialized()
        or threading.active_count() > 1
        or not _alone()
        or _refused_after_fork()
        or _bound(modules)
    ):
        return None
    build.keep(case["source"], case["dir"], model)
    return _files(case, read), nbytes(build.in_order(model))


def _alone() -> bool:
    """Whether this process has one thread. That of limit is not gone at once."""
    for _ in range(ENDS):
        if len(os.listdir("/proc/self/task")) == 1:
            return True
        time.sleep(0.01)
    return False


def _refused_after_fork() -> bool:
    """Whether PyTorch refuses CUDA in a process that is forked from here: also where the import only
    asked how many devices there are, as torch.cuda.is_available() does."""
    import torch

    pid = os.fork()
    if pid == 0:
        os._exit(torch.cuda._is_in_bad_fork())
    return os.waitpid(pid, 0)[1] != 0


def _bound(before: set[str]) -> bool:
    """Whether a module that was imported since holds a function that memshim replaces by then in a
    case's own process (attribution/sites.py, attribution/forward_lines.py, allocator/recorder.py)."""
    import torch

    fx = sys.modules.get("torch.fx.traceback")
    replaced = {
        id(f)
        for f in (
            torch.autograd.backward,
            torch.clear_autocast_cache,
            torch.set_anomaly_enabled,
            torch.is_anomaly_enabled,
            torch.is_anomaly_check_nan_enabled,
            torch.cuda.memory._record_memory_history,
            getattr(fx, "format_stack", torch.autograd.backward),
        )
    }
    return any(
        id(value) in replaced
        for name, module in list(sys.modules.items())
        if name not in before and name != "torch.fx.traceback"
        for value in list(getattr(module, "__dict__", {}).values())
    )


def _files(case: dict[str, Any], read: Reads) -> Files:
    """The project's files that were read."""
    source = case["source"].rpartition(":")[0]
    folder = case["dir"]
    first = os.path.abspath(os.path.join(folder, source)) if source.endswith(".py") else None
    project = provenance.root(os.path.dirname(first) if first else folder, folder)
    return {
        path: _stamp(path)
        for path in [*provenance.imported(project, first), *read.opened]
        if path.startswith(project + os.sep) and f"-packages{os.sep}" not in path
    }


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _changed(files: Files) -> bool:
    return any(_stamp(path) != stamp for path, stamp in files.items())
