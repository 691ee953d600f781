"""What of PyTorch's settings bears on memory: each is set as the case says, cleared, or recorded.
Nothing is inherited."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

# Environment variables that change what a run takes, found in the libraries of PyTorch 2.15 and its
# Python code. Cleared where no case decides them.
CLEARED = tuple(
    """
    PYTORCH_ALLOC_CONF PYTORCH_NO_CUDA_MEMORY_CACHING TORCH_CUDA_EXPANDABLE_SEGMENTS_IPC TORCH_CUBLAS_WORKSPACE_CACHE
    CUBLASLT_WORKSPACE_SIZE TORCH_CUBLASLT_UNIFIED_WORKSPACE DISABLE_ADDMM_CUDA_LT TORCH_BLAS_PREFER_CUBLASLT
    TORCH_LINEAR_FLATTEN_3D TORCH_LINALG_PREFER_CUSOLVER NVIDIA_TF32_OVERRIDE TORCH_ALLOW_TF32_CUBLAS_OVERRIDE
    PYTORCH_TUNABLEOP_ENABLED PYTORCH_TUNABLEOP_TUNING TORCH_CUDNN_USE_HEURISTIC_MODE_B TORCH_CUDNN_SDPA_DEPRIORITIZED
    TORCH_CUDNN_SDPA_NESTED_TENSOR_ENABLED TORCH_CUDNN_SDPA_AVOID_RECOMPILE CUDNN_FRONTEND_ATTN_DP_WORKSPACE_LIMIT
    CUDA_MODULE_LOADING PYTORCH_JIT PYTORCH_JIT_OPT_LIMIT PYTORCH_TENSOREXPR PYTORCH_TENSOREXPR_FALLBACK
    PYTORCH_TENSOREXPR_DONT_FUSE TORCH_JIT_DISABLE_NEW_EXECUTOR
    """.split()
)


def environment(case: dict[str, Any]) -> dict[str, str | None]:
    """The variables that the case decides, None for those that must not be set. PyTorch reads them
    when it or CUDA starts."""
    workspace = case["cublas_workspace"]
    if not workspace and case["flags"]["deterministic"]:
        workspace = ":4096:8"  # else cuBLAS refuses to be deterministic
    return {
        **dict.fromkeys(CLEARED),
        "PYTORCH_CUDA_ALLOC_CONF": case["alloc_conf"] or None,
        "CUBLAS_WORKSPACE_CONFIG": workspace or None,
        "TORCH_CUDNN_V8_API_DISABLED": "1" if case["flags"].get("cudnn_v7") else None,
        # one GPU of several, by its UUID
        **({"CUDA_VISIBLE_DEVICES": case["visible"]} if case.get("visible") else {}),
        # C++ frames by the libraries' own symbols: needs no addr2line, and takes no seconds
        "TORCH_SYMBOLIZE_MODE": "dladdr",
    }


def apply(case: dict[str, Any]) -> None:
    """Before CUDA starts; what Python code of PyTorch reads, before torch is imported."""
    for name, value in environment(case).items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def set_flags(case: dict[str, Any]) -> None:
    """After the source is imported: what it set at its top does not stand."""
    import torch

    flags = case["flags"]
    torch.backends.cuda.matmul.allow_tf32 = flags["tf32_matmul"]  # these stand above the newer fp32_precision
    torch.backends.cudnn.allow_tf32 = flags["tf32_cudnn"]
    torch.backends.cudnn.benchmark = flags["benchmark"]
    torch.backends.cudnn.deterministic = flags["deterministic"]
    torch.use_deterministic_algorithms(flags["deterministic"], warn_only=True)
    if wanted := flags.get("attention"):  # what torch.nn.attention.sdpa_kernel sets, for the whole run
        for name, switch in _switches().items():
            switch[1](name in wanted)


def flags_now(case: dict[str, Any]) -> dict[str, Any]:
    """What PyTorch says of them, in the words of the case."""
    import torch

    cudnn = torch.backends.cudnn
    out = {
        "tf32_matmul": _tf32(torch.backends.cuda.matmul),
        "tf32_cudnn": _tf32(cudnn.conv if hasattr(cudnn, "conv") else cudnn),
        "benchmark": cudnn.benchmark,
        "deterministic": cudnn.deterministic or torch.are_deterministic_algorithms_enabled(),
    }
    on = [name for name, switch in _switches().items() if switch[0]()]
    chosen = (
        {"attention": on}
        if case.get("flags", {}).get("attention") or not {"math", "flash_attention", "efficient_attention"} <= set(on)
        else {}
    )
    return out | ({"cudnn_v7": True} if os.environ.get("TORCH_CUDNN_V8_API_DISABLED") == "1" else {}) | chosen


def _switches() -> dict[str, tuple[Callable[[], Any], Callable[[bool], Any]]]:
    """What says and what sets whether a backend of scaled_dot_product_attention may be chosen, by
    its name in torch.nn.attention.SDPBackend in lower case."""
    from torch.backends import cuda

    out: dict[str, tuple[Callable[[], Any], Callable[[bool], Any]]] = {
        "math": (cuda.math_sdp_enabled, cuda.enable_math_sdp),
        "flash_attention": (cuda.flash_sdp_enabled, cuda.enable_flash_sdp),
        "efficient_attention": (cuda.mem_efficient_sdp_enabled, cuda.enable_mem_efficient_sdp),
    }
    if hasattr(cuda, "enable_cudnn_sdp"):  # since 2.4
        out["cudnn_attention"] = (cuda.cudnn_sdp_enabled, cuda.enable_cudnn_sdp)
    return out


def compiled() -> bool:
    """Whether torch.compile compiled something that this process ran."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo is not None and dynamo.counters["stats"]["unique_graphs"] > 0


def _tf32(of: Any) -> bool:
    """By the newer name where there is one: reading the older beside it is an error in PyTorch."""
    precision = getattr(of, "fp32_precision", None)
    return (
        precision == "tf32"
        if precision not in (None, "none")
        else bool(of.allow_tf32)
        if hasattr(of, "allow_tf32")
        else False
    )
