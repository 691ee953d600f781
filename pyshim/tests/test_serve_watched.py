"""What is read off an engine's objects: figures of its profile run, its CUDA graphs, how many engines there are."""

import json
import sys
from types import SimpleNamespace as Object

import pytest

from memshim.serving import watch


@pytest.mark.parametrize(
    "arguments, engines",
    [
        ({}, 1),
        ({"data_parallel_size": 4}, 4),
        ({"data_parallel_size": None}, 1),
        ({"data_parallel_size": 4, "data_parallel_size_local": 2}, 2),
        ({"data_parallel_size": 4, "data_parallel_size_local": 0}, 4),
        ({"data_parallel_size": 4, "data_parallel_rank": 0}, 1),
        ({"data_parallel_size": 4, "data_parallel_rank": None}, 4),
    ],
)
def test_how_many_engines_a_command_starts(arguments, engines):
    assert watch.replicas(Object(**arguments)) == engines


def config(mode="FULL_AND_PIECEWISE", eager=False, experts=0):
    return Object(
        model_config=Object(enforce_eager=eager, is_moe=experts, get_num_layers=lambda parallel: 36 // parallel),
        compilation_config=Object(cudagraph_mode=Object(name=mode), cudagraph_capture_sizes=[1, 2, 4]),
        parallel_config=2,
    )


def test_what_an_engine_captures_as_graphs():
    assert watch.captured(config()) == {"sizes": 3, "layers": 18, "experts": False}
    assert watch.captured(config(experts=1))["experts"] is True
    assert watch.captured(config(eager=True)) is None and watch.captured(config(mode="PIECEWISE")) is None
    plain = config()
    plain.compilation_config.cudagraph_mode = 2  # a number, of an earlier release
    assert watch.captured(plain) is None


@pytest.fixture
def envs(monkeypatch):
    found = Object()
    monkeypatch.setitem(sys.modules, "vllm", Object(envs=found))
    monkeypatch.setitem(sys.modules, "vllm.envs", found)
    return found


def test_what_a_profile_run_found(envs):
    worker = Object(peak_activation_memory=50, non_torch_memory=7, cudagraph_memory_estimate=20)
    assert watch.measured(worker) == (50, 7, 0)
    envs.VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS = True
    assert watch.measured(worker) == (50, 7, 20)
    del worker.cudagraph_memory_estimate
    assert watch.measured(worker) == (50, 7, 0)


def test_what_a_profile_run_of_later_releases_found(envs):
    envs.VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS = True
    worker = Object(
        peak_activation_memory=50,
        cudagraph_memory_estimate=20,
        total_consumed=90,
        model_runner=Object(model_memory_usage=60),
    )
    assert watch.measured(worker) == (30, 30, 20)


def test_the_sum_of_several_errors_is_the_first():
    class ValidationError(Exception):
        def errors(self):
            return [{"msg": " first\n more"}, {"msg": "second"}]

    assert watch.said(ValidationError("2 errors\nall")) == "first"
    found = ValidationError("none of them")
    found.errors = list
    assert watch.said(found) == "none of them"


@pytest.mark.parametrize(
    "stage, error, unfit",
    [
        ("weights", RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB."), True),
        ("KV cache", ValueError("To serve at least one request"), True),
        ("memory at start", ValueError("Free memory on device"), True),
        ("arguments", ValueError("no such architecture"), False),
        ("KV cache", TypeError("a bug"), False),
    ],
)
def test_which_errors_are_of_memory(stage, error, unfit, tmp_path):
    def fail(first):
        raise error

    module = Object(fail=fail)
    watched = watch.Watch({"folder": str(tmp_path), "charged": [0, 0, 0]})
    watched.wrap(module, "fail", stage)
    outer = Object(call=lambda first: module.fail(first))
    watched.wrap(outer, "call", "engine")
    with pytest.raises(type(error)):
        outer.call(1)
    [written] = tmp_path.glob(watch.ERRORS)
    said = json.loads(written.read_text())
    assert (said["stage"], said["unfit"]) == (stage, unfit), "the innermost place, once"
