"""What a case says of how it is run: runtime, dtype, autocast, flags."""

import json

import pytest
from test_measure import INPUT, MAP, SCHEMA, WEIGHTS

from memshim.case import memspec_yaml, process, record, request
from memshim.case.build import load_source

pytestmark = pytest.mark.usefixtures("forked_programs")

jsonschema = pytest.importorskip("jsonschema")
torch = pytest.importorskip("torch")


@pytest.fixture
def case(project):
    return memspec_yaml.load("memspec.yaml", ["small"])[0]


@pytest.fixture(scope="module")
def server():
    """One for all tests here: that is what it is for."""
    s = process.Server()
    yield s
    s.close()


@pytest.mark.parametrize("runtime, how", [("torchscript", "source, scripted"), ("export", "source, exported")])
@pytest.mark.parametrize("dtype", ["", "float16"])
def test_runtimes(case, runtime, how, dtype):
    got = request.run(case | {"runtime": runtime, "dtype": dtype}, "cpu")
    jsonschema.validate(json.loads(record.dump(got)), SCHEMA)
    assert (got["runtime"], got["built"]) == (runtime, how)
    assert got["weights"] == ((WEIGHTS - 8) // 2 + 8 if dtype else WEIGHTS)
    assert got["phases"][1]["requested"] == (got["weights"] + INPUT // 2 + MAP if dtype else WEIGHTS + INPUT + 2 * MAP)


@pytest.mark.parametrize("kind", ["script", "export"])
def test_an_artifact_with_its_weights_is_run_without_a_source(case, project, kind):
    import memshim

    artifact = str(
        memshim.export(
            load_source("zoo.py:net"),
            project / ("whole.pt2" if kind == "export" else "whole.pt"),
            torch.zeros(2, 3, 16, 16),
            kind=kind,
        )
    )
    runtime = "export" if kind == "export" else "torchscript"
    for dtype, weights in (("", WEIGHTS), ("float16", (WEIGHTS - 8) // 2 + 8)):
        got = request.run(case | {"runtime": runtime, "source": "", "artifact": artifact, "dtype": dtype}, "cpu")
        assert (got["runtime"], got["built"], got["weights"]) == (runtime, "artifact", weights)
        assert got["phases"][0]["requested"] == weights + (INPUT // 2 if dtype else INPUT)


def test_dtype_and_grad(case):
    got = request.run(case | {"dtype": "float16", "grad": "inference_mode"}, "cpu")
    assert got["weights"] == (WEIGHTS - 8) // 2 + 8, "the counter of batch norm stays int64"
    assert got["phases"][0]["requested"] == got["weights"] + INPUT // 2


def test_autocast(case):
    got = request.run(case | {"autocast": "bfloat16"}, "cpu")
    assert got["weights"] == WEIGHTS
    assert {e["size"] for e in got["events"] if e.get("op") == "aten.convolution.default"} == {MAP // 2}


def test_inputs_that_stay_on_the_host_and_nested_ones(case, project):
    (project / "zoo.py").write_text(
        "import torch\nclass N(torch.nn.Module):\n    def forward(self, a, b): return a['k'][0] + b.sum()\nn = N()\n"
    )
    got = request.run(case | {"source": "zoo.py:n", "inputs": ["{k: [float32[4]]}", "b=int64[3] cpu"]}, "cpu")
    assert got["phases"][0]["requested"] == 16 + 24


@pytest.mark.parametrize(
    "top, want",
    [
        (
            "torch.backends.cudnn.benchmark = True; torch.backends.cuda.matmul.allow_tf32 = True",
            {"benchmark": False, "tf32_matmul": False, "tf32_cudnn": True},
        ),
        (
            "torch.backends.cuda.matmul.fp32_precision = 'tf32'; torch.backends.cudnn.conv.fp32_precision = 'ieee'",
            {"tf32_matmul": False, "tf32_cudnn": True},
        ),
    ],
)
def test_flags_are_set_after_the_source_and_reported_as_torch_says(server, case, project, top, want):
    """What a model file sets at its top does not stand; what its forward sets is recorded."""
    with (project / "zoo.py").open("a") as f:
        f.write(
            f"\n{top}\nclass Sets(Net):\n    def forward(self, x):\n        torch.backends.cudnn.benchmark = True\n    "
            f"    return super().forward(x)\n"
        )
    flags = case["flags"] | {"tf32_matmul": False, "tf32_cudnn": True}
    got = server.measure(case | {"flags": flags}, "cpu")["flags"]
    assert {k: got[k] for k in want} == want
    assert server.measure(case | {"flags": flags, "source": "zoo.py:Sets"}, "cpu")["flags"]["benchmark"] is True


@pytest.mark.parametrize(
    "wanted, want",
    [
        (["flash_attention"], ["flash_attention"]),
        (["math", "cudnn_attention"], ["math", "cudnn_attention"]),
        (None, None),
    ],
)
def test_attention_is_what_the_case_allows(server, case, wanted, want):
    """What torch.nn.attention.sdpa_kernel would set, for the whole run; reported only where a backend
    is off."""
    flags = case["flags"] | ({"attention": wanted} if wanted else {})
    assert server.measure(case | {"flags": flags}, "cpu")["flags"].get("attention") == want
