"""What a model's folder has. Where it has only config.json, an engine can start nevertheless: weights
are made up (its dummy load format), the tokenizer is left out, and what an engine would read from
safetensors headers is given to it with the config."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "tekken.json")
# Engines learn from the safetensors headers, or from this field, which layers are quantized.
GPTQ, GPTQ_LAYERS = ("gptq", "gptq_marlin"), "modules_in_block_to_quantize"
ROUTERS = ("gate", "router", "shared_expert_gate")  # linear layers that no method quantizes
EXPERTS = ".experts"
QUANTIZATION = "quantization_config"  # a field of config.json


ENCODERS = ("vision_config", "audio_config")  # fields of a model that reads more than text
PROCESSORS = ("preprocessor_config.json", "processor_config.json")


class Unclear(ValueError):
    """A folder of which something cannot be made up: the engine would take other memory. The text is for
    the user."""


def has_weights(folder: Path) -> bool:
    return any(f.suffix in WEIGHTS and f.stat().st_size for f in folder.iterdir() if f.is_file())


def has_tokenizer(folder: Path) -> bool:
    return any((folder / name).exists() for name in TOKENIZERS)


def check_processor(folder: Path, limits: Mapping[str, Any]) -> None:
    """Errors: Unclear where an engine would profile an encoder and the folder does not say with what: sizes of
    images are in its processor's files. limits: inputs of a request by kind; where all are 0, no encoder runs."""
    config = _json(folder / "config.json")
    if not any(config.get(field) for field in ENCODERS) or limits and set(limits.values()) == {0}:
        return
    lacks = [] if any((folder / name).exists() for name in PROCESSORS) else [PROCESSORS[0]]
    if not has_tokenizer(folder):
        lacks.append("tokenizer")
    if lacks:
        raise Unclear(
            f"{folder}: got no {' and no '.join(lacks)}, want the files beside config.json: the engine profiles the "
            "encoder by them; --language-model-only leaves it out"
        )


def quantized(folder: Path) -> dict[str, Any] | None:
    """quantization_config of a folder without weights, with the layers that GPTQ quantizes where it does
    not name them; None where nothing is to be made up. Unclear where no model says which layers."""
    config = _json(folder / "config.json")
    method = config.get(QUANTIZATION) or {}
    if method.get("quant_method") not in GPTQ or method.get(GPTQ_LAYERS):
        return None
    try:
        layers = block_layers(folder)
    except Exception as e:
        layers, why = [], f" ({type(e).__name__})"
    else:
        why = ""
    if not layers:
        raise Unclear(
            f"{folder / 'config.json'}: got quantization {method['quant_method']} without weights, want safetensors "
            f"files or {GPTQ_LAYERS}: transformers makes no model of it that says which layers are quantized{why}"
        )
    return {**method, GPTQ_LAYERS: [layers]}


def block_layers(folder: Path) -> list[str]:
    """The linear layers of each block of a model, as transformers builds it on no device; experts by what
    has them. GPTQ quantizes all of them."""
    import torch
    import transformers

    models: Any = transformers.AutoModelForCausalLM
    config = transformers.AutoConfig.from_pretrained(folder)
    if hasattr(config, QUANTIZATION):
        del config.quantization_config
    with torch.device("meta"):
        model = models.from_config(config)
    found = []
    for name, module in model.named_modules():
        inside = re.match(r".*?\.\d+\.(.+)", name)
        if not inside:
            continue
        layer = inside[1]
        if EXPERTS in f".{layer}":
            found.append(layer[: f".{layer}".index(EXPERTS) + len(EXPERTS) - 1])
        elif isinstance(module, torch.nn.Linear) and layer.rpartition(".")[2] not in ROUTERS:
            found.append(layer)
    return list(dict.fromkeys(found))


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}  # the engine says what it wants of it
    return found if isinstance(found, dict) else {}
