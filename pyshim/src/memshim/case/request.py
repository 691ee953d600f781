"""The process that measures one case: build, move to the device, baseline, first pass, steady
pass."""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memshim import private
from memshim.case import compare_values, inputs, record, settings
from memshim.case.build import BuildError, Made, NothingToRun, make, place
from memshim.case.errors import FAILED, NO_TORCH, NOTHING, TORCH_MISSING, UNSURE, USAGE, NoGPU
from memshim.case.passes import Account
from memshim.files import write_whole
from memshim.gpu import devices, where
from memshim.gpu.failure import describe, out_of_memory
from memshim.origin.reads import Reads, current
from memshim.printed import say


def answer(request: str, a: argparse.Namespace) -> int:
    """Measure a case as memspec cases states it and write its record to a.output; how the process is
    to end. The last line on stderr says why not."""
    end_with_parent()
    before = threading.enumerate()
    code = _answered(request, a)
    if any(t not in before and not t.daemon for t in threading.enumerate()):
        leave(code)  # threads that the model left running would keep the process
    return code


def leave(code: int) -> None:
    """End this process at once, whatever runs in it. What it compiled on a pretend GPU goes with
    it."""
    sys.stdout.flush()
    sys.stderr.flush()
    if compiles := sys.modules.get("memshim.pretend.compiles"):
        compiles.remove_own()
    os._exit(code)


def _answered(request: str, a: argparse.Namespace) -> int:
    try:
        with contextlib.redirect_stdout(sys.stderr), alone(a.where), limit(a.timeout):  # whatever the model prints
            case = json.loads(request)
            settings.apply(case)
            encoded = (
                _recording(case, a)
                if getattr(a, "recording", "")
                else record.dump(run(case, a.where, a.stacks)).encode()
            )
        write_whole(a.output, encoded)
        return 0
    except NoGPU as e:
        return _say(UNSURE, str(e))
    except ModuleNotFoundError as e:
        return _say(NO_TORCH, TORCH_MISSING) if e.name == "torch" else _model_failed(e)
    except NothingToRun as e:
        return _say(NOTHING, str(e))
    except (BuildError, inputs.InputError) as e:
        return _say(USAGE, str(e))
    except BaseException as e:  # the model's own: sys.exit and KeyboardInterrupt are no way to end a measurement either
        return _model_failed(e)


def _cuda(at: str) -> bool:
    """Whether there is the GPU that the case is to run on. NoGPU: it has to be, and is not."""
    import torch

    cuda = at != "cpu" and torch.cuda.is_available()
    if at == "pretend" and not where.pretended():
        raise NoGPU("a pretend GPU is required, and this process has none")
    if at in ("cuda", "pretend") and not cuda:
        raise NoGPU("a GPU is required, and PyTorch finds none here")
    return cuda


def _recording(case: dict[str, Any], a: argparse.Namespace) -> bytes:
    from memshim.case import iterations
    from memshim.gpu import queries

    read = (current() or Reads()).begin()
    if not _cuda(a.where):
        raise NoGPU("a recording is made on a GPU or a pretend one, and PyTorch finds none here")
    queries.begin()
    recorded = iterations.run(case, a.recording, read)
    write_whole(a.output + compare_values.READS, json.dumps(recorded.reads).encode())
    return recorded.encode()


def run(case: dict[str, Any], at: str = "auto", stacks: str = "python") -> dict[str, Any]:
    """The record of a case, measured in this process, which should be fresh. at: auto, cuda,
    pretend or cpu."""
    used_before = devices.used() if at != "cpu" and not where.pretended() else None
    import torch

    cuda = _cuda(at)
    if (case["mode"] == "training" or case.get("lengths")) and cuda:
        from memshim.case import iterations

        return iterations.run(case).as_record()
    if case.get("lengths"):
        raise NothingToRun("got lengths: without a GPU, want one, or --on pretend")
    torch.manual_seed(0)
    args, kwargs = inputs.make(case["inputs"], dtype=case["dtype"])
    oom = None
    with Account(where.Where("cuda", 0) if cuda else where.Where("cpu"), stacks) as account:
        if cuda and 0 < case["memory_fraction"] < 1:
            torch.cuda.set_per_process_memory_fraction(case["memory_fraction"])
        made, phase = Made(None, case["runtime"] or "eager", "", 0), record.PHASES[0]
        try:
            made = make(case, args, kwargs)
            settings.set_flags(case)
            model = place(made, account.device)
            args, kwargs = _move(args, case, account.device), _move(kwargs, case, account.device)
            account.baseline(model, args, kwargs)
            for phase in record.PHASES[1:]:
                with _context(case, account.device):
                    account.run_pass(phase, model.model, args, kwargs)
        except Exception as e:
            text = out_of_memory(e) if cuda else ""
            if not text:
                raise
            oom = account.ran_out(phase, text)
        flags = settings.flags_now(case)
    out = {
        "schema": record.SCHEMA,
        "case": case["name"],
        "runtime": made.runtime,
        "where": where.words(account.where),
        "built": made.how,
        "device": account.describe(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "",
        "cudnn": devices.cudnn_version(),
        **{k: case[k] for k in record.FROM_CASE},
        "flags": flags,
        "weights": made.weights,
        "phases": account.phases,
        "context": account.context(used_before),
        "oom": oom,
    }
    if settings.compiled():
        out["compiled"] = True
    record.put_events(out, account.region.events, account.region.stacks)
    return out


def _move(value: Any, case: dict[str, Any], device: str) -> Any:
    """Tensors to the device, in order, except those that the case keeps on the host."""
    import torch
    from torch.utils._pytree import tree_map

    kept = set()
    for text in case["inputs"]:
        name, spec = inputs.parse(text)
        if isinstance(spec, inputs.TensorSpec) and spec.device == "cpu":
            kept.add(name)
    move = lambda t: t.to(device) if isinstance(t, torch.Tensor) else t
    if isinstance(value, dict):
        return {k: v if k in kept else tree_map(move, v) for k, v in value.items()}
    specs = [inputs.parse(t)[1] for t in case["inputs"][: len(value)]]
    return [
        v if isinstance(s, inputs.TensorSpec) and s.device == "cpu" else tree_map(move, v) for v, s in zip(value, specs)
    ]


@contextlib.contextmanager
def _context(case: dict[str, Any], device: str) -> Iterator[None]:
    import torch

    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.inference_mode() if case["grad"] == "inference_mode" else torch.no_grad())
        if case["autocast"]:
            stack.enter_context(torch.autocast(torch.device(device).type, dtype=getattr(torch, case["autocast"])))
        gc.collect()
        gc.disable()  # reference cycles are held to the pass's end, whenever the collector would have come
        try:
            yield
        finally:
            gc.enable()


def end_with_parent() -> None:
    """A measurement ends with whoever asked for it, also where that one is killed: a model that
    hangs would hold the GPU for ever."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(FAILED)

    threading.Thread(target=watch, daemon=True).start()


TOO_LONG = "Timeout ("  # what faulthandler says then, before the stacks


@contextlib.contextmanager
def limit(seconds: float | None) -> Iterator[None]:
    """End the process after that time, saying where it was: by a thread of C, which needs nothing
    of Python."""
    if seconds:
        faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or 2)
    try:
        yield
    finally:
        if seconds:
            faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def alone(at: str) -> Iterator[None]:
    """One measurement at a time on this machine's GPUs, whoever asks (pytest-xdist's processes, go
    test's packages): what others allocate meanwhile cannot be distinguished from the context's cost, and may
    leave no room. Nothing is shared on CPU tensors and pretend GPUs."""
    if at == "cpu" or where.pretended() or not devices.hinted():
        yield
        return
    try:
        import fcntl
    except ImportError:  # not a Unix
        yield
        return
    try:
        f = private.lock_file(private.folder(lock_folder()) / "gpu.lock")
    except (private.NotPrivate, OSError) as e:
        raise BuildError(str(e)) from None
    try:
        fcntl.flock(f, fcntl.LOCK_EX)  # released when the process ends, however it does
        yield
    finally:
        os.close(f)


def lock_folder() -> Path:
    """Of this user and this machine: the session's, else the cache."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return (
        Path(runtime if os.path.isdir(runtime) else os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        / private.OURS
    )


def _model_failed(e: BaseException) -> int:
    traceback.print_exception(e)
    return _say(FAILED, describe(e))


def _say(code: int, text: str) -> int:
    say(f"memshim: {' '.join(text.split())}", file=sys.stderr)
    return code
