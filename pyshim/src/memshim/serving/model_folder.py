"""What a model's folder has. Where it has only config.json, an engine can start nevertheless: weights
are made up (its dummy load format), and the tokenizer is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json", "tekken.json")
# Engines learn from the safetensors headers, or from this field, which layers are quantized.
GPTQ, GPTQ_LAYERS = ("gptq", "gptq_marlin"), "modules_in_block_to_quantize"


class Unclear(ValueError):
    """A folder whose weights cannot be made up: the engine would make others. The text is for the
    user."""


def has_weights(folder: Path) -> bool:
    return any(f.suffix in WEIGHTS and f.stat().st_size for f in folder.iterdir() if f.is_file())


def has_tokenizer(folder: Path) -> bool:
    return any((folder / name).exists() for name in TOKENIZERS)


def check_weights(folder: Path) -> None:
    """Unclear where the weights that an engine makes up are not those of the model."""
    config = _json(folder / "config.json")
    method = config.get("quantization_config") or {}
    if method.get("quant_method") in GPTQ and not method.get(GPTQ_LAYERS):
        raise Unclear(
            f"{folder / 'config.json'}: got quantization {method['quant_method']} without weights, want safetensors "
            f"files or {GPTQ_LAYERS}: without them the engine leaves every layer unquantized"
        )


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}  # the engine says what it wants of it
    return found if isinstance(found, dict) else {}
