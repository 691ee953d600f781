"""memshim serve --generate: requests that run once the KV cache is made. The engine is fake_engine/
(test_serve.py)."""

import json
from pathlib import Path

import pretended
import pytest
from served import FOUND, serve

import memshim
from memshim.serving import command, generation, report
from memshim.sizes import GIB, MIB

SCHEMA = json.loads((Path(memshim.__file__).parent / "schemas" / "serving.schema.json").read_text())
KV = {"max_model_len": 2048, "max_num_seqs": 64, "max_num_batched_tokens": 2048}


@pytest.mark.parametrize(
    "change, tokens, requests, prompt",
    [
        ({}, 8, 64, 32),  # the prompts of all requests fill one step
        ({"max_num_batched_tokens": 100}, 8, 64, 1),
        ({"max_num_batched_tokens": 32}, 8, 64, 1),  # a prompt has a token
        ({"max_num_seqs": 1}, 8, 1, 2040),  # what is generated counts to max_model_len
    ],
)
def test_prompts_fill_what_the_engine_batches(change, tokens, requests, prompt):
    assert generation.batch(KV | change, tokens) == (requests, prompt, tokens)


def test_more_tokens_than_the_model_takes_are_refused():
    with pytest.raises(ValueError, match="--generate: got 2,048 tokens, want less than max_model_len 2,048"):
        generation.batch(KV, 2048)


def test_no_two_prompts_begin_alike():
    prompts = {tuple(generation.prompt(i, 3, 5)) for i in range(125)}
    assert len(prompts) == 125 and all(0 <= digit < 5 for p in prompts for digit in p)


@pytest.fixture
def model(tmp_path, found_binary):
    if why := pretended.missing():
        pytest.skip(why)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


def test_generation_is_measured_beside_the_profile_run(model, tmp_path):
    p, found = serve(model, tmp_path, "grows", options=["--generate", "5"])
    assert p.returncode == 0, p.stderr
    made = found["generated"]
    [worker] = made.pop("workers")
    assert made == {"requests": 4, "prompt": 16, "tokens": 5, "at_once": 4, "generated": 20}
    assert worker["activation"] == 16 * MIB and found["workers"][0]["activation"] == MIB
    assert worker["reserved"] - worker["reserved_before"] == 16 * MIB
    row = next(line for line in p.stdout.splitlines() if line.startswith("  generation"))
    assert row.endswith("16.0 MiB  15.0 MiB more than the profile run: 4 requests at once, 5 tokens after 16 each")


def test_an_engine_that_runs_out_of_memory_as_it_generates_does_not_fit(model, tmp_path):
    p, found = serve(model, tmp_path, "overflows", options=["--generate", "5"])
    assert p.returncode == 1 and found["error"]["stage"] == "generation"
    assert f"{model} does not fit t4 (14.56 GiB) in the generation after 8.0 MiB of weights: " in p.stderr


GENERATED = {
    "requests": 1024,
    "prompt": 8,
    "tokens": 4,
    "at_once": 1024,
    "generated": 4096,
    "workers": [{"rank": 0, "activation": GIB, "reserved_before": 75 * GIB, "reserved": 75 * GIB, "in_use": 76 * GIB}],
}


@pytest.mark.parametrize(
    "profiled, beside",
    [(2 * GIB, "no more than the profile run"), (None, "the engine measured no activation")],
)
def test_the_rows_of_generation(profiled, beside):
    workers = [FOUND["workers"][0] | {"activation": profiled}]
    text = report.text(FOUND | {"workers": workers, "generated": GENERATED})
    assert (
        f"  generation         1.00 GiB  {beside}: 1,024 requests at once, 4 tokens after 8 each\n"
        "    in use          76.00 GiB  0 B more in PyTorch's pools than after the start\n" in text
    )


def test_the_guide_has_the_rows_of_an_engine_that_generated():
    root = Path(__file__).parents[2]
    found = json.loads((root / "testdata" / "serving" / "generated.json").read_text())  # vLLM 0.19.0, once
    rows = [line for line in report.text(found).splitlines() if line.startswith(("  generation", "    in use"))]
    assert len(rows) == 2 and "\n".join(rows) in (root / "docs" / "guide" / "serving.md").read_text()


def test_json_with_generation_keeps_its_schema():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(FOUND | {"generated": GENERATED}, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(FOUND | {"generated": GENERATED | {"prompt": -1}}, SCHEMA)


def test_a_number_of_tokens_is_wanted(capsys):
    assert command.main(["--on", "t4", "--generate", "-1", "--", "vllm", "serve", "m"]) == 2
    assert capsys.readouterr().err == "memshim serve: --generate: got -1, want a number of tokens\n"
