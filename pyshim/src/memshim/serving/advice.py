"""What would leave more tokens of KV cache: the engine is started again with each change, one at a
time. Nothing is computed from the first start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from memshim import pretend
from memshim.pretend import device
from memshim.serving.start import Wanted, parallel, start

SHARE = 0.95  # of a card's memory: more leaves too little for what the driver takes
LEAST_SEQS, LEAST_TOKENS = 2, 1024  # below these a half is no change that helps


class Change(NamedTuple):
    """Words that are added to the engine's, which takes the last of each, or another card."""

    words: tuple[str, ...] = ()
    card: str = ""

    def __str__(self) -> str:
        return " ".join(self.words) or f"--on {self.card}"


class Trial(NamedTuple):
    change: Change
    tokens: int | None  # None where the engine has no KV cache
    why: str  # it has none; "" where it has one


def changes(found: dict[str, Any], asked: Wanted) -> Iterator[Change]:
    """What could leave more: each is another value than the start had. Of a program that makes an LLM
    the engine's words are its own, and another card is all."""
    if not asked.program[0].endswith(".py") and asked.program[0] != "-c":
        yield from (c for c in _words(found, asked) if not _says(asked.program, c.words))
    card = _larger(found["device"]["memory"])
    if card and asked.memory is None:
        yield Change(card=card)


def _says(program: list[str], words: tuple[str, ...]) -> bool:
    """Whether a program has these words already: what its engine used is not known where it did not start."""
    return any(pair == words for pair in zip(program, program[1:])) or "=".join(words) in program


def _words(found: dict[str, Any], asked: Wanted) -> Iterator[Change]:
    kv = found["kv"] or {}
    if kv.get("max_num_seqs", 0) >= LEAST_SEQS:
        yield Change(("--max-num-seqs", str(kv["max_num_seqs"] // 2)))
    if kv.get("max_num_batched_tokens", 0) >= LEAST_TOKENS:
        yield Change(("--max-num-batched-tokens", str(kv["max_num_batched_tokens"] // 2)))
    if kv.get("kv_cache_dtype", "auto") == "auto":
        yield Change(("--kv-cache-dtype", "fp8"))
    if kv.get("quantization") is None:
        yield Change(("--quantization", "fp8"))
    if kv.get("gpu_memory_utilization", 0) < SHARE:
        yield Change(("--gpu-memory-utilization", f"{SHARE:g}"))
    yield Change(("--tensor-parallel-size", str(2 * kv.get("tensor_parallel_size", parallel(asked.program)[0]))))


def _larger(memory: int) -> str:
    """The card of the least memory above this; "" for none."""
    larger = sorted((d.memory, d.name) for d in map(device.find, device.names()) if d.memory > memory)
    return larger[0][1] if larger else ""


def trials(found: dict[str, Any], asked: Wanted, version: str) -> Iterator[Trial]:
    """Each change, run."""
    for change in changes(found, asked):
        again = asked._replace(
            program=[*asked.program, *change.words], device=change.card or asked.device, recording=None, generate=0
        )
        if "--tensor-parallel-size" in change.words:
            again = again._replace(number=None)  # as many as the words ask for
        yield _trial(change, again, version)


def _trial(change: Change, asked: Wanted, version: str) -> Trial:
    try:
        began = start(asked, version)
    except (ValueError, pretend.Unsupported) as e:  # more GPUs than there can be, a card without kernels
        return Trial(change, None, str(e))
    if kv := began.found["kv"]:
        return Trial(change, kv["tokens"], "")
    first, *_, last = 2 * began.why().splitlines()
    return Trial(change, None, first if first == last else f"{first} {last}")


def text(found: dict[str, Any], tried: Iterator[Trial]) -> str:
    """A line a trial, the most tokens first; those that the engine refuses last."""
    had = found["kv"]["tokens"] if found["kv"] else 0
    rows = sorted(tried, key=lambda t: -(t.tokens or 0))
    lines = ["  tried, each by a start of the engine:"]
    for t in rows:
        if t.tokens is None:
            lines.append(f"    {t.change}: {t.why}")
            continue
        more = f", {(t.tokens - had) / had:+.1%}" if had else ""
        lines.append(f"    {t.change}: {t.tokens:,} tokens{more}")
    return "\n".join(lines)
