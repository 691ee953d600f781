"""Measures what a model keeps of a sequence between forward passes: the tensors of its cache, on a CPU."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from typing import Any

import torch
from probes import (
    LAYERS,
    Built,
    config_class,
    configured,
    defaults,
    missing,
    mixed,
    model_class,
    nested,
    plain,
    small,
    text_config,
    with_types,
)
from torch import Tensor
from transformers import PreTrainedConfig
from transformers.initialization import no_init_weights

BATCH, FEW, MANY = 2, 5, 29  # sequences, and tokens of each, of the two passes that are compared
WINDOW = 8
SIZE = re.compile(r"size$|dim$|rank$")
WEIGHTS = 100_000_000  # more would take minutes, and GiB


def shrunk(model_type: str, by: int) -> dict[str, Any]:
    """Fields with which the model runs on a CPU in a moment: the class's sizes, divided."""
    out: dict[str, Any] = {}
    for name, value in defaults(config_class(model_type)).items():
        last = name.split(".")[-1]
        if isinstance(value, bool) or not isinstance(value, int):
            continue
        if LAYERS.search(last):
            out[name] = min(value, 8 if by > 1 else 2)
        elif "vocab" in last:
            out[name] = min(value, 320)
        elif re.search(r"window|chunk", last) and value > WINDOW:
            out[name] = WINDOW
        elif last.endswith("token_id") or last.endswith("_index"):
            out[name] = 1
        elif re.search(r"position|max_|n_ctx|context", last):
            out[name] = min(value, 64)
        elif value >= 512:
            out[name] = value // by
        elif value >= 128:
            out[name] = value // max(1, by // 4)
    return out


@functools.cache
def tiny(model_type: str) -> dict[str, Any]:
    """The smallest fields of these with which the model runs."""
    wrong: Exception | None = None
    for by in (32, 16, 8, 4, 1):
        given = shrunk(model_type, by)
        given |= {k: v for k, v in small(model_type).items() if k not in given}
        without = {k: v for k, v in given.items() if not LAYERS.search(k.split(".")[-1])}
        absent = missing(model_type)
        routed = {k: v for k, v in absent.items() if "per_tok" in k}
        known = defaults(config_class(model_type)) | given
        heads = {}
        if all(isinstance(known.get(f), int) for f in ("hidden_size", "num_attention_heads", "head_dim")):
            heads["hidden_size"] = known["num_attention_heads"] * known["head_dim"]
        whole = {k: v + -v % 16 for k, v in given.items() if isinstance(v, int) and v > 16 and SIZE.search(k)}
        layers = mixed(model_type, 8)
        for field, size in (("num_heads", "head_dim"), ("mamba_n_heads", "mamba_d_head")):
            if field in known and isinstance(known.get(size), int):
                expand = known.get("expand") or known.get("mamba_expand") or 1
                heads[field] = max(1, known["hidden_size"] * expand // known[size])
        for candidate in (
            given,
            routed | given,
            routed | given | whole,  # a grouped product wants rows of 16 bytes
            given | heads,
            layers | given,
            layers | given | heads,
            without,
            absent | given,
        ):
            try:
                measured(model_type, candidate)
                return candidate
            except Exception as e:
                wrong = e if wrong is None or "odd size" in str(wrong) else wrong
    raise ValueError(str(wrong))


def tensors(value: Any, path: str, seen: set[int]) -> list[tuple[str, Tensor]]:
    """The tensors of a cache by where they are."""
    if isinstance(value, Tensor):
        if id(value) in seen or value.numel() == 0 or value.dim() == 0:
            return []
        seen.add(id(value))
        return [(path, value)]
    if isinstance(value, PreTrainedConfig | torch.nn.Module) or id(value) in seen:
        return []
    items: list[tuple[str, Any]] = []
    if isinstance(value, list | tuple):
        items = [(f".{i}", v) for i, v in enumerate(value)]
    elif isinstance(value, dict):
        items = [(f".{k}", v) for k, v in value.items()]
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        seen.add(id(value))
        items = [(f".{k}", v) for k, v in vars(value).items() if not k.startswith("__")]
    return [t for name, v in items for t in tensors(v, path + name, seen)]


def kept(model: Any, tokens: int) -> dict[str, tuple[tuple[int, ...], str]]:
    """Sizes and dtypes of what one pass over so many tokens leaves."""
    with torch.no_grad():
        out = model(input_ids=torch.full((BATCH, tokens), 7), use_cache=True)
    for name in ("past_key_values", "cache_params", "state", "mems", "past_buckets_states"):
        if (cache := out.get(name)) is not None:
            found = tensors(cache, "", set())
            return {n: (tuple(t.shape), str(t.dtype).removeprefix("torch.")) for n, t in found if t.is_floating_point()}
    return {}


def one_section(config: Any) -> None:
    """Rotary embeddings whose head is split among time, height and width: all of it is time's, at any size."""
    text = getattr(config, "text_config", None) or config
    rope = getattr(text, "rope_parameters", None) or {}
    if "mrope_section" in {*rope, *getattr(text, "ignore_keys_at_rope_validation", ())}:
        head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
        rope["mrope_section"] = [head // 2, 0, 0]


def measured(model_type: str, given: dict[str, Any]) -> Built:
    """What a model keeps: for each tensor, its sizes without batch and tokens, and how it grows."""
    cls = config_class(model_type)
    if sum(v > 4096 for v in given.values() if isinstance(v, int)):
        raise ValueError("too large to run")
    _, fields, derived = configured(model_type, given)
    sizes = [v for f, v in fields.items() if f.endswith("head_dim") and isinstance(v, int)]
    for f, width in fields.items():
        heads = fields.get(f.replace("hidden_size", "num_attention_heads"))
        if f.endswith("hidden_size") and not sizes and isinstance(width, int) and isinstance(heads, int) and heads:
            sizes.append(width // heads // 2)  # half of a head may be rotated
    if any(v % 2 or not v for v in sizes):
        raise ValueError("no rotary embedding has an odd size")
    config = cls(**with_types(cls, nested(given)))
    model_cls = model_class(model_type)
    with no_init_weights(), torch.device("meta"):
        weights = sum(p.numel() for p in model_cls(text_config(model_cls, config)).parameters())
    if weights > WEIGHTS:
        raise ValueError(f"{weights} parameters are too many to run")
    config = cls(**with_types(cls, nested(given)))
    one_section(config)
    torch.manual_seed(1)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with no_init_weights():
            model = model_cls(text_config(model_cls, config)).eval()
    finally:
        torch.set_default_dtype(before)
    for p in model.parameters():
        p.data.normal_(0, 0.02)
    few, many = kept(model, FEW), kept(model, MANY)
    if not many:
        raise ValueError("no cache came back")
    rows: dict[tuple[str, tuple[str, ...], str], Counter[int]] = {}
    counts: dict[str, int] = {}
    elements: dict[str, int] = {}
    for path in many:
        shape, dtype = many[path]
        short = few[path][0] if path in few else shape
        if shape[0] != BATCH or len(short) != len(shape):
            raise ValueError(f"a cache of {shape} at {path}")
        moved = [k for k in range(1, len(shape)) if shape[k] != short[k]]
        if len(moved) > 1:
            raise ValueError(f"a cache of {shape} at {path}")
        rest = tuple(str(d) for k, d in enumerate(shape) if k and k not in moved)
        grows = "state" if not moved else "token" if shape[moved[0]] == MANY else "window"
        if grows == "window":
            rest = (str(shape[moved[0]]), *rest)
        found = re.search(r"\.(\d+)(?=\.|$)", path)
        layer = int(found[1]) if found else 0
        pattern = path if not found else f"{path[: found.start()]}.*{path[found.end() :]}"
        pattern = re.sub(r"\.\d+(?=\.|$)", ".#", pattern)
        if found:
            prefix = path[: found.start()]
            counts[prefix] = max(counts.get(prefix, 0), layer + 1)
        key = f"{grows} {dtype}" if dtype != "bfloat16" else grows
        rows.setdefault((pattern, rest, key), Counter())[layer] += 1
        elements[key] = elements.get(key, 0) + math.prod(shape) // BATCH // (MANY if grows == "token" else 1)
    return Built(fields, {k: plain(v) for k, v in given.items()}, rows, counts, elements, derived, config)


def sizes(fields: list[str], optional: list[str]) -> frozenset[str]:
    """Expressions that a size in a cache may have and no parameter's has."""
    heads = [f for f in fields if "head" in f and "dim" not in f]
    widths = [f for f in fields if re.search(r"hidden_size$|n_embd$|d_model$|emb_dim$|embed_dim$|dim$", f)]
    shares = {f"{w} // {h}" for w in widths for h in heads}
    either = {f"{f} if {f} is not None else {s}" for f in optional if f.endswith("head_dim") for s in shares}
    return frozenset(shares | either | {f"{f} - 1" for f in fields if "window" in f})
