"""memshim serve --advise, without an engine: which changes are tried, and what is said of them."""

import json
import subprocess
from pathlib import Path

import pytest
from served import FOUND, NO_CACHE

from memshim import pretend
from memshim.serving import advice, larger, start

ASKED = start.Wanted(["vllm", "serve", "m"], "h100-sxm-80gb", None, None, None)


def test_each_change_is_another_value_than_the_start_had(found_binary):
    assert [str(c) for c in advice.changes(FOUND, ASKED)] == [
        "--max-num-seqs 512",
        "--max-num-batched-tokens 4096",
        "--kv-cache-dtype fp8",
        "--quantization fp8",
        "--tensor-parallel-size 2",
        "--on " + advice._larger(FOUND["device"]["memory"]),
    ]
    kv = FOUND["kv"] | {"max_num_seqs": 1, "kv_cache_dtype": "fp8", "quantization": "gptq", "tensor_parallel_size": 2}
    small = FOUND | {"kv": kv | {"max_num_batched_tokens": 512, "gpu_memory_utilization": 0.9}}
    words = [str(c) for c in advice.changes(small, ASKED._replace(memory="40GiB"))]
    assert words == ["--gpu-memory-utilization 0.95", "--tensor-parallel-size 4"]
    program = ASKED._replace(program=["program.py"])
    assert [c.words for c in advice.changes(FOUND, program)] == [()], "its words are its own"


def test_advice_is_of_starts_alone(monkeypatch, found_binary):
    began = []

    def start_with(asked, version):
        began.append(asked)
        tokens = {"--max-num-seqs": 500_000, "--tensor-parallel-size": 900_000}.get(asked.program[-2])
        found = FOUND | {"kv": FOUND["kv"] | {"tokens": tokens} if tokens else None, "fits": bool(tokens)}
        return start.Start(found | {"error": NO_CACHE["error"]}, [], 1, b"", None)

    monkeypatch.setattr(advice, "start", start_with)
    lines = advice.text(FOUND, advice.trials(FOUND, ASKED, "0.19.0")).splitlines()
    assert lines[1:3] == [
        "    --tensor-parallel-size 2: 900,000 tokens, +113.3%",
        "    --max-num-seqs 512: 500,000 tokens, +18.5%",
    ]
    assert lines[3].startswith("    --max-num-batched-tokens 4096: models/qwen3-8b does not fit h100-sxm-80gb")
    assert {a.number for a in began} == {None}, "as many GPUs as the words ask for"


def test_a_trial_that_cannot_be_is_a_line_among_the_others(monkeypatch, found_binary):
    def start_with(asked, version):
        if "--quantization" in asked.program:
            raise pretend.Unsupported("no kernels")
        if "--kv-cache-dtype" in asked.program:
            return start.Start(NO_CACHE | {"fits": None}, [], 1, b"loading\nKeyError: 'fp8'\n", None)
        return start.Start(FOUND, [], 0, b"", None)

    monkeypatch.setattr(advice, "start", start_with)
    lines = advice.text(FOUND, advice.trials(FOUND, ASKED, "0.19.0")).splitlines()
    assert lines[-2].startswith(
        "    --kv-cache-dtype fp8: the engine ended with exit code 1 before it had a KV cache; "
    )
    assert lines[-2].endswith("its last lines: KeyError: 'fp8'")
    assert lines[-1].startswith("    --quantization fp8: got no kernels")


def test_of_an_engine_that_did_not_start_its_words_are_known(found_binary):
    words = ["vllm", "serve", "m", "-tp", "2", "-pp=2", "--kv-cache-dtype", "fp8", "--gpu-memory-utilization=0.95"]
    tried = advice.changes(NO_CACHE, ASKED._replace(program=words, memory="40GiB"))
    assert [str(c) for c in tried] == ["--quantization fp8", "--tensor-parallel-size 4"]


CONFIGS = Path(__file__).parents[2] / "testdata" / "serving" / "configs.json"
LENGTH = {"max_model_len": 8192, "dtype": "auto", "kv_cache_dtype": "auto"}


@pytest.fixture
def model(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(json.loads(CONFIGS.read_text())["Qwen3-14B"]))
    return str(tmp_path)


def fits(model, card, binary):
    command = [binary, "estimate", model, "--device", card, "--context", "8192", "--quiet"]
    return subprocess.run(command, capture_output=True).returncode == 0


def test_the_smallest_card_that_holds_what_does_not_fit(model, found_binary):
    found = larger.card(model, 1, LENGTH, pretend.find("t4").memory)
    smaller = [
        d.name for d in map(pretend.find, pretend.names()) if pretend.find("t4").memory < d.memory < found.memory
    ]
    assert fits(model, found.name, found_binary) and "l4" in smaller
    assert not [name for name in smaller if fits(model, name, found_binary)]
    assert larger.text(found) == f"; {found.name} ({found.memory / (1 << 30):.2f} GiB) holds it by memspec estimate"


@pytest.mark.parametrize(
    "change, gpus",
    [
        ({"quantization": "fp8"}, 1),
        ({"enable_lora": True}, 1),
        ({"max_model_len": -1}, 1),
        ({"max_model_len": 1 << 40}, 1),
        ({}, 2),
    ],
    ids=["quantised", "adapters", "no length", "no card", "two GPUs"],
)
def test_no_card_is_named_where_no_estimate_is_known(change, gpus, model, found_binary):
    found = larger.card(model, gpus, LENGTH | change, 1 << 30)
    assert found is None and larger.text(found) == ""


def test_what_a_card_has_in_use_is_no_reason_for_another():
    stage = NO_CACHE | {"error": NO_CACHE["error"] | {"stage": start.AT_START}}
    assert start.Start(stage, [], 1, b"", None).larger() is None
