"""torch.compile on a pretend GPU: inductor, Triton's own compiler, CUDA graphs; every mode. Where a
measured time would decide, what takes more is taken and it is reported; what the trials take for
themselves is a card's."""

import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path

import captured
import pytest
import warm

from memshim import binary, pretend
from memshim.pretend import build, support, toolkit

WORKSPACE = 32 << 20  # cuBLAS's, on 9.0


@pytest.fixture(scope="module")
def caches(tmp_path_factory):
    """And no process beside each to compile in, which imports PyTorch once more
    (test_pretend_compiles.py has one)."""
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path_factory.mktemp("inductor")),
        "TRITON_CACHE_DIR": str(tmp_path_factory.mktemp("triton")),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }


def capture(folder, variables, *arguments):
    """The command with these variables, its case forked from a process that has PyTorch loaded."""
    with pytest.MonkeyPatch.context() as m:
        for name, value in variables.items():
            m.setenv(name, value)
        return captured.capture(folder, *arguments)


@pytest.fixture(scope="module")
def seen(play, caches):
    if not importlib.util.find_spec("triton"):
        pytest.skip("no Triton here")
    try:
        build.compiler()  # Triton builds its launchers
    except build.BuildError as e:
        pytest.skip(str(e))
    return play("compiled", "h100-sxm-80gb", environ=caches)


@pytest.mark.parametrize("mode", ["default", "reduce_overhead", "max_autotune", "max_autotune_no_cudagraphs"])
def test_one_graph_in_every_mode(seen, mode):
    assert (seen[mode]["graphs"], seen[mode]["breaks"]) == (1, 0)


def test_calls_take_the_same(seen):
    """Before 2.15 the workspaces of two threads stay from the first call on: cuBLAS's, and from 2.9 to
    2.11 cuBLASLt's. Before 2.9 cuBLASLt takes 1 MiB in each call, which is the peak of a later call:
    beside the forward's result."""
    first, second, third = (allocated for allocated, _ in seen["default"]["passes"])
    assert second == third
    release = support.torch_here().release
    if release < (2, 9):
        assert second == (1 << 20) + 64 * 256 * 4 and 2 * WORKSPACE < first < 2 * WORKSPACE + second
        return
    stays = 0 if release >= (2, 15) else 2 * WORKSPACE + (1 << 20 if release < (2, 12) else 0)
    assert first == second + stays > WORKSPACE


def test_a_replay_allocates_nothing(seen):
    """The first call warms up, the second records, the third replays."""
    for mode in ("reduce_overhead", "max_autotune"):
        assert [p[0] > 0 for p in seen[mode]["passes"]] == [True, True, False], mode
        assert seen[mode]["passes"][1][1] == seen[mode]["passes"][2][1], "reserved"


def test_tuning_writes_a_buffer_as_large_as_the_cache(seen):
    """Before each measurement the L2 cache is flushed; the buffer is gone after the first call,
    reserved keeps it where no graph is recorded. What a later call reserves (before 2.12 cuBLASLt's
    workspace of autograd's thread) it reserves untuned too."""
    l2 = pretend.find("h100-sxm-80gb").l2
    for mode in ("max_autotune", "max_autotune_no_cudagraphs"):
        first, second, third = (allocated for allocated, _ in seen[mode]["passes"])
        assert first >= second + l2 and third <= second, mode
    plain, tuned = seen["default"]["passes"], seen["max_autotune_no_cudagraphs"]["passes"]
    assert tuned[2] == [plain[2][0], tuned[0][1] + plain[2][1] - plain[0][1]]


def test_a_kernel_of_the_programs_own(seen):
    assert seen["own_kernel"] == [1000, 0.0]


def test_constants_are_folded_by_their_values(seen):
    """Read as nought, a sum with two is left out and a product with one is not."""
    assert seen["folded"] == {"added": True, "products": 0, "reads": 0}


def test_padding_is_taken_and_reported(seen):
    """A copy of the weight and a larger result, beside the trial of the first call."""
    found = seen["padding"]
    (first, steady), (_, unpadded) = found["padded"], found["unpadded"]
    assert first > steady > unpadded + 50257 * 768 * 2
    assert [(t["what"].split(":")[0], Path(t["file"]).name, t["count"]) for t in found["timed"]] == [
        ("whether the operands of a matrix product are padded", "compiled.py", 1)
    ]


def test_a_product_is_cublass_where_a_time_would_decide(seen):
    """It takes cuBLAS's workspace, from 2.15 on in every call."""
    found = seen["chosen"]
    assert found["timed"] and all("cuBLAS's or a kernel of Triton's" in what for what in found["timed"])
    assert found["took"] == found["result"] + (WORKSPACE if support.torch_here().release >= (2, 15) else 0)


def test_what_was_tuned_before_changes_nothing(play, seen, caches):
    """Another process with the same caches: the tuner's buffer and the trial of padding are there
    again."""
    again = play("compiled", "h100-sxm-80gb", "max_autotune", "padding", environ=caches)
    assert again["max_autotune"]["passes"][0][0] == seen["max_autotune"]["passes"][0][0]
    assert again["padding"] == seen["padding"]


def test_a_recording_has_the_first_call_by_itself(tmp_path, caches, seen):
    """memspec check: the budget on allocated is of the later calls, first_call has its own, and
    what a time would decide is said."""
    (tmp_path / "zoo.py").write_text((Path(__file__).parent / "scenes" / "zoo_compiled.py").read_text())
    (tmp_path / "memspec.yaml").write_text(
        """version: 1
defaults: {device: h100-sxm-80gb, torch: %d.%d}
models:
  head:
    source: zoo.py:head
    inputs: {x: "bfloat16[1024,768]"}
    budget: {allocated: 300MiB, first_call: 300MiB, reserved: 1GiB}
"""
        % support.torch_here().release
    )
    p = capture(tmp_path, caches, "memspec.yaml")
    assert p.returncode == 0, p.stderr
    said = binary.ask("check", str(tmp_path / "memspec.yaml")).json["cases"][0]
    assert [(f["metric"], f["outcome"]) for f in said["findings"]] == [
        ("allocated", "pass"),
        ("first_call", "fail"),
        ("reserved", "pass"),
    ]
    report = said["report"]
    assert report["first_call"]["allocated"] > report["peak"]["allocated"] == report["passes"][1]["peak"]["allocated"]
    assert report["quality"] == "estimate"
    assert [(n["id"], n["first"]["file"]) for n in report["notes"]] == [
        ("timing-decides", "zoo.py"),
        ("dependencies-unchecked", ""),
    ], "no lock file here"


FUSED = """import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(64, 256)

    def forward(self, x):
        y = x.sin() * 2
        z = self.fc(y)
        return torch.softmax(z.relu(), -1).sum(0)


def net():
    return torch.compile(Net().eval())
"""


def test_a_fused_kernel_is_known_by_what_it_was_made_of(tmp_path, caches, seen):
    """By the operators and the user's line, and nowhere by the file that inductor wrote."""
    (tmp_path / "net.py").write_text(FUSED)
    p = capture(tmp_path, caches, "net.py:net", "--input", "float32[32,64]", "--on", "t4", "-o", "net.rec")
    assert p.returncode == 0, p.stderr
    _, events = captured.decode(tmp_path / "net.rec")
    source, steady = FUSED.splitlines(), []
    for e in [e for e in events if e["action"] == "alloc" and e["lines"]][-6:]:
        line = next(line for file, line in e["lines"] if file.endswith("net.py"))
        steady.append((e["op"], source[line - 1].strip()))
    assert support.torch_here().release < (2, 15) or steady == [
        ("aten::sin, aten::mul", "y = x.sin() * 2"),
        ("aten::sin, aten::mul, aten::t, aten::addmm", "z = self.fc(y)"),
        ("aten::mm", "z = self.fc(y)"),
        # of several results PyTorch keeps no line
        ("aten::addmm, aten::relu, prims::prepare_softmax_online", "def forward(self, x):"),
        ("aten::addmm, aten::relu, prims::prepare_softmax_online", "def forward(self, x):"),
        ("aten::addmm, aten::relu, aten::_softmax, aten::sum", "return torch.softmax(z.relu(), -1).sum(0)"),
    ]
    assert all(op for op, _ in steady)
    for by in ("line", "op"):
        said = binary.call("explain", "--by", by, "--device", "t4", str(tmp_path / "net.rec"))
        assert said.code == 0 and "net.py:" in said.out and "/inductor" not in said.out, said.out


HIDDEN = """import importlib.machinery
import sys

find = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = staticmethod(
    lambda name, *rest: None if name.split(".")[0] == "triton" else find(name, *rest))
for name in [name for name in sys.modules if name.split(".")[0] == "triton"]:
    del sys.modules[name]

import torch


def net():
    return torch.compile(torch.nn.Linear(8, 8))
"""


def test_without_triton_its_package_is_named(tmp_path, caches):
    """Python finds no package of the name, as where it is not installed."""
    (tmp_path / "zoo.py").write_text(HIDDEN)
    (tmp_path / "memspec.yaml").write_text(
        """version: 1
defaults: {device: t4, torch: %d.%d}
models:
  net: {source: zoo.py:net, inputs: ["float32[4,8]"], budget: {reserved: 100%%}}
"""
        % support.torch_here().release
    )
    p = capture(tmp_path, caches, "memspec.yaml")
    assert p.returncode != 0
    assert (
        "got no package triton, want one: torch.compile makes its kernels with it (pip install triton)" in p.stderr
    ), p.stderr


NO_COMPILER = """import os

os.environ["PATH"] = "/nowhere"
os.environ.pop("CC", None)

import torch


def net():
    return torch.compile(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU()))
"""


def test_without_a_compiler_it_is_named(tmp_path):
    """Triton finds none on PATH when it is to build what launches its kernels."""
    if not importlib.util.find_spec("triton"):
        pytest.skip("no Triton here")
    (tmp_path / "zoo.py").write_text(NO_COMPILER)
    (tmp_path / "memspec.yaml").write_text(
        """version: 1
defaults: {device: t4, torch: %d.%d}
models:
  net: {source: zoo.py:net, inputs: ["float32[4,8]"], budget: {reserved: 100%%}}
"""
        % support.torch_here().release
    )
    fresh = {
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"),
        "TRITON_CACHE_DIR": str(tmp_path / "triton"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    p = capture(tmp_path, fresh, "memspec.yaml")
    assert p.returncode != 0
    assert (
        "got no C compiler (cc, gcc or clang), want one: Triton builds what launches its kernels with it" in p.stderr
    ), p.stderr


def test_without_a_compiler_the_last_line_of_a_run_names_it(tmp_path):
    """Of a program: PyTorch's traceback is its own, and long."""
    if not importlib.util.find_spec("triton"):
        pytest.skip("no Triton here")
    (tmp_path / "train.py").write_text(NO_COMPILER + "\n\nnet().cuda()(torch.zeros(4, 8, device='cuda'))\n")
    fresh = {
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"),
        "TRITON_CACHE_DIR": str(tmp_path / "triton"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    command = [sys.executable, "-m", "memshim", "run", "--on", "t4", "--json", "report.json", "--", "train.py"]
    p = warm.run(command, cwd=tmp_path, env=os.environ | fresh)
    assert p.returncode == 1 and "Traceback" in p.stderr
    said = (
        "got no C compiler (cc, gcc or clang), want one: Triton builds what launches its kernels with it "
        "(apt-get install gcc, or CC)"
    )
    assert p.stderr.splitlines()[-1] == f"memshim: {said}"
    assert [q["missing"] for q in json.loads((tmp_path / "report.json").read_text())["processes"] if q["missing"]] == [
        said
    ]


@pytest.fixture(name="bare")
def bare_machine(monkeypatch):
    """CUDA_HOME of a machine without a toolkit, whether or not this one has one."""
    monkeypatch.setattr(toolkit, "installed", lambda environ: bool(environ.get("CUDA_HOME")))
    return toolkit.home({})


def test_a_package_is_compiled_and_run_without_a_toolkit(play, tmp_path, caches, bare):
    """AOTInductor: torch.export, a package, loaded and called; what it takes is a package's: a
    buffer, two workspaces, the result, and no weights."""
    if support.torch_here().release < (2, 15):
        pytest.skip("recorded with torch 2.15")
    if not shutil.which(os.environ.get("CXX", "g++")):
        pytest.skip("no g++ here")
    found = play("package", "t4", str(tmp_path / "mlp.pt2"), environ={"CUDA_HOME": bare} | caches)
    assert found["weights"] == 0, "they are outside of PyTorch's allocator"
    assert found["events"] == [4096, 8519680, 320, 1048576]


def test_a_toolkit_that_is_there_is_left_alone(tmp_path, bare):
    assert toolkit.home({"CUDA_HOME": str(tmp_path)}) == ""
    folder = Path(bare)
    assert (folder / "include" / "cuda_runtime_api.h").is_file()
    assert (folder / "include" / "crt" / "host_defines.h").is_file()
    assert (folder / "lib64" / "libcuda.so").is_file()
    assert toolkit.home({}) == bare, "made once"
