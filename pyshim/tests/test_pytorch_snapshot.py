"""What a snapshot of PyTorch's allocator leaves as it was: variables, the garbage collector, the interval of
threads, modules."""

import gc
import os
import sys
import types

import pytest

from memshim.allocator import pytorch_snapshot


@pytest.fixture
def torch(monkeypatch):
    """torch, as far as a snapshot uses it."""
    module = types.ModuleType("torch")
    monkeypatch.setitem(sys.modules, "torch", module)
    monkeypatch.delitem(sys.modules, "torch._inductor", raising=False)
    return module


@pytest.mark.parametrize("before, within", [(None, "dladdr"), ("", "dladdr"), ("addr2line", "addr2line")])
def test_frames_are_named_by_the_users_choice_else_without_a_program(torch, monkeypatch, before, within):
    if before is None:
        monkeypatch.delenv("TORCH_SYMBOLIZE_MODE", raising=False)
    else:
        monkeypatch.setenv("TORCH_SYMBOLIZE_MODE", before)
    with pytorch_snapshot.symbolized():
        assert os.environ["TORCH_SYMBOLIZE_MODE"] == within
    assert os.environ.get("TORCH_SYMBOLIZE_MODE") == before


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_on_again_where_it_was(enabled):
    was = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pytorch_snapshot.uncollected():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was else gc.disable)()


def test_threads_wait_for_their_turn():
    interval = sys.getswitchinterval()
    with pytorch_snapshot.unswitched():
        assert sys.getswitchinterval() == 10
    assert sys.getswitchinterval() == interval


def test_inductor_is_not_imported_for_its_cache(torch, monkeypatch):
    real = types.ModuleType("torch._inductor")
    real.compile, real.codecache = "compile", "codecache"
    with pytorch_snapshot.without_inductor():
        assert not hasattr(torch._inductor, "codecache")
        monkeypatch.setitem(sys.modules, "torch._inductor", real)
        assert torch._inductor.compile == "compile"
        assert not hasattr(torch._inductor, "codecache")
    assert not hasattr(torch, "_inductor")


def test_inductor_that_is_there_stays(torch, monkeypatch):
    torch._inductor = real = types.ModuleType("torch._inductor")
    monkeypatch.setitem(sys.modules, "torch._inductor", real)
    with pytorch_snapshot.without_inductor():
        assert torch._inductor is real
    assert torch._inductor is real


def test_inductor_that_is_imported_meanwhile_stays(torch):
    with pytorch_snapshot.without_inductor():
        torch._inductor = real = types.ModuleType("torch._inductor")
    assert torch._inductor is real


def test_a_snapshot_is_taken_without_the_collector(torch):
    torch.cuda = types.SimpleNamespace(memory=types.SimpleNamespace(_snapshot=lambda: {"collects": gc.isenabled()}))
    assert pytorch_snapshot.allocator_snapshot() == {"collects": False}
