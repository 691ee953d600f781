"""Text that transformers generates on a pretend GPU: which kinds of cache work, and what they take.

    python -m truth generate [--on CARD] [ROW…]

A row is a tiny model, but the last, of 1.2 billion parameters, which makes 32 tokens after 4 prompts
of 128. A table of: the peak over the weights; the bytes of the keys and values that generate returns;
the bytes by formula, of the tokens that the cache has room for; and the processor time of the row,
imports apart. A row that fails has its error instead.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

REQUESTS, PROMPT, NEW = 2, 24, 8
WINDOW = 16
TINY = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
    "max_position_embeddings": 512,
    "eos_token_id": None,
    "pad_token_id": 0,
}
BILLION = TINY | {
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": True,
}


def model(kind: str, config: dict[str, Any]) -> Any:
    """A causal model of a kind (Llama, Mistral) in bfloat16, with weights of its own initialization."""
    import torch
    import transformers

    settings = getattr(transformers, f"{kind}Config")(**config)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda"):
            return getattr(transformers, f"{kind}ForCausalLM")(settings).eval()
    finally:
        torch.set_default_dtype(before)


KEPT = ("keys", "values", "_quantized_keys", "_quantized_values")


def tensors(kept: Any) -> Iterator[Any]:
    """The tensors in what a layer keeps: itself, or the parts of one that is quantised."""
    if hasattr(kept, "element_size"):
        yield kept
    elif isinstance(kept, dict | tuple):
        for part in kept.values() if isinstance(kept, dict) else kept:
            yield from tensors(part)


def keys_and_values(cache: Any) -> int:
    """Bytes of a cache's tensors; 0 where it keeps none that it shows."""
    found = [t for layer in cache.layers for name in KEPT for t in tensors(getattr(layer, name, None))]
    return sum(t.numel() * t.element_size() for t in found)


def elements(config: Any, requests: int, tokens: int) -> int:
    """Numbers that a cache has of so many tokens of each request."""
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * config.num_key_value_heads * head * requests * tokens)


def formula(config: Any, requests: int, tokens: int) -> int:
    return 2 * elements(config, requests, tokens)


def eight_bits(config: Any, requests: int, tokens: int) -> int:
    """One byte each, and a scale in float32 for the keys and the values of each layer."""
    return elements(config, requests, tokens) + 2 * 4 * int(config.num_hidden_layers)


def four_bits(config: Any, requests: int, tokens: int) -> int:
    """The prompt in 4 bits, with a scale and a zero of 16 bits for each GROUP; what follows in 16 bits."""
    prompt = elements(config, requests, PROMPT)
    return prompt // 2 + 2 * 2 * prompt // GROUP + formula(config, requests, tokens - PROMPT)


def generated(
    kind: str,
    config: dict[str, Any],
    tokens: int,
    requests: int = REQUESTS,
    prompt: int = PROMPT,
    new: int = NEW,
    size: Callable[[Any, int, int], int] = formula,
    **how: Any,
) -> tuple[int, int, int]:
    """Peak over the weights, bytes of the cache, and those by formula."""
    import torch

    m = model(kind, config)
    ids = torch.ones(requests, prompt, dtype=torch.long, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    out = m.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=new,
        do_sample=False,
        return_dict_in_generate=True,
        **how,
    )
    if tuple(out.sequences.shape) != (requests, prompt + new):
        raise RuntimeError(f"got sequences of {tuple(out.sequences.shape)}")
    peak = torch.cuda.max_memory_allocated() - before
    return peak, keys_and_values(out.past_key_values), size(m.config, requests, tokens)


def batched() -> tuple[int, int, int]:
    """Continuous batching: its cache is one for all requests, of as much memory as is left."""
    import torch
    import transformers

    m = model("Llama", TINY | {"_attn_implementation": "sdpa"})
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    settings = transformers.GenerationConfig(max_new_tokens=NEW, do_sample=False, eos_token_id=-1, pad_token_id=0)
    out = m.generate_batch(inputs=[[1] * PROMPT] * REQUESTS, generation_config=settings)
    if len(out) != REQUESTS:
        raise RuntimeError(f"got {len(out)} of {REQUESTS} requests")
    return torch.cuda.max_memory_allocated() - before, 0, 0


def quantized(backend: str, **settings: int) -> dict[str, Any]:
    return {"cache_implementation": "quantized", "cache_config": {"backend": backend, **settings}}


GROUP = 64
LAST = PROMPT + NEW - 1  # the last token is not put into the cache
ROWS: dict[str, Callable[[], tuple[int, int, int]]] = {
    "dynamic": lambda: generated("Llama", TINY, LAST),
    "static": lambda: generated("Llama", TINY, LAST, cache_implementation="static", disable_compile=True),
    "sliding": lambda: generated("Mistral", TINY | {"sliding_window": WINDOW}, WINDOW - 1),
    "offloaded": lambda: generated("Llama", TINY, LAST, cache_implementation="offloaded"),
    "offloaded_static": lambda: generated(
        "Llama", TINY, LAST, cache_implementation="offloaded_static", disable_compile=True
    ),
    "quantized": lambda: generated("Llama", TINY, LAST, cache_implementation="quantized"),
    "quantized_fp8": lambda: generated("Llama", TINY, LAST, size=eight_bits, **quantized("fp8")),
    "quantized_hqq": lambda: generated(
        "Llama", TINY, LAST, size=four_bits, **quantized("hqq", q_group_size=GROUP, axis_key=1, axis_value=1)
    ),
    "compiled": lambda: generated("Llama", TINY, LAST, cache_implementation="static"),
    "batched": batched,
    "1.2B": lambda: generated("Llama", BILLION, 128 + 32 - 1, requests=4, prompt=128, new=32),
}


def run(name: str) -> str:
    """A row of the table. The peak of a run on CUDA is a multiple of 512 B."""
    began = time.process_time()
    try:
        peak, cache, expected = ROWS[name]()
    except Exception as e:  # the row's result
        return f"{name:<18} {type(e).__name__}: {str(e).strip().splitlines()[0][:120] if str(e).strip() else ''}"
    spent = time.process_time() - began
    return f"{name:<18} {peak:>12,} {cache:>12,} {expected:>12,} {spent:>8.1f} s"


def main() -> int:
    p = argparse.ArgumentParser(prog="python -m truth generate")
    p.add_argument("--on", default="l4", metavar="CARD")
    p.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    a = p.parse_args()
    if wrong := [name for name in a.rows if name not in ROWS]:
        p.error(f"got row {wrong[0]}, want {' or '.join(ROWS)}")
    if a.here:
        import torch
        import transformers  # noqa: F401

        torch.zeros(1, device="cuda")
        for name in a.rows:
            print(run(name), flush=True)
        return 0
    print(f"{'cache':<18} {'peak':>12} {'its tensors':>12} {'by formula':>12} {'time':>10}   bytes, on {a.on}")
    for name in a.rows or ROWS:  # a process each
        command = [sys.executable, "-m", "memshim", "run", "--on", a.on, "--", __file__, "--here", name]
        ended = subprocess.run(command, capture_output=True, text=True)
        row = next((line for line in ended.stdout.splitlines() if line.startswith(f"{name} ")), None)
        print(
            row or f"{name:<18} exit {ended.returncode}: {(ended.stderr.strip().splitlines() or [''])[-1][:120]}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
