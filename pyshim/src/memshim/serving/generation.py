"""Tokens that an engine generates once its KV cache is made, inside its own processes: whether they
take more than its profile run did, which is all that the engine left room for.

The prompts are made up: they fill max_num_batched_tokens in one step, shared among max_num_seqs requests.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from memshim.serving.attributes import Moved, read


class Batch(NamedTuple):
    """Requests that are made at once: tokens of each one's prompt, and tokens that each generates."""

    requests: int
    prompt: int
    tokens: int


def batch(kv: dict[str, Any], tokens: int) -> Batch:
    """The requests for an engine, by its figures (watch.py). Errors: ValueError."""
    if tokens >= kv["max_model_len"]:
        raise ValueError(f"--generate: got {tokens:,} tokens, want less than max_model_len {kv['max_model_len']:,}")
    requests = kv["max_num_seqs"]
    prompt = max(kv["max_num_batched_tokens"] // requests, 1)
    return Batch(requests, min(prompt, kv["max_model_len"] - tokens), tokens)


def begin(worker: Any) -> dict[str, int]:
    """What a worker holds before it generates; its peak counts from here."""
    import torch

    device = read(worker, "device")
    torch.cuda.reset_peak_memory_stats(device)
    return {"allocated": torch.cuda.memory_allocated(device), "reserved": torch.cuda.memory_reserved(device)}


def end(worker: Any) -> dict[str, int]:
    """What a worker has held since begin."""
    import torch

    device = read(worker, "device")
    free, total = torch.cuda.mem_get_info(device)
    return {
        "rank": read(worker, "rank"),
        "peak": torch.cuda.max_memory_allocated(device),
        "reserved": torch.cuda.memory_reserved(device),
        "in_use": total - free,
    }


def prompt(number: int, length: int, vocabulary: int) -> list[int]:
    """The tokens of the prompt of a request: no two begin alike, else the engine would take what the
    other has cached."""
    digits = []
    for _ in range(length):
        number, digit = divmod(number, vocabulary)
        digits.append(digit)
    return digits


def generate(core: Any, wanted: Batch, request: Any, sampling: Any) -> dict[str, Any]:
    """Run requests to their end in the engine's core; what its workers held. request, sampling: the
    engine's classes."""
    ask = read(core, "model_executor.collective_rpc")
    before = ask(begin)
    vocabulary = int(read(core, "vllm_config.model_config.get_vocab_size")())
    for i in range(wanted.requests):
        try:
            made = request(
                request_id=f"memshim-{i}",
                prompt_token_ids=prompt(i, wanted.prompt, vocabulary),
                sampling_params=sampling(max_tokens=wanted.tokens, ignore_eos=True, detokenize=False),
                pooling_params=None,
                block_hasher=read(core, "request_block_hasher"),
            )
        except TypeError as e:
            raise Moved(f"Request: {e}") from None
        core.add_request(made)
    step, after_step = read(core, "step_fn"), read(core, "post_step")
    at_once, generated = 0, 0
    while core.scheduler.has_requests() or core.batch_queue:
        outputs, executed = step()
        at_once = max(at_once, len(read(core, "scheduler.running")))
        for output in itertools.chain(*(o.outputs for o in (outputs or {}).values())):
            generated += len(output.new_token_ids)
        after_step(executed)
    workers = [
        {
            "rank": w["rank"],
            "activation": w["peak"] - b["allocated"],
            "reserved_before": b["reserved"],
            "reserved": w["reserved"],
            "in_use": w["in_use"],
        }
        for b, w in zip(before, ask(end), strict=True)
    ]
    return {**wanted._asdict(), "at_once": at_once, "generated": generated, "workers": workers}
