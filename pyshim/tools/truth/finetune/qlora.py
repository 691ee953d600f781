"""QLoRA as its authors do it: nf4 with double quantisation, gradient checkpointing, a paged 8-bit
optimizer; with dora, or LLM.int8() below, where the argument says so."""

import sys

import peft
import tiny
import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments

quantization = (
    BitsAndBytesConfig(load_in_8bit=True)
    if sys.argv[1] == "int8"
    else BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
)
model = AutoModelForCausalLM.from_pretrained(tiny.folder(), quantization_config=quantization, device_map={"": 0})
model = peft.prepare_model_for_kbit_training(model, use_gradient_checkpointing=True)
model = peft.get_peft_model(
    model,
    peft.LoraConfig(
        r=16,
        lora_alpha=16,
        lora_dropout=0.05,
        target_modules="all-linear",
        use_dora=sys.argv[1] == "dora",
        task_type="CAUSAL_LM",
    ),
)
rows = [{"input_ids": list(range(128)), "labels": list(range(128))} for _ in range(16)]
arguments = TrainingArguments(
    tiny.output(),
    per_device_train_batch_size=4,
    max_steps=3,
    bf16=True,
    gradient_checkpointing=True,
    optim="paged_adamw_8bit",
    report_to=[],
    save_strategy="no",
)
Trainer(model, arguments, train_dataset=rows).train()
