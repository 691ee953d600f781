"""Cases run for real, in processes of their own, on CPU tensors."""

import json

import pytest

from memshim import cases, measure, record
from memshim.build import BuildError

jsonschema = pytest.importorskip("jsonschema")
pytest.importorskip("torch")

SCHEMA = json.loads(record.SCHEMA_FILE.read_text())
WEIGHTS = 4 * (8 * 3 * 9 + 8 + 4 * 8 + 8 * 14 * 14 * 10 + 10) + 8  # conv, batch norm with its counter, linear
INPUT = 4 * 2 * 3 * 16 * 16
MAP = 4 * 2 * 8 * 14 * 14


@pytest.fixture
def case(project):
    return cases.load("memspec.yaml", ["small"])[0]


def test_a_record(case, project):
    got = measure.measure(case, "cpu")
    jsonschema.validate(got, SCHEMA)
    assert (got["case"], got["runtime"], got["where"], got["built"]) == ("small", "eager", "cpu", "source")
    assert got["weights"] == WEIGHTS
    base, first, steady = got["phases"]
    assert base["requested"] == WEIGHTS + INPUT
    assert first["requested"] == steady["requested"] == WEIGHTS + INPUT + 2 * MAP, "the convolution's result lives while batch norm makes its own"
    assert {p[m] for p in got["phases"] for m in record.METRICS if m != "requested"} == {None}, "a CPU has no allocator's numbers"
    events = got["events"]
    assert [e["op"] for e in events[: base["events"]]] == ["parameter"] * 4 + ["buffer"] * 3 + ["parameter"] * 2 + ["input"]
    assert [(e["action"], e.get("op", "")) for e in events[base["events"]:first["events"]]] == [
        ("alloc", "aten.convolution.default"), ("alloc", "aten.native_batch_norm.default"), ("free_completed", ""),
        ("alloc", "aten.relu.default"), ("free_completed", ""), ("alloc", "aten.addmm.default"), ("free_completed", "")]
    frames = [got["frames"][i] for i in got["stacks"][events[base["events"]]["stack"]]]
    assert {"file": "zoo.py", "line": 11, "function": "forward"} in frames, "the user's own line, from the project's folder"
    assert not any("memshim" in f["file"] for f in got["frames"])

    path = record.write(got, project / "out")
    assert path.name == "small.eager.cpu.json"
    assert record.read(path) == got


def test_the_schema_keeps_cpu_and_cuda_apart(case):
    got = json.loads(record.dump(measure.run(case, "cpu")))
    for change in ({"where": "cuda"}, {"context": 5}, {"phases": [got["phases"][0] | {"allocated": 5}]}, {"case": None}, {"extra": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(got | change, SCHEMA)


@pytest.mark.parametrize("change, kind, error", [
    ({"source": ""}, BuildError, "runtime eager is measured on the live model: give source:"),
    ({"source": "zoo.py:absent"}, BuildError, "zoo.py: got no absent"),
    ({"source": "gone.py:net"}, BuildError, "gone.py: no such file"),
    ({"source": "zoo.py:number"}, BuildError, "number gives int, want a torch.nn.Module"),
    ({"source": "zoo.py:broken"}, ValueError, "this model never works"),
    ({"runtime": "torchscript", "source": ""}, BuildError, "net.pt is stripped"),
    ({"mode": "training"}, BuildError, "a training step is not measured yet"),
    ({"error": "memspec.yaml:3:1: something"}, BuildError, "memspec.yaml:3:1: something"),
])
def test_what_cannot_be_measured_says_why(case, change, kind, error):
    with pytest.raises(kind) as e:
        measure.run(case | change, "cpu")
    assert error in str(e.value)


@pytest.mark.parametrize("change, where, kind, error", [
    ({"source": "zoo.py:absent"}, "cpu", measure.MeasureError, "zoo.py: got no absent"),
    ({"source": "zoo.py:broken"}, "cpu", measure.ModelError, "ValueError: this model never works"),
    ({"source": "zoo.py:dies"}, "cpu", measure.ModelError, "the process ended by signal 9"),
    ({}, "cuda", measure.NoGPU, "a GPU is required"),
])
def test_what_the_process_could_not_do_is_typed(case, monkeypatch, project, change, where, kind, error):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with (project / "zoo.py").open("a") as f:
        f.write("\ndef dies():\n    import os\n    os.kill(os.getpid(), 9)\n")
    with pytest.raises(measure.MeasureError) as e:
        measure.measure(case | change, where)
    assert type(e.value) is kind and error in str(e.value)


def test_a_model_that_hangs_is_ended(case, project):
    (project / "zoo.py").write_text("import time\ntime.sleep(600)\n")
    with pytest.raises(measure.ModelError, match="not done after 1 s"):
        measure.measure(case, "cpu", timeout=1)


@pytest.mark.parametrize("runtime, how", [("torchscript", "source, scripted"), ("export", "source, exported")])
def test_runtimes(case, runtime, how):
    got = measure.run(case | {"runtime": runtime}, "cpu")
    jsonschema.validate(json.loads(record.dump(got)), SCHEMA)
    assert (got["runtime"], got["built"]) == (runtime, how)
    assert got["weights"] == WEIGHTS
    assert got["phases"][1]["requested"] == WEIGHTS + INPUT + 2 * MAP


def test_dtype_and_grad(case):
    got = measure.run(case | {"dtype": "float16", "grad": "inference_mode"}, "cpu")
    assert got["weights"] == (WEIGHTS - 8) // 2 + 8, "the counter of batch norm stays int64"
    assert got["phases"][0]["requested"] == got["weights"] + INPUT // 2


def test_autocast(case):
    got = measure.run(case | {"autocast": "bfloat16"}, "cpu")
    assert got["weights"] == WEIGHTS
    assert {e["size"] for e in got["events"] if e.get("op") == "aten.convolution.default"} == {MAP // 2}


def test_inputs_that_stay_on_the_host_and_nested_ones(case, project):
    (project / "zoo.py").write_text("import torch\nclass N(torch.nn.Module):\n    def forward(self, a, b): return a['k'][0] + b.sum()\nn = N()\n")
    got = measure.run(case | {"source": "zoo.py:n", "inputs": ["{k: [float32[4]]}", "b=int64[3] cpu"]}, "cpu")
    assert got["phases"][0]["requested"] == 16 + 24


def test_the_environment_is_the_cases_alone(case, project, monkeypatch):
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":0:0")
    (project / "zoo.py").write_text("""
import os, torch
class N(torch.nn.Module):
    def forward(self, x): raise ValueError([os.environ.get(k) for k in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "CUBLAS_WORKSPACE_CONFIG")])
n = N()
""")
    with pytest.raises(measure.ModelError, match="'max_split_size_mb:64', None, None"):
        measure.measure(case | {"source": "zoo.py:n", "alloc_conf": "max_split_size_mb:64"}, "cpu")


@pytest.mark.parametrize("case_name, gpu, want", [
    ("resnet50[B=8]", "NVIDIA A100-SXM4-80GB", "resnet50[B=8].eager.nvidia-a100-sxm4-80gb.json"),
    ("too big/../x", "Tesla T4", "too_big____x.eager.tesla-t4.json"),
])
def test_file_names(case_name, gpu, want):
    assert record.file_name({"case": case_name, "runtime": "eager", "device": {"name": gpu}}) == want


def test_the_command(project, capfd, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert measure.main(["--case", "small", "-o", "records"]) == 0
    assert capfd.readouterr().out == "records/small.eager.cpu.json\n", "what the model prints is not in it"
    assert measure.main(["--case", "nothing"]) == 2
    assert 'got no case "nothing"' in capfd.readouterr().err
    assert measure.main(["--case", "small", "--where", "cuda"]) == 3
    assert "memshim: small: a GPU is required" in capfd.readouterr().err
