"""What PyTorch's releases lack of what the pretend GPU and memshim can use, by asking the PyTorch of
this Python: one row of testdata/pretend/lacks.md, which .ci/pretend prints for every release. A backend
of attention counts as lacking where it runs nothing on an H100.

    python pyshim/tests/pretend/lacks.py
"""

import contextlib
import os
import subprocess
import sys

from memshim import pretend
from memshim.pretend import support

DEVICE = "h100-sxm-80gb"  # every backend of attention has kernels for it
SETTINGS = {  # of PYTORCH_CUDA_ALLOC_CONF, each with a value that it takes
    "expandable_segments": "True",
    "garbage_collection_threshold": "0.5",
    "graph_capture_record_stream_reuse": "True",
    "large_segment_size_mb": "32",
    "max_non_split_rounding_mb": "32",
    "max_split_size_mb": "64",
    "per_process_memory_fraction": "0.5",
    "pinned_num_register_threads": "4",
    "pinned_reserve_segment_size_mb": "64",
    "pinned_use_background_threads": "True",
    "roundup_power2_divisions": "4",
    "throw_on_cudamalloc_oom": "True",
}


def asked():
    """In the process on the pretend GPU: version, CUDA, cuDNN, and what is not there."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def runs(backend):
        q = torch.zeros(1, 4, 128, 64, dtype=torch.half, device="cuda", requires_grad=True)
        with contextlib.suppress(RuntimeError), sdpa_kernel(backend):
            torch.nn.functional.scaled_dot_product_attention(q, q, q).sum().backward()
            return True
        return False

    backends = {
        n: getattr(SDPBackend, n) for n in dir(SDPBackend) if n.isupper() and n not in ("ERROR", "OVERRIDEABLE")
    }
    metadata = [n for n in ("_cuda_setMemoryMetadata", "_cuda_annotateMemory") if hasattr(torch._C, n)]
    runtime, compiled = torch._C._cudnn.getRuntimeVersion(), torch._C._cudnn.getCompileVersion()
    image = torch.zeros(1, 3, 32, 32, device="cuda")
    torch.nn.functional.conv2d(image, torch.zeros(8, 3, 3, 3, device="cuda"))
    notes = {c.name.partition(":")[0] for c in pretend.report().estimated}
    cudnn, own = (".".join(map(str, v)) for v in (runtime, compiled))
    if "workspace-estimate" in notes:
        cudnn += ", by formula"
    if "workspace-stand-in" in notes and runtime != compiled:
        cudnn += f" in the place of {own}"
    without = [n.removesuffix("_ATTENTION").lower() for n, b in sorted(backends.items()) if not runs(b)]

    def takes(setting):
        with contextlib.suppress(RuntimeError, ValueError):
            torch.cuda.memory._set_allocator_settings(f"{setting}:{SETTINGS[setting]}")
            return True
        return False

    print(
        f"{torch.__version__.partition('+')[0]} | {torch.version.cuda} | {cudnn} | "
        f"{' and '.join('per block' if 'annotate' in m else 'per thread' for m in metadata) or 'none'} | "
        f"{', '.join(without) or '-'} | {', '.join(s for s in SETTINGS if not takes(s)) or '-'}"
    )


def row():
    env = os.environ | pretend.environment(DEVICE)
    p = subprocess.run([sys.executable, __file__, "--asked"], env=env, capture_output=True, text=True)
    assert p.returncode == 0, p.stderr[-2000:]
    return f"| {p.stdout.strip().splitlines()[-1]} |"


if __name__ == "__main__":
    support.torch_here()
    asked() if sys.argv[1:] == ["--asked"] else print(row())
