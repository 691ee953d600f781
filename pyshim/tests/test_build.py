"""Where a case's model comes from, and what decides how PyTorch runs it."""

import json
import re
import sys
from pathlib import Path

import pytest

from memshim.case import settings
from memshim.case.build import load_source

torch = pytest.importorskip("torch")

SOURCES = {
    "pack/__init__.py": "",
    "pack/inner/__init__.py": "",
    "pack/parts.py": "import torch\nclass Part(torch.nn.Linear):\n    def __init__(self): super().__init__(2, 3)\n",
    "pack/inner/model.py": "from ..parts import Part\nfrom . import there\nmade = Part\n",
    "pack/inner/there.py": "",
    "json.py": "import torch\nnet = torch.nn.Linear(5, 5)\n",
    "deep/er/torch_model.py": "import torch\nfrom beside_it import n\nnet = torch.nn.Linear(n, 1)\n",
    "deep/er/beside_it.py": "n = 9\n",
}


@pytest.mark.parametrize(
    "source, shape",
    [
        ("pack/inner/model.py:made", (3, 2)),
        ("pack.inner.model:made", (3, 2)),
        ("json.py:net", (5, 5)),
        ("deep/er/torch_model.py:net", (1, 9)),
    ],
)
def test_sources(tmp_path, monkeypatch, source, shape):
    """A file in a package imports its neighbours; one that is named like another module is itself,
    and the other stays."""
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert tuple(load_source(source, str(tmp_path)).weight.shape) == shape
    assert sys.modules["json"] is json
    for name in [n for n in sys.modules if n.partition(".")[0] in ("pack", "beside_it", "torch_model")]:
        del sys.modules[name]


def test_the_case_decides_the_environment():
    case = {"cublas_workspace": "", "alloc_conf": "", "flags": {"deterministic": False}}
    variables = settings.environment(case)
    assert {k for k, v in variables.items() if v is not None} == {"TORCH_SYMBOLIZE_MODE"}, "nothing is inherited"
    case["flags"] = {"deterministic": True, "cudnn_v7": True}
    assert settings.environment(case)["TORCH_CUDNN_V8_API_DISABLED"] == "1"
    assert settings.environment(case)["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    assert settings.environment(case | {"visible": "GPU-1"})["CUDA_VISIBLE_DEVICES"] == "GPU-1"


def test_every_variable_that_bears_on_memory_is_known():
    """Those that PyTorch's own libraries read and that change what is allocated: a release that
    reads one more shows here."""
    folder, seen = Path(torch.__file__).parent / "lib", set()
    for name in ("libtorch_cuda.so", "libc10_cuda.so", "libtorch_cpu.so", "libc10.so"):
        if (folder / name).exists():
            seen |= set(
                re.findall(
                    rb"\0((?:TORCH_CUBLAS|TORCH_CUDNN|TORCH_BLAS|PYTORCH_[A-Z_]*ALLOC|CUBLAS|DISABLE_ADDMM)[A-Z0-9_]*)\0",
                    (folder / name).read_bytes(),
                )
            )
    if not seen:
        pytest.skip("no CUDA build of PyTorch")
    # change no size here
    others = {
        "TORCH_CUDNN_V8_API_DEBUG",
        "TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT",
        "TORCH_CUDNN_SDPA_CACHE_DEBUG",
        "PYTORCH_HIP_ALLOC_CONF",
    }
    known = (
        set(settings.environment({"cublas_workspace": "", "alloc_conf": "", "flags": {"deterministic": False}}))
        | others
    )
    assert {s.decode() for s in seen if not s.startswith((b"CUBLAS_STATUS", b"CUBLASLT_VERSION"))} <= known
