"""python -m truth generate: what its table counts as the bytes of a cache."""

import sys
from pathlib import Path
from types import SimpleNamespace as Object

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tools" / "truth"))
import truth_generate as truth

CONFIG = Object(num_hidden_layers=2, num_key_value_heads=2, head_dim=16)


def test_parts_of_quantised_keys_count():
    quantised = (torch.zeros(6, dtype=torch.uint8), {"scale": torch.zeros(2, dtype=torch.float16), "nbits": 4})
    layer = Object(keys=torch.zeros(3), values=None, _quantized_keys=quantised)
    assert truth.keys_and_values(Object(layers=[layer])) == 3 * 4 + 6 + 2 * 2


def test_bytes_by_formula():
    numbers = 2 * 2 * 2 * 16 * 3 * 30  # keys and values of 3 requests of 30 tokens
    assert truth.formula(CONFIG, 3, 30) == 2 * numbers
    assert truth.eight_bits(CONFIG, 3, 30) == numbers + 2 * 2 * 4
    prompt = numbers // 30 * truth.PROMPT
    rest = numbers - prompt
    assert truth.four_bits(CONFIG, 3, 30) == prompt // 2 + prompt // 64 * 4 + 2 * rest
