"""The process that measures one case: how it ends, what it needs, who waits for the GPU."""

import argparse
import contextlib
import json
import os
import signal
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from memshim.case import build, errors, inputs, request
from memshim.gpu import devices


def arguments(**change):
    return argparse.Namespace(**({"where": "cpu", "timeout": 0, "stacks": "python", "recording": ""} | change))


@pytest.fixture
def ran(monkeypatch, tmp_path):
    """A case that is run by what `does` says; out is the file of its record."""
    world = SimpleNamespace(does=lambda: {"a": 1}, out=tmp_path / "out", given=[])

    def run(case, at, stacks):
        world.given.append((case, at, stacks))
        return world.does()

    monkeypatch.setattr(request, "run", run)
    monkeypatch.setattr(request.settings, "apply", lambda case: world.given.append("applied"))
    return world


def answered(world, **change):
    return request._answered(json.dumps({"name": "net"}), arguments(output=str(world.out), **change))


def test_a_record_is_written(ran, capsys):
    ran.does = lambda: (print("a model prints"), {"a": 1})[1]
    assert answered(ran) == 0
    assert json.loads(ran.out.read_text()) == {"a": 1}
    assert ran.given == ["applied", ({"name": "net"}, "cpu", "python")]
    assert capsys.readouterr() == ("", "a model prints\n")


@pytest.mark.parametrize(
    "error, code, said",
    [
        (errors.NoGPU("no  GPU\nhere"), 3, "no GPU here"),
        (ModuleNotFoundError("No module", name="torch"), 4, errors.TORCH_MISSING),
        (ModuleNotFoundError("No module named 'x'", name="x"), 1, None),
        (build.NothingToRun("give source:"), 5, "give source:"),
        (build.BuildError("got no net"), 2, "got no net"),
        (inputs.InputError("got x"), 2, "got x"),
        (ValueError("no"), 1, "ValueError: no"),
        (SystemExit(0), 1, None),
        (KeyboardInterrupt(), 1, None),
    ],
)
def test_how_it_ends(ran, capsys, error, code, said):
    def does():
        raise error

    ran.does = does
    assert answered(ran) == code and not ran.out.exists()
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"memshim: {said or ''}")


def test_a_recording_is_asked_for_by_its_path(ran, monkeypatch):
    monkeypatch.setattr(request, "_recording", lambda case, a: f"{case} {a.recording}".encode())
    assert answered(ran, recording="a.rec") == 0
    assert ran.out.read_text() == "{'name': 'net'} a.rec"


@pytest.mark.parametrize("daemon, leaves", [(True, False), (False, True)])
def test_threads_that_a_model_left_do_not_keep_the_process(monkeypatch, daemon, leaves):
    stop, left = threading.Event(), []

    def answered(text, a):
        threading.Thread(target=stop.wait, daemon=daemon).start()
        return 3

    monkeypatch.setattr(request, "end_with_parent", lambda: None)
    monkeypatch.setattr(request, "_answered", answered)
    monkeypatch.setattr(request, "leave", left.append)
    assert request.answer("{}", arguments()) == 3 and left == ([3] if leaves else [])
    stop.set()


def test_what_was_compiled_goes_with_the_process(monkeypatch):
    calls = []
    monkeypatch.setattr(request.os, "_exit", calls.append)
    compiles = SimpleNamespace(remove_own=lambda: calls.append("removed"))
    monkeypatch.setitem(request.sys.modules, "memshim.pretend.compiles", compiles)
    request.leave(3)
    monkeypatch.delitem(request.sys.modules, "memshim.pretend.compiles")
    request.leave(4)
    assert calls == ["removed", 3, 4]


@pytest.mark.parametrize(
    "at, available, pretended, want",
    [
        ("auto", True, False, True),
        ("auto", False, False, False),
        ("cpu", True, False, False),
        ("cuda", True, False, True),
        ("cuda", False, False, "a GPU is required, and PyTorch finds none here"),
        ("pretend", True, True, True),
        ("pretend", False, True, "a GPU is required, and PyTorch finds none here"),
        ("pretend", True, False, "a pretend GPU is required, and this process has none"),
    ],
)
def test_whether_it_runs_on_a_gpu(monkeypatch, at, available, pretended, want):
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: available))
    monkeypatch.setitem(request.sys.modules, "torch", torch)
    monkeypatch.setattr(request.where, "pretended", lambda: pretended)
    if isinstance(want, str):
        with pytest.raises(errors.NoGPU, match=f"^{want}$"):
            request._cuda(at)
    else:
        assert request._cuda(at) is want


@pytest.mark.parametrize("seconds", [0, None, 5.0])
def test_a_limit_is_set_and_taken_away(monkeypatch, seconds):
    calls = []
    stub = SimpleNamespace(
        dump_traceback_later=lambda s, exit, file: calls.append((s, exit)),
        cancel_dump_traceback_later=lambda: calls.append("cancelled"),
    )
    monkeypatch.setattr(request, "faulthandler", stub)
    with pytest.raises(ValueError), request.limit(seconds):
        raise ValueError
    assert calls == ([(5.0, True), "cancelled"] if seconds else [])


@pytest.mark.parametrize(
    "at, pretended, hinted, locks",
    [("auto", False, True, True), ("cuda", False, True, True), ("cpu", False, True, False),
     ("pretend", True, True, False), ("auto", False, False, False)],
)  # fmt: skip
def test_one_measurement_at_a_time_on_real_gpus(monkeypatch, tmp_path, at, pretended, hinted, locks):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(request.where, "pretended", lambda: pretended)
    monkeypatch.setattr(devices, "hinted", lambda: hinted)
    monkeypatch.setattr(request, "lock_folder", lambda: tmp_path / "lock")
    with request.alone(at):
        assert (tmp_path / "lock" / "gpu.lock").exists() == locks
        if locks:
            with open(tmp_path / "lock" / "gpu.lock") as f, pytest.raises(BlockingIOError):
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if locks:
        with open(tmp_path / "lock" / "gpu.lock") as f:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_lock_that_cannot_be_had_is_the_cases_error(monkeypatch, tmp_path):
    monkeypatch.setattr(devices, "hinted", lambda: True)
    monkeypatch.setattr(request.where, "pretended", lambda: False)
    (tmp_path / "file").touch()
    monkeypatch.setattr(request, "lock_folder", lambda: tmp_path / "file" / "lock")
    with pytest.raises(build.BuildError), request.alone("cuda"):
        pass


def test_the_lock_is_of_the_session_or_the_user(monkeypatch, tmp_path):
    (tmp_path / "runtime").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ours = request.lock_folder().name
    assert request.lock_folder() == tmp_path / "runtime" / ours
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "absent"))
    assert request.lock_folder() == tmp_path / "cache" / ours
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert request.lock_folder() == Path.home() / ".cache" / ours


@pytest.mark.parametrize("leads", [True, False])
def test_it_ends_with_whoever_asked_for_it(monkeypatch, leads):
    """The parent is looked for once a second; another one says that it is gone."""
    parents, calls, threads = [7, 7, 7, 1], [], []
    monkeypatch.setattr(request.os, "getppid", lambda: parents.pop(0))
    monkeypatch.setattr(request.os, "getpgrp", lambda: os.getpid() if leads else 1)
    monkeypatch.setattr(request.os, "killpg", lambda *a: calls.append(a))
    monkeypatch.setattr(request.os, "_exit", calls.append)
    monkeypatch.setattr(request.time, "sleep", lambda s: calls.append(f"slept {s}"))

    def thread(target, daemon):
        threads.append(daemon)
        return SimpleNamespace(start=target)

    monkeypatch.setattr(request, "threading", SimpleNamespace(Thread=thread))
    request.end_with_parent()
    killed = [(os.getpid(), signal.SIGKILL)] if leads else []
    assert calls == ["slept 1", "slept 1", *killed, 1] and threads == [True]


class Tensor:
    def to(self, device):
        return f"on {device}"


@pytest.mark.parametrize(
    "texts, value, want",
    [
        (["float32[1]", "int64[2] cpu", "3"], ["t", "t", 3], ["on d", "t", 3]),
        (["x=float32[1]", "y=int64[2] cpu", "z=[float32[1]]"], {"x": "t", "y": "t", "z": ["t"]},
         {"x": "on d", "y": "t", "z": ["on d"]}),
        (["int64[2] cpu", "x=float32[1]"], {"x": "t"}, {"x": "on d"}),
        (["float32[1]", "x=int64[2] cpu"], ["t"], ["on d"]),
    ],
)  # fmt: skip
def test_inputs_that_stay_on_the_host(monkeypatch, texts, value, want):
    one = Tensor()

    def tree_map(f, v):
        return [tree_map(f, x) for x in v] if isinstance(v, list) else f(v)

    monkeypatch.setitem(request.sys.modules, "torch", SimpleNamespace(Tensor=Tensor))
    monkeypatch.setitem(request.sys.modules, "torch.utils", SimpleNamespace())
    monkeypatch.setitem(request.sys.modules, "torch.utils._pytree", SimpleNamespace(tree_map=tree_map))

    def filled(v):
        if isinstance(v, dict):
            return {k: filled(x) for k, x in v.items()}
        return [filled(x) for x in v] if isinstance(v, list) else one if v == "t" else v

    assert request._move(filled(value), {"inputs": texts}, "d") == filled(want)


@pytest.mark.parametrize("grad, mode", [("inference_mode", "inference"), ("no_grad", "no_grad")])
@pytest.mark.parametrize("autocast", ["", "bfloat16"])
def test_a_pass_runs_without_gradients_and_the_collector(monkeypatch, grad, mode, autocast):
    entered = []

    @contextlib.contextmanager
    def context(*what):
        entered.append(what)
        yield

    torch = SimpleNamespace(
        inference_mode=lambda: context("inference"),
        no_grad=lambda: context("no_grad"),
        bfloat16="bf16",
        device=lambda d: SimpleNamespace(type=d.partition(":")[0]),
        autocast=lambda kind, dtype: context(kind, dtype),
    )
    monkeypatch.setitem(request.sys.modules, "torch", torch)
    calls = []
    gc = SimpleNamespace(**{n: lambda n=n: calls.append(n) for n in ("collect", "disable", "enable")})
    monkeypatch.setattr(request, "gc", gc)
    with pytest.raises(ValueError), request._context({"grad": grad, "autocast": autocast}, "cuda:0"):
        calls.append("pass")
        raise ValueError
    assert entered == [(mode,), *([("cuda", "bf16")] if autocast else [])]
    assert calls == ["collect", "disable", "pass", "enable"]


def test_how_a_process_says_why_it_ends():
    codes = (errors.FAILED, errors.USAGE, errors.UNSURE, errors.NO_TORCH, errors.NOTHING)
    assert codes == (1, 2, 3, 4, 5) and errors.TIMEOUT == 1800
    kinds = (errors.ModelError, errors.CaseError, errors.NoGPU, errors.NoTorch, errors.NothingToRun)
    assert dict(zip(codes, kinds)) == errors.KINDS
