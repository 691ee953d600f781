"""Cases run for real on the CUDA allocator, of a pretend GPU: what a record holds, and what it is
when memory ends."""

import json
import os
import subprocess
import sys

import jsonschema
import pretended
import pytest
import torch

import memshim
from memshim.case import errors, memspec_yaml, process, record
from memshim.gpu import devices
from memshim.gpu.failure import describe, out_of_memory

KIB, MIB = 1 << 10, 1 << 20
SCHEMA = json.loads(record.SCHEMA_FILE.read_text())
ZOO = """
import torch
class Wide(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(1024, 4096, bias=False), torch.nn.Linear(4096, 1024, bias=False)
    def forward(self, x):
        y = torch.relu(self.a(x))
        y = torch.cat([y, y], 0)
        return self.b(y)
"""
SPEC = """
version: 1
defaults: {device: rtx-4090, runtime: eager}
models:
  wide:
    source: zoo.py:Wide
    inputs: {x: "float32[N,1024]"}
    cases:
      - {dims: {N: 1024}, name: wide, budget: {reserved: 1GiB}}
"""
WEIGHTS = 2 * 4 * 1024 * 4096
INPUT = 4 * MIB
HIDDEN = 4 * 1024 * 4096


@pytest.fixture
def case(tmp_path, monkeypatch):
    (tmp_path / "zoo.py").write_text(ZOO)
    (tmp_path / "memspec.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return memspec_yaml.load("memspec.yaml")[0]


@pytest.fixture(scope="module")
def server():
    s = process.Server()
    yield s
    s.close()


CONTEXT = memshim.pretend.find("rtx-4090").context or 0  # what CUDA takes of the card before anything is allocated


def on(
    runner: process.Runner, case: dict, stacks: str = "python", memory: int | None = None, count: int = 1, **change
) -> dict:
    """Measured on a card with that memory beside its context."""
    environment = pretended.environment(memory=memory and CONTEXT + memory, count=count)
    with pytest.MonkeyPatch.context() as m:
        for name in ("MEMSPEC_PRETEND", "CUDA_VISIBLE_DEVICES"):
            m.setenv(name, environment[name])
        got = runner.measure(case | change, "cuda", 300, stacks)
    jsonschema.validate(got, SCHEMA)
    return got


def test_a_record(server, case):
    got = server.measure(case, "cuda", 300)
    jsonschema.validate(got, SCHEMA)
    assert got["where"] == "pretend", "never called a measurement of a GPU"
    base, first, steady = got["phases"]
    assert (got["weights"], base["requested"], base["allocated"]) == (WEIGHTS, WEIGHTS + INPUT, WEIGHTS + INPUT)
    assert first["requested"] == steady["requested"] >= WEIGHTS + INPUT + 3 * HIDDEN, (
        "the relu's result, and twice as much in the cat's"
    )
    assert all(p["reserved"] >= p["active"] >= p["allocated"] for p in got["phases"])
    lines = {f["line"] for f in got["frames"] if f["file"].endswith("zoo.py")}
    assert lines == {8, 9, 10} and not any("::" in f["function"] for f in got["frames"]), (
        "Python's stacks, which cost nothing"
    )
    measured = record.table(got).splitlines()
    assert measured[0] == "  eager on a pretend NVIDIA GeForce RTX 4090: weights 32.0 MiB"
    assert measured[1].split() == ["baseline", "first", "steady", "above", "the", "baseline"] and [
        x.split()[0] for x in measured[2:]
    ] == list(record.METRICS)
    assert measured[2].split()[1:3] == ["36.0", "MiB"]
    again = on(process.Fresh(), case, stacks="all")
    assert any("::" in f["function"] for f in again["frames"]), "a record that is kept has C++ ones"
    assert [(e["action"], e["size"]) for e in again["events"]] == [(e["action"], e["size"]) for e in got["events"]], (
        "a process of its own gives the same"
    )
    assert [p["reserved"] for p in again["phases"]] == [p["reserved"] for p in got["phases"]]


@pytest.mark.parametrize("runtime", ["eager", "torchscript", "export"])
def test_a_dtype_reaches_the_device_as_it_is_to_be(server, case, runtime):
    """No byte of float32 is ever there: reserved would hold it."""
    got = server.measure(case | {"runtime": runtime, "dtype": "float16"}, "cuda", 300)
    base = got["phases"][0]
    assert (base["requested"], base["allocated"]) == ((WEIGHTS + INPUT) // 2,) * 2
    assert base["reserved"] < WEIGHTS + INPUT
    assert {e["size"] for e in got["events"][: base["events"]] if e["action"] == "alloc"} == {WEIGHTS // 4, INPUT // 2}


@pytest.mark.parametrize("runtime", ["eager", "torchscript", "export"])
def test_memory_that_ends_in_a_pass(server, case, runtime):
    got = on(server, case, runtime=runtime, memory=WEIGHTS + INPUT + 2 * HIDDEN + 12 * MIB)
    assert [p["name"] for p in got["phases"]] == ["baseline", "first"] and got["oom"]["phase"] == "first"
    assert (
        got["oom"]["text"].startswith("CUDA out of memory. Tried to allocate 32.00 MiB.")
        and got["oom"]["requested"] == 32 * MIB
    )
    assert WEIGHTS + INPUT + HIDDEN <= got["phases"][1]["requested"] <= WEIGHTS + INPUT + 2 * HIDDEN + 9 * MIB, (
        "as far as it came"
    )
    assert got["phases"][1]["reserved"] > got["phases"][0]["reserved"]
    model, *lines = got["oom"]["held"]
    assert (model["bytes"], model["count"], model["file"]) == (WEIGHTS + INPUT, 3, "")
    assert sum(x["bytes"] for x in lines) >= HIDDEN
    assert record.table(got).splitlines()[-1].startswith("    out of memory in first: CUDA out of memory. Tried")
    if runtime == "eager":
        assert any(x["file"].endswith("zoo.py") and x["line"] == 8 and x["bytes"] == HIDDEN for x in lines), (
            "the relu's"
        )


@pytest.mark.parametrize("runtime", ["eager", "torchscript", "export"])
def test_memory_that_ends_while_loading(server, case, runtime):
    got = on(server, case, runtime=runtime, memory=24 * MIB)
    assert [p["name"] for p in got["phases"]] == ["baseline"] and got["oom"]["phase"] == "baseline"
    assert got["oom"]["requested"] == WEIGHTS // 2 and got["phases"][0]["requested"] == WEIGHTS // 2
    assert [(x["bytes"], x["count"]) for x in got["oom"]["held"]] == [(WEIGHTS // 2, 1)] and got["weights"] == WEIGHTS


def test_a_fraction_of_memory(server, case):
    got = server.measure(case | {"memory_fraction": 0.001}, "cuda", 300)
    assert got["oom"]["phase"] == "baseline" and got["memory_fraction"] == 0.001


CAUSES = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("CUDA driver error: out of memory"),
    RuntimeError(
        "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call "
        'last):\n  File "zoo.py", line 7, in forward\n'
        "    return x + x\n           ~~~~~ <--- HERE\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    ),
]


@pytest.mark.parametrize("error", CAUSES, ids=range(len(CAUSES)))
def test_how_libraries_say_that_memory_ended(error):
    assert out_of_memory(error) in str(error) and out_of_memory(error)
    try:
        try:
            raise error
        except RuntimeError as e:
            raise ValueError("the model's own words") from e
    except ValueError as e:
        assert out_of_memory(e) == out_of_memory(error), "behind another"
    assert not out_of_memory(ValueError("CUDA out of memory")) and not out_of_memory(
        RuntimeError("CUDA error: an illegal memory access was encountered")
    )


def test_the_kind_of_an_error_is_no_part_of_what_is_said():
    wrapped = RuntimeError(str(CAUSES[-1]).replace("RuntimeError: CUDA", "RuntimeError: OutOfMemoryError: CUDA"))
    assert out_of_memory(wrapped) == "CUDA out of memory. Tried to allocate 2.00 GiB."


def test_an_error_in_torchscript_is_reported_by_its_cause():
    assert describe(CAUSES[-1]) == "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. (zoo.py:7)"


def test_a_library_that_finds_no_memory_is_a_result(server, case):
    """Whose error reaches Python as a plain RuntimeError."""
    with open("zoo.py", "a") as f:
        f.write("""
class Fails(Wide):
    def forward(self, x):
        y = super().forward(x)
        raise RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED")
""")
    got = on(server, case, source="zoo.py:Fails")
    assert (
        got["oom"] == {"phase": "first", "text": "cuDNN error: CUDNN_STATUS_ALLOC_FAILED"}
        and got["phases"][1]["requested"] > WEIGHTS + HIDDEN
    )
    failed = pytest.raises(errors.ModelError, match="CUDNN_STATUS_ALLOC_FAILED")
    with failed, pytest.MonkeyPatch.context() as m:
        m.setenv("CUDA_VISIBLE_DEVICES", "")
        server.measure(case | {"source": "zoo.py:Fails"}, "cpu", 300)


def test_one_of_several_gpus(server, case):
    """By the UUID that PyTorch reports; the others are not touched."""
    code = "import json; from memshim.gpu import devices; print(json.dumps(devices.look().devices))"
    p = pretended.run(code, count=2)
    first, second = json.loads(p.stdout)
    assert first["uuid"] != second["uuid"]
    with open("zoo.py", "a") as f:
        f.write("""
class NamesDevice(Wide):
    def forward(self, x):
        raise ValueError(f"{torch.cuda.device_count()} GPU, GPU-{torch.cuda.get_device_properties(0).uuid}")
""")
    for runner, device in ((server, first), (process.Fresh(), second)):
        with pytest.raises(errors.ModelError, match=f"1 GPU, {device['uuid']}"):
            on(runner, case, count=2, source="zoo.py:NamesDevice", visible=device["uuid"])


def test_check_runs_a_case_on_its_gpu_of_two(case):
    code = """
import sys
from memshim.__main__ import main
sys.exit(main(["check", "--measure", "-o", "records"]))
"""
    p = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | memshim.pretend.environment(["t4", "rtx-4090"]),
        capture_output=True,
        text=True,
    )
    (file,) = os.listdir("records")
    got = record.read(os.path.join("records", file))
    assert "4090" in got["device"]["name"] and got["where"] == "pretend", p.stderr
    assert (
        "RECORDED wide on a pretend GPU (NVIDIA GeForce RTX 4090): baseline " in p.stdout
        and "no measurement of a real one" in p.stdout
    ), p.stdout


def test_the_driver_is_asked_without_a_process(monkeypatch):
    """Through a binding of NVML: the one that PyTorch brings, of the pretend GPU's driver here, and
    pynvml."""
    monkeypatch.setattr(subprocess, "run", None)
    uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}"
    if devices.NVML()._theirs:
        torch.cuda.init()
        torch.zeros(1, device="cuda")  # the context is there
        before = devices.used()[uuid]
        kept = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
        assert devices.used() == {uuid: before + kept.nbytes} and devices.driver_version()
        del kept

    class Old:
        nvmlMemory_v2 = 33554472

        def nvmlInit(self):
            pass

        def nvmlDeviceGetCount(self):
            return 3

        def nvmlDeviceGetHandleByIndex(self, i):
            return i

        def nvmlDeviceGetUUID(self, i):
            return (b"GPU-a", "GPU-b", "GPU-c")[i]

        def nvmlSystemGetDriverVersion(self):
            return b"600.1"

        def nvmlDeviceGetMemoryInfo(self, i, version=None):
            if i == 2:
                raise RuntimeError("not supported")  # integrated
            # the first form counts the driver's own
            return type("Memory", (), {"used": 5 * i + (0 if version == self.nvmlMemory_v2 else 500 * MIB)})

    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.setitem(sys.modules, "pynvml", Old())
    assert devices.used() == {"GPU-a": 0, "GPU-b": 5} and devices.driver_version() == "600.1"


def test_an_allocator_without_a_history(server, case):
    """backend:cudaMallocAsync: measured by its counters, or refused in words; never a raw error."""
    try:
        got = server.measure(case | {"alloc_conf": "backend:cudaMallocAsync"}, "cuda", 300)
    except errors.MeasureError as e:
        assert "cudaMallocAsync" in str(e)
    else:
        jsonschema.validate(got, SCHEMA)
        assert not got["events"] and got["phases"][1]["allocated"] > WEIGHTS
