"""What a start of an engine came to, for tests: figures as memshim serve writes them; and starts of the
fake engine."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace as Object

from memshim.serving import driver_memory, report
from memshim.sizes import GIB, MIB

FOUND = report.figures(
    "0.19.0",
    "2.10.0",
    ["vllm", "serve", "models/qwen3-8b"],
    [Object(name="h100-sxm-80gb", driver="NVIDIA H100 80GB HBM3", memory=85045477376)],
    driver_memory.of("0.19.0", "NVIDIA H100 80GB HBM3"),
    {"model": "models/qwen3-8b", "made_up": ["tokenizer", "weights"], "defaults": ["max_num_seqs"]},
    [
        {
            "rank": 0,
            "card": "NVIDIA H100 80GB HBM3",
            "total": 85045477376,
            "free_at_start": 84503237755,
            "requested": 80793203507,
            "loaded": 15 * GIB,
            "activation": 2 * GIB,
            "outside_pytorch": 256 * MIB,
            "kv_memory": 58 * GIB,
            "graphs": 964 * MIB,
            "graphs_of_driver": driver_memory.graph_layer(False) * 51 * 37,
            "graphs_in_budget": 0,
            "allocated_peak": 75 * GIB,
            "in_use": 76 * GIB,
        }
    ],
    {
        "blocks": 26368,
        "block_size": 16,
        "tokens": 421888,
        "concurrency": 51.5,
        "max_model_len": 8192,
        "kv_cache": 58 * GIB,
        "max_num_seqs": 1024,
        "max_num_batched_tokens": 8192,
        "gpu_memory_utilization": 0.95,
        "kv_cache_dtype": "auto",
        "dtype": "bfloat16",
        "quantization": None,
        "eager": False,
        "tensor_parallel_size": 1,
        "captured": {"sizes": 51, "layers": 36, "experts": False},
    },
    None,
)
NO_CACHE = FOUND | {
    "kv": None,
    "fits": False,
    "error": {"stage": "KV cache", "kind": "ValueError", "text": "No available memory for the cache blocks."},
}
FAKE = str(Path(__file__).parent / "fake_engine")


def serve(model, tmp_path, how="", *program, options=()):
    """What memshim serve printed of the fake engine, and its figures."""
    environ = os.environ | {"FAKE_ENGINE": how, "PYTHONPATH": os.pathsep.join([FAKE, os.environ["PYTHONPATH"]])}
    to = tmp_path / "found.json"
    words = ["--on", "t4", "--json", str(to), "--log", str(tmp_path / "log"), *options, "--"]
    p = subprocess.run(
        [sys.executable, "-m", "memshim", "serve", *words, *(program or ["vllm", "serve", str(model)])],
        env=environ,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return p, json.loads(to.read_text()) if to.exists() else None
