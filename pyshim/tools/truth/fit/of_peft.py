"""LoRA over a decoder of transformers."""

import of_transformers
import peft


def lora():
    adapter = peft.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    return peft.get_peft_model(of_transformers.llama(), adapter)


def dora():
    adapter = peft.LoraConfig(r=8, use_dora=True, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    return peft.get_peft_model(of_transformers.llama(), adapter)
