"""What a program queries of its device: a recording of one that did is evidence for a device of the
same memory, or name, alone."""

import sys
import types

import pytest
import warm
from captured import capture, decode

from memshim import binary
from memshim.gpu import queries

torch = pytest.importorskip("torch")

ZOO = """
import torch
from torch import nn

def step(n):
    return lambda: torch.zeros(n, device="cuda")

def free():
    return step(torch.cuda.mem_get_info()[0] // (1 << 20))

def total():
    p = torch.cuda.get_device_properties(0)
    assert isinstance(p, torch.cuda._CudaDeviceProperties)
    return step(p.total_memory // (1 << 20))

def runtime():
    return step(torch.cuda.cudart().cudaMemGetInfo(0)[1] // (1 << 20))

def printed():
    print(torch.cuda.get_device_properties(0))
    return step(8)

def name():
    return step(len(torch.cuda.get_device_name()))

def chip():
    p = torch.cuda.get_device_properties(0)
    return step(p.multi_processor_count * p.major)

def pytorch():
    from torch._inductor.runtime.hints import DeviceProperties
    assert torch.cuda.is_bf16_supported() in (True, False) and torch.cuda.get_device_capability() == (7, 5)
    assert DeviceProperties.create(torch.device("cuda", 0)).cc == 75
    torch.cuda.set_per_process_memory_fraction(0.9)
    return step(8)
"""


pytestmark = pytest.mark.usefixtures("pretend_gpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("queries")
    (path / "zoo.py").write_text(ZOO)
    return path


def verdict(folder, name, memory):
    """The exit code of memspec check on a T4 with so much memory, and why."""
    (folder / "memspec.yaml").write_text(
        f"version: 1\ndevices: {{mine: {{memory: {memory}, compute_capability: 7.5, sms: 40}}}}\n"
        f"models: {{it: {{artifact: {name}.rec, device: mine, budget: {{allocated: 1GiB}}}}}}\n"
    )
    said = binary.call("check", str(folder / "memspec.yaml"), "--format", "json")
    return said.code, said.out


@pytest.mark.parametrize(
    "name,asked",
    [
        ("free", ["memory"]),
        ("total", ["memory"]),
        ("runtime", ["memory"]),
        ("printed", ["memory", "name"]),
        ("name", ["name"]),
        ("chip", None),
        ("pytorch", None),
    ],
)
def test_a_recording_says_what_the_program_queried(folder, name, asked):
    p = capture(folder, f"zoo.py:{name}", "--on", "t4", "-o", f"{name}.rec", "--fresh")
    assert p.returncode == 0, p.stderr
    assert decode(folder / f"{name}.rec")[0]["device"].get("asked") == asked
    code, said = verdict(folder, name, "40GiB")
    assert code == (3 if asked else 0), said
    for what in asked or ():
        assert f"the run queried the {what} of its device" in said


def test_a_program_that_is_run(folder):
    (folder / "train.py").write_text("from zoo import free\nfree()()\n")
    (folder / "plain.py").write_text("from zoo import pytorch\npytorch()()\n")
    for name, asked in (("train", ["memory"]), ("plain", None)):
        p = warm.run(
            [sys.executable, "-m", "memshim", "run", "--on", "t4", "--record", f"{name}.rec", "--", f"{name}.py"],
            cwd=folder,
        )
        assert p.returncode == 0, p.stderr
        assert decode(folder / f"{name}.rec")[0]["device"].get("asked") == asked


def test_the_driver_library_counts_by_its_caller(monkeypatch):
    monkeypatch.setattr(queries, "_asked", set())
    monkeypatch.setattr(queries, "_torch", "/lib/torch/")
    nvml = types.ModuleType("pynvml")
    nvml.nvmlDeviceGetMemoryInfo = nvml.nvmlDeviceGetName = nvml.nvmlDeviceGetCount = lambda *of: len(of)
    queries._nvml(nvml)

    def call(file, function):
        there = {"nvml": nvml}
        exec(
            compile(
                f"def device_memory_used(): return nvml.{function}(0)\ndef _check(): return nvml.{function}(0)",
                file,
                "exec",
            ),
            there,
        )
        return there

    for file in ("/lib/torch/distributed/x.py", "/lib/triton/x.py", queries.OWN + "x.py"):
        assert call(file, "nvmlDeviceGetMemoryInfo")["_check"]() == 1 and not queries.asked()
    call("/lib/torch/cuda/__init__.py", "nvmlDeviceGetMemoryInfo")["_check"]()
    call("/lib/accelerate/x.py", "nvmlDeviceGetCount")["_check"]()
    assert not queries.asked()
    call("/lib/accelerate/x.py", "nvmlDeviceGetName")["_check"]()
    assert queries.asked() == {"asked": ["name"]}
    call("/lib/torch/cuda/__init__.py", "nvmlDeviceGetMemoryInfo")["device_memory_used"]()
    assert queries.asked() == {"asked": ["memory", "name"]}, "a program's, through PyTorch's public function"


def test_properties_are_what_they_stand_for(monkeypatch):
    monkeypatch.setattr(queries, "_asked", set())
    p = queries.Properties(types.SimpleNamespace(total_memory=5, name="x", major=8))
    assert isinstance(p, types.SimpleNamespace) and p.major == 8 and "major" in dir(p) and not queries.asked()
    assert p.total_memory == 5 and queries.asked() == {"asked": ["memory"]}
    with pytest.raises(AttributeError):
        p.total  # noqa: B018
    assert "name='x'" in repr(p) and queries.asked() == {"asked": ["memory", "name"]}
