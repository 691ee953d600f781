"""KV cache that vLLM logged on real H100s, beside what `memshim serve` gives.

    python -m truth serve [--eager] [ROW…]

The rows are of published logs of vLLM 0.19 with torch 2.10: 0.95 of an H100 of 80 GB, 8,192 tokens
batched, 1,024 sequences. A log has sizes in GiB, to two decimals. Run it with that release installed.
--eager compiles nothing: seconds in the place of minutes, and the same figures where the sampler
makes the peak of the profile run. Models are folders with config.json alone, as their publishers have
it. What the driver takes outside PyTorch was read off these logs: that line is no prediction.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

GIB = 1 << 30
CARD = "h100-sxm-80gb"
ARGUMENTS = "--gpu-memory-utilization 0.95 --max-num-batched-tokens 8192 --max-num-seqs 1024 --max-model-len 8192"


class Row(NamedTuple):
    config: dict[str, Any]
    loaded: float  # GiB, as logged
    activation: float
    outside: float
    kv: float
    tokens: int
    gpus: int = 1


QWEN = {
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "torch_dtype": "bfloat16",
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "attention_bias": False,
    "head_dim": 128,
    "num_attention_heads": 32,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
}
RELEASE = "0.19"
ROWS = {
    "Qwen3-8B": Row(
        QWEN
        | {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "hidden_size": 4096,
            "intermediate_size": 12288,
            "num_hidden_layers": 36,
            "num_key_value_heads": 8,
        },
        loaded=15.27,
        activation=2.21,
        outside=0.25,
        kv=57.50,
        tokens=418688,
    ),
    "Qwen3-30B-A3B": Row(
        QWEN
        | {
            "architectures": ["Qwen3MoeForCausalLM"],
            "model_type": "qwen3_moe",
            "hidden_size": 2048,
            "intermediate_size": 6144,
            "moe_intermediate_size": 768,
            "num_hidden_layers": 48,
            "num_key_value_heads": 4,
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "norm_topk_prob": True,
            "decoder_sparse_step": 1,
            "mlp_only_layers": [],
        },
        loaded=56.88,
        activation=2.68,
        outside=0.27,
        kv=15.41,
        tokens=168288,
    ),
    "Qwen2.5-7B on two": Row(
        {k: v for k, v in QWEN.items() if k not in ("attention_bias", "head_dim")}
        | {
            "architectures": ["Qwen2ForCausalLM"],
            "model_type": "qwen2",
            "vocab_size": 152064,
            "hidden_size": 3584,
            "intermediate_size": 18944,
            "num_hidden_layers": 28,
            "num_attention_heads": 28,
            "num_key_value_heads": 4,
            "max_position_embeddings": 32768,
            "use_sliding_window": False,
        },
        loaded=7.12,
        activation=2.21,
        outside=2.06,
        kv=63.84,
        tokens=2390592,
        gpus=2,
    ),
}


def serve(row: Row, eager: bool) -> dict[str, Any]:
    """The figures of a row's model, as `memshim serve --json` writes them."""
    with tempfile.TemporaryDirectory() as folder:
        model, to = Path(folder, "model"), Path(folder, "found.json")
        model.mkdir()
        (model / "config.json").write_text(json.dumps(row.config))
        command = ["vllm", "serve", str(model), *ARGUMENTS.split(), *(["--enforce-eager"] if eager else [])]
        if row.gpus > 1:
            command += ["--tensor-parallel-size", str(row.gpus)]
        options = ["--on", CARD, "--count", str(row.gpus), "--json", str(to)]
        memshim = [sys.executable, "-m", "memshim", "serve", *options, "--", *command]
        p = subprocess.run(memshim, stdout=subprocess.DEVNULL)
        if p.returncode:
            raise SystemExit(f"truth serve: memshim serve ended with exit code {p.returncode}")
        return json.loads(to.read_text())


def compare(row: Row, found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Lines of the table: figure, logged, ours, difference."""
    worker, kv = found["workers"][0], found["kv"]
    sizes = [
        ("loaded", row.loaded, worker["loaded"]),
        ("activation", row.activation, worker["activation"]),
        ("outside PyTorch", row.outside, worker["outside_pytorch"]),
        ("KV cache", row.kv, worker["kv_memory"]),
    ]
    lines = [(n, f"{log:.2f} GiB", f"{ours / GIB:.2f} GiB", f"{ours / GIB - log:+.2f} GiB") for n, log, ours in sizes]
    difference = (kv["tokens"] - row.tokens) / row.tokens
    return [*lines, ("tokens", f"{row.tokens:,}", f"{kv['tokens']:,}", f"{difference:+.2%}")]


def main() -> int:
    p = argparse.ArgumentParser(prog="python -m truth serve")
    p.add_argument("--eager", action="store_true", help="without torch.compile and CUDA graphs")
    p.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    a = p.parse_args()
    if wrong := [name for name in a.rows if name not in ROWS]:
        p.error(f"got row {wrong[0]}, want {' or '.join(ROWS)}")
    installed = importlib.metadata.version("vllm")
    if not installed.startswith(f"{RELEASE}."):
        p.error(f"got vLLM {installed}, want {RELEASE}, which the logs are of")
    print(f"{'model':<18} {'figure':<16} {'logged':>12} {'ours':>12} {'difference':>12}   vLLM {installed} on {CARD}")
    for name in a.rows or ROWS:
        for figure, logged, ours, difference in compare(ROWS[name], serve(ROWS[name], a.eager)):
            print(f"{name:<18} {figure:<16} {logged:>12} {ours:>12} {difference:>12}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
