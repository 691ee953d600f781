"""The cards of memspec's table, what a program sees of them, and where they cannot be had."""

import json
import os
import subprocess
import sys

import pretended
import pytest

from memshim import pretend
from memshim.pretend import activate, build, device, support

EDGE = {"name": "edge-8gb", "memory": "8GiB", "compute_capability": 8.7, "sms": 16, "context": "300MiB"}


def test_every_row_of_a_capability_that_pytorch_runs_on():
    assert {"t4", "a100-sxm-80gb", "h100-sxm-80gb", "rtx-5090"} <= set(pretend.names())
    for name in pretend.names():
        d = pretend.find(name)
        assert d.name == name and d.memory > 0 and d.sms > 0 and d.threads_per_sm >= 1024
        assert all(getattr(d, f) > 0 for f in device.FIGURES), "a figure that is not known is another card's"
        line = d.describe(kernels=80)
        assert "\n" not in line and f"name={d.driver};" in line


def test_a_figure_that_is_not_known_is_the_likest_cards():
    a10g, t4 = pretend.find("a10g"), pretend.find("t4")
    assert t4.borrowed == () and t4.driver == "Tesla T4" and t4.context == 141426688
    assert set(a10g.borrowed) == set(device.FIGURES) and a10g.l2 == pretend.find("rtx-3090").l2


@pytest.mark.parametrize("spelled", ["NVIDIA GeForce RTX 4090", "rtx_4090", "RTX-4090"])
def test_names_as_memspec_reads_them(spelled):
    assert pretend.find(spelled).name == "rtx-4090"


def test_a_row_of_devices():
    d = device.of_row(EDGE)
    assert (d.memory, d.compute_capability, d.sms, d.context, d.driver) == (8 << 30, (8, 7), 16, 300 << 20, "edge-8gb")
    assert (d.threads_per_sm, d.shared_optin) == (1536, 163 << 10)
    assert set(d.borrowed) == set(device.FIGURES) and d.l2 == pretend.find("jetson-agx-orin-64gb").l2
    assert device.of_row({k: v for k, v in EDGE.items() if k != "context"}).context is None


@pytest.mark.parametrize(
    "wanted, text",
    [
        ("a100", "got device 'a100', want a known device: did you mean a100-pcie-40gb or a100-sxm-40gb or"),
        ("toaster", "got device 'toaster', want a known device (all: memspec devices)"),
        ("none", "got device none, which is no card"),
        ("p100-16gb", "p100-16gb: got compute capability 6.0, want one of 7.0, 7.5,"),
        (EDGE | {"sms": 0}, "edge-8gb: got sms 0, want a whole number from 1"),
        (EDGE | {"memory": "8 GB"}, "got size '8 GB'"),
        (EDGE | {"compute_capability": "eight"}, "got compute capability 'eight', want one such as 8.6"),
        (EDGE | {"clock": 1}, "edge-8gb: got 'clock', want name, memory,"),
    ],
)
def test_what_is_no_device(wanted, text):
    with pytest.raises(ValueError) as e:
        pretend.environment(wanted)
    assert text in str(e.value) and "\n" not in str(e.value)


def test_more_than_can_be():
    with pytest.raises(ValueError, match="got 17 devices, want 1 to 16"):
        pretend.environment("t4", count=17)
    with pytest.raises(ValueError, match="want more than its context of 134.9 MiB"):
        pretend.environment("t4", memory="100MiB")


@pytest.mark.parametrize(
    "got, text",
    [
        ({"system": "darwin"}, "got macOS, want Linux on x86-64 with glibc, PyTorch 2.6 to 2.15 built for CUDA"),
        ({"system": "win32"}, "got Windows, want Linux"),
        ({"system": "linux", "machine": "aarch64"}, "got Linux on aarch64, want Linux on x86-64"),
        ({"system": "linux", "machine": "x86_64", "libc": ""}, "got a C library other than glibc (musl?), want"),
    ],
)
def test_machines_that_cannot(got, text):
    with pytest.raises(support.Unsupported) as e:
        support.check_machine(**got)
    assert str(e.value).startswith(text)


@pytest.mark.parametrize(
    "version, text",
    [
        ("__version__ = '2.5.1+cu124'\ncuda: Optional[str] = '12.4'\n", "got PyTorch 2.5.1+cu124, want"),
        ("__version__ = '2.16.0'\ncuda: Optional[str] = '13.4'\n", "got PyTorch 2.16.0, want"),
        (
            "__version__ = '2.15.0+cpu'\ncuda: Optional[str] = None\n",
            "got PyTorch 2.15.0+cpu, built for the CPU alone, want",
        ),
        (
            "__version__ = '2.15.0+rocm7'\ncuda: Optional[str] = None\nhip: Optional[str] = '7.0'\n",
            "got PyTorch 2.15.0+rocm7, built for ROCm, want",
        ),
        (None, "version.py, so of no known release, want"),
    ],
)
def test_pytorches_that_cannot(tmp_path, monkeypatch, version, text):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    if version:
        (tmp_path / "torch" / "version.py").write_text(version)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(support.Unsupported) as e:
        support.torch_here()
    assert text in str(e.value)


def test_a_card_that_this_pytorch_has_no_kernels_for():
    torch = support.Torch("2.15.0+cu132", support.torch_here().folder)
    if 70 in torch.architectures():
        pytest.skip("the torch here has them")
    with pytest.raises(
        support.Unsupported,
        match=r"got v100-16gb of compute capability 7.0 with PyTorch .*, which has kernels for 7.5, 8.0",
    ):
        activate.description([pretend.find("v100-16gb")], torch)
    assert support.kernels_for(89, [75, 80, 86, 90]) == 86, "the newest of its generation that is not newer"
    assert support.kernels_for(75, [70, 75, 80]) == 75
    assert support.kernels_for(103, [90, 100]) == 100


def test_linkers_find_the_driver():
    """Triton links with it by -lcuda or by -l:libcuda.so.1, as its release does."""
    folder = build.library()
    assert (folder / "libcuda.so").resolve() == (folder / "libcuda.so.1").resolve()


def test_what_a_program_sees(play):
    seen, card = play("device"), pretend.find("t4")
    p = seen["properties"]
    assert (p["name"], p["major"], p["minor"], p["total_memory"]) == ("Tesla T4", 7, 5, card.memory)
    assert (p["multi_processor_count"], p["L2_cache_size"], p["max_threads_per_multi_processor"]) == (40, 4 << 20, 1024)
    shared = [p[f"shared_memory_per_{n}"] for n in ("block", "block_optin", "multiprocessor")]
    assert shared == [48 << 10, 64 << 10, 64 << 10] or shared == [None] * 3 and support.torch_here().release < (2, 7)
    assert (p["regs_per_multiprocessor"], p["warp_size"]) == (65536, 32)
    assert seen["answers"] == {
        "available": True,
        "count": 1,
        "capability": [7, 5],
        "bf16": False,
        "nvml": 1,
        "name": "Tesla T4",
    }
    m = seen["memory"]
    assert m["total"] == card.memory and m["free"] == card.memory - card.context - (2 << 20), (
        "the context and a segment are taken off"
    )
    assert (m["reserved"], m["allocated"]) == (30 << 20, 30 << 20)
    assert seen["reused_memory_is_zero"] == {"same": True, "was": 7.0, "is": [0.0, 0.0, 0.0]}
    assert seen["copies"]["small"] == 999 and seen["copies"]["large"] == [0.0, 0.0] and seen["copies"]["sum"] == 0.0


def test_what_the_driver_takes_is_not_free(play):
    seen = play("device", "t4", "driver_memory")["driver_memory"]
    assert seen == {"took": [True, False, False], "less": 100 << 20, "reserved": 0}


def test_memory_of_another_process_is_opened_by_its_handle(play):
    seen = play("device", "t4", "shared_by_handle")["shared_by_handle"]
    invalid, own = 1, 201  # cudaErrorInvalidValue; a process may not open what it made
    assert seen["exporter"] == [0, invalid, own, invalid]
    same, taken, errors = seen["importer"]
    assert same and taken == 0, "opened twice it is one mapping, and takes nothing"
    assert errors == [0, 0, 0, invalid, invalid, 0, 0, invalid]


def test_the_users_own_setting_of_inductors_caches_wins(monkeypatch, possible):
    name = "TORCHINDUCTOR_FORCE_DISABLE_CACHES"
    monkeypatch.delenv(name, raising=False)
    assert pretend.environment("t4")[name] == "1"
    monkeypatch.setenv(name, "0")
    assert pretend.environment("t4")[name] == "0"


def test_memory_ends_where_the_cards_does(play):
    seen = play("device", "t4", "out_of_memory", memory="2GiB")["out_of_memory"]
    assert seen["text"].startswith(
        "CUDA out of memory. Tried to allocate 900.00 MiB. GPU 0 has a total capacity of 2.00 GiB of which "
    )
    assert "this process has" in seen["text"] and seen["retries"] == 1 and seen["ooms"] == 1, (
        "PyTorch emptied its cache and tried again"
    )


def test_several_at_once(play):
    source = """
import json, torch
print(json.dumps({"names": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
                  "peer": torch.cuda.can_device_access_peer(0, 1), "nvml": torch.cuda._device_count_nvml()}))
"""
    assert play(source, ["t4", "h100-sxm-80gb"]) == {
        "names": ["Tesla T4", "NVIDIA H100 80GB HBM3"],
        "peer": True,
        "nvml": 2,
    }
    hidden = """
import json, os
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
import torch
print(json.dumps({"names": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]}))
"""
    assert play(hidden, ["t4", "h100-sxm-80gb"]) == {"names": ["NVIDIA H100 80GB HBM3"]}
    seen = play(hidden)
    assert (
        seen == {"names": []}
        and "memspec: CUDA_VISIBLE_DEVICES=1: got 1, but the pretend devices are 0 to 0" in seen.stderr
    )


def in_process(source, **environ):
    return subprocess.run(
        [sys.executable, "-c", source], env=os.environ | environ, capture_output=True, text=True, timeout=300
    )


def test_from_within():
    p = in_process(
        """
import json, os, subprocess, sys
import memshim
memshim.pretend("t4", memory="4GiB")
memshim.pretend("t4", memory="4GiB")  # the same again changes nothing
import torch
child = "import torch; print(torch.cuda.get_device_properties(0).total_memory)"
print(json.dumps({"here": torch.cuda.get_device_properties(0).total_memory,
                  "active": [d.name for d in memshim.pretend.active()],
                  "child": int(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout)}))
try:
    memshim.pretend("a10g")
except memshim.pretend.TooLate as e:
    print(e)
""",
        CUDA_VISIBLE_DEVICES="",
    )
    first, second = p.stdout.splitlines()
    assert json.loads(first) == {"here": 4 << 30, "active": ["t4"], "child": 4 << 30}, (
        "processes that it starts have the device too"
    )
    assert second == "got a second memshim.pretend, but this process has t4 already: start a fresh process", p.stderr


@pytest.mark.parametrize(
    "before, text",
    [
        (
            "import torch",
            "got torch imported already, want memshim.pretend before it: torch is bound to the machine's own CUDA by "
            "then",
        ),
        (
            "import ctypes, pathlib, importlib.util as u; l = pathlib.Path(u.find_spec('torch').origin).parents[1] / "
            "'nvidia'; "
            "ctypes.CDLL(str(next(l.rglob('libcudart.so.*'))))",
            "got libcudart.so.1",
        ),
    ],
)
def test_too_late(before, text):
    p = in_process(f"{before}\nimport memshim\nmemshim.pretend('t4')")
    assert p.returncode == 1 and f"TooLate: {text}" in p.stderr


def test_pinned_host_memory_is_what_pytorch_pinned():
    """By the counters of PyTorch's own host allocator, which rounds blocks up and keeps them."""
    p = pretended.run("""
import torch
from memshim.pretend.library import Library
if not hasattr(torch.cuda, "host_memory_stats"):
    print("ok")
    raise SystemExit
m = torch.nn.Linear(1000, 1000, device="cuda")
for rows in (700, 3000):
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        loss = m(torch.randn(rows, 1000, device="cuda")).square().sum()
    loss.backward()
data = torch.utils.data.TensorDataset(torch.randn(8, 1000))
for (x,) in torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True):
    x.cuda(non_blocking=True)
pinned = torch.cuda.host_memory_stats()["allocated_bytes.peak"]
assert pinned > 2 * 3000 * 1000 * 4 and Library().pinned() == pinned, (Library().pinned(), pinned)
print("ok")
""")
    assert (p.returncode, p.stdout) == (0, "ok\n"), p.stderr
