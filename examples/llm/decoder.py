"""A decoder of four billion parameters, exported once for prefill and once for decoding: python decoder.py

Needs torch 2.15, transformers 5 and memshim. The weights are fake: nothing of the eight gigabytes is made, loaded or written.
"""

import torch
from torch._subclasses import FakeTensorMode
from torch.export import Dim

import memshim

AUTO = Dim.AUTO


class Prefill(torch.nn.Module):
    """The prompt: the last token's logits, and the keys and values of every layer."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        out = self.model(input_ids=input_ids, use_cache=True, logits_to_keep=1)
        return out.logits, [(layer.keys, layer.values) for layer in out.past_key_values.layers]


class Decode(torch.nn.Module):
    """One token more: the cache is an input (layers × keys and values × batch × heads × tokens × size), and comes back a token longer."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, cache):
        from transformers import DynamicCache

        past = DynamicCache(config=self.model.config)
        for i in range(self.model.config.num_hidden_layers):
            past.update(cache[i, 0], cache[i, 1], i)
        out = self.model(input_ids=input_ids, past_key_values=past, use_cache=True)
        return out.logits, [(layer.keys, layer.values) for layer in out.past_key_values.layers]


def decoder():
    """Qwen3's sizes at four billion parameters, in bfloat16."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(vocab_size=151936, hidden_size=2560, intermediate_size=9728, num_hidden_layers=36, num_attention_heads=32, num_key_value_heads=8, head_dim=128,
                         max_position_embeddings=40960, attn_implementation="sdpa")
    torch.set_default_dtype(torch.bfloat16)
    model = Qwen3ForCausalLM._from_config(config).eval()
    torch.set_default_dtype(torch.float32)
    return model


def prefill():
    """What `python -m memshim capture decoder.py:prefill --on rtx-4090 --input 'int64[1,8192]'` runs."""
    return Prefill(decoder())


def main():
    with FakeTensorMode():
        model = decoder()
        ids = torch.ones(2, 16, dtype=torch.int64)
        config = model.config
        cache = torch.empty(config.num_hidden_layers, 2, 2, config.num_key_value_heads, 9, config.head_dim, dtype=torch.bfloat16)
        token = ids[:, :1].clone()
    memshim.export(Prefill(model), "prefill.pt2", ids, kind="export", strip=True, dynamic_shapes=({0: AUTO, 1: AUTO},))
    memshim.export(Decode(model), "decode.pt2", token, cache, kind="export", strip=True, dynamic_shapes=({0: AUTO}, {2: AUTO, 4: AUTO}))


if __name__ == "__main__":
    main()
