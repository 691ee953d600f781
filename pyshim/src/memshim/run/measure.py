"""Runs a case for real and records what it took, each case in a process of its own.

    python -m memshim measure [memspec.yaml] [--case NAME] [-o FOLDER]

The process: build, move to the device, baseline, first pass, steady pass. On a GPU the peaks are the caching allocator's; without one the same is
done on CPU tensors, whose shapes, sizes and lifetimes are recorded and labelled so.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memshim import binary, cases, progress
from memshim.run import gpu, inputs, record
from memshim.run.account import Account
from memshim.run.build import BuildError, Built, build
from memshim.run.failure import describe, out_of_memory
from memshim.run.where import Where

# How a process that measures one case ends: the model's own error; the case cannot be built as it says; no GPU; no torch.
FAILED, USAGE, UNSURE, NO_TORCH = 1, 2, 3, 4
TORCH_MISSING = "got no torch, want PyTorch installed for this Python: python -m pip install torch"
TIMEOUT = 1800.0  # seconds for one case


class MeasureError(Exception):
    """The case could not be measured. The text is for the user."""


class NoGPU(MeasureError):
    """A GPU was required, and there is none."""


class NoTorch(MeasureError):
    """There is no PyTorch to run anything with."""


class ModelError(MeasureError):
    """The model was there and failed when it was built or run."""


def measure(case: dict, where: str = "auto", timeout: float = TIMEOUT, stacks: str = "all") -> dict:
    """The record of one case (as memspec cases tells it), measured in a fresh process. where: auto, cuda or cpu."""
    with tempfile.TemporaryDirectory(prefix="memshim-") as folder:
        out = os.path.join(folder, "record.json")
        command = [sys.executable, "-m", "memshim", "measure", "--request", "-", "--output", out, "--where", where, "--stacks", stacks]
        status, said = _run(command, json.dumps(case), timeout)
        if status == 0 and os.path.exists(out):
            return record.read(out)
    lines = [line for line in said.strip().splitlines() if line]
    text = next((line.removeprefix("memshim: ") for line in lines if line.startswith("memshim: ")), lines[-1] if lines else "")
    if status < 0:
        raise ModelError(f"the process ended by signal {-status}" + (f": {text}" if text else ""))
    if status == 0:
        raise ModelError("the process ended without a record, as after os._exit(0)")
    kind = {UNSURE: NoGPU, USAGE: MeasureError, NO_TORCH: NoTorch}.get(status, ModelError)
    raise kind(text or f"the process ended with {status}")


def _run(command: list[str], request: str, timeout: float) -> tuple[int, str]:
    """The status and the stderr of a process with a session of its own: nothing that it starts outlives its time, or an interrupt."""
    path = os.pathsep.join(p for p in (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")) if p)
    p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8",
                         errors="replace", env=os.environ | {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8:backslashreplace"},
                         start_new_session=True)
    try:
        said = p.communicate(request, timeout=timeout)[1]
        return p.returncode, said
    except subprocess.TimeoutExpired:
        raise ModelError(f"not done after {timeout:g} s") from None
    finally:
        if p.poll() is None:
            _kill(p)


def _kill(p: subprocess.Popen) -> None:
    try:
        os.killpg(p.pid, signal.SIGKILL) if hasattr(os, "killpg") else p.kill()
    except ProcessLookupError:
        pass
    p.wait()


def settings(case: dict) -> dict[str, str | None]:
    """The environment variables that the case decides, None for those that must not be set. PyTorch reads them once, when it starts."""
    workspace = case["cublas_workspace"]
    if not workspace and case["flags"]["deterministic"]:
        workspace = ":4096:8"  # else cuBLAS refuses to be deterministic
    return {"PYTORCH_CUDA_ALLOC_CONF": case["alloc_conf"] or None, "PYTORCH_ALLOC_CONF": None, "CUBLAS_WORKSPACE_CONFIG": workspace or None,
            "PYTORCH_NO_CUDA_MEMORY_CACHING": None, "TORCH_CUDNN_USE_HEURISTIC_MODE_B": None,
            "TORCH_CUDNN_V8_API_DISABLED": "1" if case["flags"].get("cudnn_v7") else None}


def _apply(case: dict) -> None:
    for name, value in settings(case).items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def run(case: dict, where: str = "auto", stacks: str = "all") -> dict:
    """Measure in this process, which should be fresh."""
    used_before = gpu.used() if where != "cpu" else None
    import torch

    cuda = torch.cuda.is_available() and where != "cpu"
    if where == "cuda" and not cuda:
        raise NoGPU("a GPU is required, and PyTorch finds none here")
    _set_flags(case, cuda)
    args, kwargs = inputs.make(case["inputs"], dtype=case["dtype"])
    with Account(Where("cuda", 0) if cuda else Where("cpu"), stacks) as account:
        model = build(case, account.device, args, kwargs)
        args, kwargs = _move(args, case, account.device), _move(kwargs, case, account.device)
        account.baseline(model, args, kwargs)
        oom = None
        for name in record.PHASES[1:]:
            try:
                with _context(case, account.device):
                    account.run_pass(name, model.model, args, kwargs)
            except Exception as e:
                text = out_of_memory(e) if cuda else ""
                if not text:
                    raise
                oom = {"phase": name, "text": text}
                break
    return _record(case, model, account, oom, used_before)


def _record(case: dict, model: Built, account: Account, oom: dict | None, used_before: dict[str, int] | None) -> dict:
    import torch

    out = {"schema": record.SCHEMA, "case": case["name"], "runtime": model.runtime, "where": account.where, "built": model.how,
           "device": account.describe(), "torch": torch.__version__, "cuda": torch.version.cuda or "", "cudnn": gpu.cudnn_version(),
           **{k: case[k] for k in record.FROM_CASE}, "weights": sum(t.untyped_storage().nbytes() for t in model.state),
           "phases": account.phases, "context": account.context(used_before), "oom": oom}
    record.put_events(out, account.region.events, account.region.stacks)
    return out


def _set_flags(case: dict, cuda: bool) -> None:
    import torch

    torch.manual_seed(0)
    flags = case["flags"]
    torch.backends.cuda.matmul.allow_tf32 = flags["tf32_matmul"]
    torch.backends.cudnn.allow_tf32 = flags["tf32_cudnn"]
    torch.backends.cudnn.benchmark = flags["benchmark"]
    torch.backends.cudnn.deterministic = flags["deterministic"]
    torch.use_deterministic_algorithms(flags["deterministic"], warn_only=True)
    if cuda and 0 < case["memory_fraction"] < 1:
        torch.cuda.set_per_process_memory_fraction(case["memory_fraction"])


def _move(value: Any, case: dict, device: str) -> Any:
    """Tensors to the device, in order, but for those that the case keeps on the host."""
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
    return [v if isinstance(s, inputs.TensorSpec) and s.device == "cpu" else tree_map(move, v) for v, s in zip(value, specs)]


@contextlib.contextmanager
def _context(case: dict, device: str):
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


def seconds(text: str) -> float:
    """A time limit."""
    n = float(text)
    if not n > 0:
        raise ValueError(text)
    return n


def main(arguments: list[str]) -> int:
    p = argparse.ArgumentParser(prog="python -m memshim measure", description="Run cases of a memspec.yaml for real and record what they take.")
    p.add_argument("spec", nargs="?", default="memspec.yaml")
    p.add_argument("--case", action="append", default=[], metavar="NAME", help="only this case: its exact name, else with * and ?; repeats")
    p.add_argument("--where", choices=("auto", "cuda", "cpu"), default="auto", help="auto: on the GPU where there is one, else on CPU tensors")
    p.add_argument("-o", "--output", default="measured", metavar="FOLDER", help="where records go (measured); with --request, the file")
    p.add_argument("--stacks", choices=("all", "python"), default="all", help="of each event on a GPU: with C++ frames, or without")
    p.add_argument("--timeout", type=seconds, default=TIMEOUT, metavar="SECONDS", help=f"for one case ({TIMEOUT:g})")
    p.add_argument("--request", metavar="FILE", help="measure one case in this process, as memspec cases --format json tells it; - is standard input")
    a = p.parse_args(arguments)
    if a.request:
        return _answer(a)
    try:
        found = cases.load(a.spec, a.case)
    except cases.SpecError as e:
        print(e, file=sys.stderr)
        return USAGE
    except binary.BinaryError as e:
        return _say(USAGE, str(e))
    code = 0
    Path(a.output).mkdir(parents=True, exist_ok=True)  # before anything is run for it
    with progress.Progress(len(found)) as bar:
        for case in found:
            bar.start(case["name"])
            try:
                path = record.write(measure(case, a.where, a.timeout, a.stacks), a.output)
                bar.say(str(path), sys.stdout)
            except MeasureError as e:
                bar.say(f"memshim: {case['name']}: {e}", sys.stderr)
                code = USAGE if code == USAGE or not isinstance(e, NoGPU) else UNSURE
    return code


def _end_with_parent() -> None:
    """A measurement ends with whoever asked for it, also where that one is killed: a model that hangs would hold the GPU for ever."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(FAILED)

    threading.Thread(target=watch, daemon=True).start()


def _answer(a: argparse.Namespace) -> int:
    _end_with_parent()
    try:
        code = _answered(a)
    except NoGPU as e:
        code = _say(UNSURE, str(e))
    except ModuleNotFoundError as e:
        code = _say(NO_TORCH, TORCH_MISSING) if e.name == "torch" else _model_failed(e)
    except (BuildError, inputs.InputError) as e:
        code = _say(USAGE, str(e))
    except BaseException as e:  # the model's own: sys.exit and KeyboardInterrupt are no way to end a measurement either
        code = _model_failed(e)
    if any(t is not threading.current_thread() and not t.daemon for t in threading.enumerate()):
        sys.stderr.flush()
        os._exit(code)  # threads that the model left running would keep the process
    return code


@contextlib.contextmanager
def alone(where: str) -> Iterator[None]:
    """One measurement at a time on this machine's GPUs, whoever asks (pytest-xdist's processes, go test's packages): what others allocate meanwhile
    cannot be told from the context's cost, and may leave no room."""
    if where == "cpu" or not gpu.hinted():
        yield
        return
    try:
        import fcntl
    except ImportError:  # not a Unix
        yield
        return
    path = os.path.join(tempfile.gettempdir(), f"memshim-gpu-{os.getuid()}.lock")
    with open(path, "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)  # let go of when the process ends, however it does
        yield


def _answered(a: argparse.Namespace) -> int:
    text = sys.stdin.read() if a.request == "-" else Path(a.request).read_text(encoding="utf-8")
    with contextlib.redirect_stdout(sys.stderr), alone(a.where):  # whatever the model prints
        case = json.loads(text)
        _apply(case)
        answer = record.dump(run(case, a.where, a.stacks))
    Path(a.output).write_text(answer, encoding="utf-8")
    return 0


def _model_failed(e: BaseException) -> int:
    traceback.print_exception(e)
    return _say(FAILED, describe(e))


def _say(code: int, text: str) -> int:
    print(f"memshim: {' '.join(text.split())}", file=sys.stderr)
    return code
