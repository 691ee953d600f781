"""The record of a case that is measured: its passes, where it ran, and what is said where memory runs out."""

import contextlib
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from memshim.case import errors, iterations, record, request  # noqa: E402
from memshim.gpu import queries  # noqa: E402

CASE = dict(zip(record.FROM_CASE, record.FROM_CASE)) | {
    "name": "net", "mode": "inference", "inputs": ["float32[1]", "k=float32[2]"], "dtype": "", "runtime": "",
    "memory_fraction": 0,
}  # fmt: skip


@pytest.fixture
def world(monkeypatch):
    """A machine with a GPU or without; its calls are listed."""
    w = SimpleNamespace(cuda=False, calls=[], fails="", compiled=False, used=[])

    class Account:
        phases = ["phases"]
        region = SimpleNamespace(events="events", stacks="stacks")

        def __init__(self, at, stacks):
            w.calls.append((at.kind, at.index, stacks))
            self.where, self.device = at.kind, "cuda:0" if at.kind == "cuda" else "cpu"

        def __enter__(self):
            return self

        def __exit__(self, *error):
            w.calls.append("closed")

        def baseline(self, model, args, kwargs):
            w.calls.append(("baseline", model.model, args, kwargs))
            self.fail("baseline")

        def run_pass(self, phase, model, args, kwargs):
            w.calls.append((phase, model))
            self.fail(phase)

        def fail(self, at):
            if w.fails == at:
                raise RuntimeError("no memory")

        def ran_out(self, phase, text):
            return {"phase": phase, "text": text}

        def describe(self):
            return "described"

        def context(self, used):
            return used

    made = SimpleNamespace(runtime="script", how="artifact", weights=9)
    monkeypatch.setattr(request, "Account", Account)
    monkeypatch.setattr(request, "_cuda", lambda at: w.cuda)
    monkeypatch.setattr(request, "make", lambda case, args, kwargs: made)
    monkeypatch.setattr(request, "place", lambda m, device: SimpleNamespace(model=f"model on {device}"))
    monkeypatch.setattr(request, "_move", lambda value, case, device: (len(value), device))
    monkeypatch.setattr(request, "_context", lambda case, device: contextlib.nullcontext())
    monkeypatch.setattr(request.settings, "set_flags", lambda case: w.calls.append("flags"))
    monkeypatch.setattr(request.settings, "flags_now", lambda case: "flags now")
    monkeypatch.setattr(request.settings, "compiled", lambda: w.compiled)
    monkeypatch.setattr(request.devices, "cudnn_version", lambda: "9")
    monkeypatch.setattr(request.devices, "used", lambda: (w.used.append(1), "used")[1])
    monkeypatch.setattr(request.where, "pretended", lambda: False)
    monkeypatch.setattr(request, "out_of_memory", lambda e: str(e))
    monkeypatch.setattr(request.record, "put_events", lambda out, events, stacks: out.update(put=(events, stacks)))
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", lambda x: w.calls.append(("fraction", x)))
    monkeypatch.setattr(iterations, "run", lambda case: SimpleNamespace(as_record=lambda: "iterations"))
    return w


@pytest.mark.parametrize("cuda, device, index", [(True, "cuda:0", 0), (False, "cpu", None)])
def test_a_case_has_a_baseline_and_two_passes(world, cuda, device, index):
    world.cuda = cuda
    out = request.run(CASE, "auto", "all")
    model = f"model on {device}"
    assert world.calls == [
        ("cuda" if cuda else "cpu", index, "all"),
        "flags",
        ("baseline", model, (1, device), (1, device)),
        ("first", model),
        ("steady", model),
        "closed",
    ]
    assert out == {k: CASE[k] for k in record.FROM_CASE} | {
        "schema": 1, "case": "net", "runtime": "script", "where": "cuda" if cuda else "cpu", "built": "artifact",
        "device": "described", "torch": torch.__version__, "cuda": torch.version.cuda or "", "cudnn": "9",
        "flags": "flags now", "weights": 9, "phases": ["phases"], "context": "used", "oom": None,
        "put": ("events", "stacks"),
    }  # fmt: skip


@pytest.mark.parametrize("at, pretended, asked", [("auto", False, 1), ("cpu", False, 0), ("auto", True, 0)])
def test_what_was_in_use_is_asked_of_a_real_gpu(world, monkeypatch, at, pretended, asked):
    monkeypatch.setattr(request.where, "pretended", lambda: pretended)
    assert request.run(CASE, at)["context"] == ("used" if asked else None) and len(world.used) == asked


@pytest.mark.parametrize(
    "fraction, cuda, sets", [(0.5, True, True), (0.5, False, False), (1, True, False), (0, True, False)]
)
def test_a_share_of_the_memory(world, fraction, cuda, sets):
    world.cuda = cuda
    request.run(CASE | {"memory_fraction": fraction})
    assert (("fraction", fraction) in world.calls) is sets


@pytest.mark.parametrize("phase", ["baseline", "first", "steady"])
def test_memory_that_runs_out_is_recorded(world, phase):
    world.cuda, world.fails = True, phase
    out = request.run(CASE)
    assert out["oom"] == {"phase": phase, "text": "no memory"} and out["flags"] == "flags now"
    world.cuda = False
    with pytest.raises(RuntimeError, match="^no memory$"):
        request.run(CASE)


def test_where_it_runs_out_before_anything_is_built(world, monkeypatch):
    def make(case, args, kwargs):
        raise RuntimeError("no memory")

    monkeypatch.setattr(request, "make", make)
    world.cuda = True
    out = request.run(CASE)
    assert (out["runtime"], out["built"], out["weights"], out["oom"]["phase"]) == ("eager", "", 0, "baseline")
    assert request.run(CASE | {"runtime": "script"})["runtime"] == "script"


@pytest.mark.parametrize(
    "change, cuda, what",
    [
        ({"mode": "training"}, True, "iterations"),
        ({"lengths": {"T": [1, 2]}}, True, "iterations"),
        ({"lengths": {"T": [1, 2]}}, False, errors.NothingToRun),
        ({"mode": "training"}, False, "record"),
        ({}, True, "record"),
    ],
)
def test_what_is_run_iteration_by_iteration(world, change, cuda, what):
    world.cuda = cuda
    if isinstance(what, type):
        with pytest.raises(Exception, match="^got lengths: without a GPU, want one, or --on pretend$"):
            request.run(CASE | change)
    else:
        assert (request.run(CASE | change) == "iterations") is (what == "iterations")


def test_compiled_code_is_said(world):
    assert "compiled" not in request.run(CASE)
    world.compiled = True
    assert request.run(CASE)["compiled"] is True


@pytest.mark.parametrize("cuda", [True, False])
def test_a_recording_needs_a_gpu(world, monkeypatch, tmp_path, cuda):
    world.cuda = cuda
    began = []
    reads = SimpleNamespace(begin=lambda: "read")
    monkeypatch.setattr(request, "current", lambda: reads if cuda else None)
    monkeypatch.setattr(request, "Reads", lambda: reads)
    monkeypatch.setattr(queries, "begin", lambda: began.append(1))
    found = SimpleNamespace(reads={"log": []}, encode=lambda: b"recording")
    monkeypatch.setattr(iterations, "run", lambda case, path, read: (began.append((path, read)), found)[1])
    a = SimpleNamespace(where="pretend", output=str(tmp_path / "out"), recording="a.rec")
    if not cuda:
        with pytest.raises(errors.NoGPU, match="^a recording is made on a GPU or a pretend one"):
            request._recording(CASE, a)
        return
    assert request._recording(CASE, a) == b"recording" and began == [1, ("a.rec", "read")]
    assert [p.read_text() for p in tmp_path.iterdir()] == ['{"log": []}']
