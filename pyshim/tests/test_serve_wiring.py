"""What of an engine is watched, as its modules are imported, and what its recording was made from."""

import json
import os
import sys
from types import SimpleNamespace as Object

import pytest

from memshim.origin import provenance, reads
from memshim.serving import watch

RECORDING = {"script": "s.py", "folder": "f", "file": "a.rec", "command": ["c"], "depends": [["a"], ["b"]]}


@pytest.fixture
def watched(tmp_path):
    return watch.Watch({"folder": str(tmp_path), "charged": ["1", 2, 3], "generate": None})


def test_what_is_wanted_of_a_process(watched, tmp_path):
    assert (watched.charged, watched.recording, watched.tokens, watched.folder) == ([1, 2, 3], {}, 0, tmp_path)
    full = watch.Watch({"folder": "f", "charged": [], "recording": RECORDING, "generate": "4"})
    assert (full.recording, full.tokens) == (RECORDING, 4)


@pytest.mark.parametrize("recording", [{}, RECORDING])
def test_modules_are_awaited_and_errors_are_seen(watched, monkeypatch, recording):
    awaited, before, failed, begun = {}, [], [], []
    monkeypatch.setattr(watch, "After", lambda name, act: awaited.update({name: act}))
    monkeypatch.setattr(sys, "excepthook", lambda *a: before.append(a))
    monkeypatch.setattr(reads.Reads, "begin", lambda self: begun.append(self))
    monkeypatch.setattr(watched, "failed", lambda stage, error: failed.append((stage, error)))
    pieces = []
    monkeypatch.setattr(watched.charges, "watch_pieces", pieces.append)
    watched.recording = recording
    watched.begin()
    assert len(begun) == bool(recording)
    own = {n: a for n, a in awaited.items() if n != "vllm.compilation.cuda_graph"}
    assert own == {
        "vllm.engine.arg_utils": watched.arguments,
        "vllm.model_executor.model_loader.dummy_loader": watched.dummy_weights,
        "vllm.v1.worker.gpu_worker": watched.worker,
        "vllm.v1.engine.core": watched.core,
    }
    awaited["vllm.compilation.cuda_graph"](Object(CUDAGraphWrapper="wrapper"))
    error = ValueError("no")
    sys.excepthook(ValueError, error, None)
    assert pieces == ["wrapper"] and failed == [("", error)] and before == [(ValueError, error, None)]


@pytest.fixture
def wrapped(watched, monkeypatch):
    """What is wrapped: its owner, name and stage, and what comes before and after."""
    found = []

    def wrap(of, name, stage, before=None, after=None):
        found.append((of, name, stage, before, after))

    monkeypatch.setattr(watched, "wrap", wrap)
    return found


def test_arguments_are_made_up_before_and_read_after(watched, wrapped, monkeypatch):
    kept = []
    monkeypatch.setattr(watched, "keep_reads", lambda: kept.append(1))
    watched.arguments(Object(EngineArgs="args"))
    ((*what, before, after),) = wrapped
    assert what == ["args", "create_engine_config", "arguments"] and before == watched.make_up
    after("config")
    assert kept == [1]


@pytest.mark.parametrize("tokens", [0, 4])
def test_what_of_a_worker_is_watched(watched, wrapped, monkeypatch, tokens):
    watched.tokens, graphs = tokens, []
    monkeypatch.setitem(sys.modules, "torch", Object(cuda=Object(graph="graph")))
    monkeypatch.setattr(watched.charges, "watch_captures", graphs.append)
    module = Object(Worker="worker")
    watched.worker(module)
    more = [("worker", name, "generation", None, None) for name in ("execute_model", "sample_tokens")]
    assert graphs == ["graph"] and wrapped == [
        (module, "request_memory", "memory at start", None, None),
        ("worker", "init_device", "device", None, None),
        ("worker", "load_model", "weights", None, None),
        ("worker", "determine_available_memory", "profile run", watched.charge, watched.profiled),
        ("worker", "compile_or_warm_up_model", "warm-up", watched.watch_graphs, watched.profiled),
        *(more if tokens else []),
    ]


def test_what_of_the_core_is_watched(watched, wrapped):
    module = Object(EngineCore="core")
    watched.core(module)
    assert wrapped == [
        (module, "get_kv_cache_configs", "KV cache", None, None),
        ("core", "__init__", "engine", None, watched.made),
    ]


def test_weights_that_are_made_up_are_quantized_first(watched, monkeypatch):
    calls = []

    class Loader:
        def load_weights(self, model, *args):
            calls.append(("loaded", model, *args))
            return "out"

    cuda = Object(current_device=lambda: 2)
    monkeypatch.setitem(sys.modules, "torch", Object(cuda=cuda, device=lambda *a: a))
    monkeypatch.setattr(watch, "quantize_layers", lambda module, model, device: calls.append((model, device)))
    module = Object(DummyModelLoader=Loader)
    watched.dummy_weights(module)
    assert Loader().load_weights("m", 1) == "out" and calls == [("loaded", "m", 1)], "of a release without such weights"
    module.materialize_meta_tensor = None
    watched.dummy_weights(module)
    calls.clear()
    assert Loader().load_weights("m", 1) == "out" and calls == [("m", ("cuda", 2)), ("loaded", "m", 1)]


def seen(opened, began, asked=(), written=(), listed=()):
    found = reads.Reads()
    found.opened |= dict.fromkeys(opened)
    found.listed |= dict.fromkeys(listed)
    found.written |= set(written)
    found.asked.update(asked)
    found.began = began
    return found


@pytest.mark.parametrize(
    "recording, current, kept", [(RECORDING, True, True), ({}, True, False), (RECORDING, False, False)]
)
def test_what_a_process_read_is_kept(watched, monkeypatch, recording, current, kept):
    found = seen(["a"], 5.0, {("X", "by"): "1"}, ["w"], ["l"])
    monkeypatch.setattr(reads, "current", lambda: found if current else None)
    watched.recording = recording
    watched.keep_reads()
    files = os.listdir(watched.folder)
    assert files == ([f"reads.{os.getpid()}.json"] if kept else [])
    if kept:
        assert json.loads((watched.folder / files[0]).read_text()) == {
            "opened": ["a"], "written": ["w"], "listed": ["l"], "asked": [["X", "by", "1"]], "began": 5.0,
        }  # fmt: skip


def test_a_recording_is_made_from_what_all_processes_read(watched, monkeypatch):
    given = []
    monkeypatch.setattr(provenance, "made", lambda *a: (given.append(a), {"made": 1})[1])
    monkeypatch.setattr(reads, "current", lambda: seen(["mine"], 7.0, {("X", "by"): "mine"}))
    asked = [["X", "by", "1"], ["Y", "z", "2"]]
    other = {"opened": ["b"], "written": ["w"], "listed": ["l"], "asked": asked, "began": 9.0}
    (watched.folder / "reads.0.json").write_text(json.dumps(other))
    watched.make()
    assert not given, "nothing is recorded"
    watched.recording = RECORDING
    watched.make()
    ((file, source, folder, model, command, read, depends),) = given
    assert (file, source, folder, model, command) == ("a.rec", "s.py:", "f", None, ["c"])
    assert set(read.opened) == {"b", "mine"} and set(read.listed) == {"l"} and read.written == {"w"}
    assert read.asked == {("X", "by"): "1", ("Y", "z"): "2"} and read.began == 7.0
    assert [list(part) for part in depends][:2] == [["a"], ["b"]]
    assert json.loads((watched.folder / watch.MADE).read_text()) == {"made": 1}
    watched.folder = watched.folder / "gone"
    watched.make()
    assert len(given) == 1


def test_an_error_for_want_of_memory_has_its_recording(watched, monkeypatch):
    made = []
    monkeypatch.setattr(watched, "make", lambda: made.append(1))
    watched.failed("weights", ValueError("no"))
    assert made == []
    watched.failed("KV cache", ValueError("no"))
    assert made == [1]


def test_an_error_that_passes_several_stages_is_taken_for_one(watched, monkeypatch):
    made, error = [], ValueError("no")
    monkeypatch.setattr(watched, "make", lambda: made.append(1))
    watched.failed("KV cache", error)
    watched.failed("memory at start", error)
    assert made == [1]
