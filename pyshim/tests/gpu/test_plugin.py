"""Budgets of tests on the CUDA allocator."""

import pickle

import pretended
import pytest
import torch

from memshim.allocator import recorder  # noqa: F401  one for all the runs of pytest in this process, as in one run
from memshim.judge import region

MIB = 1 << 20


@pytest.fixture
def gpu(run_pytest):
    (run_pytest.path / "memspec.yaml").unlink()
    run_pytest.makeconftest("""
import pytest, torch
MIB = 1 << 20
@pytest.fixture
def take(): return lambda mib: torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda")
""")
    yield run_pytest
    torch.cuda.empty_cache()


def test_what_a_test_leaves_behind_is_reported_by_line(gpu):
    """What its fixtures hold is not: they end after it."""
    gpu.makepyfile("""
        import gc, pytest, torch
        KEPT = []

        class Holder: pass

        @pytest.fixture
        def model():
            return torch.nn.Linear(512, 512, device="cuda")

        @pytest.fixture
        def holder():
            return Holder()

        @pytest.mark.memory_budget(leaked=0)
        def test_nothing(take, model, holder):
            take(50)
            holder.of = {"a": [take(3)]}
            model(torch.zeros(4, 512, device="cuda")).sum().backward()

        @pytest.mark.memory_budget(leaked="1MiB")
        def test_cycle(take):
            x = Holder()
            x.me, x.t = x, take(20)

        @pytest.mark.memory_budget(leaked="1MiB", delta="30MiB")
        def test_global(take):
            KEPT.append(take(2))
            KEPT.append(take(5))
    """)
    r = gpu()
    r.assert_outcomes(passed=2, failed=1)
    r.stdout.fnmatch_lines(
        [
            "FAIL test_global on a pretend NVIDIA GeForce RTX 4090: leaked 7.0 MiB, budget 1.0 MiB: over by 6.0 MiB "
            "(+600.0%)",
            "  left behind:",
            "       7.0 MiB      2  conftest.py:4 (<lambda>)",
        ]
    )


def test_a_snapshot_of_a_broken_budget_opens_in_memory_viz(gpu):
    gpu.makepyfile("""
        import pytest
        def test_before(take): take(70)
        @pytest.mark.parametrize("n", [11])
        @pytest.mark.memory_budget(delta="10MiB")
        def test_it(take, n):
            take(3)
            take(n)
    """)
    r = gpu("--memspec-snapshot=snapshots")
    r.assert_outcomes(passed=1, failed=1)
    (file,) = (gpu.path / "snapshots").iterdir()
    assert file.name.endswith("test_it_11.pickle")
    r.stdout.fnmatch_lines(
        [
            f"  snapshot   snapshots/{file.name} (https://docs.pytorch.org/memory_viz opens it)",
            "  reproduce  pytest *::test_it[[]11[]]'",
        ]
    )
    snapshot = pickle.loads(file.read_bytes())
    viz = pytest.importorskip("torch.cuda._memory_viz")
    assert (
        "MemoryViz.js" in viz.trace_plot(snapshot)
        and viz.memory(snapshot, format_flamegraph=lambda text: text) is not None
    )
    (trace,) = [t for t in snapshot["device_traces"] if t]
    taken = [e for e in trace if e["action"] == "alloc"]
    assert [e["size"] for e in taken] == [3 * MIB, 11 * MIB], "what happened in it, and nothing of before"
    assert [
        f["line"]
        for f in taken[1]["frames"]
        if f["filename"].endswith("test_a_snapshot_of_a_broken_budget_opens_in_memory_viz.py")
    ] == [7]
    times = [e["time_us"] for e in trace]
    assert times == sorted(times) and times[0] > 0
    assert viz.segsum(snapshot)


def test_memory_that_ends_is_reported_with_who_held_it(gpu):
    gpu.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(allocated="1GiB")
        def test_it(take):
            kept = take(100)
            take(1 << 20)
    """)
    r = gpu()
    r.assert_outcomes(failed=1)
    r.stdout.fnmatch_lines(
        [
            "FAIL test_it on *: it does not fit: *Tried to allocate *",
            "  who held the memory:",
            "*out of memory: 1.00 TiB asked for at *",
            "*100.0 MiB*",
            "  reproduce  pytest *::test_it",
            "1 budget: 1 fail",
        ]
    )
    r.stdout.no_fnmatch_line("*memshim/*.py*")


def test_memory_of_fixtures_has_its_lines(gpu):
    gpu.makepyfile("""
        import pytest, torch
        @pytest.fixture
        def weights():
            return torch.empty(100 << 20, dtype=torch.uint8, device="cuda")
        @pytest.mark.memory_budget(allocated="1MiB")
        def test_it(weights):
            more = torch.empty(20 << 20, dtype=torch.uint8, device="cuda")
    """)
    r = gpu()
    r.assert_outcomes(failed=1)
    r.stdout.fnmatch_lines(["*held at the peak:*", "*100.0 MiB* (weights)*", "*20.0 MiB* (test_it)*"])
    r.stdout.no_fnmatch_line("*untraced*")


def test_a_test_that_takes_nothing_is_not_judged(gpu, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    gpu.makepyfile("""
        import pytest, torch
        @pytest.mark.memory_budget(allocated="1GiB")
        def test_on_the_host(): torch.zeros(1 << 20)
        @pytest.mark.memory_budget(delta=0, leaked=0)
        def test_that_takes_nothing(): torch.zeros(1 << 20)
        @pytest.mark.memory_budget(on="t4")
        def test_that_fits(take): take(1)
    """)
    r = gpu("-rs", "-p", "no:memspec-apart")
    r.assert_outcomes(skipped=1, passed=2)
    r.stdout.fnmatch_lines(
        [
            "3 budgets: 2 pass, 1 not judged: it allocates nothing on *",
            "SKIPPED*its budget is not judged: it allocates nothing on *",
        ]
    )


def test_a_share_of_the_device_and_its_number(gpu):
    gpu.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(allocated="1%", device=0)
        def test_it(take): take(240)
        @pytest.mark.memory_budget(allocated="1%", device="cuda:0")
        def test_more(take): take(260)
        @pytest.mark.memory_budget(allocated="1%", device="cuda:3")
        def test_none(take): take(1)
    """)
    r = gpu()
    r.assert_outcomes(passed=1, failed=2)
    r.stdout.fnmatch_lines(["memory_budget: got device 3, but PyTorch finds 1 GPU here"])


def test_the_report_of_every_test(gpu):
    gpu.makepyfile("""
        KEPT = []
        def test_a(take):
            x = [take(0.25) for _ in range(10)]
        def test_b(take):
            KEPT.append(take(2))
            take(30)
        def test_c(): pass
    """)
    r = gpu("--memspec-report", "1")
    r.assert_outcomes(passed=3)
    r.stdout.fnmatch_lines(
        [
            "the 1 of 3 tests that took the most (allocated on a pretend GPU)",
            "",
            "*::test_b: 32.0 MiB by the test, peak * allocated, * reserved, 2.0 MiB left behind",
            "  32.0 MiB in 2 allocations: ≤10.0 MiB █ 1, ≤100.0 MiB █ 1",
            "* Location",
            "*32.0 MiB * conftest.py:4 (<lambda>)",
        ]
    )


LIBRARY = """
import pytest, torch
@pytest.fixture
def x(): return torch.zeros(64, 64, device="cuda")
@pytest.mark.memory_budget(delta="1MiB")
def test_first(x): x @ x
@pytest.mark.memory_budget(delta="1MiB")
def test_second(x): x @ x
"""


@pytest.mark.parametrize(
    "options, outcomes", [((), {"passed": 2}), (("--memspec-no-warmup",), {"passed": 1, "failed": 1})]
)
def test_what_a_library_keeps_falls_into_no_test(gpu, monkeypatch, options, outcomes):
    """With PyTorch before 2.15 cuBLAS's workspace stays; this has 2.15 do so too."""
    monkeypatch.setenv("TORCH_CUBLAS_WORKSPACE_CACHE", "1")
    gpu.makepyfile(LIBRARY)
    gpu(*options, fork=True).assert_outcomes(**outcomes)
    if not options:
        gpu("-k", "second", fork=True).assert_outcomes(passed=1, deselected=1)


def test_warming_up_changes_no_random_numbers():
    torch.manual_seed(3)
    want = torch.rand(2), torch.rand(2, device="cuda").device
    torch.manual_seed(3)
    region._warm.clear()
    region.warm_up(None)
    assert torch.equal(torch.rand(2), want[0]) and region._warm == {0}


def test_xdists_processes_ask_for_the_gpu_once(gpu):
    """And import torch nowhere where no test needs it."""
    gpu.makeconftest("""
import sys
from memshim.gpu import devices
ask = devices.subprocess.run

def counted(command, *a, **kw):
    if command[1:2] == ["-c"]:
        with open("asked", "a") as f: f.write("x")
    return ask(command, *a, **kw)

devices.subprocess.run = counted

def pytest_sessionfinish(session):
    assert "torch" not in sys.modules
""")
    (gpu.path / "memspec.yaml").write_text("""
version: 1
defaults: {device: t4, runtime: eager}
models:
  net:
    artifact: net.pt
    inputs: {x: "float32[B,3,16,16]"}
    cases: [{dims: {B: [1, 2, 3, 4, 5, 6]}, budget: {allocated: 1GiB}}]
""")
    r = gpu("-n", "3", fork=True)
    r.assert_outcomes(passed=6)
    assert (gpu.path / "asked").read_text() == "x"
    r.stdout.fnmatch_lines(
        ["6 budgets: 6 pass, 6 not measured: this GPU is NVIDIA GeForce RTX 4090, the case is for t4"]
    )


def test_without_a_gpu_torch_is_not_imported(gpu, monkeypatch):
    gpu.makeconftest("""
import sys
def pytest_sessionfinish(session):
    assert "torch" not in sys.modules
""")
    gpu.makepyfile("""
        import pytest
        @pytest.mark.memory_budget(allocated=0)
        def test_it(): pass
    """)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.delenv("MEMSPEC_PRETEND")
    r = gpu("--memspec-no-strict", fork=True)
    r.assert_outcomes(skipped=1)
    r.stdout.fnmatch_lines(["1 budget: 1 not judged: no GPU here"])
    assert pretended.MARK in pretended.os.environ
