"""python -m truth serve: published logs beside what is predicted of them. No engine is started here."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools" / "truth"))
import truth_serve as truth

GIB = truth.GIB
ROWS = list(truth.logs())
CONFIGS = truth.json.loads((truth.SERVING / "configs.json").read_text())


def row(model, release="0.19.0", **others):
    [log] = [r for r in ROWS if (r.model, r.release, r.arguments) == (model, release, []) and r.gpus * r.stages == 1]
    return log._replace(**others)


def found(log, **others):
    worker = {
        "loaded": log.sizes["loaded"] * GIB,
        "activation": log.sizes["activation"] * GIB,
        "outside_pytorch": 0.5 * GIB,
        "kv_memory": (log.sizes["kv"] - 0.25) * GIB,
        "graphs": 0,
    }
    return {"workers": [worker, worker | {"kv_memory": 99 * GIB}], "kv": {"tokens": 418000, "eager": True} | others}


def test_the_logs_are_of_three_releases_and_name_what_was_read_off_them():
    assert {"0.17.0", "0.18.0", "0.19.0", "0.24.0"} <= {r.release for r in ROWS} and len(ROWS) == 56
    read = {"Qwen3-14B", "Qwen3-8B", "Qwen3-30B-A3B", "Qwen2.5-7B-Instruct"}
    assert {r.model for r in ROWS if r.read and r.stages == 1} == read
    assert all(r.read for r in ROWS if r.stages > 1)
    assert {r.gpus * r.stages for r in ROWS} == {1, 2, 4}


def test_a_row_is_compared_with_the_engine_on_a_pretend_gpu():
    log = row("Qwen3-8B")
    lines = {line[0]: line[1:] for line in truth.compare(log, found(log), None)}
    assert lines["weights"] == ("15.27 GiB", "15.27 equal", "-", "15.26 -0.01")
    assert lines["outside PyTorch"] == ("0.25 GiB", "0.50 +0.25", "-", "-")
    assert lines["KV cache"] == ("57.50 GiB", "57.25 -0.25", "-", "54.99 -2.51"), "of the worker with the least"
    assert lines["CUDA graphs"] == ("0.96 GiB", "-", "-", "-"), "eager"
    assert lines["tokens"] == ("418,688", "418,000 -0.16%", "-", "400,450 -4.36%")


def test_a_row_is_compared_with_the_estimate(found_binary):
    log = row("Qwen3-8B")
    lines = {line[0]: line[1:] for line in truth.compare(log, None, truth.estimate(log, CONFIGS[log.model]))}
    assert lines["weights"][2] == "15.27 equal" and lines["KV of a token"][2] == "147,456 equal"
    assert lines["tokens"][2] == "407,285–429,493 holds"
    lines = truth.compare(log._replace(tokens=400000), None, truth.estimate(log, CONFIGS[log.model]))
    few = {line[0]: line for line in lines}
    assert few["KV of a token"][3] == "147,456 not equal" and few["tokens"][3] == "407,285–429,493 not"


def test_a_token_of_a_cache_with_windows_has_no_size_in_the_log(found_binary):
    log = row("gemma-2-9b-it")
    lines = {line[0]: line for line in truth.compare(log, None, truth.estimate(log, CONFIGS[log.model]))}
    assert (lines["KV of a token"][3], lines["tokens"][3]) == ("-", "163,580–176,125 holds")


def test_a_log_of_a_later_release_has_its_card_and_the_batches_that_the_engine_chose(found_binary):
    log = next(r for r in ROWS if r.card == "rtx-4090" and r.model == "Qwen2.5-7B-Instruct")
    assert log.warm and log.name == "Qwen2.5-7B rtx-4090 warm"
    assert log.chosen == (2048, 256) and log.said("--max-model-len") == "2048"
    ours = found(log._replace(sizes={"loaded": 14.29, "activation": 0.5, "kv": 4.45}))
    ours["workers"][0]["graphs_in_budget"] = 0.55 * GIB
    guess = truth.estimate(log, CONFIGS[log.model])
    lines = {line[0]: line[1:] for line in truth.compare(log, ours, guess)}
    assert "graphs, off KV" in lines and lines["graphs, off KV"][1] == "-", "eager"
    ours["kv"]["eager"] = False
    lines = {line[0]: line[1:] for line in truth.compare(log, ours, guess)}
    assert lines["graphs, off KV"][:2] == ("0.53 GiB", "0.55 +0.02")
    assert lines["tokens"][2] == "82,939–103,082 holds"


@pytest.mark.parametrize("warm, eager, starts", [(True, False, 2), (True, True, 1), (False, False, 1)])
def test_a_row_of_a_warm_cache_is_started_twice_with_one_cache(warm, eager, starts, monkeypatch):
    began = []

    def run(command, stdout, env):
        began.append(env["VLLM_CACHE_ROOT"])
        Path(command[command.index("--json") + 1]).write_text("{}")
        return truth.subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(truth.subprocess, "run", run)
    assert truth.serve(row("Qwen3-8B", warm=warm), {}, eager) == {}
    assert len(began) == starts and len(set(began)) == 1


def test_what_the_estimate_does_not_know_is_left_out(found_binary):
    log = row("Qwen3-8B")
    unknown = CONFIGS[log.model] | {"model_type": "not-known"}
    lines = {line[0]: line for line in truth.compare(log, None, truth.estimate(log, unknown))}
    assert "KV of a token" not in lines and lines["tokens"][3] == "-"


@pytest.mark.parametrize(
    "of, words",
    [
        ({"gpus": 2}, "2 GPUs"),
        ({"arguments": ["--quantization", "fp8"]}, "quantization fp8"),
        ({"stages": 4}, "4 stages"),
    ],
)
def test_no_estimate_is_made_of_several_gpus_or_of_quantised_weights(of, words):
    log = row("Llama-3.1-8B-Instruct", **of)
    assert truth.estimate(log, {}) is None and log.name == f"Llama-3.1-8B {words}"


def test_the_guide_has_the_rows_of_one_gpu(found_binary):
    """Of the releases that the estimate is made for, and without weights that the engine quantises."""
    guide = (truth.SERVING.parents[1] / "docs" / "guide" / "serving.md").read_text()
    seen = 0
    for log in ROWS:
        if (
            log.release < "0.17"
            or log.model not in CONFIGS
            or (guess := truth.estimate(log, CONFIGS[log.model])) is None
        ):
            continue
        lines = {line[0]: line[1:] for line in truth.compare(log, None, guess)}
        weights, tokens = lines["weights"], lines["tokens"]
        token = lines.get("KV of a token", ["-"] * 3)[2]
        cells = [log.name, log.release, weights[0], weights[2], token, tokens[0], tokens[2], tokens[3]]
        assert f"| {' | '.join(cells)} |" in guide
        seen += 1
    assert seen == 24
