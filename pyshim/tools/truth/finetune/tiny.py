"""What the programs here train, made on the spot: a small Llama with random weights, a tokenizer of
words, and rows of text."""

from __future__ import annotations

import functools
import tempfile

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

WORDS = "the a red blue small large cat dog bird fish sees hears likes finds makes and near under over with".split()
MARKS = ["<pad>", "<s>", "</s>", "<unk>", "<|user|>", "<|assistant|>"]
CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|> {% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] }} "
    "</s> {% endgeneration %}{% else %}{{ m['content'] }} </s> {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    vocabulary = {w: i for i, w in enumerate([*MARKS, *WORDS])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    made.chat_template = CHAT
    return made


def config(**more: object) -> transformers.LlamaConfig:
    return transformers.LlamaConfig(
        **{
            "vocab_size": 1024,
            "hidden_size": 256,
            "intermediate_size": 512,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 512,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
        }
        | more
    )


@functools.cache
def folder(dtype: torch.dtype = torch.bfloat16, one_label: bool = False) -> str:
    """A folder that from_pretrained takes, below the system's temporary one."""
    made = tempfile.mkdtemp(prefix="tiny-llama-")
    kind = transformers.AutoModelForSequenceClassification if one_label else transformers.AutoModelForCausalLM
    kind.from_config(config(**{"num_labels": 1} if one_label else {}), dtype=dtype).save_pretrained(made)
    tokenizer().save_pretrained(made)
    return made


def output() -> str:
    """A folder for what a trainer writes."""
    return tempfile.mkdtemp(prefix="tiny-output-")


def text(i: int, words: int) -> str:
    return " ".join(WORDS[(i * 7 + k * (1 + i % 3)) % len(WORDS)] for k in range(words))


def batch(rows: int = 4, tokens: int = 128, device: str = "cuda") -> dict[str, torch.Tensor]:
    ids = torch.arange(tokens).repeat(rows, 1).to(device)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}
