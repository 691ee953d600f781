"""CUDA graphs under memshim serve: what the driver takes for them, by logs, and engines that take them off
their KV cache. fake_engine/ captures graphs as vLLM 0.33 does."""

import csv
import json
import re
from pathlib import Path
from types import SimpleNamespace as Object

import pretended
import pytest
from served import FOUND, serve

from memshim.serving import driver_memory, report, watch
from memshim.serving.graph_memory import Charges
from memshim.sizes import GIB, MIB

LOGS = Path(__file__).parents[2] / "testdata" / "serving" / "logs.csv"
EXPERTS = re.compile("A3B|MoE|Mixtral|gpt-oss|DeepSeek|Scout")  # models that have them


@pytest.mark.parametrize("experts, logs", [(False, 41), (True, 8)])
def test_of_the_logs_the_driver_takes_for_graphs_what_is_said(experts, logs):
    """A log's total, without the first captures of both kinds, is that of all batch sizes but one."""
    with LOGS.open() as f:
        rows = [row for row in csv.DictReader(f) if row["captures"] and bool(EXPERTS.search(row["model"])) == experts]
    assert len(rows) == logs
    for row in rows:
        charged = driver_memory.graph_layer(experts) * (int(row["sizes"]) - 1) * (int(row["layers"]) + 1)
        taken = driver_memory.graphs(charged, experts, "NVIDIA H100 80GB HBM3")
        took = float(row["graphs"]) * GIB - int(row["captures"]) * MIB
        assert taken.least - 0.005 * GIB <= took <= taken.most + 0.005 * GIB, row["model"]
        if row["model"] in ("Qwen3-8B", "Qwen3-30B-A3B"):
            assert abs(took - taken.bytes) <= 0.02 * GIB


def test_what_is_captured_is_read_from_the_engine():
    def config(eager=False, mode="FULL_AND_PIECEWISE"):
        return Object(
            model_config=Object(
                enforce_eager=eager, is_moe=False, get_num_layers=lambda parallel: 36 // parallel.stages
            ),
            parallel_config=Object(stages=2),
            compilation_config=Object(cudagraph_mode=Object(name=mode), cudagraph_capture_sizes=[1, 2, 4]),
        )

    assert watch.captured(config()) == {"sizes": 3, "layers": 18, "experts": False}
    assert watch.captured(config(mode="PIECEWISE")) is None and watch.captured(config(eager=True)) is None
    unknown = report.text(FOUND | {"kv": FOUND["kv"] | {"captured": None}})
    assert "beside the budget; the driver's part is not known" in unknown
    assert driver_memory.graphs(3, True, "NVIDIA L4").source.endswith("; no log of NVIDIA L4")


def test_the_driver_takes_of_a_batch_size_of_qwen3_8b_what_its_log_has():
    """8 MiB for 37 pieces and 4 MiB for the full graph, to a page of 64 KiB."""
    charges = Charges(lambda size: True, lambda size: None)
    charges.set(driver_memory.graph_layer(False), 36)
    assert abs(37 * charges.piece - 8 * MIB) < MIB // 16 and abs(charges.full - 4 * MIB) < MIB // 16


def test_a_log_of_another_release_and_card_has_what_would_be_charged():
    """vLLM 0.21.0, torch 2.11, Qwen3-8B on an RTX A5000 (github.com/LMCache/LMCache/issues/3430): 51 batch sizes in
    pieces and 35 whole, estimated at 0.52 GiB, PyTorch's part among it."""
    charges = Charges(lambda size: True, lambda size: None)
    charges.set(driver_memory.graph_layer(False), 36)
    charged = 51 * 37 * charges.piece + 35 * charges.full
    assert charged == pytest.approx(0.52 * GIB, rel=0.035)


@pytest.mark.parametrize(
    "pieces, whole, estimated, took",
    [
        (51, 35, 0.28, 0.38),  # vLLM 0.24.0, Qwen2.5-0.5B on an RTX 4090 (testdata/serving/logs-later.csv)
        (19, 11, 0.14, 0.11),  # github.com/aivrar/vllm-windows-build/issues/4
        (51, 51, 0.84, 0.91),  # vLLM 0.19, H100 (llm-d-planner's accuracy/README.md)
    ],
)
def test_an_engines_estimate_of_its_graphs_is_a_step_of_the_driver_for_each_off(pieces, whole, estimated, took):
    assert abs(estimated - took) * GIB <= driver_memory.STEP * (pieces + whole - 2) + 0.01 * GIB


@pytest.mark.parametrize("layers, estimated", [(24, 0.28), (28, 0.53), (36, 0.52)])
def test_the_range_of_what_is_estimated_holds_logs(layers, estimated):
    """Qwen2.5-0.5B and 7B under vLLM 0.24.0 on an RTX 4090, Qwen3-8B under 0.21.0 on an RTX A5000. The first two
    are out of the range of what graphs take."""
    charges = Charges(lambda size: True, lambda size: None)
    charges.set(driver_memory.graph_layer(False), layers)
    graphs = driver_memory.graphs(51 * (layers + 1) * charges.piece + 35 * charges.full, False, "NVIDIA H100")
    taken = driver_memory.sampled(graphs, 51)
    assert taken.least <= estimated * GIB <= taken.most and taken.bytes == graphs.bytes
    assert (graphs.least <= estimated * GIB <= graphs.most) == (layers == 36)
    assert driver_memory.sampled(graphs, 1)[1:3] == graphs[1:3]


def test_what_was_charged_for_a_graph_is_free_once_it_is_gone():
    took, gave = [], []
    charges = Charges(lambda size: not took.append(size), gave.append)
    charges.set(300, 1)
    graph = type("Graph", (), {})()
    charges.captured(graph)
    assert (took, gave, charges.taken) == ([200], [], 200)
    del graph
    assert (gave, charges.taken) == ([200], 0)


def test_graphs_are_in_the_range_of_tokens_only_where_the_engine_takes_them_off_its_cache():
    [worker], card = FOUND["workers"], "NVIDIA H100 80GB HBM3"
    assert report.graphs_in_budget([worker]) == 0
    off = worker | {"graphs_in_budget": 900 * MIB}
    assert report.graphs_in_budget([off, worker | {"kv_memory": 59 * GIB}]) == worker["graphs_of_driver"]
    modules = driver_memory.of("0.19.0", card)
    both = driver_memory.together(modules, driver_memory.graphs(worker["graphs_of_driver"], False, card))
    assert [n // MIB for n in both[:3]] == [256 + 611, 246 + 554, 471 + 755] and both.logged
    text = report.text(FOUND | {"workers": [off]})
    assert "CUDA graphs       900.0 MiB  as the engine estimates them, taken off the KV cache; 611.8 MiB of it" in text


def test_the_guide_shows_a_start_of_vllm():
    """0.19.0 with torch 2.10, as it starts by default. Its log of a real H100 has 0.96 GiB of CUDA graphs."""
    found = json.loads((LOGS.parent / "qwen3-8b.json").read_text())
    assert report.text(found) + "\n```" in (LOGS.parents[2] / "docs" / "guide" / "serving.md").read_text()
    [worker] = found["workers"]
    assert abs(worker["graphs"] - 0.96 * GIB) < 0.01 * GIB and worker["graphs_in_budget"] == 0


def test_an_engine_that_takes_its_graphs_off_the_cache_is_charged_for_them(found_binary, tmp_path):
    """Its own estimate, of a first capture that it drops, is what the driver is charged with."""
    if why := pretended.missing():
        pytest.skip(why)
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    p, found = serve(model, tmp_path, "later")
    assert p.returncode == 0, p.stderr
    assert found["made_up"] == ["kernels", "tokenizer", "weights"]
    [worker], each = found["workers"], driver_memory.graph_layer(False)
    graphs = 3 * int(each * 2 / 3) + 3 * int(each / 3)
    assert worker["graphs_in_budget"] == worker["graphs_of_driver"] == graphs
    assert worker["activation"] == MIB, "without the graphs, which this release counts in"
    modules = driver_memory.of("0.19.0", "Tesla T4").bytes
    kept = 20 * MIB - worker["loaded"]  # of PyTorch's pool
    assert worker["outside_pytorch"] == modules + kept and found["driver"]["bytes"] == modules + graphs
    left = worker["requested"] - worker["loaded"] - worker["activation"] - worker["outside_pytorch"] - graphs
    assert worker["kv_memory"] == left
    assert "taken off the KV cache; 996.0 KiB of it the driver's" in p.stdout.replace("\n", " "), p.stdout
