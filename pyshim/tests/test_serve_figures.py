"""What a watched engine's processes write: its arguments, each worker's figures, the cache's, what was read."""

import json
import os
import sys
from types import SimpleNamespace as Object

import pytest

from memshim.pretend import library, unbuilt
from memshim.serving import driver_memory, generation, graph_memory, larger, model_folder, watch
from memshim.serving.attributes import Moved, read


@pytest.fixture
def watched(tmp_path):
    return watch.Watch({"folder": str(tmp_path), "charged": [10, 20, 30]})


def written(w, pattern):
    (file,) = w.folder.glob(pattern)
    return json.loads(file.read_text())


def test_an_attribute_of_an_attribute():
    assert read(Object(a=Object(b=3)), "a.b") == 3 and read(Object(a=None), "a") is None
    with pytest.raises(Moved, match=r"^SimpleNamespace\.a\.c$"):
        read(Object(a=Object(b=3)), "a.c")


def test_a_function_is_called_between_what_is_done_before_and_after(watched):
    calls = []
    module = Object(f=lambda a, b=0: (calls.append(("f", a, b)), 5)[1])
    watched.wrap(module, "f", "x", before=lambda a: calls.append(("before", a)), after=lambda a: calls.append("after"))
    assert module.f(1, b=2) == 5 and calls == [("before", 1), ("f", 1, 2), "after"]
    watched.wrap(module, "g", "a stage")
    assert written(watched, watch.ERRORS)["moved"] is True and not hasattr(module, "g")


def test_the_first_error_of_a_process_is_kept(watched):
    watched.failed("first", ValueError("one"))
    watched.failed("second", ValueError("two"))
    got = written(watched, watch.ERRORS)
    assert got | {"stage": "first", "kind": "ValueError", "text": "one", "moved": False, "unfit": False} == got
    assert f"error.{os.getpid()}.json" in os.listdir(watched.folder)
    watched.folder = watched.folder / "gone"
    watched.failed("third", ValueError("three"))
    assert not watched.folder.exists(), "this process outlived its command"


QUANTIZED, DUMMY = {"weights": False, "quantized": 1}, {"load_format": "dummy"}
ASKED = {"model": "org/net", "load_format": "auto"}


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A model's folder, of which has says what it has."""
    has = {"weights": True, "tokenizer": True, "quantized": None}
    for name in ("weights", "tokenizer"):
        monkeypatch.setattr(model_folder, f"has_{name}", lambda f, name=name: has[name])
    monkeypatch.setattr(model_folder, "quantized", lambda f: has["quantized"])
    has["checked"] = []
    monkeypatch.setattr(model_folder, "check_processor", lambda f, limits: has["checked"].append(limits))
    monkeypatch.setattr(larger, "asked", lambda arguments: "asked")
    (tmp_path / "model").mkdir()
    has["path"] = str(tmp_path / "model")
    return has


def made_up(watched, **change):
    arguments = Object(**(ASKED | change))
    watched.make_up(arguments)
    return arguments, written(watched, watch.ARGUMENTS)


def test_of_a_model_that_is_no_folder_nothing_is_made_up(watched, folder):
    _, said = made_up(watched)
    assert said == {"model": "org/net", "made_up": [], "defaults": [], "gpus": 1, "replicas": 1, "asked": "asked"}
    assert folder["checked"] == []
    _, said = made_up(watched, load_format="dummy")
    assert said["made_up"] == ["weights"]


@pytest.mark.parametrize(
    "has, given, made, now",
    [
        ({}, {}, [], {}),
        ({"weights": False}, {}, ["weights"], {"load_format": "dummy"}),
        ({"weights": False}, {"load_format": "gguf"}, [], {"load_format": "gguf"}),
        ({"tokenizer": False}, {}, ["tokenizer"], {"skip_tokenizer_init": True}),
        ({"tokenizer": False}, {"tokenizer": "other"}, [], {}),
        ({}, {"load_format": "dummy"}, ["weights"], {}),
        (QUANTIZED, {}, ["quantized layers", "weights"], {"hf_overrides": {"quantization_config": 1}} | DUMMY),
        ({"quantized": 1}, DUMMY, ["weights"], {}),
        (QUANTIZED, {"hf_overrides": {"quantization_config": 2}}, ["weights"], DUMMY),
        (QUANTIZED, {"hf_overrides": int}, ["weights"], DUMMY),
    ],
)  # fmt: skip
def test_what_a_folder_lacks_is_made_up(watched, folder, has, given, made, now):
    folder |= has
    arguments, said = made_up(watched, model=folder["path"], **given)
    assert said["made_up"] == made
    assert vars(arguments) == ASKED | {"model": folder["path"]} | given | now


@pytest.mark.parametrize(
    "given, checked",
    [({}, [{}]), ({"limit_mm_per_prompt": {"image": 0}}, [{"image": 0}]), ({"language_model_only": True}, [])],
)
def test_a_model_of_images_needs_its_processor(watched, folder, given, checked):
    made_up(watched, model=folder["path"], **given)
    assert folder["checked"] == checked


def test_what_the_arguments_say_of_gpus_and_defaults(watched, folder):
    _, said = made_up(
        watched,
        tensor_parallel_size=2,
        pipeline_parallel_size=3,
        data_parallel_size=None,
        max_num_seqs=None,
        max_num_batched_tokens=5,
    )
    assert (said["gpus"], said["defaults"], said["replicas"]) == (6, ["max_num_seqs"], 1)


@pytest.fixture
def card(monkeypatch):
    calls = []
    stub = Object(
        take=lambda device, size: (calls.append(("take", device, size)), True)[1],
        give=lambda device, size: calls.append(("give", device, size)),
    )
    monkeypatch.setattr(library, "Library", lambda: stub)
    monkeypatch.setattr(driver_memory, "graph_layer", lambda experts: 300 if experts else 30)
    return calls


@pytest.mark.parametrize("world, tensor, index, size", [(1, 1, None, 10), (2, 2, 3, 20), (4, 2, 1, 20), (2, 1, 0, 30)])
@pytest.mark.parametrize("graphs", [None, {"experts": False, "layers": 4}])
def test_what_the_driver_takes_is_charged(watched, card, monkeypatch, world, tensor, index, size, graphs):
    monkeypatch.setattr(watch, "captured", lambda config: graphs)
    parallel = Object(world_size=world, tensor_parallel_size=tensor)
    watched.charge(Object(parallel_config=parallel, device=Object(index=index), vllm_config=1))
    assert card == [("take", index or 0, size)]
    watched.give(5)
    assert card[1] == ("give", index or 0, 5)
    assert (watched.charges.piece, watched.charges.full) == ((20, 50) if graphs else (0, 0))


def worker(stated=0):
    return Object(
        rank=2,
        device="cuda:0",
        init_snapshot=Object(total_memory=1000, free_memory=900),
        requested_memory=800.5,
        model_runner=Object(model_memory_usage=60.5),
        cache_config=Object(kv_cache_memory_bytes=stated),
        available_kv_cache_memory_bytes=77.5,
        _memshim_graphs=4,
    )


@pytest.mark.parametrize("stated", [0, 55])
def test_the_figures_of_a_worker(watched, monkeypatch, stated):
    cuda = Object(
        mem_get_info=lambda device: (300, 1000),
        get_device_name=lambda device: "L4",
        max_memory_allocated=lambda device: 70,
    )
    monkeypatch.setitem(sys.modules, "torch", Object(cuda=cuda))
    monkeypatch.setattr(watch, "measured", lambda w: (50, 7, 20))
    monkeypatch.setattr(unbuilt, "used", {"f"} if stated else set())
    kept = []
    monkeypatch.setattr(watched, "keep_reads", lambda: kept.append(1))
    watched.charges.taken = 9
    watched.profiled(worker(stated))
    assert kept == [1]
    assert f"worker.2.{os.getpid()}.json" in os.listdir(watched.folder)
    assert written(watched, watch.WORKERS) == {
        "rank": 2, "card": "L4", "total": 1000, "free_at_start": 900, "requested": 800, "loaded": 60,
        "activation": None if stated else 50, "outside_pytorch": None if stated else 7,
        "kv_memory": 55 if stated else 77, "graphs": 4, "graphs_of_driver": 9,
        "graphs_in_budget": 0 if stated else 20, "allocated_peak": 70, "in_use": 700, "unbuilt": bool(stated),
    }  # fmt: skip


@pytest.mark.parametrize("given, kept", [(7.5, 7), (None, 0)])
def test_what_the_engine_measures_of_its_graphs_is_kept(watched, given, kept):
    w = Object(model_runner=Object(capture_model=lambda *a, **k: given))
    watched.watch_graphs(w)
    assert w.model_runner.capture_model(1, a=2) == kept == w._memshim_graphs


def spec(size):
    return Object(kv_cache_spec=Object(block_size=size))


@pytest.fixture
def core(monkeypatch, watched):
    """An engine's core whose cache has one group of layers, and the calls at its end."""
    calls = []
    caches = Object(get_max_concurrency_for_kv_cache_config=lambda config, cache: 2.5)
    monkeypatch.setitem(sys.modules, "vllm", Object())
    for name in ("vllm.v1", "vllm.v1.core"):
        monkeypatch.setitem(sys.modules, name, Object())
    monkeypatch.setitem(sys.modules, watch.CACHES, caches)
    monkeypatch.setattr(watch.os, "_exit", lambda code: calls.append(("exit", code)))
    monkeypatch.setattr(watch, "captured", lambda config: None)
    for name in ("make", "others"):
        monkeypatch.setattr(watched, name, lambda name=name: calls.append(name))
    monkeypatch.setattr(watched, "generate", lambda core, figures: calls.append("generate"))
    cache = Object(kv_cache_groups=[spec(16)], num_blocks=100, kv_cache_tensors=[Object(size=5), Object(size=6)])
    config = Object(
        model_config=Object(max_model_len=1000, dtype="torch.bfloat16", quantization=None, enforce_eager=1),
        scheduler_config=Object(max_num_seqs=8, max_num_batched_tokens=2048),
        cache_config=Object(gpu_memory_utilization=0.5, cache_dtype="auto"),
        parallel_config=Object(tensor_parallel_size=2),
    )
    return Object(vllm_config=config, scheduler=Object(kv_cache_config=cache), calls=calls, cache=cache)


def test_the_figures_of_the_cache(watched, core):
    watched.made(core)
    assert core.calls == ["make", "others", ("exit", 0)]
    assert f"engine.{os.getpid()}.json" in os.listdir(watched.folder)
    assert written(watched, watch.ENGINES) == {
        "blocks": 100, "block_size": 16, "tokens": 1600, "concurrency": 2.5, "max_model_len": 1000, "kv_cache": 11,
        "max_num_seqs": 8, "max_num_batched_tokens": 2048, "gpu_memory_utilization": 0.5, "kv_cache_dtype": "auto",
        "dtype": "bfloat16", "quantization": None, "eager": True, "tensor_parallel_size": 2, "captured": None,
    }  # fmt: skip


def test_what_an_engine_printed_is_written_before_it_ends(watched, core, monkeypatch):
    streams = {name: Object(flush=lambda name=name: core.calls.append(name)) for name in ("stdout", "stderr")}
    with monkeypatch.context() as own:
        for name, stream in streams.items():
            own.setattr(sys, name, stream)
        watched.made(core)
    assert core.calls == ["make", "others", "stdout", "stderr", ("exit", 0)]


@pytest.mark.parametrize("sizes, tokens, smallest", [([], 0, 0), ([32, 16], 2500, 16)])
def test_a_cache_of_several_kinds_of_layers(watched, core, sizes, tokens, smallest):
    core.cache.kv_cache_groups = [spec(n) for n in sizes]
    watched.tokens = 3
    watched.made(core)
    got = written(watched, watch.ENGINES)
    assert (got["tokens"], got["block_size"]) == (tokens, smallest) and core.calls[0] == "generate"
    assert got["concurrency"] == (2.5 if sizes else 0.0)


@pytest.mark.parametrize(
    "replicas, there, waits", [(None, 0, 0), (1, 1, 0), (2, 1, 1), (2, 2, 0), (3, 1, 2), (9, 1, 3)]
)
def test_a_replica_waits_for_the_others(watched, monkeypatch, replicas, there, waits):
    """Each time it looks another is there; after three times it has waited long enough."""
    clock, slept = [0.0, 100.0, 300.0, 599.0, 600.0, 601.0], []

    def sleep(seconds):
        slept.append(seconds)
        (watched.folder / f"engine.{len(slept)}.json").touch()

    monkeypatch.setattr(watch, "time", Object(monotonic=lambda: clock.pop(0), sleep=sleep))
    if replicas:
        (watched.folder / watch.ARGUMENTS).write_text(json.dumps({"replicas": replicas}))
    for i in range(there):
        (watched.folder / f"engine.a{i}.json").touch()
    watched.others()
    assert slept == [0.05] * waits


def test_what_generation_took_or_why_it_failed(watched, monkeypatch):
    for name in ("vllm", "vllm.v1"):
        monkeypatch.setitem(sys.modules, name, Object())
    monkeypatch.setitem(sys.modules, "vllm.v1.request", Object(Request="R"))
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", Object(SamplingParams="S"))
    monkeypatch.setattr(generation, "batch", lambda figures, tokens: (figures, tokens))
    monkeypatch.setattr(generation, "generate", lambda *a: list(a))
    watched.tokens = 3
    watched.generate("core", "figures")
    assert written(watched, watch.GENERATED) == ["core", ["figures", 3], "R", "S"]

    def fails(*a):
        raise ValueError("no")

    monkeypatch.setattr(generation, "generate", fails)
    with pytest.raises(ValueError):
        watched.generate("core", "figures")
    assert written(watched, watch.ERRORS)["stage"] == "generation"


def test_layers_are_quantized_as_they_are_made():
    made = []

    class Layer:
        def __init__(self, device, marks=True):
            self.weight = Object(device=Object(type=device))
            self.quant_method = Object(process_weights_after_loading=lambda layer: self.done(marks))

        def done(self, marks):
            made.append(self.weight)
            if marks:
                setattr(self, watch.QUANTIZED, True)

    class Card:
        entered = 0

        def __enter__(self):
            self.entered += 1

        def __exit__(self, *error):
            pass

    module = Object(get_layer_tensors=lambda layer: {"weight": layer.weight}, materialize_meta_tensor=lambda t: "made")
    card = Card()
    watch.quantize_layers(module, Object(modules=lambda: [Layer("cuda"), Layer("meta")]), card)
    assert made == ["made"] and card.entered == 1
    with pytest.raises(Moved, match=f"^Layer.{watch.QUANTIZED}$"):
        watch.quantize_layers(module, Object(modules=lambda: [Layer("meta", marks=False)]), card)


class Graph:
    """What is captured; it can be referred to weakly."""


@pytest.mark.parametrize("room", [True, False])
def test_a_captured_graph_is_charged_until_it_is_gone(room):
    given = []
    charges = graph_memory.Charges(lambda size: room, given.append)

    class Context:
        def __init__(self):
            self.cuda_graph = Graph()

        def __exit__(self, *error):
            return "left"

    class Wrapper:
        runtime_mode = Object(name="PIECEWISE")

        def __call__(self, f):
            return f()

    def capture(*error):
        context = Context()
        assert context.__exit__(*error) == "left"
        return context.cuda_graph

    charges.watch_captures(Context)
    charges.watch_pieces(Wrapper)
    assert capture(None, None, None) and charges.taken == 0, "nothing is known of its size"
    charges.set(30, 4)
    full = capture(None, None, None)
    assert charges.taken == (50 if room else 0)
    piece = Wrapper()(lambda: capture())
    assert charges.taken == (70 if room else 0) and not charges.in_piece
    assert capture(ValueError, ValueError(), None) and charges.taken == (70 if room else 0)
    del full
    assert charges.taken == (20 if room else 0) and given == ([50] if room else [])
    Wrapper.runtime_mode = Object(name="FULL")
    with pytest.raises(ZeroDivisionError):
        Wrapper()(lambda: 1 / 0)
    assert not charges.in_piece and piece
