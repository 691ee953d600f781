"""Models of transformers with two layers."""

import transformers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

transformers.logging.set_verbosity_error()


def gpt2():
    return GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=384, n_head=6, vocab_size=8000, use_cache=False))


def llama():
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=8000,
            hidden_size=512,
            intermediate_size=1408,
            num_hidden_layers=2,
            num_attention_heads=8,
            num_key_value_heads=2,
            use_cache=False,
        )
    )


def bert():
    return BertForMaskedLM(
        BertConfig(vocab_size=8000, hidden_size=384, num_hidden_layers=2, num_attention_heads=6, intermediate_size=1536)
    )


def t5():
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=8000,
            d_model=384,
            d_kv=64,
            d_ff=1024,
            num_layers=2,
            num_heads=6,
            use_cache=False,
            pad_token_id=0,
            decoder_start_token_id=0,
        )
    )
