"""python -m memshim serve where one command starts several engines, each with its own KV cache."""

import json
from pathlib import Path
from types import SimpleNamespace as Object

import pretended
import pytest
from served import FOUND, serve

import memshim
from memshim.serving import report, watch

SCHEMA = json.loads((Path(memshim.__file__).parent / "schemas" / "serving.schema.json").read_text())


@pytest.fixture
def possible(found_binary):
    if why := pretended.missing():
        pytest.skip(why)


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


def test_of_replicas_the_report_is_of_the_one_with_the_fewest_tokens(possible, model, tmp_path):
    p, found = serve(model, tmp_path, "", "vllm", "serve", str(model), "--data-parallel-size", "2")
    assert p.returncode == 0, p.stderr
    kv, workers = found["kv"], found["workers"]
    least, most = sorted(w["kv_memory"] // 131072 * 16 for w in workers)
    assert least < most and (kv["replicas"], kv["tokens"], kv["tokens_in_all"]) == (2, least, least + most)
    pytest.importorskip("jsonschema").validate(found, SCHEMA)
    assert f": {least:,} tokens of KV cache in each of 2 replicas (estimate)" in p.stdout
    assert f"\n  replicas                  2  {least + most:,} tokens in all; the other rows are of one\n" in p.stdout


@pytest.mark.parametrize(
    "arguments, engines",
    [
        ({}, 1),
        ({"data_parallel_size": 4}, 4),
        ({"data_parallel_size": 4, "data_parallel_size_local": 2}, 2),
        ({"data_parallel_size": 4, "data_parallel_rank": 1}, 1),  # each rank is a command
    ],
)
def test_how_many_engines_a_command_starts(arguments, engines):
    assert watch.replicas(Object(**arguments)) == engines


def test_one_engine_is_no_replica():
    assert "replicas" not in report.text(FOUND | {"kv": report.replicated([FOUND["kv"]])})
