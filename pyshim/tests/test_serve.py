"""python -m memshim serve, without a serving engine: arguments, what is made up, the hooks, the report
and the errors. fake_engine/ has the names and shapes of vLLM's objects and nothing of its figures; vLLM
is tried by test_serve_vllm.py (make test-serve)."""

import contextlib
import csv
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace as Object

import pretended
import pytest
from served import FOUND, NO_CACHE, serve

import memshim
from memshim import pretend
from memshim.pretend import library
from memshim.program import launch
from memshim.serving import command, driver_memory, model_folder, report, start, watch
from memshim.sizes import GIB, MIB

LOGS = Path(__file__).parents[2] / "testdata" / "serving" / "logs.csv"
SCHEMA = json.loads((Path(memshim.__file__).parent / "schemas" / "serving.schema.json").read_text())


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


# ---- arguments ----


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["--on", "t4"], "got no command, want -- vllm serve MODEL … or -- program.py"),
        (
            ["--on", "t4", "-o", "a.json", "--json", "./a.json", "--", "vllm", "serve", "m"],
            "got -o and --json of one file, ./a.json, want two files",
        ),
        (["--on", "t4", "--", "sglang", "serve"], "got sglang, want vllm, a script (.py), -m MODULE or -c CODE"),
        (["--on", "t4", "--", "no.py"], "no.py: no such file"),
        (["--on", "toaster", "--", "vllm", "serve", "m"], "got device 'toaster', want a known device"),
        (["--on", "t4", "--count", "0", "--", "vllm", "serve", "m"], "got 0 devices, want 1 to 16"),
        (["--on", "t4", "--json", "/dev", "--", "vllm", "serve", "m"], "[Errno 21] Is a directory: '/dev'"),
    ],
)
def test_wrong_usage(arguments, text, capsys, found_binary):
    assert command.main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"memshim serve: {text}")


def test_a_missing_engine_is_one_line_with_what_to_install(monkeypatch, capsys, found_binary):
    monkeypatch.setattr(command, "installed", lambda: "")
    assert command.main(["--on", "t4", "--", "vllm", "serve", "m"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith("memshim serve: got no vLLM in ")
    tried = "0.17.0, 0.17.1, 0.18.0, 0.19.0, 0.22.0, 0.24.0, 0.27.1, 0.30.0, 0.33.0"
    assert said.endswith(f"want one of {tried} there: pip install vllm==0.33.0\n")


def test_an_engine_that_asks_for_more_gpus_is_started_again_with_them(possible, model, tmp_path):
    p, found = serve(model, tmp_path, "two", "-c", TWO, str(model))
    assert p.returncode == 0, p.stderr
    assert found["device"]["count"] == 2 and found["driver"]["source"].endswith("; no log of Tesla T4")


# ---- what is made up ----


@pytest.mark.parametrize(
    "files, load_format, made_up, loads",
    [
        ({}, "auto", ["tokenizer", "weights"], "dummy"),
        ({"tokenizer.json": "{}"}, "auto", ["weights"], "dummy"),
        ({"model.safetensors": "x"}, "auto", ["tokenizer"], "auto"),
        (
            {"model.safetensors": ""},
            "auto",
            ["tokenizer", "weights"],
            "dummy",
        ),  # as a checkout without git lfs may have it
        ({"model.safetensors": "x"}, "dummy", ["tokenizer", "weights"], "dummy"),  # as the command says
        ({"tokenizer.json": "{}", "model.gguf": "x"}, "gguf", [], "gguf"),
    ],
)
def test_what_the_folder_lacks_is_made_up(files, load_format, made_up, loads, model, tmp_path):
    for name, text in files.items():
        (model / name).write_text(text)
    a = Object(model=str(model), load_format=load_format, tokenizer=None, skip_tokenizer_init=False, max_num_seqs=None)
    watch.Watch({"folder": str(tmp_path), "charged": [0, 0, 0]}).make_up(a)
    said = json.loads((tmp_path / watch.ARGUMENTS).read_text())
    assert said.pop("asked") == {}
    assert said == {"model": str(model), "made_up": made_up, "defaults": ["max_num_seqs"], "gpus": 1, "replicas": 1}
    assert (a.load_format, a.skip_tokenizer_init) == (loads, "tokenizer" in made_up)


TINY = {
    "model_type": "qwen3_moe",
    "hidden_size": 64,
    "intermediate_size": 64,
    "moe_intermediate_size": 32,
    "num_hidden_layers": 2,
    "mlp_only_layers": [0],
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "num_experts": 4,
    "vocab_size": 128,
}
ATTENTION = [f"self_attn.{name}_proj" for name in "qkvo"]


def test_the_layers_that_gptq_quantizes_are_given_to_the_engine(model, tmp_path):
    """Without weights it has no safetensors headers to read them from. Routers are none of them."""
    method = {"quant_method": "gptq", "bits": 4}
    (model / "config.json").write_text(json.dumps(TINY | {"quantization_config": method}))
    a = Object(model=str(model), load_format="auto", tokenizer=None, max_num_seqs=1, hf_overrides={"x": 1})
    watch.Watch({"folder": str(tmp_path), "charged": [0, 0, 0]}).make_up(a)
    dense = [f"mlp.{name}_proj" for name in ("gate", "up", "down")]
    layers = [*ATTENTION, *dense, "mlp.experts"]
    assert a.hf_overrides == {"x": 1, "quantization_config": {**method, model_folder.GPTQ_LAYERS: [layers]}}
    made_up = json.loads((tmp_path / watch.ARGUMENTS).read_text())["made_up"]
    assert made_up == ["quantized layers", "tokenizer", "weights"]


@pytest.mark.parametrize("named", ["config", "command", "weights"])
def test_layers_that_are_named_already_are_left(named, model, tmp_path):
    method = {"quant_method": "gptq", "bits": 4}
    if named == "config":
        method[model_folder.GPTQ_LAYERS] = [["self_attn.q_proj"]]
    if named == "weights":
        (model / "model.safetensors").write_text("x")
    (model / "config.json").write_text(json.dumps(TINY | {"quantization_config": method}))
    overrides = {"quantization_config": {}} if named == "command" else {}
    a = Object(model=str(model), load_format="auto", tokenizer=None, max_num_seqs=1, hf_overrides=overrides)
    watch.Watch({"folder": str(tmp_path), "charged": [0, 0, 0]}).make_up(a)
    assert a.hf_overrides is overrides


def test_gptq_of_a_model_that_transformers_does_not_know_is_refused(model):
    (model / "config.json").write_text(json.dumps({"quantization_config": {"quant_method": "gptq", "bits": 4}}))
    with pytest.raises(model_folder.Unclear, match="got quantization gptq without weights, want safetensors files or"):
        model_folder.quantized(model)


class Layer:
    """A layer of weights on no device: two that are quantized together, and one that is there."""

    def __init__(self, log, flag=watch.QUANTIZED):
        self.weight, self.bias, self.there = (Object(device=Object(type=t)) for t in ("meta", "meta", "cuda"))
        self.quant_method = Object(process_weights_after_loading=lambda layer: self.quantized(log, flag))

    def quantized(self, log, flag):
        log.append((self.weight, self.bias, self.there.device.type))
        setattr(self, flag, True)


LOADER = Object(
    get_layer_tensors=lambda layer: {k: v for k, v in vars(layer).items() if hasattr(v, "device")},
    materialize_meta_tensor=lambda tensor: "made",
)


def test_weights_that_are_quantized_as_they_are_loaded_are_so_layer_by_layer():
    log = []
    watch.quantize_layers(LOADER, Object(modules=lambda: [Layer(log), Object(), Layer(log)]), contextlib.nullcontext())
    assert log == [("made", "made", "cuda")] * 2


def test_weights_that_would_be_quantized_twice_are_refused():
    model = Object(modules=lambda: [Layer([], "another_flag")])
    with pytest.raises(watch.Moved, match=f"^Layer.{watch.QUANTIZED}$"):
        watch.quantize_layers(LOADER, model, contextlib.nullcontext())


# ---- the driver's memory ----


@pytest.mark.parametrize(
    "version, mib",
    [("0.17.0", 133), ("0.17.1", 133), ("0.18.0", 256), ("0.19.0", 256), ("1.0", 256), ("dev", 133)],
)
def test_the_driver_takes_what_logs_of_the_release_have(version, mib):
    taken = driver_memory.of(version, "NVIDIA H100 80GB HBM3")
    assert taken.bytes == mib * MIB and taken.least <= taken.bytes <= taken.most
    assert driver_memory.of(version, "NVIDIA H100 80GB HBM3", 2).bytes == 2109 * MIB
    assert driver_memory.of(version, "NVIDIA H100 80GB HBM3", 2, 1).bytes == 72 * MIB


def test_of_the_logs_that_no_figure_was_read_off_the_driver_takes_what_is_charged():
    """All but three of Granite are within 0.02 GiB of it, or on 2 and 4 GPUs 0.15; all are in the range. A log has
    two decimals."""
    with LOGS.open() as f:
        logs = [row for row in csv.DictReader(f) if not row["read"]]
    assert len(logs) == 46
    beyond = []
    for row in logs:
        gpus, stages = int(row["gpus"]), int(row["stages"])
        taken = driver_memory.of(row["release"], "NVIDIA H100 80GB HBM3", gpus * stages, gpus)
        assert taken.logged
        took = float(row["outside"]) * GIB
        assert taken.least - 0.005 * GIB <= took <= taken.most + 0.005 * GIB, row["model"]
        if abs(took - taken.bytes) > (0.155 if gpus > 1 else 0.02) * GIB:
            beyond.append(row["model"])
    assert [name.partition("-")[0] for name in beyond] == ["granite"] * 3


@pytest.mark.parametrize(
    "version, card, gpus, lacks",
    [
        ("0.19.0", "NVIDIA H100 80GB HBM3", 1, ""),
        ("0.17.1", "NVIDIA H100 80GB HBM3", 1, ""),
        ("0.19.1", "NVIDIA H100 80GB HBM3", 4, ""),
        ("0.19.0", "NVIDIA L4", 1, "NVIDIA L4"),
        ("0.18.0", "NVIDIA H100 80GB HBM3", 1, ""),
        ("0.18.0", "NVIDIA H100 80GB HBM3", 2, "vLLM 0.18.0"),
        ("0.20.0", "NVIDIA H100 80GB HBM3", 1, "vLLM 0.20.0"),
        ("0.17.1", "NVIDIA H100 80GB HBM3", 2, "vLLM 0.17.1"),
        ("0.19.0", "NVIDIA H100 80GB HBM3", 8, "8 GPUs"),
        ("dev", "NVIDIA L4", 3, "NVIDIA L4, vLLM dev, 3 GPUs"),
    ],
)
def test_what_no_log_has_is_said(version, card, gpus, lacks):
    taken = driver_memory.of(version, card, gpus)
    assert taken.logged == (not lacks) and taken.source.endswith(f"; no log of {lacks}" if lacks else " H100")


# ---- hooks ----


def test_an_attribute_that_has_moved_is_named_with_its_owner():
    class Worker:
        model_runner = Object(model_memory_usage=7)

    assert watch.read(Worker(), "model_runner.model_memory_usage") == 7
    with pytest.raises(watch.Moved, match="^Worker.model_runner.peak$"):
        watch.read(Worker(), "model_runner.peak")


def test_of_an_error_of_validation_the_first_finding_is_shown():
    class ValidationError(ValueError):
        def errors(self):
            return [{"msg": "Value error, no such architecture\nand more"}, {"msg": "other"}]

    assert watch.said(ValidationError("1 validation error for ModelConfig")) == "Value error, no such architecture"
    assert watch.said(ValueError("\n first \n second")) == "first"


def test_a_command_is_ended_with_its_processes_once_its_figures_are_there(tmp_path):
    child = "import os, pathlib, time; pathlib.Path('child').write_text(str(os.getpid())); time.sleep(60)"
    parent = (
        f"import pathlib, subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "while not pathlib.Path('child').exists(): time.sleep(0.01)\n"
        "print('said'); sys.stdout.flush(); pathlib.Path('done').touch(); time.sleep(60)"
    )
    began = time.monotonic()
    code = f"import os; os.chdir({str(tmp_path)!r})\n{parent}"
    with (tmp_path / "log").open("wb") as log:
        pid, statuses = launch.run(
            [sys.executable, "-c", code], dict(os.environ), output=log, until=(tmp_path / "done").exists
        )
    assert statuses[pid] == -15 and time.monotonic() - began < 30
    assert (tmp_path / "log").read_text() == "said\n"
    assert not Path(f"/proc/{(tmp_path / 'child').read_text()}").exists()


def test_caches_are_empty_unless_the_user_names_them(tmp_path):
    """A cache that an earlier start filled leaves the peak of compiling out, as on a real card."""
    cards = [pretend.find("t4")]
    own = {"VLLM_CACHE_ROOT": "/kept"}
    assert start.environment(cards, tmp_path, [0], own)["VLLM_CACHE_ROOT"] == "/kept"
    made = start.environment(cards, tmp_path, [0], {})
    assert [made[name] for name in start.CACHES] == [str(tmp_path / "vllm"), str(tmp_path / "inductor")]


# ---- the report ----


def test_the_table():
    assert (
        report.text(FOUND)
        == """\
memshim: vLLM 0.19.0, models/qwen3-8b on a pretend NVIDIA H100 80GB HBM3: 421,888 tokens of KV cache (estimate)
  budget            75.24 GiB  0.95 of 79.20 GiB
  loaded            15.00 GiB  weights, and what loading leaves
  activation         2.00 GiB  profile run: max_num_batched_tokens 8,192, max_num_seqs 1,024 (the engine's default)
  outside PyTorch   256.0 MiB  estimate: the driver, by """
        + driver_memory.of("0.19.0", "H100").source
        + """
  KV cache          58.00 GiB  26,368 blocks of 16 tokens, bfloat16
  CUDA graphs       964.0 MiB  beside the budget; 611.8 MiB of it the driver's, an estimate: 554.7 MiB """
        + "to 755.5 MiB by "
        + driver_memory.graphs(0, False, "H100").source
        + """
  concurrency           51.50  requests of max_model_len 8,192
  next limit       the KV cache, at 51 requests of 8,192 tokens; max_num_seqs is 1,024
  made up          tokenizer, weights"""
    )


def test_a_table_of_an_engine_that_was_given_its_cache_measures_no_activation():
    given = FOUND["workers"][0] | {"activation": None, "outside_pytorch": None}
    text = report.text(FOUND | {"workers": [given]})
    assert "activation       not measured" in text and "outside PyTorch  not measured" in text


def test_a_release_that_was_not_tried_is_named():
    assert "not tried" not in report.text(FOUND)
    other = report.text(FOUND | {"engine": {"name": "vllm", "release": "0.30.1"}})
    assert other.endswith(
        "\n  not tried        vLLM 0.30.1; releases that were: 0.17.0, 0.17.1, 0.18.0, 0.19.0, 0.22.0, 0.24.0, 0.27.1, "
        "0.30.0, 0.33.0"
    )


def test_the_next_limit_is_what_ends_the_requests_at_once():
    text = report.text(FOUND | {"kv": FOUND["kv"] | {"max_num_seqs": 48}})
    assert "next limit       max_num_seqs, at 48 requests; the KV cache holds 51" in text


@pytest.mark.parametrize("gpus, tensor, charged", [(1, 1, 7), (2, 2, 9), (4, 2, 9), (4, 1, 11)])
def test_the_charge_follows_from_the_engines_own_number_of_gpus(gpus, tensor, charged, tmp_path, monkeypatch):
    took = []
    monkeypatch.setattr(library, "Library", lambda: Object(take=lambda *a: took.append(a)))
    worker = Object(device=Object(index=1), parallel_config=Object(world_size=gpus, tensor_parallel_size=tensor))
    worker.vllm_config = Object(model_config=Object(enforce_eager=True))
    watch.Watch({"folder": str(tmp_path), "charged": [7, 9, 11]}).charge(worker)
    assert took == [(1, charged)]


def test_of_several_gpus_the_one_with_the_least_is_shown():
    least = FOUND["workers"][0] | {"rank": 1, "kv_memory": GIB}
    text = report.text(FOUND | {"workers": [FOUND["workers"][0], least], "device": FOUND["device"] | {"count": 2}})
    assert "on a pretend NVIDIA H100 80GB HBM3, 2 of them: " in text and "KV cache           1.00 GiB" in text


def test_what_does_not_fit_is_one_line_with_the_stage_and_the_weights():
    assert report.unfit(NO_CACHE) == (
        "models/qwen3-8b does not fit h100-sxm-80gb (79.20 GiB) for the KV cache after 15.00 GiB of weights: "
        "No available memory for the cache blocks."
    )


@pytest.mark.parametrize("found", [FOUND, NO_CACHE], ids=["fits", "unfit"])
def test_json_keeps_its_schema(found):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(found, SCHEMA)
    for wrong in (
        {k: v for k, v in found.items() if k != "driver"},
        found | {"exact": True},
        found | {"driver": found["driver"] | {"kind": "exact"}},
        found | {"workers": [{"rank": 0}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


# ---- a start, of the fake engine ----


TWO = """
import sys
from vllm.engine.arg_utils import EngineArgs
arguments = EngineArgs(sys.argv[1])
arguments.tensor_parallel_size = 2
config = arguments.create_engine_config()
import torch
assert torch.cuda.device_count() == 2
from vllm.v1.engine.core import EngineCore
EngineCore(config)
"""


@pytest.fixture
def possible(found_binary):
    if why := pretended.missing():
        pytest.skip(why)


def test_figures_are_read_from_the_engines_objects(possible, model, tmp_path):
    p, found = serve(model, tmp_path)
    assert p.returncode == 0, p.stderr
    assert found["fits"] and found["model"] == str(model) and found["made_up"] == ["tokenizer", "weights"]
    assert found["defaults"] == ["max_num_seqs"]
    [worker], kv = found["workers"], found["kv"]
    assert worker["loaded"] == 8 * MIB and worker["activation"] == MIB and worker["graphs"] == 3 * MIB
    charged = driver_memory.of("0.19.0", "NVIDIA H100 80GB HBM3").bytes
    # beside the pool that PyTorch reserves for 8 MiB, the engine sees no more than what is charged
    assert worker["outside_pytorch"] == found["driver"]["bytes"] == charged
    assert worker["requested"] == int(pretend.find("t4").memory * 0.5) == worker["total"] // 2
    assert kv["blocks"] == worker["kv_memory"] // (1 << 17) and kv["tokens"] == 16 * kv["blocks"]
    assert kv["concurrency"] == kv["blocks"] / 8 and kv["kv_cache"] == kv["blocks"] << 17
    assert p.stdout.startswith(
        f"memshim: vLLM 0.19.0, {model} on a pretend Tesla T4: {kv['tokens']:,} tokens of KV cache"
    )
    assert (tmp_path / "log").read_text() == "the engine prints\n", "it is ended there"


@pytest.mark.parametrize(
    "how, program, code, text",
    [
        ("unfit", (), 1, "does not fit t4 (14.56 GiB) at start: free memory is less than what is wanted"),
        (
            "refuses",
            (),
            2,
            "on t4, of compute capability 7.5 (arguments): ValueError: architecture X is not supported",
        ),
        ("", ("vllm", "wrong"), 2, "exit code 1 before it had a KV cache; its last lines:"),
        ("", ("-c", "pass"), 2, "the program ended and started no engine"),
        ("moved", (), 2, "got vLLM 0.19.0, which has no Worker.peak_activation_memory: its internals have moved; want"),
    ],
)
def test_an_engine_that_does_not_start(how, program, code, text, possible, model, tmp_path):
    p, found = serve(model, tmp_path, how, *program)
    assert p.returncode == code and text in p.stderr, p.stderr
    assert found["fits"] is (False if code == 1 else None) and not p.stdout
