"""A process that has PyTorch loaded and forks another for each case that it is given, as one line of
JSON; it answers with how that one ended."""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import json
import os
import sys
import time
import traceback
from typing import Any, NoReturn

from memshim.case import imported, request, settings
from memshim.pretend.activate import DESCRIPTION
from memshim.pretend.value_reads import VALUES


def main() -> NoReturn:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in settings.CLEARED:  # some are read when torch is imported
        os.environ.pop(name, None)
    with contextlib.suppress(ImportError):  # each case says so itself
        _warm()
    sources = imported.Sources(answers.fileno(), forked)
    for line in sys.stdin:
        job = json.loads(line)
        status = sources.run(job)
        if status is None:
            status = forked(job)
            sources.ran(job, status)
        print(json.dumps({"status": status}), file=answers, flush=True)
    sources.close()
    os._exit(0)  # PyTorch takes half a second to end


def forked(job: dict[str, Any], enters: bool = True) -> int:
    """How a process ended that was forked for a job. enters: False where this process is in the
    job's folder and, but for its values, environment."""
    pid = os.fork()
    if pid == 0:
        _measure(job, enters)
    status = _wait(pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, 9)  # what it left behind
    return os.waitstatus_to_exitcode(status)


def _warm() -> None:
    """Load what every case loads. Nothing here starts a thread or CUDA: they would not outlive the
    fork."""
    import torch

    from memshim.allocator.cpu_region import CPURegion
    from memshim.case import iterations  # noqa: F401

    region = CPURegion(before=[]).open()
    torch.zeros(1)
    region.close()
    gc.collect()
    gc.freeze()  # else each collection of a case walks through all of PyTorch, and copies its pages


def _wait(pid: int) -> int:
    """Until a child ends; with whoever asked, it does at once."""
    parent = os.getppid()
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        if os.getppid() != parent:
            os.killpg(pid, 9)
            sys.exit(1)
        time.sleep(0.005)


def _measure(job: dict[str, Any], enters: bool) -> None:
    """In the forked process; never returns."""
    code = 1
    try:
        for fd, path, flags in (
            (0, os.devnull, os.O_RDONLY),
            (2, job["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ):
            opened = os.open(path, flags, 0o600)
            os.dup2(opened, fd)
            os.close(opened)
        os.dup2(2, 1)
        os.setsid()
        if enters:
            imported.enter(job)
        else:
            os.environ[VALUES] = job["environment"].get(VALUES, "")
        faulthandler.enable()
        _values()
        a = argparse.Namespace(
            output=job["output"],
            where=job["where"],
            timeout=job["timeout"],
            stacks=job["stacks"],
            recording=job["recording"],
        )
        code = request.answer(json.dumps(job["case"]), a)
    except Exception:  # leave ends the process before Python would print it
        traceback.print_exc()
    finally:
        request.leave(code)


def _values() -> None:
    """Of a pretend GPU's values, what this case states, and which are given: the process that was
    forked from began with another's."""
    from memshim.pretend import follow

    if os.environ.get(DESCRIPTION):
        from memshim.pretend import values

        if hook := values.installed():
            hook.reads.assume.clear()
            hook.reads.assume.update(json.loads(os.environ.get(follow.ASSUME) or "{}"))
            hook.choose(values.modes.of_environment(os.environ))


if __name__ == "__main__":
    main()
