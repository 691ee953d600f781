"""Kernels of FlashInfer that nvcc would build: functions that do nothing stand for them where there is none."""

from types import SimpleNamespace as Object

import pytest

from memshim.pretend import unbuilt


@pytest.fixture
def core(monkeypatch):
    """flashinfer.jit.core, whose modules are built by nvcc."""

    class JitSpec:
        name, is_aot = "sampling", False

        def build_and_load(self):
            return "built"

    monkeypatch.setattr(unbuilt, "used", {})
    module = Object(JitSpec=JitSpec)
    unbuilt.flashinfer(module)
    return module


@pytest.fixture
def nvcc(tmp_path):
    """A compiler that can be run."""
    (tmp_path / "bin").mkdir()
    file = tmp_path / "bin" / "nvcc"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_without_a_compiler_functions_do_nothing_and_are_named(core, monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    module = core.JitSpec().build_and_load()
    assert module.top_k_mask_logits(1, 2) is None and module.top_k_mask_logits(3) is None
    assert unbuilt.used == {"flashinfer sampling.top_k_mask_logits": 2}
    assert not hasattr(module, "__tvm_ffi_object__")


def test_a_plan_of_attention_is_something_that_can_be_handed_back(core, monkeypatch, tmp_path):
    """FlashInfer refuses to run without one."""
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    plan = core.JitSpec().build_and_load().plan(1)
    assert plan and set(plan) == {0}


def test_with_a_compiler_they_are_built(core, nvcc, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", str(nvcc.parents[1]))
    assert core.JitSpec().build_and_load() == "built"


def test_what_came_built_is_loaded(core, monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    core.JitSpec.is_aot = True
    assert core.JitSpec().build_and_load() == "built"


def test_the_compiler_is_where_flashinfer_looks(nvcc, tmp_path):
    home, bin_folder = str(nvcc.parents[1]), str(nvcc.parent)
    assert unbuilt.compiler({"CUDA_HOME": home}) and unbuilt.compiler({"CUDA_PATH": home})
    assert unbuilt.compiler({"PATH": bin_folder})
    assert not unbuilt.compiler({"CUDA_HOME": "/nowhere", "PATH": bin_folder}), "CUDA_HOME comes first"
    assert not unbuilt.compiler({"PATH": str(tmp_path)})


@pytest.fixture
def builder(monkeypatch):
    """tvm_ffi.cpp, which builds kernels of SGLang."""
    monkeypatch.setattr(unbuilt, "used", {})
    module = Object(load_inline=lambda name, **sources: f"built {name}", load=lambda name, **files: f"loaded {name}")
    unbuilt.tvm_ffi(module)
    return module


def test_kernels_that_tvm_ffi_would_build_do_nothing(builder, monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert builder.load_inline("rope", cpp_sources=[], cuda_sources=["#include"]).run(1) is None
    assert builder.load("norm", cuda_files=["norm.cu"]).run() is None
    assert unbuilt.used == {"tvm_ffi rope.run": 1, "tvm_ffi norm.run": 1}


def test_tvm_ffi_builds_what_needs_no_nvcc_and_all_with_one(builder, nvcc, monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "none"))
    assert builder.load_inline("host", cpp_sources=["int x;"], cuda_sources=[]) == "built host"
    assert builder.load("host", cpp_files=["x.cc"]) == "loaded host"
    monkeypatch.setenv("CUDA_HOME", str(nvcc.parents[1]))
    assert builder.load_inline("rope", cuda_sources=["#include"]) == "built rope"
